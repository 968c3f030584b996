#include "pipeline/metric/regions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <opencv2/imgproc.hpp>

namespace mpm::pipeline {

namespace {

int sizeBin(int64_t pixels) {
    return pixels <= 32 * 32 ? 0 : pixels <= 96 * 96 ? 1 : 2;
}

cv::Mat wide(const cv::Mat& ids) {
    cv::Mat result;
    ids.convertTo(result, CV_16U);
    return result;
}

/// The 4-connected regions of equal ids. Fills regions with a stack, because cv::connectedComponents() only
/// distinguishes zero from other values.
class Regions {
public:
    explicit Regions(const cv::Mat& ids) : m_ids(ids), m_region(ids.size(), CV_32S, cv::Scalar(-1)) {
        for (int y = 0; y < ids.rows; ++y)
            for (int x = 0; x < ids.cols; ++x)
                if (m_region.at<int>(y, x) < 0) fill({x, y});
    }

    int64_t sizeAt(int y, int x) const { return m_sizes[static_cast<size_t>(m_region.at<int>(y, x))]; }

private:
    void fill(cv::Point start) {
        const int region = static_cast<int>(m_sizes.size());
        const ushort id = m_ids.at<ushort>(start);
        int64_t size = 0;
        m_stack.assign(1, start);
        m_region.at<int>(start) = region;
        while (!m_stack.empty()) {
            const cv::Point at = m_stack.back();
            m_stack.pop_back();
            ++size;
            for (const cv::Point step :
                 {cv::Point(1, 0), cv::Point(-1, 0), cv::Point(0, 1), cv::Point(0, -1)}) {
                const cv::Point next = at + step;
                const bool inside = next.x >= 0 && next.y >= 0 && next.x < m_ids.cols && next.y < m_ids.rows;
                if (!inside || m_region.at<int>(next) >= 0 || m_ids.at<ushort>(next) != id) continue;
                m_region.at<int>(next) = region;
                m_stack.push_back(next);
            }
        }
        m_sizes.push_back(size);
    }

