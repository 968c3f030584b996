#include "pipeline/metric/regions.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::pipeline {

namespace {

/// Positions of the tokens of a stage, and the number of patches in each.
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

/// Counts the joins of a stage and moves the places to the clusters that are left.
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
    // Offsets instead of pairs: dx occurs (width - dx) times in a row, on both sides.
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
