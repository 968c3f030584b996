// If a network has other nodes between the blocks of an encoder, each group of consecutive blocks is a
// separate MpmEncoder, called a segment. The segments form a chain. All segments of a chain share an
// EncoderControl, which has the schedule and the report.
#pragma once

#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/config.hpp"

namespace mpm {

/// Those segments of a chain that OpenCV has created so far. An encoder outside of any chain is a single
/// segment.
class Segments {
public:
    explicit Segments(const EncoderConfig& first);

    /// Returns whether `next` continues this chain. If `next` has the chain's name but does not continue the
    /// chain, `next` belongs to another network.
    bool takes(const EncoderConfig& next) const;
    void add(const EncoderConfig& next);

    int count() const { return static_cast<int>(m_ranges.size()); }
    /// Returns the union of the segments' schedules.
    const std::vector<int>& schedule() const { return m_schedule; }
    const std::string& method() const { return m_methods.front(); }
    /// Throws if the segments overlap, leave a gap in the chain, or differ in method or windows.
    void check() const;

private:
    struct Range {
        int first, last;
    };

    std::string m_chain;
    int m_chainBlocks;
    std::vector<Range> m_ranges;  ///< blocks of each segment, in the order of the first blocks
    std::vector<int> m_schedule;
    std::vector<std::string> m_methods;
    cv::Size m_window, m_grid;
    bool m_sameWindows = true;
};

/// Renumbers the clusters of every stage in the order of their representatives. During the forward, ALGM and
/// imposed maps number clusters in the order of their rows.
void numberByRepresentative(ImageReport& image);

/// Adds a segment's report to the report of the earlier segments. The segment's input map becomes a stage
/// only if this map differs from the composed map of the earlier segments.
void extendReport(Report& whole, const EncoderConfig& segment, Report part);

}  // namespace mpm
