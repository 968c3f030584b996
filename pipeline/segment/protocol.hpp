// Labels by the single-scale protocol of mmsegmentation: resize by the short side, slide a window, average
// logits.
#pragma once

#include <vector>

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

struct Protocol {
    int shortSide = 0;  ///< pictures are scaled to it, keeping their shape; 0: as they are
    cv::Size stride;    ///< of the window, which is the model's input; empty: the window itself
};

/// Windows that cover `picture`: a stride apart, the last of a row or column moved back to end at the border.
/// A window larger than the picture begins at 0 and reaches over its end.
std::vector<cv::Rect> slidingWindows(cv::Size picture, cv::Size window, cv::Size stride);

/// `picture` scaled so that its shorter side is `shortSide`.
cv::Size scaledSize(cv::Size picture, int shortSide);

struct ProtocolResult {
    cv::Mat labels;                         ///< CV_8U or CV_16U, of the picture's own size
    std::vector<mpm::ImageReport> windows;  ///< one each
};

class ProtocolSegmenter {
public:
    ProtocolSegmenter(Network& network, const Protocol& protocol, int batch);

    /// Windows of all the pictures go through the network `batch` at a time.
    std::vector<ProtocolResult> segment(const std::vector<cv::Mat>& pictures);

    /// Milliseconds in the network and images through it, since the beginning.
    double networkMs() const { return m_networkMs; }
    std::int64_t images() const { return m_images; }

private:
    struct Window;
    struct Canvas;
    void forward(const std::vector<Window>& windows, std::vector<Canvas>& canvases,
                 std::vector<ProtocolResult>& results);

    Network& m_network;
    Protocol m_protocol;
    int m_batch;
    double m_networkMs = 0;
    std::int64_t m_images = 0;
};

}  // namespace mpm::pipeline
