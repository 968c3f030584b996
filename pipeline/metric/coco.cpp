#include "pipeline/metric/coco.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

namespace mpm::pipeline {

namespace {

constexpr int kAreas = CocoMatches::kAreas, kThresholds = CocoMatches::kThresholds;
constexpr int kRecalls = 101;
constexpr size_t kMostObjects = 100000;
constexpr double kAreaRanges[kAreas][2] = {{0, 1e10}, {0, 1024}, {1024, 9216}, {9216, 1e10}};
constexpr int kMostByRank[] = {1, 10, 100};

/// Returns a threshold of the overlap. Computes in the same steps as COCO's code, because rounding decides
/// whether an overlap of exactly 0.9 matches.
double thresholdAt(int i) {
    return i * ((.95 - .5) / 9) + .5;
}

double boxOverlap(const cv::Rect2d& found, const cv::Rect2d& truth, bool crowd) {
    const double width = std::min(found.width + found.x, truth.width + truth.x) - std::max(found.x, truth.x);
    const double height =
        std::min(found.height + found.y, truth.height + truth.y) - std::max(found.y, truth.y);
    if (width <= 0 || height <= 0) return 0;
    const double both = width * height, own = found.area();
    const double all = crowd ? own : own + truth.area() - both;
    return all > 0 ? both / all : 0;
}

bool isOutside(double area, int range) {
    return area < kAreaRanges[range][0] || area > kAreaRanges[range][1];
}

/// The assignment of detections to true objects, within a range of areas.
class Assignment {
public:
    Assignment(const std::vector<const CocoObject*>& truth, const std::vector<const CocoObject*>& found,
               const cv::Mat_<double>& overlaps, int range)
        : m_truth(truth), m_found(found), m_overlaps(overlaps), m_range(range) {
        for (const CocoObject* object : truth)
            m_ignored.push_back(object->crowd || isOutside(object->area, range));
        m_order.resize(truth.size());
        std::iota(m_order.begin(), m_order.end(), 0);
        std::stable_partition(m_order.begin(), m_order.end(), [&](int i) { return !m_ignored[i]; });
    }

    int64_t counted() const { return std::count(m_ignored.begin(), m_ignored.end(), false); }

    void mark(int threshold, CocoMatches& matches) const {
        const uint64_t bit = uint64_t{1} << (kThresholds * m_range + threshold);
        std::vector<bool> taken(m_truth.size());
        for (size_t d = 0; d < m_found.size(); ++d) {
            const int best = bestFor(static_cast<int>(d), thresholdAt(threshold), taken);
            const bool matched = best >= 0 && m_truth[best]->counts;
            if (best >= 0) taken[best] = true;
            if (matched) matches.matched[d] |= bit;
            if ((best >= 0 && m_ignored[best]) || (!matched && isOutside(m_found[d]->area, m_range)))
                matches.ignored[d] |= bit;
        }
    }

private:
    /// Returns the true object with the largest overlap; if several are equal, the last in m_order. Returns
    /// an ignored object only if no other object reaches the threshold.
    int bestFor(int detection, double threshold, const std::vector<bool>& taken) const {
        int best = -1;
        double least = std::min(threshold, 1 - 1e-10);
        for (const int i : m_order) {
            if (taken[i] && !m_truth[i]->crowd) continue;
            if (best >= 0 && !m_ignored[best] && m_ignored[i]) break;
            if (m_overlaps(detection, i) < least) continue;
            least = m_overlaps(detection, i);
            best = i;
        }
        return best;
    }

