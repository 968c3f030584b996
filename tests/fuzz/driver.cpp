// Runs a fuzz target without libFuzzer: replays seeds, then mutates them. Every run can be repeated: an input
// depends on the seed file, the round and nothing else.
//   TARGET SEEDS...                     replays the seeds (files or folders)
//   TARGET --rounds N SEEDS...          and N mutants of each
//   TARGET --seconds S --state FILE SEEDS...  and mutants for S seconds, going on where FILE says it stopped
// The input under test is kept in FILE.input (or ./fuzz.input) while it runs: after a crash it is the
// culprit.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fs = std::filesystem;

namespace {

using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

struct Job {
    std::uint64_t rounds = 0;
    double seconds = 0;
    std::string state;
    std::vector<std::string> seeds;
};

Bytes read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The files of a folder, in the same order everywhere.
void addSeeds(const std::string& path, std::vector<std::string>& seeds) {
    if (!fs::is_directory(path)) {
        seeds.push_back(path);
        return;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(path))
        if (entry.is_regular_file()) found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    seeds.insert(seeds.end(), found.begin(), found.end());
}

Job parse(int argc, char** argv) {
    Job job;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool option = word == "--rounds" || word == "--seconds" || word == "--state";
        if (option && ++i == argc) std::exit(2);
        if (word == "--rounds")
            job.rounds = std::strtoull(argv[i], nullptr, 10);
        else if (word == "--seconds")
            job.seconds = std::strtod(argv[i], nullptr);
        else if (word == "--state")
            job.state = argv[i];
        else
            addSeeds(word, job.seeds);
    }
    if (job.seeds.empty()) job.seeds.emplace_back();  // the empty input
    return job;
}

/// The input under test, in a file that outlives a crash: shared memory costs no system call a run.
class Culprit {
public:
    explicit Culprit(const std::string& path) : m_path(path) {
        m_file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (m_file < 0) std::perror(path.c_str());
    }
    ~Culprit() {
        if (m_file >= 0) close(m_file);
        std::remove(m_path.c_str());
    }
    void keep(const Bytes& input) const {
        if (m_file < 0 || ftruncate(m_file, static_cast<off_t>(input.size())) != 0) return;
        static_cast<void>(pwrite(m_file, input.data(), input.size(), 0));
    }

private:
    std::string m_path;
    int m_file = -1;
};

/// Numbers at the edges of their types, where arithmetic breaks.
constexpr std::uint64_t kEdges[] = {0,          1,          0x7F,       0x80,       0xFF,
                                    0x7FFF,     0x8000,     0xFFFF,     0x7FFFFFFF, 0x80000000,
                                    0xFFFFFFFF, 0x7FFFFFF0, 0x10000000, 0x40000000, 0x7FFFFFFFFFFFFFFF};

class Mutator {
public:
    Mutator(std::uint64_t seed, std::uint64_t round) : m_random(seed * 0x9E3779B97F4A7C15ULL + round) {}

    Bytes mutate(Bytes input, const std::vector<Bytes>& others) {
        for (std::uint64_t count = 1 + below(6); count > 0; --count)
            step(input, others);
        return input;
    }

private:
    std::uint64_t below(std::uint64_t end) { return end == 0 ? 0 : m_random() % end; }

    /// Headers and shapes lie at the ends of a file, weights in the middle: most changes hit the ends.
    std::size_t place(const Bytes& input) {
        const std::uint64_t near = std::min<std::uint64_t>(input.size(), 4096);
        switch (below(4)) {
            case 0:
                return below(input.size());
            case 1:
                return input.size() - 1 - below(near);
            default:
                return below(near);
        }
    }

    void step(Bytes& input, const std::vector<Bytes>& others) {
        if (input.empty()) input.push_back(static_cast<std::uint8_t>(below(256)));
        const std::size_t at = place(input);
        const auto position = input.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t length =
            std::min<std::size_t>(1 + below(below(8) == 0 ? 4096 : 16), input.size() - at);
        const auto end = position + static_cast<std::ptrdiff_t>(length);
        switch (below(8)) {
            case 0:
                *position = static_cast<std::uint8_t>(*position ^ (1U << below(8)));
                return;
            case 1:
                *position = static_cast<std::uint8_t>(below(256));
                return;
            case 2:
                return putNumber(input, at);
            case 3:
                if (input.size() > length) input.erase(position, end);
                return;
            case 4: {
                const Bytes copy(position, end);
                input.insert(position, copy.begin(), copy.end());
                return;
            }
            case 5:
                if (below(4) == 0) input.resize(at + 1);
                return;
            case 6:
                return putVarint(input, at);
            default:
                return splice(input, at, others);
        }
    }

