// Images of a source of any length, spread over it.
#pragma once

#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// Keeps at most `most` of the images it is given, at equal distances. Images of one colour show nothing and
/// are counted only.
class ImagePicker {
public:
    explicit ImagePicker(int most) : m_most(static_cast<size_t>(most)) {}

    void add(const cv::Mat& image);
    /// In an order in which any number of the first ones is spread as well.
    std::vector<cv::Mat> images() const;
    int seen() const { return m_seen; }
    int blank() const { return m_blank; }

private:
    const size_t m_most;
    std::vector<cv::Mat> m_kept;
    int m_seen = 0, m_blank = 0, m_step = 1, m_useful = 0;
};

}  // namespace mpm::pipeline
