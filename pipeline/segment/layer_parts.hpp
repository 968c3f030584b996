// The time of a network by part: layers grouped by their place around the encoder.
#pragma once

#include <string>
#include <vector>

#include <opencv2/dnn.hpp>

namespace mpm::pipeline {

/// Layers belong together by data flow: whether they need a segment of the encoder or a detector's selection,
/// and whether these need them. Names play no role.
class LayerParts {
public:
    /// @param net has run before, since an engine may change layers at the first forward
    /// @param output the layer at which forwards end; empty: at the last layer
    LayerParts(cv::dnn::Net& net, const std::string& output);

    /// Only parts that have layers, in the order in which they begin. Empty if the engine does not show
    /// which layers read each other.
    const std::vector<std::string>& names() const { return m_names; }

    /// Milliseconds of each part in the last forward of the same network. Empty if the engine measured no
    /// layers.
    std::vector<double> times(cv::dnn::Net& net) const;

private:
    struct Entry {
        size_t timing;  ///< the place among the engine's times
        size_t part;
    };

    std::vector<std::string> m_names;
    std::vector<Entry> m_entries;
};

}  // namespace mpm::pipeline
