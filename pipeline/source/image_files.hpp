// Images on disk as a source: a file, a folder, or a glob.
#pragma once

#include "pipeline/source/source.hpp"

namespace mpm::pipeline {

class ImageFilesSource : public Source {
public:
    explicit ImageFilesSource(Address address);

    void open() override;
    bool next(Frame& frame) override;
    bool live() const override { return false; }
    std::string name() const override { return m_address.shown(); }
    std::int64_t length() const override { return static_cast<std::int64_t>(m_paths.size()); }

private:
    std::string shownPath(const std::string& path) const;

    Address m_address;
    std::vector<std::string> m_paths;
    std::vector<std::string> m_stems;  ///< file-name stems, made unique, in the order of m_paths
    size_t m_next = 0;
};

/// Whether the extension of `path` is an image format of OpenCV.
bool hasImageExtension(const std::string& path);

}  // namespace mpm::pipeline
