// Chains: where a network does something between two groups of an encoder's blocks, each group is an
// MpmEncoder of its own, a segment. All segments share one control, so one schedule and one report.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/config.hpp"

namespace mpm {

/// Which blocks of a chain are there. An encoder that is in no chain is its only segment.
class Segments {
public:
    explicit Segments(const EncoderConfig& first);

    /// Whether a segment that is read next belongs to this chain, not to one of the same name in another
    /// network.
    bool takes(const EncoderConfig& next) const;
    void add(const EncoderConfig& next);

    int count() const { return static_cast<int>(m_ranges.size()); }
    /// Of all segments.
    const std::vector<int>& schedule() const { return m_schedule; }
    /// Throws where the segments do not cover the chain or overlap.
    void check() const;

private:
    struct Range {
        int first, last;
    };

    std::string m_chain;
    int m_chainBlocks;
    std::vector<Range> m_ranges;  ///< by their first blocks
    std::vector<int> m_schedule;
};

class EncoderControl;

/// The control of a new encoder: that of its chain where the calling thread has just read other segments of
/// it, else one of its own. That of a decoder follows the backbone that the thread has read last.
std::shared_ptr<EncoderControl> makeControl(const EncoderConfig& config);

/// Held by an operator beside an encoder, so that it multiplies alike.
class NearbyBackbone {
public:
    /// The one that the calling thread reads next.
    static NearbyBackbone behind();
    /// The one that the calling thread has read last.
    static NearbyBackbone before();

    /// F32 unless the backbone runs on the processor in another precision.
    Precision precision() const;

private:
    using Control = std::weak_ptr<const EncoderControl>;
    explicit NearbyBackbone(Control control) : m_control(std::make_shared<Control>(std::move(control))) {}

    std::shared_ptr<Control> m_control;
};

/// Ids by representative, from left to right, in every stage. The rows of algm's clusters and of imposed maps
/// have another order.
void numberByRepresentative(ImageReport& image);

/// Adds the report of a segment to that of the segments before it. Its map is a stage of its own only if it
/// is not their result.
void extendReport(Report& whole, const EncoderConfig& segment, Report part);

}  // namespace mpm
