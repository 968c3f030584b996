// The subcommands of mpm-models. Each function adds a subcommand and options to the parser.
#pragma once

#include <CLI/CLI.hpp>

#include "models/torch/data/batches.hpp"
#include "models/torch/model/reducer.hpp"

namespace mpm::models {

void addTrain(CLI::App& app);
void addEval(CLI::App& app);
void addExport(CLI::App& app);
void addImport(CLI::App& app);
void addMean(CLI::App& app);
void addPolicy(CLI::App& app);
void addScene(CLI::App& app);

inline void addNightOption(CLI::App& verb, AugmentOptions& augment) {
    const auto take = [&augment](const std::vector<double>& values) {
        const size_t count = values.size(), first = count == 4 ? 1 : 0;  // of L,P,S
        const bool known = count == 1 || ((count == 3 || count == 4) && values[first] >= 0 &&
                                          values[first + 1] > 0 && values[first + 2] >= 0);
        if (!known)
            throw CLI::ValidationError(
                "--night", "write a share of images, L,P,S as 0.35,250,0.01, or both as 0.5,0.35,250,0.01");
        if (count != 3) augment.night = values[0];
        if (count != 1)
            augment.fixedNight = street::NightParameters{values[first], values[first + 1], values[first + 2]};
    };
    verb.add_option_function<std::vector<double>>(
            "--night", take,
            "share of images at simulated night; its luminance, photons and deviation (default: random); or "
            "all four")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("SHARE|L,P,S|SHARE,L,P,S")
        ->default_str("0.15");
}

inline void addBatchOptions(CLI::App& verb, BatchSource::Options& data) {
    addNightOption(verb, data.augment);
    verb.add_option("--colour", data.augment.colour, "strength of colour changes")->capture_default_str();
    verb.add_option("--scene", data.scene, "share of images from the built-in street")->capture_default_str();
    verb.add_option("--streets", data.streets, "different built-in streets")->capture_default_str();
    verb.add_option("--batch", data.batch, "images in a batch")
        ->check(CLI::Range(1, 1'000'000'000))
        ->capture_default_str();
    verb.add_option("--seed", data.seed, "seed of weights and batches")->capture_default_str();
}

/// Sets the sizes in `data`. `size`: height and width of the model. `crop`: height and width of crops.
/// `scale`: lowest and highest scale of crops.
inline void setSizes(BatchSource::Options& data, const std::vector<int>& size, const std::vector<int>& crop,
                     const std::vector<double>& scale) {
    data.sceneSize = {size[1], size[0]};
    data.augment.height = crop[0];
    data.augment.width = crop[1];
    data.augment.modelHeight = size[0];
    data.augment.scaleLow = scale[0];
    data.augment.scaleHigh = scale[1];
}

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
