#include <algorithm>
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
    std::vector<std::string> clip;  ///< lights, which the streets use in turn; empty: single frames
    int frames = 200, seed = 1, streets = 1;
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

/// Writes clips: consecutive frames of a fixed camera, one street after the other, with the objects in COCO's
/// format (annotations) and in MOTChallenge's format (tracks). Marks objects as ignored if they are mostly
/// hidden or very small, because a detector may find or miss such objects.
class ClipWriter {
public:
    explicit ClipWriter(const SceneArguments& a) : m_arguments(a) {}

    pipeline::Sample frame(int number) {
        const auto& a = m_arguments;
        const int street = static_cast<int>(int64_t{number} * a.streets / a.frames);
        const std::string& light = a.clip[static_cast<size_t>(street) % a.clip.size()];
        if (!m_clip || street != m_street) {
            m_clip.emplace(cv::Size(a.size[1], a.size[0]), street::clipLight(light), a.rate, a.seed + street);
            m_street = street, m_firstFrame = number, m_firstId = m_lastId;
        }
        const street::StreetFrame seen = m_clip->frame(number - m_firstFrame);
        char name[32];
        std::snprintf(name, sizeof name, "%s%06d", light.c_str(), number);
        m_images.push_back({{"id", number + 1},
                            {"file_name", std::string(name) + ".png"},
                            {"width", seen.image.cols},
                            {"height", seen.image.rows}});
        for (const street::StreetObject& one : seen.objects)
            add(number + 1, one);
        return {seen.image, seen.labels, name};
    }

    void finish(const fs::path& folder, const std::vector<std::string>& names) const {
        auto categories = nlohmann::json::array();
        for (size_t id = 0; id < names.size(); ++id)
            categories.push_back({{"id", id}, {"name", names[id]}});
        const nlohmann::json all = {
            {"images", m_images}, {"annotations", m_objects}, {"categories", categories}};
        writeAtomically((folder / "annotations.json").string(), all.dump() + '\n', Access::Umask);
        writeAtomically((folder / "tracks.txt").string(), m_tracks, Access::Umask);
    }

private:
    void add(int frame, const street::StreetObject& one) {
        const cv::Rect& b = one.box;
        const int64_t id = m_firstId + one.id;  // ids of a new street follow the ids of the previous street
        m_lastId = std::max(m_lastId, id);
        const bool ignored = one.visible < .3 || std::min(b.width, b.height) < 4;
        m_objects.push_back({{"id", m_objects.size() + 1},
                             {"image_id", frame},
                             {"category_id", one.label},
                             {"bbox", {b.x, b.y, b.width, b.height}},
                             {"area", b.area()},
                             {"iscrowd", ignored ? 1 : 0},
                             {"track_id", id}});
        for (const int64_t value : {int64_t(frame), id, int64_t(b.x), int64_t(b.y), int64_t(b.width),
                                    int64_t(b.height), int64_t(ignored ? 0 : 1), int64_t(one.label)})
            m_tracks += std::to_string(value) + ',';
        m_tracks += std::to_string(one.visible) + '\n';
    }

    const SceneArguments& m_arguments;
    std::optional<street::Clip> m_clip;
    int m_street = 0, m_firstFrame = 0;
    int64_t m_firstId = 0, m_lastId = 0;
    nlohmann::json m_images = nlohmann::json::array(), m_objects = nlohmann::json::array();
    std::string m_tracks;
};

void runScene(const SceneArguments& a) {
    std::optional<ClipWriter> clip;
    if (!a.clip.empty() && a.streets > a.frames)
        CV_Error(cv::Error::StsBadArg, "--streets is more than --frames: a street needs a frame");
    if (!a.clip.empty()) clip.emplace(a);
    const fs::path folder = fs::path(a.root) / a.split;
    makeFolders((folder / "images").string(), Access::Umask);
    makeFolders((folder / "labels").string(), Access::Umask);
    for (int i = 0; i < a.frames; ++i) {
        const auto frame = clip ? clip->frame(i) : sceneFrame(i, {a.size[1], a.size[0]}, a.seed);
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
    if (clip) clip->finish(folder, classes.names);
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
    verb->add_option(
            "--clip", a->clip,
            "a clip of one street, frame after frame, by this light or weather; with the boxes of its "
            "objects in SPLIT/annotations.json (COCO) and SPLIT/tracks.txt (MOTChallenge)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(street::clipLights()));
    verb->add_option(
            "--streets", a->streets,
            "of a clip: different streets, each with its share of the frames; several lights take turns")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    verb->add_option("--rate", a->rate, "of a clip: frames a second")
        ->check(CLI::Range(0.01, 1000.0))
        ->capture_default_str();
    verb->add_option("--seed", a->seed, "which streets; two splits need two seeds")
        ->check(CLI::Range(0, 1'000'000'000))
        ->capture_default_str();
    verb->add_option("--size", a->size, "height and width")->expected(2)->capture_default_str();
    verb->callback([a] { runScene(*a); });
}

}  // namespace mpm::models
