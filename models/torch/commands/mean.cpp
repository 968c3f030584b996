#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "models/torch/commands/commands.hpp"
#include "models/torch/train/checkpoint.hpp"

namespace mpm::models {

void addMean(CLI::App& app) {
    struct Arguments {
        std::vector<std::string> weights;
        std::string output;
    };
    auto* verb = app.add_subcommand(
        "mean", "average weights that were trained from one another; the mean is often better than each");
    auto a = std::make_shared<Arguments>();
    verb->add_option("weights", a->weights, "two or more best.pt or checkpoint.pt")
        ->required()
        ->expected(2, -1)
        ->check(CLI::ExistingFile);
    verb->add_option("--out", a->output, "file of weights")->required();
    verb->callback([a] {
        auto model = loadMean(a->weights);
        saveModel(a->output, model);
        std::fprintf(stderr, "%s: the mean of %zu\n", a->output.c_str(), a->weights.size());
    });
}

}  // namespace mpm::models
