// Windows are parts of an image. Tokens merge, and in most blocks attend, only within their window.
#pragma once

#include <vector>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/config.hpp"

namespace mpm {

/// The windows of an image, in raster order; without windows, the image is a single window. At the edge of
/// the grid, a window may be incomplete: places without a token are padding.
class Windows {
public:
    /// With windows, `tokens` must fill the grid: see checkTokens() in runner.cpp.
    Windows(const EncoderConfig& config, int tokens);

    int count() const { return static_cast<int>(m_first.size()) - 1; }
    int tokens(int window) const { return m_first[window + 1] - m_first[window]; }
    /// Returns the position in the image of each token of a window, row by row.
    const int* positions(int window) const { return m_positions.data() + m_first[window]; }
    /// Returns the size of a window's grid of tokens; empty if unknown.
    cv::Size grid(int window) const;

    /// Returns the number of tokens of a complete window; 0 without windows.
    int wholeWindow() const { return m_window.area(); }
    /// Returns the place of a token in its window, counted row by row, padding included.
    int place(int position) const;
    /// Returns the places in a window that have no token.
    std::vector<int> padding(int window) const;

private:
    cv::Rect areaOf(int window) const;

    cv::Size m_grid, m_window;
    std::vector<int> m_positions, m_first;
};

/// Counts the image tokens of each window that entered each block: [block][window].
std::vector<std::vector<int>> tokensByWindow(const EncoderConfig& config, const ImageReport& image);

}  // namespace mpm
