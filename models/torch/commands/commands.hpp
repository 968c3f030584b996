// The subcommands of mpm-models. Each function adds a subcommand and options to the parser.
#pragma once

#include <CLI/CLI.hpp>

#include "models/torch/model/reducer.hpp"

namespace mpm::models {

void addTrain(CLI::App& app);
void addEval(CLI::App& app);
void addExport(CLI::App& app);
void addImport(CLI::App& app);
void addMean(CLI::App& app);
void addPolicy(CLI::App& app);
void addScene(CLI::App& app);

inline void addReducerOptions(CLI::App& verb, ReducerSettings& settings, const char* blocks) {
    verb.add_option(blocks, settings.schedule, "blocks before which mpm merges, such as 2,5")->delimiter(',');
    verb.add_option("--method", settings.method, "method that reduces tokens")
        ->check(CLI::IsMember({"mpm", "tome", "algm", "none"}))
        ->capture_default_str();
    verb.add_option("--r", settings.edges, "tome: tokens removed in each block")->capture_default_str();
    verb.add_option("--tau", settings.threshold, "algm: similarity from which a window merges")
        ->capture_default_str();
}

}  // namespace mpm::models
