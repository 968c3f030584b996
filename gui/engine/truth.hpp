// Labels for a folder of images in a data set: ROOT/SPLIT/images, with ROOT/SPLIT/labels and
// ROOT/classes.json, as for `mpm eval --dataset folder`.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "gui/engine/analysis.hpp"
#include "pipeline/dataset/dataset.hpp"

namespace mpm::gui {

class TruthFolder {
public:
    /// Returns the labels for the folder `images`; null if the folder is not part of a data set with labels.
    static std::unique_ptr<TruthFolder> beside(const std::string& images);

    /// Returns the labels of an image; empty if it has no usable labels. `stem`: file name without extension.
    Truth of(const std::string& stem) const;

private:
    explicit TruthFolder(pipeline::FolderDataset set);

    pipeline::FolderDataset m_set;
    std::map<std::string, std::size_t> m_indices;
};

}  // namespace mpm::gui
