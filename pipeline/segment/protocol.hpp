// Segments by mmsegmentation's single-scale protocol: scale the image, slide a window, average the logits.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "pipeline/segment/network.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace mpm::pipeline {

struct Protocol {
    int shortSide = 0;  ///< length of the short side after scaling; 0: no scaling
    cv::Size stride;    ///< distance between windows of the model's input size; empty: the window's size
    /// True if the images are frames of a camera. Each window is then a separate stream for reuse, and the
    /// batch must be 1.
    bool frames = false;
};

/// Returns windows that cover `image`, at distances of `stride`. The last window of a row or column ends at
/// the border, so the distance before this window may be smaller. If the window is larger than the image, the
/// window starts at 0 and extends past the border.
std::vector<cv::Rect> slidingWindows(cv::Size image, cv::Size window, cv::Size stride);

cv::Size scaledSize(cv::Size image, int shortSide);

/// The place of a window in an image. `scaled`: size of the image after scaling.
struct WindowPlace {
    size_t image;
    int number;  ///< index among the windows of the image
    cv::Rect place;
    cv::Size scaled;
};

struct ProtocolResult {
    cv::Mat labels;                         ///< CV_8U or CV_16U, of the image's size
    std::vector<mpm::ImageReport> windows;  ///< a report for each window
};

/// Milliseconds of the network and of the encoder, and the number of windows (`images`).
struct ProtocolTimes {
    std::int64_t images = 0;
    double network = 0, encoder = 0, merge = 0, restore = 0;
};

class ProtocolSegmenter {
public:
    ProtocolSegmenter(Network& network, const Protocol& protocol, int batch);

    using Prepare = std::function<void(const std::vector<WindowPlace>&)>;
    /// Segments images. Each forward computes `batch` windows, perhaps of several images; copies of the last
    /// window fill up the last batch. Calls `prepare` before each forward with the windows of the batch.
    std::vector<ProtocolResult> segment(const std::vector<cv::Mat>& images, const Prepare& prepare = {});

    /// Returns the times since the previous call.
    ProtocolTimes takeTimes() { return std::exchange(m_times, {}); }

private:
    struct Window;
    struct Canvas;
    void forward(const std::vector<Window>& windows, std::vector<Canvas>& canvases,
                 std::vector<ProtocolResult>& results, const Prepare& prepare);

    Network& m_network;
    Protocol m_protocol;
    int m_batch;
    ProtocolTimes m_times;
};

class WindowSegmenter {
public:
    /// Slides a window of the model's input size over images, by `stride` pixels, and averages logits if
    /// windows overlap. The network must outlive this object.
    WindowSegmenter(Network& network, cv::Size stride);

    /// Segments an image. The tokens, stages and times in the result are sums over the windows.
    Segmentation segment(const cv::Mat& image);

private:
    Network& m_network;
    cv::Size m_stride;
    ProtocolSegmenter m_protocol;
};

}  // namespace mpm::pipeline
