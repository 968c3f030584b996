// Labelled images in folders: ROOT/SPLIT/images and ROOT/SPLIT/labels, paired by file stem.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "pipeline/dataset/classes.hpp"

namespace mpm::pipeline {

struct Sample {
    cv::Mat image;     ///< CV_8UC3, BGR
    cv::Mat labels;    ///< CV_8U or CV_16U ids, of the image's size
    std::string name;  ///< file stem
};

class FolderDataset {
public:
    /// Lists the split and throws cv::Exception if a folder is missing, empty, or an image has no labels.
    FolderDataset(const std::string& root, const std::string& split, Classes classes);

    /// Classes of ROOT/classes.json, 255 being ignored.
    static FolderDataset withClassFile(const std::string& root, const std::string& split);

    size_t size() const { return m_entries.size(); }
    const Classes& classes() const { return m_classes; }
    const std::string& name(size_t index) const { return m_entries.at(index).name; }
    const std::string& imagePath(size_t index) const { return m_entries.at(index).image; }
    const std::string& labelsPath(size_t index) const { return m_entries.at(index).labels; }

    /// Reads a pair; throws cv::Exception if it is damaged, sizes differ or an id has no class.
    Sample at(size_t index) const;
    /// Without the image, whose size they may not have.
    cv::Mat labelsAt(size_t index) const;

private:
    struct Entry {
        std::string name, image, labels;
    };
    Classes m_classes;
    std::vector<Entry> m_entries;
};

/// As readImage(); throws cv::Exception that names the path.
cv::Mat imageAt(const std::string& path, int flags);

/// Throws cv::Exception that names the path if a label (CV_8U or CV_16U) is neither a class nor ignored.
void checkIds(const cv::Mat& labels, int classes, int ignored, const std::string& path);

}  // namespace mpm::pipeline