    void putNumber(Bytes& input, std::size_t at) {
        const std::uint64_t number = kEdges[below(std::size(kEdges))] + below(3) - 1;
        const std::size_t width = std::min<std::size_t>(std::size_t{1} << below(4), input.size() - at);
        std::memcpy(input.data() + at, &number, width);
    }

    /// As protobuf writes sizes.
    void putVarint(Bytes& input, std::size_t at) {
        std::uint64_t number = kEdges[below(std::size(kEdges))] + below(3) - 1;
        Bytes bytes;
        do {
            bytes.push_back(static_cast<std::uint8_t>((number & 0x7F) | (number > 0x7F ? 0x80 : 0)));
            number >>= 7;
        } while (number != 0);
        input.erase(input.begin() + static_cast<std::ptrdiff_t>(at));
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin(), bytes.end());
    }

    void splice(Bytes& input, std::size_t at, const std::vector<Bytes>& others) {
        const Bytes& other = others[below(others.size())];
        if (other.empty()) return;
        const std::size_t from = place(other);
        const std::size_t length = std::min<std::size_t>(1 + below(256), other.size() - from);
        const auto begin = other.begin() + static_cast<std::ptrdiff_t>(from);
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), begin,
                     begin + static_cast<std::ptrdiff_t>(length));
    }

    std::mt19937_64 m_random;
};

/// Rounds done so far, in all calls with the same state file.
std::uint64_t readState(const std::string& path) {
    std::uint64_t round = 0;
    std::ifstream file(path);
    file >> round;
    return round;
}

void writeState(const std::string& path, std::uint64_t round) {
    if (path.empty()) return;
    std::ofstream(path + ".part") << round << '\n';
    fs::rename(path + ".part", path);
}

class Run {
public:
    explicit Run(Job job)
        : m_job(std::move(job)), m_culprit(m_job.state.empty() ? "fuzz.input" : m_job.state + ".input") {
        for (const std::string& seed : m_job.seeds)
            m_inputs.push_back(seed.empty() ? Bytes() : read(seed));
    }

    void all() {
        for (std::size_t i = 0; i < m_inputs.size(); ++i)
            one(m_inputs[i], m_job.seeds[i]);
        for (std::uint64_t round = 0; round < m_job.rounds; ++round)
            everySeed(round);
        std::uint64_t round = readState(m_job.state);
        const std::chrono::duration<double> limit(m_job.seconds);
        for (const auto start = Clock::now(); Clock::now() - start < limit; ++round) {
            everySeed(round, start + std::chrono::duration_cast<Clock::duration>(limit));
            writeState(m_job.state, round + 1);
        }
        std::printf("%zu seeds, %llu runs, slowest %.2f s (%s), %.0f MiB at most\n", m_inputs.size(),
                    static_cast<unsigned long long>(m_runs), m_slowest, m_slowestName.c_str(),
                    peakMebibytes());
    }

private:
    void everySeed(std::uint64_t round, Clock::time_point end = Clock::time_point::max()) {
        for (std::size_t i = 0; i < m_inputs.size() && Clock::now() < end; ++i)
            one(Mutator(i + 1, round).mutate(m_inputs[i], m_inputs),
                m_job.seeds[i] + " round " + std::to_string(round));
    }

    void one(const Bytes& input, const std::string& name) {
        m_culprit.keep(input);
        const auto start = Clock::now();
        LLVMFuzzerTestOneInput(input.data(), input.size());
        const std::chrono::duration<double> spent = Clock::now() - start;
        ++m_runs;
        if (spent.count() <= m_slowest) return;
        m_slowest = spent.count();
        m_slowestName = name;
        if (m_slowest > 30) {
            std::fprintf(stderr, "%s took %.0f s\n", name.c_str(), m_slowest);
            std::abort();
        }
    }

    static double peakMebibytes() {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return static_cast<double>(usage.ru_maxrss) / 1024;
    }

    const Job m_job;
    Culprit m_culprit;
    std::vector<Bytes> m_inputs;
    std::uint64_t m_runs = 0;
    double m_slowest = 0;
    std::string m_slowestName;
};

}  // namespace

int main(int argc, char** argv) {
    Run(parse(argc, argv)).all();
    return 0;
}
