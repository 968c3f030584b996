#include "pipeline/metric/tracks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>

namespace mpm::pipeline {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kHalf = .5;  // least overlap for MOTA and IDF1
constexpr size_t kMostBoxes = 5000;
constexpr size_t kMostPairs = size_t{1} << 22;

double hotaThreshold(int i) {
    return i * .05 + .05;
}

/// Returns the overlap. Rounds like TrackEval, because rounding decides if an overlap reaches a threshold.
double overlapOf(const cv::Rect2d& a, const cv::Rect2d& b) {
    const double right = a.x + a.width, bottom = a.y + a.height;
    const double otherRight = b.x + b.width, otherBottom = b.y + b.height;
    const double both = std::max(std::min(right, otherRight) - std::max(a.x, b.x), 0.) *
                        std::max(std::min(bottom, otherBottom) - std::max(a.y, b.y), 0.);
    const double area = (right - a.x) * (bottom - a.y);
    const double otherArea = (otherRight - b.x) * (otherBottom - b.y);
    const double either = area + otherArea - both;
    return area <= kEpsilon || otherArea <= kEpsilon || either <= kEpsilon ? 0 : both / either;
}

/// A frame with the indices of identities (see Identities).
struct Frame {
    std::vector<int> truth, tracks;
    const std::vector<TrackBox>*truthBoxes, *trackBoxes;

    /// Returns the overlaps, truth x tracks. Does not store the overlaps, to save memory.
    cv::Mat_<double> overlaps() const {
        cv::Mat_<double> all(int(truth.size()), int(tracks.size()));
        for (int i = 0; i < all.rows; ++i)
            for (int j = 0; j < all.cols; ++j)
                all(i, j) = overlapOf((*truthBoxes)[i].box, (*trackBoxes)[j].box);
        return all;
    }
};

/// Numbers the identities of a sequence from 0.
class Identities {
public:
    explicit Identities(const TrackFrames& frames) {
        for (const auto& [number, boxes] : frames)
            for (const TrackBox& box : boxes)
                m_indices.emplace(box.id, 0);
        for (auto& [id, index] : m_indices)
            index = static_cast<int>(counts.size()), counts.push_back(0);
    }
    std::vector<int> of(int number, const std::vector<TrackBox>& boxes) {
        if (boxes.size() > kMostBoxes)
            CV_Error(cv::Error::StsOutOfRange, "frame " + std::to_string(number) + " has more than " +
                                                   std::to_string(kMostBoxes) + " boxes");
        std::vector<int> indices;
        std::set<int> seen;
        for (const TrackBox& box : boxes) {
            indices.push_back(m_indices.at(box.id));
            ++counts[indices.back()];
            if (!seen.insert(indices.back()).second)
                CV_Error(cv::Error::StsOutOfRange, "frame " + std::to_string(number) + " has identity " +
                                                       std::to_string(box.id) + " twice");
        }
        return indices;
    }

    std::vector<double> counts;  ///< boxes of each identity

private:
    std::map<int64_t, int> m_indices;
};

/// Sums for pairs of a true identity and a track. Only pairs that overlap in a frame have an entry.
using PairSums = std::map<std::pair<int, int>, double>;

double& sumOf(PairSums& sums, int truth, int track) {
    double& sum = sums[{truth, track}];
    if (sums.size() > kMostPairs) CV_Error(cv::Error::StsOutOfRange, "too many pairs of identities overlap");
    return sum;
}

/// The frames of a sequence. `truth` and `tracks` must outlive this object.
struct Sequence {
    std::vector<Frame> frames;
    std::vector<double> truthCounts, trackCounts;