    const std::vector<const CocoObject*>& m_truth;
    const std::vector<const CocoObject*>& m_found;
    const cv::Mat_<double>& m_overlaps;
    const int m_range;
    std::vector<bool> m_ignored;
    std::vector<int> m_order;  ///< indices of true objects, ignored objects last
};

/// A detection of a category, for sorting by score.
struct Ranked {
    double score;
    uint64_t matched, ignored;
};

/// Precision and recall of a category at a threshold.
struct Curve {
    double recall = 0;
    std::array<double, kRecalls> precision{};
};

Curve curveOf(const std::vector<Ranked>& ranked, int64_t truth, uint64_t bit) {
    std::vector<double> recalls, precisions;
    double right = 0, wrong = 0;
    for (const Ranked& one : ranked) {
        if ((one.ignored & bit) == 0) ((one.matched & bit) != 0 ? right : wrong) += 1;
        recalls.push_back(right / static_cast<double>(truth));
        precisions.push_back(right / (wrong + right + std::numeric_limits<double>::epsilon()));
    }
    for (size_t i = precisions.size(); i-- > 1;)
        precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
    Curve curve;
    if (!recalls.empty()) curve.recall = recalls.back();
    for (int r = 0; r < kRecalls; ++r) {
        const auto at = std::lower_bound(recalls.begin(), recalls.end(), r * .01) - recalls.begin();
        if (at < static_cast<std::ptrdiff_t>(precisions.size())) curve.precision[r] = precisions[at];
    }
    return curve;
}

class CategoryCurves {
public:
    explicit CategoryCurves(const std::vector<const CocoMatches*>& images) {
        for (const CocoMatches* image : images)
            for (int area = 0; area < kAreas; ++area)
                m_truth[area] += image->truth[area];
        for (int rank = 0; rank < 3; ++rank) {
            const std::vector<Ranked> ranked = rankedOf(images, kMostByRank[rank]);
            for (int area = 0; area < kAreas; ++area) {
                if (m_truth[area] == 0 || (area > 0 && rank < 2)) continue;
                for (int t = 0; t < kThresholds; ++t)
                    m_curves[rank][area].push_back(
                        curveOf(ranked, m_truth[area], uint64_t{1} << (kThresholds * area + t)));
            }
        }
    }