    cv::Mat m_ids, m_region;
    std::vector<int64_t> m_sizes;
    std::vector<cv::Point> m_stack;
};

}  // namespace

cv::Mat boundaryBand(const cv::Mat& labels, int ignored, int radius) {
    CV_Check(labels.type(), labels.type() == CV_8UC1 || labels.type() == CV_16UC1,
             "labels: expected CV_8UC1 or CV_16UC1 ids");
    CV_CheckGE(radius, 0, "radius: expected no less than 0");
    const cv::Mat ids = wide(labels), nothing = ids == ignored;
    const cv::Mat square = cv::getStructuringElement(cv::MORPH_RECT, {2 * radius + 1, 2 * radius + 1});
    // Replaces the ignored id with the highest value before erode() and with the lowest value before
    // dilate(), so that the ignored id is neither the minimum nor the maximum.
    cv::Mat low = ids.clone(), high = ids.clone(), lowest, highest;
    low.setTo(std::numeric_limits<ushort>::max(), nothing);
    high.setTo(0, nothing);
    cv::erode(low, lowest, square);
    cv::dilate(high, highest, square);
    return (lowest < highest) & ~nothing;
}

void SplitConfusion::add(const cv::Mat& truth, const cv::Mat& prediction, int radius) {
    const cv::Mat at = boundaryBand(truth, band.ignored(), radius);
    cv::Mat inside = truth.clone(), along = truth.clone();
    inside.setTo(band.ignored(), at);
    along.setTo(band.ignored(), ~at);
    interior.add(inside, prediction);
    band.add(along, prediction);
}

SplitConfusion& SplitConfusion::operator+=(const SplitConfusion& other) {
    band += other.band;
    interior += other.interior;
    return *this;
}

Confusion SplitConfusion::whole() const {
    Confusion sum = band;
    sum += interior;
    return sum;
}

SplitConfusion SplitCells::in(int classes, int ignored) const {
    SplitConfusion split(classes, ignored);
    for (const Confusion::Cell& cell : band)
        split.band.add(cell);
    for (const Confusion::Cell& cell : interior)
        split.interior.add(cell);
    return split;
}

void ObjectCounts::add(const cv::Mat& truth, const cv::Mat& prediction, int ignored) {
    CV_CheckEQ(truth.rows, prediction.rows, "truth and prediction must be of one size");
    CV_CheckEQ(truth.cols, prediction.cols, "truth and prediction must be of one size");
    const cv::Mat wanted = wide(truth), got = wide(prediction);
    const Regions regions(wanted);
    for (int y = 0; y < wanted.rows; ++y)
        for (int x = 0; x < wanted.cols; ++x) {
            const ushort id = wanted.at<ushort>(y, x);
            if (id == ignored) continue;
            const int bin = sizeBin(regions.sizeAt(y, x));
            ++all[bin];
            right[bin] += got.at<ushort>(y, x) == id;
        }
}

ObjectCounts& ObjectCounts::operator+=(const ObjectCounts& other) {
    for (int bin = 0; bin < kSizes; ++bin) {
        right[bin] += other.right[bin];
        all[bin] += other.all[bin];
    }
    return *this;
}

double ObjectCounts::recall(int size) const {
    return all[size] > 0 ? double(right[size]) / double(all[size]) : std::numeric_limits<double>::quiet_NaN();
}

namespace {

/// The positions of a stage's tokens, and the number of patches in each token.
struct Places {
    std::vector<cv::Point2d> middle;
    std::vector<int> size;
};

Places ofGrid(cv::Size grid) {
    Places places;
    for (int y = 0; y < grid.height; ++y)
        for (int x = 0; x < grid.width; ++x)
            places.middle.emplace_back(x, y);
    places.size.assign(places.middle.size(), 1);
    return places;
}

void count(DistanceCounts& counts, double distance) {
    const size_t bin = static_cast<size_t>(std::lround(distance));
    if (counts.size() <= bin) counts.resize(bin + 1, 0);
    ++counts[bin];
}

/// Counts the joins of a stage by distance. Replaces the tokens in `places` with the clusters, which are the
/// tokens of the next stage.
DistanceCounts join(Places& places, const cv::Mat& map) {
    const int* ids = map.ptr<int>();
    const int tokens = static_cast<int>(map.total());
    const int clusters = tokens == 0 ? 0 : *std::max_element(ids, ids + tokens) + 1;
    std::vector<int> first(clusters, -1);
    Places next{std::vector<cv::Point2d>(clusters), std::vector<int>(clusters, 0)};
    DistanceCounts counts;
    for (int i = 0; i < tokens; ++i) {
        const int id = ids[i];
        if (first[id] < 0)
            first[id] = i;
        else
            count(counts, cv::norm(places.middle[i] - places.middle[first[id]]));
        next.middle[id] += places.middle[i] * places.size[i];
        next.size[id] += places.size[i];
    }
    for (int c = 0; c < clusters; ++c)
        next.middle[c] /= std::max(next.size[c], 1);
    places = std::move(next);
    return counts;
}

}  // namespace

std::vector<DistanceCounts> joinDistances(const std::vector<cv::Mat>& stages, cv::Size grid) {
    Places places = ofGrid(grid);
    std::vector<DistanceCounts> counts;
    for (const cv::Mat& map : stages) {
        CV_CheckEQ(map.total(), places.middle.size(),
                   "stages: a map must have as many entries as the one before has clusters");
        CV_CheckTypeEQ(map.type(), CV_32S, "stages: expected CV_32S maps");
        counts.push_back(join(places, map));
    }
    return counts;
}

std::vector<double> chanceDistances(cv::Size grid) {
    // Counts offsets instead of pairs of patches. The offset (dx, dy) occurs (width - dx) * (height - dy)
    // times, and (-dx, dy) occurs as often if neither dx nor dy is 0.
    std::vector<double> shares;
    double all = 0;
    for (int dy = 0; dy < grid.height; ++dy)
        for (int dx = 0; dx < grid.width; ++dx) {
            if (dx == 0 && dy == 0) continue;
            const double ways = double(grid.width - dx) * (grid.height - dy) * (dx > 0 && dy > 0 ? 2 : 1);
            const size_t bin = static_cast<size_t>(std::lround(std::hypot(dx, dy)));
            if (shares.size() <= bin) shares.resize(bin + 1, 0);
            shares[bin] += ways;
            all += ways;
        }
    for (double& share : shares)
        share /= all;
    return shares;
}

void addCounts(std::vector<DistanceCounts>& sum, const std::vector<DistanceCounts>& more) {
    sum.resize(std::max(sum.size(), more.size()));
    for (size_t stage = 0; stage < more.size(); ++stage) {
        sum[stage].resize(std::max(sum[stage].size(), more[stage].size()), 0);
        for (size_t bin = 0; bin < more[stage].size(); ++bin)
            sum[stage][bin] += more[stage][bin];
    }
}

}  // namespace mpm::pipeline
