// Chains: where a network does something between two groups of an encoder's blocks, each group is an
// MpmEncoder of its own, a segment. All segments share one control, so one schedule and one report.
#pragma once

#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/config.hpp"

namespace mpm {

/// Which blocks of a chain are there. An encoder that is in no chain is its only segment.
class Segments {
public:
    explicit Segments(const EncoderConfig& first);

    /// Whether a segment that is read next belongs to this chain, not to one of the same name in another
    /// network: a network has its segments in the order of their blocks.
    bool takes(const EncoderConfig& next) const;
    void add(const EncoderConfig& next);

    int count() const { return static_cast<int>(m_ranges.size()); }
    /// Of all segments.
    const std::vector<int>& schedule() const { return m_schedule; }
    const std::string& method() const { return m_methods.front(); }
    /// Throws if the segments do not cover the chain, overlap, or differ in method or windows.
    void check() const;

private:
    struct Range {
        int first, last;
    };

    std::string m_chain;
    int m_chainBlocks;
    std::vector<Range> m_ranges;  ///< by their first blocks
    std::vector<int> m_schedule;
    std::vector<std::string> m_methods;
    cv::Size m_window, m_grid;
    bool m_sameWindows = true;
};

/// Ids by representative, from left to right, in every stage. The rows of algm's clusters and of imposed maps
/// have another order.
void numberByRepresentative(ImageReport& image);

/// Adds the report of a segment to that of the segments before it. Its map is a stage of its own only if it
/// is not their result.
void extendReport(Report& whole, const EncoderConfig& segment, Report part);

}  // namespace mpm