    Sequence(const TrackFrames& truth, const TrackFrames& tracks) {
        Identities truthIds(truth), trackIds(tracks);
        std::set<int> numbers;
        for (const TrackFrames* all : {&truth, &tracks})
            for (const auto& [number, boxes] : *all)
                numbers.insert(number);
        const auto at = [&](const TrackFrames& all, int number) -> const std::vector<TrackBox>& {
            const auto there = all.find(number);
            return there == all.end() ? m_none : there->second;
        };
        for (const int number : numbers) {
            const std::vector<TrackBox>&first = at(truth, number), &second = at(tracks, number);
            frames.push_back({truthIds.of(number, first), trackIds.of(number, second), &first, &second});
        }
        truthCounts = truthIds.counts;
        trackCounts = trackIds.counts;
    }
    double truthBoxes() const { return std::accumulate(truthCounts.begin(), truthCounts.end(), 0.); }
    double trackBoxes() const { return std::accumulate(trackCounts.begin(), trackCounts.end(), 0.); }

private:
    const std::vector<TrackBox> m_none;
};

// ---- HOTA ----

/// Returns how much each pair of a true identity and a track overlaps in the whole sequence, 0 to 1.
PairSums alignment(const Sequence& sequence) {
    PairSums sums;
    for (const Frame& frame : sequence.frames) {
        const cv::Mat_<double> overlaps = frame.overlaps();
        if (overlaps.empty()) continue;
        cv::Mat_<double> ofTrack, ofTruth;
        cv::reduce(overlaps, ofTrack, 0, cv::REDUCE_SUM);
        cv::reduce(overlaps, ofTruth, 1, cv::REDUCE_SUM);
        for (int i = 0; i < overlaps.rows; ++i)
            for (int j = 0; j < overlaps.cols; ++j) {
                const double own = overlaps(i, j), all = ofTrack(0, j) + ofTruth(i, 0) - own;
                if (own > 0 && all > kEpsilon) sumOf(sums, frame.truth[i], frame.tracks[j]) += own / all;
            }
    }
    for (auto& [pair, sum] : sums)
        sum /= sequence.truthCounts[pair.first] + sequence.trackCounts[pair.second] - sum;
    return sums;
}

void addHota(const Sequence& sequence, TrackCounts& counts) {
    const PairSums aligned = alignment(sequence);
    std::vector<PairSums> matches(kHotaThresholds);
    for (const Frame& frame : sequence.frames) {
        const cv::Mat_<double> overlaps = frame.overlaps();
        cv::Mat_<double> costs(overlaps.size(), 0.);
        for (int i = 0; i < costs.rows; ++i)
            for (int j = 0; j < costs.cols; ++j) {
                if (overlaps(i, j) <= 0) continue;
                const auto at = aligned.find({frame.truth[i], frame.tracks[j]});
                if (at != aligned.end()) costs(i, j) = -at->second * overlaps(i, j);
            }
        const std::vector<std::pair<int, int>> pairs = leastAssignment(costs);
        for (int t = 0; t < kHotaThresholds; ++t) {
            double right = 0;
            for (const auto& [i, j] : pairs) {
                if (overlaps(i, j) < hotaThreshold(t) - kEpsilon) continue;
                ++right;
                counts.locA[t] += overlaps(i, j);
                ++matches[t][{frame.truth[i], frame.tracks[j]}];
            }
            counts.hotaRight[t] += right;
            counts.hotaMissed[t] += double(frame.truth.size()) - right;
            counts.hotaWrong[t] += double(frame.tracks.size()) - right;
        }
    }
    for (int t = 0; t < kHotaThresholds; ++t) {
        for (const auto& [pair, count] : matches[t]) {
            const double truth = sequence.truthCounts[pair.first], track = sequence.trackCounts[pair.second];
            counts.assA[t] += count * count / std::max(1., truth + track - count);
            counts.assRe[t] += count * count / truth;
            counts.assPr[t] += count * count / track;
        }
        for (HotaCurve* curve : {&counts.assA, &counts.assRe, &counts.assPr})
            (*curve)[t] /= std::max(1., counts.hotaRight[t]);
        counts.locA[t] = std::max(1e-10, counts.locA[t]) / std::max(1e-10, counts.hotaRight[t]);
    }
}

double meanOf(const HotaCurve& curve) {
    return std::accumulate(curve.begin(), curve.end(), 0.) / kHotaThresholds;
}

void finishHota(const TrackCounts& counts, TrackFigures& figures) {
    for (int t = 0; t < kHotaThresholds; ++t) {
        const double right = counts.hotaRight[t], missed = counts.hotaMissed[t], wrong = counts.hotaWrong[t];
        figures.detReAt[t] = right / std::max(1., right + missed);
        figures.detPrAt[t] = right / std::max(1., right + wrong);
        figures.detAAt[t] = right / std::max(1., right + missed + wrong);
        figures.hotaAt[t] = std::sqrt(figures.detAAt[t] * counts.assA[t]);
    }
    figures.assAAt = counts.assA, figures.assReAt = counts.assRe, figures.assPrAt = counts.assPr;
    figures.locAAt = counts.locA;
    figures.hotaRight = counts.hotaRight, figures.hotaMissed = counts.hotaMissed;
    figures.hotaWrong = counts.hotaWrong;
    figures.hota = meanOf(figures.hotaAt);
    figures.detA = meanOf(figures.detAAt);
    figures.assA = meanOf(counts.assA);
    figures.locA = meanOf(counts.locA);
    figures.detRe = meanOf(figures.detReAt);
    figures.detPr = meanOf(figures.detPrAt);
    figures.assRe = meanOf(counts.assRe);
    figures.assPr = meanOf(counts.assPr);
}

// ---- CLEAR ----

class Clear {
public:
    explicit Clear(const Sequence& sequence)
        : m_present(sequence.truthCounts.size()),
          m_tracked(m_present.size()),
          m_pieces(m_present.size()),
          m_last(m_present.size(), -1) {
        for (const Frame& frame : sequence.frames)
            add(frame);
        for (size_t id = 0; id < m_present.size(); ++id) {
            const double share = double(m_tracked[id]) / double(m_present[id]);
            ++(share > .8 ? mostlyTracked : share >= .2 ? partlyTracked : mostlyLost);
            fragments += std::max<int64_t>(0, m_pieces[id] - 1);
        }
    }

