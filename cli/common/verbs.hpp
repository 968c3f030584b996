// The verbs of `mpm`. Each function adds a subcommand; the chosen subcommand sets the action.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace mpm::cli {

/// Runs the chosen verb with its options. Returns an exit status; throws Error, or cv::Exception from the
/// library.
using Action = std::function<int()>;

void addRun(CLI::App& app, Action& action);
void addBench(CLI::App& app, Action& action);
void addEval(CLI::App& app, Action& action);
void addTune(CLI::App& app, Action& action);
void addConvert(CLI::App& app, Action& action);
void addInfo(CLI::App& app, Action& action);
void addDoctor(CLI::App& app, Action& action);

}  // namespace mpm::cli
