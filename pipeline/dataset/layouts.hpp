// Reads images and labels of published data sets. Converts labels to consecutive ids.
#pragma once

#include <string>
#include <vector>

#include "pipeline/dataset/dataset.hpp"

namespace mpm::pipeline {

enum class Layout { CamVid, Ade20k, Cityscapes, PascalContext, Folder };

/// `name`: camvid, ade20k, cityscapes, pascal-context or folder. Throws cv::Exception for any other name.
Layout layoutFrom(const std::string& name);

/// The sizes that mmsegmentation uses to evaluate a data set, in pixels.
struct LayoutProtocol {
    int shortSide = 0;  ///< short side of scaled images; 0: no scaling; -1: short side of the model's input
    int stride = 0;     ///< distance between sliding windows; 0: the window's width
};
LayoutProtocol protocolOf(Layout layout);

class LabelledSet {
public:
    /// Lists a split. `modelClasses`: the model's number of classes, which for Pascal Context selects ids for
    /// 59 or 60 classes. Throws cv::Exception if there are no images.
    LabelledSet(Layout layout, const std::string& root, const std::string& split, int modelClasses);

    size_t size() const { return m_entries.size(); }
    int classes() const { return m_classes; }
    int ignored() const { return m_ignored; }
    const std::vector<std::string>& classNames() const { return m_names; }  ///< empty if the layout has none
    const std::string& name(size_t index) const { return m_entries.at(index).name; }

    /// Reads an image and its labels. Throws cv::Exception if either cannot be used.
    Sample at(size_t index) const;

private:
    struct Entry {
        std::string name, image, labels;
    };
    void listFolder(const std::string& root, const std::string& split);
    void listAde20k(const std::string& root, const std::string& split);
    void listCityscapes(const std::string& root, const std::string& split);
    void listPascalContext(const std::string& root, const std::string& split);

    Layout m_layout;
    int m_classes = 0, m_ignored = 255;
    bool m_zeroIsNothing = false;  ///< whether ids in the files begin at 1, and 0 is ignored
    std::vector<std::string> m_names;
    std::vector<Entry> m_entries;
};

}  // namespace mpm::pipeline
