// Measures the times of a network's parts, such as the layers before the encoder, or the encoder itself.
#pragma once

#include <string>
#include <vector>

#include <opencv2/dnn.hpp>

namespace mpm::pipeline {

/// Finds the part of a network to which each layer belongs, from data flow, not from names. Data flow shows
/// whether a layer comes before or after a segment of the encoder, and before or after a detector's selection
/// of proposals.
class LayerParts {
public:
    /// @param net must have run, because an engine may change layers at the first forward
    /// @param output the layer at which forwards end; empty: the last layer
    LayerParts(cv::dnn::Net& net, const std::string& output);

    /// Returns the parts that have layers, in the order of their first layers; nothing if the engine does not
    /// report the inputs of layers.
    const std::vector<std::string>& names() const { return m_names; }

    /// Returns the milliseconds of each part in the previous forward of `net`, which must be the
    /// constructor's network; nothing if the engine did not measure layers.
    std::vector<double> times(cv::dnn::Net& net) const;

private:
    struct Entry {
        size_t timing;  ///< index among the engine's times
        size_t part;
    };

    std::vector<std::string> m_names;
    std::vector<Entry> m_entries;
};

}  // namespace mpm::pipeline
