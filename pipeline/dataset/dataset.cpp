#include "pipeline/dataset/dataset.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include <opencv2/imgcodecs.hpp>

#include "pipeline/image/read.hpp"

namespace fs = std::filesystem;

namespace mpm::pipeline {

static bool hasImageSuffix(const fs::path& path) {
    std::string suffix = path.extension().string();
    std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    static const std::vector<std::string> known{".jpg", ".jpeg", ".png", ".bmp",
                                                ".tif", ".tiff", ".ppm", ".webp"};
    return std::find(known.begin(), known.end(), suffix) != known.end();
}

static std::map<std::string, std::string> imagesIn(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
        CV_Error(cv::Error::StsObjectNotFound, "data set folder " + folder.string() + " is missing");
    }
    std::map<std::string, std::string> byStem;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (!entry.is_regular_file() || !hasImageSuffix(entry.path())) continue;
        const auto [known, isNew] = byStem.emplace(entry.path().stem().string(), entry.path().string());
        if (!isNew) {
            CV_Error(cv::Error::StsBadArg, known->second + " and " + entry.path().string() +
                                               " have the same name up to the suffix; remove one of them");
        }
    }
    return byStem;
}

FolderDataset::FolderDataset(const std::string& root, const std::string& split, Classes classes)
    : m_classes(std::move(classes)) {
    const fs::path folder = fs::path(root) / split;
    const auto images = imagesIn(folder / "images");
    const auto labels = imagesIn(folder / "labels");
    if (images.empty()) {
        CV_Error(cv::Error::StsObjectNotFound, "no image in " + (folder / "images").string());
    }
    for (const auto& [stem, path] : images) {
        const auto match = labels.find(stem);
        if (match == labels.end()) {
            CV_Error(cv::Error::StsObjectNotFound,
                     "image " + path + " has no labels of the same name in " + (folder / "labels").string());
        }
        m_entries.push_back({stem, path, match->second});
    }
}

FolderDataset FolderDataset::withClassFile(const std::string& root, const std::string& split) {
    return {root, split, readClasses((fs::path(root) / "classes.json").string())};
}

cv::Mat imageAt(const std::string& path, int flags) {
    try {
        return readImage(path, flags);
    } catch (const ImageError& error) {
        CV_Error(cv::Error::StsParseError, path + " cannot be read: " + error.what());
    }
}

void checkIds(const cv::Mat& labels, int classes, int ignored, const std::string& path) {
    for (int y = 0; y < labels.rows; ++y)
        for (int x = 0; x < labels.cols; ++x) {
            const int id = labels.depth() == CV_8U ? labels.at<uchar>(y, x) : labels.at<ushort>(y, x);
            if (id < classes || id == ignored) continue;
            CV_Error(cv::Error::StsOutOfRange, path + ": id " + std::to_string(id) + " has no class (" +
                                                   std::to_string(classes) + " classes, ignored " +
                                                   std::to_string(ignored) + ")");
        }
}

Sample FolderDataset::at(size_t index) const {
    const Entry& entry = m_entries.at(index);
    Sample sample{imageAt(entry.image, cv::IMREAD_COLOR), labelsAt(index), entry.name};
    if (sample.labels.size() != sample.image.size()) {
        CV_Error(cv::Error::StsUnmatchedSizes, entry.labels + " does not have the size of the image");
    }
    return sample;
}

cv::Mat FolderDataset::labelsAt(size_t index) const {
    const std::string& path = m_entries.at(index).labels;
    cv::Mat labels = imageAt(path, cv::IMREAD_UNCHANGED);
    if (labels.empty() || (labels.type() != CV_8UC1 && labels.type() != CV_16UC1))
        CV_Error(cv::Error::StsParseError, path + " must be an image of one 8- or 16-bit channel of ids");
    checkIds(labels, m_classes.count(), m_classes.ignored, path);
    return labels;
}

}  // namespace mpm::pipeline
