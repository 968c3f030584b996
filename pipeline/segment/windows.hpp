// Images larger than the model, seen piece by piece instead of shrunk.
#pragma once

#include "pipeline/segment/protocol.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace mpm::pipeline {

class WindowSegmenter {
public:
    /// The model's input slides over the image, `stride` pixels down and across at a time; logits are
    /// averaged if windows overlap. The network must outlive it.
    WindowSegmenter(Network& network, cv::Size stride);

    /// Tokens, stages and times are those of all windows together; each is in `windows` too.
    Segmentation segment(const cv::Mat& image);

private:
    Network& m_network;
    cv::Size m_stride;
    ProtocolSegmenter m_protocol;
};

}  // namespace mpm::pipeline
