#include "fuzz/driver/job.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace mpm::fuzz {

namespace {

[[noreturn]] void wrong(const char* word) {
    std::fprintf(stderr,
                 "fuzz driver: '%s' is not understood; expected [--rounds N [--at-most S]] [--seconds S] "
                 "[--state FILE] "
                 "[--findings DIR] [--input-seconds S] [--mebibytes N] SEEDS...\n",
                 word);
    std::exit(2);
}

/// Sets an option. Returns false if there is no option `name`.
bool take(Job& job, const std::string& name, const char* value) {
    const auto number = [&] {
        char* end = nullptr;
        const double read = std::strtod(value, &end);
        if (end == value || *end || !(read >= 0)) wrong(value);
        return read;
    };
    if (name == "--rounds")
        job.rounds = static_cast<std::uint64_t>(number());
    else if (name == "--seconds")
        job.seconds = number();
    else if (name == "--at-most")
        job.atMost = number();
    else if (name == "--state")
        job.state = value;
    else if (name == "--findings")
        job.findings = value;
    else if (name == "--input-seconds")
        job.inputSeconds = number();
    else if (name == "--mebibytes")
        job.mebibytes = number();
    else
        return false;
    return true;
}

}  // namespace

Job parse(int argc, char** argv) {
    Job job;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word.rfind("--", 0) == 0) {
            if (i + 1 == argc || !take(job, word, argv[i + 1])) wrong(argv[i]);
            ++i;
        } else if (fs::exists(word)) {
            job.seeds.add(word);
        } else {
            std::fprintf(stderr, "fuzz driver: %s: no such file or folder\n", word.c_str());
            std::exit(2);
        }
    }
    if (job.seeds.names.empty()) {
        job.seeds.names.emplace_back("nothing");
        job.seeds.inputs.emplace_back();
    }
    return job;
}

State State::read(const std::string& path) {
    State state;
    std::ifstream file(path);
    for (std::string key; file >> key;) {
        if (key == "position")
            file >> state.position;
        else if (key == "runs")
            file >> state.runs;
        else if (key == "findings")
            file >> state.findings;
        else if (key == "seconds")
            file >> state.seconds;
        else if (key == "peak")
            file >> state.peak;
        else if (key == "slowest" && file >> state.slowest)
            std::getline(file >> std::ws, state.slowestName);
    }
    return state;
}

void State::write(const std::string& path) const {
    if (path.empty()) return;
    {
        std::ofstream file(path + ".part");
        file << "position " << position << "\nruns " << runs << "\nfindings " << findings << "\nseconds "
             << seconds << "\npeak " << peak << "\nslowest " << slowest << ' ' << slowestName << '\n';
    }
    fs::rename(path + ".part", path);
}

}  // namespace mpm::fuzz
