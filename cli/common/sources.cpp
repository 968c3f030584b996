#include "cli/common/sources.hpp"

#include <fstream>
#include <iostream>

#include "cli/common/error.hpp"
#include "cli/common/terminal.hpp"
#include "pipeline/source/patient.hpp"

namespace mpm::cli {

namespace {

constexpr std::size_t kMostBytes = 1 << 20;

std::string trimmed(const std::string& line) {
    const char* blanks = " \t\r\n";
    const size_t from = line.find_first_not_of(blanks);
    if (from == std::string::npos) return {};
    return line.substr(from, line.find_last_not_of(blanks) + 1 - from);
}

std::vector<std::string> linesOf(std::istream& in, const std::string& file) {
    std::vector<std::string> lines;
    std::string line;
    std::size_t bytes = 0;
    for (char c; in.get(c);) {
        if (++bytes > kMostBytes)
            throw Error(kBadInput,
                        "--source-from " + file + ": more than 1 MiB, which is not a list of sources");
        if (c != '\n') line += c;
        if (c != '\n' && in.peek() != std::istream::traits_type::eof()) continue;
        const std::string source = trimmed(line);
        if (!source.empty() && source[0] != '#') lines.push_back(source);
        line.clear();
    }
    return lines;
}

/// Reads the lines of a file, of a pipe such as the shell's <(...), or of standard input ("-").
std::vector<std::string> readLines(const std::string& file) {
    if (file == "-") return linesOf(std::cin, file);
    std::ifstream in(file, std::ios::binary);
    if (!in) throw Error(kBadInput, "--source-from " + file + ": cannot be opened; name a file of sources");
    return linesOf(in, file);
}

}  // namespace

void addSourceFrom(CLI::App& verb, std::string& file) {
    verb.add_option(
            "--source-from", file,
            "more sources, one a line (- is standard input); keeps passwords out of the list of processes")
        ->type_name("FILE");
}

std::vector<pipeline::Address> sourcesFrom(const std::vector<std::string>& words, const std::string& file) {
    std::vector<std::string> all = words;
    if (!file.empty()) {
        const std::vector<std::string> lines = readLines(file);
        if (lines.empty())
            throw Error(kBadInput, "--source-from " + file + ": has no source; write one a line");
        all.insert(all.end(), lines.begin(), lines.end());
    }
    std::vector<pipeline::Address> sources;
    for (const std::string& text : all)
        sources.push_back(
            orError<pipeline::SourceError>(kBadInput, "", [&] { return pipeline::resolved(text); }));
    return sources;
}

std::unique_ptr<pipeline::Source> patientSource(const pipeline::Address& address,
                                                const pipeline::SourceOptions& options, double longest) {
    std::unique_ptr<pipeline::Source> source = pipeline::makeSource(address, options);
    const auto giveUp = [longest](double seconds) {
        return stopRequested() || (longest > 0 && seconds >= longest);
    };
    return std::make_unique<pipeline::PatientSource>(std::move(source), giveUp);
}

}  // namespace mpm::cli
