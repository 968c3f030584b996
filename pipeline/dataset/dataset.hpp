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
    /// Lists the split. Throws cv::Exception if a folder is missing or empty, or an image has no labels.
    FolderDataset(const std::string& root, const std::string& split, Classes classes);

    /// Reads the classes from ROOT/classes.json; id 255 is ignored.
    static FolderDataset withClassFile(const std::string& root, const std::string& split);

    size_t size() const { return m_entries.size(); }
    const Classes& classes() const { return m_classes; }
    const std::string& name(size_t index) const { return m_entries.at(index).name; }
    const std::string& imagePath(size_t index) const { return m_entries.at(index).image; }
    const std::string& labelsPath(size_t index) const { return m_entries.at(index).labels; }

    /// Reads a sample. Throws cv::Exception if a file is damaged, sizes differ or an id has no class.
    Sample at(size_t index) const;
    /// Reads only the labels, so does not check that the image has the same size.
    cv::Mat labelsAt(size_t index) const;

private:
    struct Entry {
        std::string name, image, labels;
    };
    Classes m_classes;
    std::vector<Entry> m_entries;
};

/// Calls readImage(). If the image cannot be read, throws a cv::Exception that names the path.
cv::Mat imageAt(const std::string& path, int flags);

/// Throws a cv::Exception that names `path` if an id in `labels` (CV_8U or CV_16U) is neither a class nor
/// ignored.
void checkIds(const cv::Mat& labels, int classes, int ignored, const std::string& path);

}  // namespace mpm::pipeline
