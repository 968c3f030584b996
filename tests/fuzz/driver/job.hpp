// The options of a call of a fuzz target, and the progress of all calls with the same state file.
#pragma once

#include <cstdint>
#include <string>

#include "fuzz/driver/input.hpp"

namespace mpm::fuzz {

struct Job {
    std::uint64_t rounds = 0;
    double seconds = 0;  // of processor time, so other load does not reduce the number of inputs
    double atMost = 0;   // limit for the rounds in seconds; 0: no limit
    std::string state;
    std::string findings = "findings";
    double inputSeconds = 30;  // limit of processor time for an input
    double mebibytes = 2048;
    Seeds seeds;

    bool here() const { return rounds == 0 && seconds == 0; }
};

/// Reads the options. Ends the program with status 2 if they are wrong.
Job parse(int argc, char** argv);

/// The progress, which is stored in a file of lines `key value`.
struct State {
    std::uint64_t position = 0;
    std::uint64_t runs = 0;
    std::uint64_t findings = 0;
    double seconds = 0;  // of processor time
    double peak = 0;     // MiB
    double slowest = 0;
    std::string slowestName = "-";

    static State read(const std::string& path);
    void write(const std::string& path) const;
};

}  // namespace mpm::fuzz
