// A program run once for each call of it that may fail.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mpm::test {

/// How a program ended that was run with a fault in it.
struct Ending {
    int status = -1;  ///< exit status; -1 if a signal ended it
    int signal = 0;
    bool late = false;  ///< it had to be ended
    std::string out, err;
    std::string struck;                  ///< the stack of the call that failed, by library; empty: none was
    std::map<std::string, long> counts;  ///< calls by kind; empty if the program did not end by itself
};

/// A file that a program writes. A judge decides if bytes are a complete file of the kind; without a judge
/// the bytes must equal those of the good run.
struct Written {
    std::string path;  ///< below the folder
    std::function<bool(const std::string& bytes, const std::string& good)> isWhole = {};
    bool grows = false;      ///< judged while it is not finished too: rows
    bool continues = false;  ///< appends to the existing file
};

struct Faulty {
    std::string name;
    std::vector<std::string> command;  ///< "@" is the folder the program writes to
    std::vector<Written> writes;
    /// Creates the state before the run; with `old`, files of an earlier run, which must survive a failure.
    std::function<void(const std::filesystem::path& folder, bool old)> prepare = {};
    /// Describes the fault of the present state; empty if there is none.
    std::function<std::string(const std::filesystem::path& folder, const Ending& ending)> judge = {};
    std::vector<std::string> leaves = {};       ///< beginnings of names that may be beside the files
    std::vector<std::string> environment = {};  ///< NAME=VALUE; "@" as above
    std::string prefix = "mpm: ";               ///< that complaints begin with
    bool oneLine = true;                        ///< a single complaint, and warnings
    bool failsSoftly = false;  ///< continues after some failures: `judge` decides if status 0 is right
};

/// A run in which the n-th call of a kind fails; "kind:n" or "kind:n+", empty for none.
Ending runWith(const Faulty& program, const std::string& fault, const std::filesystem::path& folder);

/// Runs the program for about `points` faults, spread over all kinds, or for each fault of the kinds in
/// MPM_FAULT_KINDS, and reports damage through GoogleTest. Returns the number of faults tried.
int tryFaults(const Faulty& program, int points);

/// How many to try: MPM_FAULT_POINTS, or so few.
int faultPoints(int few);

}  // namespace mpm::test
