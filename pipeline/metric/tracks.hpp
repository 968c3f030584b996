// Measures the quality of tracks against the truth, as TrackEval does: HOTA, CLEAR (MOTA) and identities
// (IDF1).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

struct TrackBox {
    int64_t id = 0;
    cv::Rect2d box;
};

/// The boxes of a sequence by frame number, in the order of the file. A frame without boxes may have no
/// entry.
using TrackFrames = std::map<int, std::vector<TrackBox>>;

constexpr int kHotaThresholds = 19;  ///< of the overlap: 0.05, 0.10, ... 0.95
using HotaCurve = std::array<double, kHotaThresholds>;

struct TrackFigures {
    double hota = 0, detA = 0, assA = 0, locA = 0, detRe = 0, detPr = 0, assRe = 0, assPr = 0;  ///< means
    double mota = 0, motp = 0, idf1 = 0, idp = 0, idr = 0;
    HotaCurve hotaAt{}, detAAt{}, assAAt{}, locAAt{}, detReAt{}, detPrAt{}, assReAt{}, assPrAt{};
    HotaCurve hotaRight{}, hotaMissed{}, hotaWrong{};  ///< numbers of boxes, for HOTA
    int64_t switches = 0, fragments = 0, mostlyTracked = 0, partlyTracked = 0, mostlyLost = 0;
    int64_t right = 0, missed = 0, wrong = 0;        ///< numbers of boxes, for MOTA
    int64_t idRight = 0, idMissed = 0, idWrong = 0;  ///< numbers of boxes, for IDF1
};

/// The counts of a sequence. combinedFigures() computes the figures of several sequences from their counts.
struct TrackCounts {
    int64_t truthBoxes = 0, trackBoxes = 0, truthIds = 0, trackIds = 0;
    HotaCurve hotaRight{}, hotaMissed{}, hotaWrong{}, assA{}, assRe{}, assPr{}, locA{};
    double overlapSum = 0;
    TrackFigures figures;  ///< of this sequence
};

/// @throws cv::Exception if a frame has an identity twice, or more than 5,000 boxes
TrackCounts trackCounts(const TrackFrames& truth, const TrackFrames& tracks);

/// Combines sequences: adds the counts of boxes, and averages the association scores. The weight of each
/// sequence is its number of correct boxes.
TrackFigures combinedFigures(const std::vector<TrackCounts>& sequences);

/// Returns min(rows, columns) pairs of a row and a column with the least total cost, sorted by row. On ties,
/// chooses the same pairs as SciPy's linear_sum_assignment, which TrackEval calls: TrackEval's figures depend
/// on the choice.
/// @param costs must be finite
std::vector<std::pair<int, int>> leastAssignment(const cv::Mat_<double>& costs);

}  // namespace mpm::pipeline
