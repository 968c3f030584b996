// A model and its settings behind mpm.Model: images in, results out, one thread at a time.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/segment/network.hpp"

namespace mpm::python {

/// Milliseconds. Those of the network and the encoder are of the whole batch.
struct ResultTimes {
    double prepare = 0, network = 0, labels = 0, encoder = 0, merge = 0, restore = 0;
};

struct Result {
    cv::Mat labels;    ///< CV_8U or CV_16U ids, of the image's size; empty where the model has no classes
    cv::Mat features;  ///< the network's output for this image
    mpm::ImageReport tokens;
    cv::Size grid;  ///< image tokens across and down
    ResultTimes times;
    std::string device, precision;
    std::vector<std::string> classes;
    std::vector<cv::Vec3b> palette;  ///< of all classes

    /// The colours of the classes over the image; where the model has none, the clusters.
    cv::Mat overlay(const cv::Mat& image) const;
};

class Segmenter {
public:
    /// Throws pipeline::ModelError.
    Segmenter(const std::string& model, cv::Size size);

    std::vector<Result> run(const std::vector<cv::Mat>& images);

    /// Calls `body` with the network, when no other thread uses it.
    template <class Body>
    auto with(const Body& body) {
        const std::lock_guard<std::mutex> lock(m_guard);
        return body(m_network);
    }
    const mpm::ModelInfo& info() const { return m_network.info(); }
    const std::string& path() const { return m_network.name(); }

    std::string precision = "f32", device = "auto", reuse = "off";  ///< as they were set

private:
    Result resultOf(const cv::Mat& output, int index, const cv::Mat& image, const mpm::Report& report);

    std::mutex m_guard;
    pipeline::Network m_network;
};

}  // namespace mpm::python