    /// Returns a curve for each threshold, or no curve if the truth has no object.
    const std::vector<Curve>& of(int area, int rank = 2) const { return m_curves[rank][area]; }

private:
    static std::vector<Ranked> rankedOf(const std::vector<const CocoMatches*>& images, int most) {
        std::vector<Ranked> ranked;
        for (const CocoMatches* image : images)
            for (int i = 0; i < std::min<int>(most, static_cast<int>(image->scores.size())); ++i)
                ranked.push_back({image->scores[i], image->matched[i], image->ignored[i]});
        std::stable_sort(ranked.begin(), ranked.end(),
                         [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
        return ranked;
    }

    std::array<int64_t, kAreas> m_truth{};
    std::array<std::array<std::vector<Curve>, kAreas>, 3> m_curves;
};

/// Computes means over the curves of a category or of all categories.
class Figures {
public:
    void add(const CategoryCurves& curves) {
        for (int area = 0; area < kAreas; ++area)
            for (int t = 0; t < static_cast<int>(curves.of(area).size()); ++t)
                addPrecision(area, t, curves.of(area)[t]);
        for (int rank = 0; rank < 3; ++rank)
            addRecalls(6 + rank, curves.of(0, rank));
        for (int area = 1; area < kAreas; ++area)
            addRecalls(8 + area, curves.of(area));
    }
    CocoFigures means() const {
        CocoFigures means;
        for (size_t i = 0; i < means.size(); ++i)
            means[i] = m_counts[i] == 0 ? -1 : m_sums[i] / static_cast<double>(m_counts[i]);
        return means;
    }

private:
    void addPrecision(int area, int threshold, const Curve& curve) {
        add(area == 0 ? 0 : 2 + area, curve);
        if (area == 0 && threshold == 0) add(1, curve);
        if (area == 0 && threshold == 5) add(2, curve);
    }
    void add(int figure, const Curve& curve) {
        m_sums[figure] = std::accumulate(curve.precision.begin(), curve.precision.end(), m_sums[figure]);
        m_counts[figure] += kRecalls;
    }
    void addRecalls(int figure, const std::vector<Curve>& curves) {
        for (const Curve& curve : curves)
            m_sums[figure] += curve.recall, ++m_counts[figure];
    }

    CocoFigures m_sums{};
    std::array<int64_t, kCocoFigures.size()> m_counts{};
};

}  // namespace

CocoMatches cocoMatches(int64_t image, int64_t category, const std::vector<const CocoObject*>& truth,
                        const std::vector<const CocoObject*>& found) {
    if (truth.size() > kMostObjects)
        CV_Error(cv::Error::StsOutOfRange, "image " + std::to_string(image) +
                                               " has more than 100000 objects of category " +
                                               std::to_string(category) + "; such a file is not scored");
    std::vector<const CocoObject*> best = found;
    std::stable_sort(best.begin(), best.end(),
                     [](const CocoObject* a, const CocoObject* b) { return a->score > b->score; });
    best.resize(std::min<size_t>(best.size(), CocoMatches::kMost));
    cv::Mat_<double> overlaps(static_cast<int>(best.size()), static_cast<int>(truth.size()));
    for (int d = 0; d < overlaps.rows; ++d)
        for (int g = 0; g < overlaps.cols; ++g) {
            const CocoObject &a = *best[d], &b = *truth[g];
            overlaps(d, g) =
                b.mask.runs.empty() ? boxOverlap(a.box, b.box, b.crowd) : overlap(a.mask, b.mask, b.crowd);
        }
    CocoMatches matches;
    matches.image = image;
    matches.category = category;
    matches.matched.resize(best.size());
    matches.ignored.resize(best.size());
    for (const CocoObject* one : best)
        matches.scores.push_back(one->score);
    for (int range = 0; range < kAreas; ++range) {
        const Assignment assignment(truth, best, overlaps, range);
        matches.truth[range] = assignment.counted();
        for (int t = 0; t < kThresholds; ++t)
            assignment.mark(t, matches);
    }
    return matches;
}

std::vector<CocoMatches> cocoMatches(const std::vector<int64_t>& images,
                                     const std::vector<int64_t>& categories,
                                     const std::vector<CocoObject>& truth,
                                     const std::vector<CocoObject>& found) {
    struct Both {
        std::vector<const CocoObject*> truth, found;
    };
    std::map<std::pair<int64_t, int64_t>, Both> groups;
    const auto listed = [](const std::vector<int64_t>& ids) {
        std::vector<int64_t> sorted = ids;
        std::sort(sorted.begin(), sorted.end());
        return sorted;
    };
    const std::vector<int64_t> allImages = listed(images), allCategories = listed(categories);
    const auto isListed = [&](const CocoObject& object) {
        return std::binary_search(allImages.begin(), allImages.end(), object.image) &&
               std::binary_search(allCategories.begin(), allCategories.end(), object.category);
    };
    for (const CocoObject& object : truth)
        if (isListed(object)) groups[{object.image, object.category}].truth.push_back(&object);
    for (const CocoObject& object : found)
        if (isListed(object)) groups[{object.image, object.category}].found.push_back(&object);
    std::vector<CocoMatches> matches;
    for (const auto& [key, both] : groups)
        matches.push_back(cocoMatches(key.first, key.second, both.truth, both.found));
    return matches;
}

CocoScores cocoScores(std::vector<CocoMatches> matches, std::vector<int64_t> categories) {
    // Sorts by image, so that detections of equal score are ranked by image id, as in COCO's code.
    std::stable_sort(matches.begin(), matches.end(),
                     [](const CocoMatches& a, const CocoMatches& b) { return a.image < b.image; });
    std::map<int64_t, std::vector<const CocoMatches*>> byCategory;
    for (const int64_t id : categories)
        byCategory[id];
    for (const CocoMatches& one : matches)
        if (const auto at = byCategory.find(one.category); at != byCategory.end()) at->second.push_back(&one);
    CocoScores scores;
    Figures all;
    for (const auto& [id, images] : byCategory) {
        const CategoryCurves curves(images);
        Figures own;
        own.add(curves);
        all.add(curves);
        CocoCategoryScores category;
        category.id = id;
        category.figures = own.means();
        category.precision50.fill(-1);
        if (!curves.of(0).empty()) {
            category.recall50 = curves.of(0)[0].recall;
            category.precision50 = curves.of(0)[0].precision;
        }
        scores.categories.push_back(category);
    }
    scores.figures = all.means();
    return scores;
}

}  // namespace mpm::pipeline
