// A detector with reuse beside all tokens on the same frames, its parts, and another engine.
#pragma once

#include "bench/reuse/clips.hpp"
#include "bench/reuse/lines.hpp"
#include "pipeline/segment/flops.hpp"

namespace mpm::bench {

class DetectorBench {
public:
    DetectorBench(std::string model, std::string precision, Precision value, const std::string& reuse);

    /// Before any thread.
    void measureMemory(const cv::Mat& image, Lines& lines) const;
    /// Prints a line for each bar, and the parts of a frame. An empty `peer` is none.
    void measure(const Clip& clip, const pipeline::ModelCost& cost, const std::string& peer,
                 Lines& lines) const;

private:
    struct Score {
        double whole = 0, encoder = 0, operations = 0, recomputed = 0;
    };

    pipeline::Network networkOf(const std::string& method) const;
    void see(pipeline::Network& network, const cv::Mat& image, const pipeline::FlopsCounter& flops,
             Score& score) const;

    std::string m_model, m_name;
    Precision m_precision;
    std::string m_reuse;
};

}  // namespace mpm::bench
