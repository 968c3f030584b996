#include "models/torch/folder.hpp"

namespace mpm::models {

pipeline::Classes classesOf(const std::string& preset, const std::string& root) {
    if (preset == "camvid") return pipeline::camvidClasses();
    if (preset == "folder") return pipeline::readClasses(root + "/classes.json");
    CV_Error(cv::Error::StsBadArg, "--dataset " + preset + ": expected camvid or folder");
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

}  // namespace mpm::models
