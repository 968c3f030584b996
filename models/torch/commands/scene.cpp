#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>

#include "base/private_files.hpp"
#include "models/torch/commands/commands.hpp"
#include "models/torch/data/datasets.hpp"
#include "street/street.hpp"

namespace fs = std::filesystem;

namespace mpm::models {
namespace {

struct SceneArguments {
    std::string root, split = "val";
    std::string clip;  ///< empty: a new street for each frame
    int frames = 200, seed = 1;
    double rate = 5;
    std::vector<int> size{480, 640};
};

void write(const fs::path& path, const cv::Mat& image) {
    std::vector<uchar> bytes;
    if (!cv::imencode(path.extension().string(), image, bytes))
        CV_Error(cv::Error::StsError, path.string() + " cannot be written");
    writeAtomically(path.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                    Access::Umask);
}

// Consecutive frames of a fixed camera in the same street.
pipeline::Sample clipFrame(street::Clip& clip, const SceneArguments& a, int number) {
    const street::StreetFrame seen = clip.frame(number);
    char name[32];
    std::snprintf(name, sizeof name, "%s%06d", a.clip.c_str(), number);
    return {seen.image, seen.labels, name};
}

void runScene(const SceneArguments& a) {
    std::optional<street::Clip> clip;
    if (!a.clip.empty())
        clip.emplace(cv::Size(a.size[1], a.size[0]), street::clipLight(a.clip), a.rate, a.seed);
    const fs::path folder = fs::path(a.root) / a.split;
    makeFolders((folder / "images").string(), Access::Umask);
    makeFolders((folder / "labels").string(), Access::Umask);
    for (int i = 0; i < a.frames; ++i) {
        const auto frame = clip ? clipFrame(*clip, a, i) : sceneFrame(i, {a.size[1], a.size[0]});
        write(folder / "images" / (frame.name + ".png"), frame.image);
        write(folder / "labels" / (frame.name + ".png"), frame.labels);
    }
    const auto classes = classesOf("scene", "");
    auto list = nlohmann::json::array();
    for (int id = 0; id < classes.count(); ++id) {
        const auto& colour = classes.palette[id];
        list.push_back({{"name", classes.names[id]}, {"color", {colour[0], colour[1], colour[2]}}});
    }
    writeAtomically((fs::path(a.root) / "classes.json").string(), list.dump(1) + '\n', Access::Umask);
    std::printf("%s: %d frames\n", folder.c_str(), a.frames);
}

}  // namespace

void addScene(CLI::App& app) {
    auto* verb =
        app.add_subcommand("scene", "write frames of the built-in street as a data set (--dataset folder)");
    auto a = std::make_shared<SceneArguments>();
    verb->add_option("folder", a->root, "folder for SPLIT/images, SPLIT/labels and classes.json")->required();
    verb->add_option("--split", a->split)->capture_default_str();
    verb->add_option("--frames", a->frames,
                     "number of frames, each of its own street, with seeds that training never uses")
        ->capture_default_str();
    verb->add_option("--clip", a->clip, "day, dusk or night: a clip of one street, frame after frame")
        ->check(CLI::IsMember({"day", "dusk", "night"}));
    verb->add_option("--rate", a->rate, "of a clip: frames a second")
        ->check(CLI::Range(0.01, 1000.0))
        ->capture_default_str();
    verb->add_option("--seed", a->seed, "of a clip: which street")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    verb->add_option("--size", a->size, "height and width")->expected(2)->capture_default_str();
    verb->callback([a] { runScene(*a); });
}

}  // namespace mpm::models
