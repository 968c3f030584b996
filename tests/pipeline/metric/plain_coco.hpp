// A second implementation of COCO's definitions: slow and simple, and independent of the code under test.
#pragma once

#include <algorithm>
#include <vector>

#include "pipeline/metric/coco.hpp"

namespace mpm::test {

struct PlainCoco {
    std::vector<int64_t> images, categories;
    std::vector<pipeline::CocoObject> truth, found;

    struct Result {
        double score;
        bool right, ignored;
    };

    static double shared(double from, double size, double from2, double size2) {
        return std::max(0., std::min(from + size, from2 + size2) - std::max(from, from2));
    }
    static double overlapOf(const pipeline::CocoObject& d, const pipeline::CocoObject& g) {
        const double both = shared(d.box.x, d.box.width, g.box.x, g.box.width) *
                            shared(d.box.y, d.box.height, g.box.y, g.box.height);
        const double own = d.box.width * d.box.height;
        return both == 0 ? 0 : both / (g.crowd ? own : own + g.box.width * g.box.height - both);
    }

    /// Returns the results for a precision-recall curve. Sets `counted` to the number of objects to find.
    std::vector<Result> results(int64_t category, double low, double high, double threshold, size_t most,
                                int& counted) const {
        std::vector<Result> all;
        counted = 0;
        std::vector<int64_t> sorted = images;
        std::sort(sorted.begin(), sorted.end());
        for (const int64_t image : sorted) {
            const auto own = [&](const auto& list) {
                std::vector<pipeline::CocoObject> some;
                for (const auto& object : list)
                    if (object.image == image && object.category == category) some.push_back(object);
                return some;
            };
            const std::vector<pipeline::CocoObject> objects = own(truth);
            std::vector<pipeline::CocoObject> detections = own(found);
            std::stable_sort(detections.begin(), detections.end(),
                             [](const auto& a, const auto& b) { return a.score > b.score; });
            if (detections.size() > 100) detections.resize(100);
            const auto outside = [&](double area) { return area < low || area > high; };
            std::vector<bool> ignored, used(objects.size());
            for (const auto& object : objects) {
                ignored.push_back(object.crowd || outside(object.area));
                counted += !ignored.back();
            }
            for (size_t d = 0; d < detections.size(); ++d) {
                int best = -1;
                for (const bool among : {false, true}) {  // ignored objects match only if no others do
                    for (size_t g = 0; g < objects.size() && (best < 0 || ignored[best] == among); ++g) {
                        if (ignored[g] != among || (used[g] && !objects[g].crowd)) continue;
                        const double overlap = overlapOf(detections[d], objects[g]);
                        if (overlap < threshold) continue;
                        if (best < 0 || overlap >= overlapOf(detections[d], objects[best])) best = int(g);
                    }
                }
                if (best >= 0) used[best] = true;
                if (d < most)
                    all.push_back({detections[d].score, best >= 0,
                                   best >= 0 ? ignored[best] : outside(detections[d].area)});
            }
        }
        std::stable_sort(all.begin(), all.end(),
                         [](const Result& a, const Result& b) { return a.score > b.score; });
        all.erase(std::remove_if(all.begin(), all.end(), [](const Result& r) { return r.ignored; }),
                  all.end());
        return all;
    }

    /// Returns the mean over categories and thresholds; -1 if no category has objects.
    double mean(bool precision, double low, double high, double first, double last, size_t most) const {
        double sum = 0, count = 0;
        for (const int64_t category : categories)
            for (int percent = 50; percent <= 95; percent += 5) {
                // COCO's code computes the thresholds in steps, which rounds 0.9 down.
                const double threshold = percent == 90 ? std::nextafter(.9, 0) : percent / 100.;
                if (percent / 100. < first || percent / 100. > last) continue;
                int counted = 0;
                const std::vector<Result> all = results(category, low, high, threshold, most, counted);
                if (counted == 0) continue;
                const auto right = [&](size_t n) {
                    return std::count_if(all.begin(), all.begin() + long(n),
                                         [](const Result& r) { return r.right; });
                };
                if (!precision) {
                    sum += double(right(all.size())) / counted;
                    ++count;
                    continue;
                }
                for (int recall = 0; recall <= 100; ++recall, ++count) {
                    double best = 0;
                    for (size_t n = 1; n <= all.size(); ++n)
                        if (double(right(n)) / counted >= recall * .01)
                            best = std::max(best, double(right(n)) / double(n));
                    sum += best;
                }
            }
        return count == 0 ? -1 : sum / count;
    }

    std::vector<double> figures() const {
        const double all = 1e10;
        return {mean(true, 0, all, .5, .95, 100),      mean(true, 0, all, .5, .5, 100),
                mean(true, 0, all, .75, .75, 100),     mean(true, 0, 1024, .5, .95, 100),
                mean(true, 1024, 9216, .5, .95, 100),  mean(true, 9216, all, .5, .95, 100),
                mean(false, 0, all, .5, .95, 1),       mean(false, 0, all, .5, .95, 10),
                mean(false, 0, all, .5, .95, 100),     mean(false, 0, 1024, .5, .95, 100),
                mean(false, 1024, 9216, .5, .95, 100), mean(false, 9216, all, .5, .95, 100)};
    }
};

}  // namespace mpm::test