    int64_t right = 0, missed = 0, wrong = 0, switches = 0;
    int64_t mostlyTracked = 0, partlyTracked = 0, mostlyLost = 0, fragments = 0;
    double overlaps = 0;

private:
    void add(const Frame& frame) {
        for (const int id : frame.truth)
            ++m_present[id];
        const cv::Mat_<double> all = frame.overlaps();
        if (all.empty()) {  // no truth or no tracks: keeps the pairs of the previous frame
            missed += int64_t(frame.truth.size());
            wrong += int64_t(frame.tracks.size());
            return;
        }
        const std::vector<std::pair<int, int>> pairs = match(frame, all);
        for (const auto& [i, j] : pairs) {
            const int id = frame.truth[i], track = frame.tracks[j];
            if (m_last[id] >= 0 && m_last[id] != track) ++switches;
            if (m_before.count(id) == 0) ++m_pieces[id];
            ++m_tracked[id];
            m_last[id] = track;
            overlaps += all(i, j);
        }
        m_before.clear();
        for (const auto& [i, j] : pairs)
            m_before[frame.truth[i]] = frame.tracks[j];
        right += int64_t(pairs.size());
        missed += int64_t(frame.truth.size() - pairs.size());
        wrong += int64_t(frame.tracks.size() - pairs.size());
    }
    /// Matches a frame: first keeps the pairs of the previous frame, then chooses the largest overlaps.
    std::vector<std::pair<int, int>> match(const Frame& frame, const cv::Mat_<double>& all) const {
        cv::Mat_<double> costs(all.size());
        for (int i = 0; i < costs.rows; ++i) {
            const auto before = m_before.find(frame.truth[i]);
            for (int j = 0; j < costs.cols; ++j) {
                const double own = all(i, j);
                const bool same = before != m_before.end() && before->second == frame.tracks[j];
                costs(i, j) = own < kHalf - kEpsilon ? 0 : -((same ? 1000 : 0) + own);
            }
        }
        std::vector<std::pair<int, int>> pairs;
        for (const auto& pair : leastAssignment(costs))
            if (-costs(pair.first, pair.second) > kEpsilon) pairs.push_back(pair);
        return pairs;
    }

