// The choice of a reducer on the command line.
#pragma once

#include <CLI/CLI.hpp>

#include "models/torch/model/reducer.hpp"

namespace mpm::models {

inline void addReducerOptions(CLI::App& verb, ReducerSettings& settings, const char* blocks) {
    verb.add_option(blocks, settings.schedule, "blocks mpm merges before, 2,5 say")->delimiter(',');
    verb.add_option("--method", settings.method, "what reduces tokens")
        ->check(CLI::IsMember({"mpm", "tome", "algm", "none"}))
        ->capture_default_str();
    verb.add_option("--r", settings.edges, "of tome: tokens that leave in each block")->capture_default_str();
    verb.add_option("--tau", settings.threshold, "of algm: similarity from which a window merges")
        ->capture_default_str();
}

}  // namespace mpm::models
