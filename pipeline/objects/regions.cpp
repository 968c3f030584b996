#include <algorithm>
#include <iterator>

#include <opencv2/imgproc.hpp>

#include "pipeline/objects/tracker.hpp"

namespace mpm::pipeline {

std::vector<Detection> regionObjects(const cv::Mat& labels, const std::vector<int>& classes, int smallest,
                                     const cv::Mat& scores) {
    CV_CheckType(labels.type(), labels.type() == CV_8U || labels.type() == CV_16U,
                 "labels: expected one channel of 8 or 16 bits");
    CV_Assert(scores.empty() || (scores.type() == CV_32F && scores.size() == labels.size()));
    if (labels.empty()) return {};
    const int side = smallest < 1 ? std::min(labels.rows, labels.cols) / 32 : 1;
    if (smallest < 1) smallest = std::max(1, static_cast<int>(labels.total() / 2000));
    std::vector<Detection> objects;
    std::vector<int> areas;
    for (const int label : classes) {
        cv::Mat regions, statistics, middles;
        const int count =
            cv::connectedComponentsWithStats(labels == label, regions, statistics, middles, 8, CV_32S);
        for (int i = 1; i < count; ++i) {  // skips 0, the background
            const int* of = statistics.ptr<int>(i);
            if (of[cv::CC_STAT_AREA] < smallest) continue;
            if (std::min(of[cv::CC_STAT_WIDTH], of[cv::CC_STAT_HEIGHT]) < side) continue;
            const cv::Rect box(of[cv::CC_STAT_LEFT], of[cv::CC_STAT_TOP], of[cv::CC_STAT_WIDTH],
                               of[cv::CC_STAT_HEIGHT]);
            const cv::Mat inside = regions(box) == i;
            const double score = scores.empty() ? 1 : cv::mean(scores(box), inside)[0];
            objects.push_back({cv::Rect2f(box), label, static_cast<float>(score), inside / 255});
            areas.push_back(of[cv::CC_STAT_AREA]);
        }
    }
    std::vector<size_t> order(objects.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return areas[a] > areas[b]; });
    std::vector<Detection> sorted;
    for (const size_t i : order)
        sorted.push_back(objects[i]);
    return sorted;
}

std::vector<int> thingsAmong(const std::vector<std::string>& names) {
    constexpr const char* kThings[] = {"person",    "pedestrian", "rider", "bicyclist", "car",
                                       "truck",     "bus",        "train", "van",       "motorcycle",
                                       "motorbike", "bicycle",    "bike",  "boat",      "airplane",
                                       "animal",    "cat",        "dog",   "horse"};
    std::vector<int> ids;
    for (size_t id = 0; id < names.size(); ++id)
        if (std::find(std::begin(kThings), std::end(kThings), names[id]) != std::end(kThings))
            ids.push_back(static_cast<int>(id));
    return ids;
}

}  // namespace mpm::pipeline
