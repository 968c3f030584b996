// Runs a program many times; in each run, another system call fails.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mpm::test {

/// How a program ended in a run with a fault.
struct Ending {
    int status = -1;  ///< exit status; -1 if a signal ended the program
    int signal = 0;
    bool late = false;  ///< the program took too long and was ended
    std::string out, err;
    std::string struck;                  ///< the stack of the failed call; empty if no call failed
    std::map<std::string, long> counts;  ///< calls by kind; empty if the program did not end by itself
};

/// A file that a program writes. `isWhole` decides whether the bytes of the file are complete; `good` are the
/// bytes that a run without a fault wrote. Without `isWhole`, the bytes must equal `good`.
struct Written {
    std::string path;  ///< relative to the folder
    std::function<bool(const std::string& bytes, const std::string& good)> isWhole = {};
    bool grows = false;      ///< the program appends rows, so an unfinished file is also valid
    bool continues = false;  ///< the program appends to the existing file
};

struct Faulty {
    std::string name;
    std::vector<std::string> command;  ///< "@" is replaced by the folder for the program's files
    std::vector<Written> writes;
    /// Creates the state before the run. If `old`, there are files of an earlier run, which a failure must
    /// not damage.
    std::function<void(const std::filesystem::path& folder, bool old)> prepare = {};
    /// Checks the files after a run. Returns a description of the damage; empty if there is none.
    std::function<std::string(const std::filesystem::path& folder, const Ending& ending)> judge = {};
    std::vector<std::string> leaves = {};       ///< beginnings of the names of other files that may remain
    std::vector<std::string> environment = {};  ///< NAME=VALUE; "@" as in `command`
    std::string prefix = "mpm: ";               ///< the beginning of the program's messages
    bool oneLine = true;                        ///< a failure prints one message; warnings do not count
};

/// Runs the program with a fault: "kind:n" or "kind:n+" as in MPM_FAULT; empty for none.
Ending runWith(const Faulty& program, const std::string& fault, const std::filesystem::path& folder);

/// Runs the program once for each of about `points` faults of all kinds. If MPM_FAULT_KINDS is set, tries
/// every fault of these kinds. Reports damage through GoogleTest. Returns the number of faults tried.
int tryFaults(const Faulty& program, int points);

/// Returns how many faults to try: MPM_FAULT_POINTS if it is set, else `few`.
int faultPoints(int few);

}  // namespace mpm::test