    std::vector<int64_t> m_present, m_tracked, m_pieces;
    std::vector<int> m_last;      ///< the latest track of each true object; -1: none
    std::map<int, int> m_before;  ///< the tracks of objects in the previous frame
};

void addClear(const Sequence& sequence, TrackCounts& counts) {
    const Clear clear(sequence);
    TrackFigures& figures = counts.figures;
    figures.right = clear.right, figures.missed = clear.missed, figures.wrong = clear.wrong;
    figures.switches = clear.switches, figures.fragments = clear.fragments;
    figures.mostlyTracked = clear.mostlyTracked, figures.partlyTracked = clear.partlyTracked;
    figures.mostlyLost = clear.mostlyLost;
    counts.overlapSum = clear.overlaps;
}

void finishClear(double overlapSum, TrackFigures& figures) {
    figures.mota = double(figures.right - figures.wrong - figures.switches) /
                   std::max(1., double(figures.right + figures.missed));
    figures.motp = overlapSum / std::max(1., double(figures.right));
}

// ---- identities ----

/// Assigns true identities to tracks one to one, so that the number of boxes in common is largest. Returns
/// this number. Solves each group of overlapping identities separately, to save time.
double commonBoxes(const PairSums& sums) {
    std::map<int, int> groupOf;  // keys: i for truth i, -1 - j for track j
    const auto root = [&](int node) {
        groupOf.emplace(node, node);
        while (groupOf[node] != node)
            node = groupOf[node] = groupOf[groupOf[node]];
        return node;
    };
    for (const auto& [pair, sum] : sums)
        groupOf[root(pair.first)] = root(-1 - pair.second);
    std::map<int, std::vector<std::pair<std::pair<int, int>, double>>> groups;
    for (const auto& one : sums)
        groups[root(one.first.first)].push_back(one);
    double total = 0;
    for (const auto& [node, entries] : groups) {
        std::map<int, int> rows, columns;
        for (const auto& [pair, sum] : entries) {
            rows.emplace(pair.first, int(rows.size()));
            columns.emplace(pair.second, int(columns.size()));
        }
        if (rows.size() > 2 * kMostBoxes || columns.size() > 2 * kMostBoxes)
            CV_Error(cv::Error::StsOutOfRange, "more than 10000 identities overlap each other");
        cv::Mat_<double> costs(int(rows.size()), int(columns.size()), 0.);
        for (const auto& [pair, sum] : entries)
            costs(rows[pair.first], columns[pair.second]) = -sum;
        for (const auto& [row, column] : leastAssignment(costs))
            total -= costs(row, column);
    }
    return total;
}

void addIdentities(const Sequence& sequence, TrackFigures& figures) {
    PairSums sums;
    for (const Frame& frame : sequence.frames) {
        const cv::Mat_<double> overlaps = frame.overlaps();
        for (int i = 0; i < overlaps.rows; ++i)
            for (int j = 0; j < overlaps.cols; ++j)
                if (overlaps(i, j) >= kHalf) ++sumOf(sums, frame.truth[i], frame.tracks[j]);
    }
    figures.idRight = std::llround(commonBoxes(sums));
    figures.idMissed = std::llround(sequence.truthBoxes()) - figures.idRight;
    figures.idWrong = std::llround(sequence.trackBoxes()) - figures.idRight;
}

void finishIdentities(TrackFigures& figures) {
    const auto right = double(figures.idRight), missed = double(figures.idMissed);
    const auto wrong = double(figures.idWrong);
    figures.idr = right / std::max(1., right + missed);
    figures.idp = right / std::max(1., right + wrong);
    figures.idf1 = right / std::max(1., right + .5 * wrong + .5 * missed);
}

}  // namespace

TrackCounts trackCounts(const TrackFrames& truth, const TrackFrames& tracks) {
    const Sequence sequence(truth, tracks);
    TrackCounts counts;
    counts.truthBoxes = std::llround(sequence.truthBoxes());
    counts.trackBoxes = std::llround(sequence.trackBoxes());
    counts.truthIds = int64_t(sequence.truthCounts.size());
    counts.trackIds = int64_t(sequence.trackCounts.size());
    addHota(sequence, counts);
    addClear(sequence, counts);
    addIdentities(sequence, counts.figures);
    finishHota(counts, counts.figures);
    finishIdentities(counts.figures);
    // If there are no true objects, leaves MOTA at 0, as TrackEval does, although every box is wrong.
    if (counts.truthBoxes > 0) finishClear(counts.overlapSum, counts.figures);
    return counts;
}

TrackFigures combinedFigures(const std::vector<TrackCounts>& sequences) {
    TrackCounts all;
    TrackFigures& sum = all.figures;
    for (const TrackCounts& one : sequences) {
        const TrackFigures& own = one.figures;
        for (int t = 0; t < kHotaThresholds; ++t) {
            const double weight = one.hotaRight[t];
            all.hotaRight[t] += weight;
            all.hotaMissed[t] += one.hotaMissed[t];
            all.hotaWrong[t] += one.hotaWrong[t];
            all.assA[t] += one.assA[t] * weight;
            all.assRe[t] += one.assRe[t] * weight;
            all.assPr[t] += one.assPr[t] * weight;
            all.locA[t] += one.locA[t] * weight;
        }
        all.overlapSum += one.overlapSum;
        sum.right += own.right, sum.missed += own.missed, sum.wrong += own.wrong;
        sum.switches += own.switches, sum.fragments += own.fragments, sum.mostlyLost += own.mostlyLost;
        sum.mostlyTracked += own.mostlyTracked, sum.partlyTracked += own.partlyTracked;
        sum.idRight += own.idRight, sum.idMissed += own.idMissed, sum.idWrong += own.idWrong;
    }
    for (int t = 0; t < kHotaThresholds; ++t) {
        for (HotaCurve* curve : {&all.assA, &all.assRe, &all.assPr})
            (*curve)[t] /= std::max(1., all.hotaRight[t]);
        all.locA[t] = std::max(1e-10, all.locA[t]) / std::max(1e-10, all.hotaRight[t]);
    }
    finishHota(all, sum);
    finishClear(all.overlapSum, sum);
    finishIdentities(sum);
    return sum;
}

}  // namespace mpm::pipeline
