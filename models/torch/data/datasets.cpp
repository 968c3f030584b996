#include "models/torch/data/datasets.hpp"

#include <cstdio>

#include "models/torch/data/boxes.hpp"
#include "pipeline/dataset/classes.hpp"
#include "street/street.hpp"

namespace mpm::models {

pipeline::Classes classesOf(const std::string& preset, const std::string& root) {
    if (preset == "camvid" || preset == "scene") return pipeline::camvidClasses();
    if (preset == "folder") return pipeline::readClasses(root + "/classes.json");
    if (preset == "boxes") {
        const auto colours = pipeline::builtInClasses("ade20k")->palette;
        pipeline::Classes classes;
        classes.names = readBoxClasses(root);
        for (size_t id = 0; id < classes.names.size(); ++id)
            classes.palette.push_back(colours[id % colours.size()]);
        return classes;
    }
    if (const auto classes = pipeline::builtInClasses(preset)) return *classes;
    CV_Error(cv::Error::StsBadArg,
             "--dataset " + preset +
                 ": expected camvid, folder, boxes, scene, ade20k, cityscapes or pascal-context");
}

std::vector<pipeline::Sample> readAll(const std::string& root, const std::string& split,
                                      const pipeline::Classes& classes) {
    const pipeline::FolderDataset dataset(root, split, classes);
    std::vector<pipeline::Sample> samples;
    for (size_t i = 0; i < dataset.size(); ++i) {
        samples.push_back(dataset.at(i));
        if (samples.back().labels.type() != CV_8U) {
            CV_Error(cv::Error::StsUnsupportedFormat, dataset.name(i) + ": training needs 8-bit labels");
        }
    }
    return samples;
}

pipeline::Sample sceneFrame(int number, cv::Size size, int seed) {
    constexpr int64_t kOfASeed = 1'000'000;
    // Training hashes seeds to 64 bits, so training practically never uses these small seeds.
    const auto streetSeed = static_cast<uint64_t>((int64_t{seed} - 1) * kOfASeed + number + 1);
    const auto frame = street::Street(size, streetSeed).at(8 + 0.05 * (number % 200), 3.7 * number);
    char name[32];
    std::snprintf(name, sizeof name, "scene%04d", number);
    return {frame.image, frame.labels, name};
}

}  // namespace mpm::models
