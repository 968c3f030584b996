#include "pipeline/dataset/layouts.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include <opencv2/imgcodecs.hpp>

#include "base/read_file.hpp"
#include "pipeline/dataset/dataset.hpp"

namespace fs = std::filesystem;

namespace mpm::pipeline {

namespace {

constexpr std::uint64_t kMostListBytes = 64 << 20;

/// The 19 label ids of Cityscapes that are measured; all other ids are ignored.
const std::array<int, 19> kCityscapesIds = {7,  8,  11, 12, 13, 17, 19, 20, 21, 22,
                                            23, 24, 25, 26, 27, 28, 31, 32, 33};
const std::vector<std::string> kCityscapesNames = {
    "road",         "sidewalk",   "building", "wall",       "fence",  "pole",  "traffic light",
    "traffic sign", "vegetation", "terrain",  "sky",        "person", "rider", "car",
    "truck",        "bus",        "train",    "motorcycle", "bicycle"};

/// Returns the sorted paths of the files in `folder`, at any depth, whose names end with `ending`.
std::vector<fs::path> filesEnding(const fs::path& folder, const std::string& ending) {
    std::error_code error;
    if (!fs::is_directory(folder, error))
        CV_Error(cv::Error::StsObjectNotFound, "data set folder " + folder.string() + " is missing");
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        const bool ends = name.size() >= ending.size() &&
                          name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
        if (ends && entry.is_regular_file()) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    if (found.empty())
        CV_Error(cv::Error::StsObjectNotFound, "no image *" + ending + " in " + folder.string());
    return found;
}

cv::Mat cityscapesTrainIds(const cv::Mat& labels) {
    cv::Mat table(1, 256, CV_8U, cv::Scalar(255)), ids;
    for (size_t id = 0; id < kCityscapesIds.size(); ++id)
        table.at<uchar>(kCityscapesIds[id]) = static_cast<uchar>(id);
    cv::LUT(labels, table, ids);
    return ids;
}

/// Maps ids 1..254 to 0..253, and ids 0 and 255 to 255 (ignored).
cv::Mat reduceZero(const cv::Mat& labels) {
    cv::Mat table(1, 256, CV_8U), ids;
    for (int id = 0; id < 256; ++id)
        table.at<uchar>(id) = static_cast<uchar>(id == 0 ? 255 : id == 255 ? 255 : id - 1);
    cv::LUT(labels, table, ids);
    return ids;
}

}  // namespace

Layout layoutFrom(const std::string& name) {
    if (name == "camvid") return Layout::CamVid;
    if (name == "ade20k") return Layout::Ade20k;
    if (name == "cityscapes") return Layout::Cityscapes;
    if (name == "pascal-context") return Layout::PascalContext;
    if (name == "folder") return Layout::Folder;
    CV_Error(cv::Error::StsBadArg, "data set \"" + name +
                                       "\" is not known; choose camvid, ade20k, cityscapes, "
                                       "pascal-context or folder");
}

LayoutProtocol protocolOf(Layout layout) {
    switch (layout) {
        case Layout::Ade20k:
            return {512, 0};
        case Layout::Cityscapes:
            return {0, 512};
        case Layout::PascalContext:
            return {520, 320};
        default:
            return {-1, 0};
    }
}

LabelledSet::LabelledSet(Layout layout, const std::string& root, const std::string& split, int modelClasses)
    : m_layout(layout) {
    switch (layout) {
        case Layout::CamVid:
        case Layout::Folder:
            listFolder(root, split);
            break;
        case Layout::Ade20k:
            listAde20k(root, split);
            break;
        case Layout::Cityscapes:
            listCityscapes(root, split);
            break;
        case Layout::PascalContext:
            // The 59 classes do not include the background.
            m_zeroIsNothing = modelClasses == 59;
            m_classes = m_zeroIsNothing ? 59 : 60;
            listPascalContext(root, split);
            break;
    }
}

void LabelledSet::listFolder(const std::string& root, const std::string& split) {
    const fs::path base(root);
    const Classes classes = m_layout == Layout::CamVid ? camvidClasses() : readClasses(base / "classes.json");
    m_classes = classes.count();
    m_ignored = classes.ignored;
    m_names = classes.names;
    // Uses FolderDataset only to list and pair files; LabelledSet::at() reads and checks the files.
    const FolderDataset pairs(root, split, classes);
    for (size_t i = 0; i < pairs.size(); ++i)
        m_entries.push_back({pairs.name(i), pairs.imagePath(i), pairs.labelsPath(i)});
}

void LabelledSet::listAde20k(const std::string& root, const std::string& split) {
    m_classes = 150;
    m_zeroIsNothing = true;
    const std::string folder = split == "val" ? "validation" : split == "train" ? "training" : split;
    for (const fs::path& image : filesEnding(fs::path(root) / "images" / folder, ".jpg")) {
        const std::string stem = image.stem();
        m_entries.push_back({stem, image, fs::path(root) / "annotations" / folder / (stem + ".png")});
    }
}

void LabelledSet::listCityscapes(const std::string& root, const std::string& split) {
    m_classes = 19;
    m_names = kCityscapesNames;
    const std::string ending = "_leftImg8bit.png";
    for (const fs::path& image : filesEnding(fs::path(root) / "leftImg8bit" / split, ending)) {
        const std::string file = image.filename();
        const std::string stem = file.substr(0, file.size() - ending.size());
        const fs::path city = image.parent_path().filename();
        m_entries.push_back(
            {stem, image, fs::path(root) / "gtFine" / split / city / (stem + "_gtFine_labelIds.png")});
    }
}

void LabelledSet::listPascalContext(const std::string& root, const std::string& split) {
    const fs::path list = fs::path(root) / "ImageSets" / "SegmentationContext" / (split + ".txt");
    std::istringstream file;
    try {
        file.str(readRegularFile(list.string(), kMostListBytes));
    } catch (const cv::Exception& error) {
        CV_Error(cv::Error::StsObjectNotFound, "list of images " + error.err);
    }
    for (std::string stem; file >> stem;)
        m_entries.push_back({stem, fs::path(root) / "JPEGImages" / (stem + ".jpg"),
                             fs::path(root) / "SegmentationClassContext" / (stem + ".png")});
    if (m_entries.empty())
        CV_Error(cv::Error::StsParseError, "list of images " + list.string() + " is empty");
}

Sample LabelledSet::at(size_t index) const {
    const Entry& entry = m_entries.at(index);
    Sample sample{imageAt(entry.image, cv::IMREAD_COLOR), imageAt(entry.labels, cv::IMREAD_UNCHANGED),
                  entry.name};
    const bool wide = m_layout == Layout::Folder && sample.labels.type() == CV_16UC1;
    if (sample.labels.empty() || (sample.labels.type() != CV_8UC1 && !wide))
        CV_Error(cv::Error::StsParseError,
                 entry.labels + " is missing or is not an image of ids with one channel");
    if (sample.labels.size() != sample.image.size())
        CV_Error(cv::Error::StsUnmatchedSizes, entry.labels + " does not have the size of the image");
    if (m_zeroIsNothing) sample.labels = reduceZero(sample.labels);
    if (m_layout == Layout::Cityscapes) sample.labels = cityscapesTrainIds(sample.labels);
    checkIds(sample.labels, m_classes, m_ignored, entry.labels);
    return sample;
}

}  // namespace mpm::pipeline
