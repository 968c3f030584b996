// False alarms in scripted streets: objects that are followed against OpenCV's MOG2, at the same recall.
//   mpm_bench_alarms [STREETS [SECONDS [MODEL]]]
// The bar is 5 times fewer; the exit status is 1 if it is missed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/imgproc.hpp>
#include <opencv2/video/background_segm.hpp>

#include "pipeline/objects/frame_objects.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "street/street.hpp"

namespace {

using mpm::Detection;

constexpr double kRate = 5, kWarmUp = 10, kBar = 5;  // frames a second; seconds for MOG2 to learn the scene
constexpr double kLeastVisible = .5;                 // share of an object that must be in sight
constexpr int kLeastSide = 16, kLeastFrames = 5;  // pixels of its box; frames in which it is seen like this
const cv::Size kSize(640, 480);

/// A frame that is watched: its true objects, and the boxes of each way to find them.
struct Watched {
    std::vector<mpm::street::StreetObject> objects;
    std::vector<std::vector<Detection>> found;
};

struct Score {
    int objects = 0, recalled = 0, right = 0, wrong = 0;  // right, wrong: alarms
    double recall() const { return objects > 0 ? double(recalled) / objects : 1; }
    void add(const Score& other) {
        objects += other.objects, recalled += other.recalled, right += other.right, wrong += other.wrong;
    }
};

/// A way to find moving things by MOG2.
struct Motion {
    double variance;  ///< squared distance, in variances, that is a change
    int opening;      ///< pixels of the opening that removes noise
    int smallest;     ///< pixels of a region
};

const std::vector<int> kSmallest = {100, 300, 1000, 3000};

std::vector<Motion> motions() {
    std::vector<Motion> all;
    for (const double variance : {16., 40., 100.})
        for (const int opening : {3, 7})
            for (const int smallest : kSmallest)
                all.push_back({variance, opening, smallest});
    return all;
}

/// One background for each variance, one search for each opening.
class Backgrounds {
public:
    std::vector<std::vector<Detection>> find(const cv::Mat& image, const std::vector<Motion>& all) {
        std::map<double, cv::Mat> masks;
        std::map<std::pair<double, int>, std::vector<Detection>> regions;
        std::vector<std::vector<Detection>> found;
        for (const Motion& motion : all) {
            auto& own = m_own[motion.variance];
            if (!own) own = cv::createBackgroundSubtractorMOG2(500, motion.variance, true);
            cv::Mat& mask = masks[motion.variance];
            if (mask.empty()) own->apply(image, mask);
            auto [at, isNew] = regions.try_emplace({motion.variance, motion.opening});
            if (isNew)
                at->second = regionsOf(mask == 255, motion.opening);  // without the shadows that it finds
            found.emplace_back();
            for (const Detection& one : at->second)
                if (cv::countNonZero(one.mask) >= motion.smallest) found.back().push_back(one);
        }
        return found;
    }

private:
    static std::vector<Detection> regionsOf(const cv::Mat& moving, int opening) {
        const auto element = [](int side) {
            return cv::getStructuringElement(cv::MORPH_ELLIPSE, {side, side});
        };
        cv::Mat opened, joined;
        cv::morphologyEx(moving, opened, cv::MORPH_OPEN, element(opening));
        cv::morphologyEx(opened, joined, cv::MORPH_CLOSE, element(15));
        return mpm::pipeline::regionObjects(joined / 255, {1}, kSmallest.front());
    }

    std::map<double, cv::Ptr<cv::BackgroundSubtractorMOG2>> m_own;
};

double share(const cv::Rect2f& box, const cv::Rect2f& truth, bool ofBox) {
    const double both = (box & truth).area();
    return both / (ofBox ? box.area() : box.area() + truth.area() - both);
}

/// Alarms are objects as they begin. One is right if its box shows a true object or a part of one; an object
/// is recalled if a box covers it. Things that stand still count as right, but need not be recalled.
Score score(const std::vector<Watched>& frames, size_t way) {
    mpm::pipeline::ObjectTracker tracker;
    Score score;
    std::set<std::int64_t> known, recalled, moved;
    std::map<std::int64_t, int> seen;
    std::map<std::int64_t, cv::Rect> first;
    for (size_t number = 0; number < frames.size(); ++number) {
        const Watched& frame = frames[number];
        for (const auto& object : frame.objects) {
            if (object.visible < kLeastVisible || std::min(object.box.width, object.box.height) < kLeastSide)
                continue;
            ++seen[object.id];
            const cv::Rect& begin = first.emplace(object.id, object.box).first->second;
            if (share(cv::Rect2f(begin), cv::Rect2f(object.box), false) < .5) moved.insert(object.id);
        }
        std::vector<Detection> boxes = frame.found[way];
        for (Detection& box : boxes)
            box.label = 0;  // MOG2 has no classes
        for (const auto& track : tracker.update(boxes, static_cast<double>(number) / kRate, kSize)) {
            if (!track.seen) continue;
            bool right = false;
            for (const auto& object : frame.objects) {
                const double overlap = share(track.box, cv::Rect2f(object.box), false);
                right = right || overlap >= .2 || share(track.box, cv::Rect2f(object.box), true) >= .5;
                if (overlap >= .2) recalled.insert(object.id);
            }
            if (known.insert(track.id).second) ++(right ? score.right : score.wrong);
        }
    }
    for (const auto& [id, count] : seen)
        if (count >= kLeastFrames && moved.count(id) > 0)
            ++score.objects, score.recalled += static_cast<int>(recalled.count(id));
    return score;
}

class Bench {
public:
    explicit Bench(const std::string& model) : m_segmenter(mpm::pipeline::Network(model)) {
        const auto& labels = m_segmenter.info().labels;
        if (!m_segmenter.network().detects())
            m_classes = mpm::pipeline::classesNamed(labels, {"car", "pedestrian", "bicyclist"});
        m_segmenter.encoder().setPrecision(mpm::Precision::Auto);
        m_segmenter.encoder().setReuse(m_segmenter.network().reuse());
    }

    void measure(const std::string& script, int streets, double seconds) {
        std::vector<Score> scores(1 + m_motions.size());
        for (int seed = 1; seed <= streets; ++seed) {
            const std::vector<Watched> frames = watch(script, seed, seconds);
            for (size_t way = 0; way < scores.size(); ++way)
                scores[way].add(score(frames, way));
        }
        const Score& ours = scores[0];
        size_t peer = 1;
        for (size_t way = 2; way < scores.size(); ++way) {
            const bool enough = scores[way].recalled >= ours.recalled,
                       before = scores[peer].recalled >= ours.recalled;
            if (enough != before ? enough
                                 : (enough ? scores[way].wrong < scores[peer].wrong
                                           : scores[way].recalled > scores[peer].recalled))
                peer = way;
        }
        const Score& theirs = scores[peer];
        const Motion& motion = m_motions[peer - 1];
        const double times = theirs.wrong / std::max(1., double(ours.wrong));
        std::printf("| %s | %d | %.3f | %d | %d | %.3f | %d | %d | %g, %d, %d | %.1f |\n", script.c_str(),
                    ours.objects, ours.recall(), ours.right, ours.wrong, theirs.recall(), theirs.right,
                    theirs.wrong, motion.variance, motion.opening, motion.smallest, times);
        std::fflush(stdout);
        m_ours += ours.wrong, m_theirs += theirs.wrong;
    }
    int ours() const { return m_ours; }
    int theirs() const { return m_theirs; }

private:
    std::vector<Watched> watch(const std::string& script, int seed, double seconds) {
        m_segmenter.encoder().forget();
        mpm::street::Clip clip(kSize, mpm::street::clipLight(script), kRate, seed);
        Backgrounds backgrounds;
        std::vector<Watched> frames;
        for (int number = 0; number < (kWarmUp + seconds) * kRate; ++number) {
            const auto frame = clip.frame(number);
            auto moving = backgrounds.find(frame.image, m_motions);
            if (number < kWarmUp * kRate) continue;
            frames.push_back({frame.objects, {objects(frame.image)}});
            for (auto& boxes : moving)
                frames.back().found.push_back(std::move(boxes));
        }
        return frames;
    }

    std::vector<Detection> objects(const cv::Mat& image) {
        const auto found = m_segmenter.segment(image);
        return found.detector ? found.detections : mpm::pipeline::regionObjects(found.labels, m_classes);
    }

    mpm::pipeline::Segmenter m_segmenter;
    std::vector<int> m_classes;
    const std::vector<Motion> m_motions = motions();
    int m_ours = 0, m_theirs = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const int streets = argc > 1 ? std::atoi(argv[1]) : 2;
    const double seconds = argc > 2 ? std::atof(argv[2]) : 40;
    if (argc > 4 || streets < 1 || streets > 1000 || !(seconds >= 2 && seconds <= 3600)) {
        std::fprintf(stderr, "usage: mpm_bench_alarms [STREETS [SECONDS [MODEL]]]\n");
        return 2;
    }
    try {
        Bench bench(argc > 3 ? argv[3] : "default");
        std::printf("%d streets of %g s for each script, %g frames a second\n\n", streets, seconds, kRate);
        std::printf(
            "| script | moving objects | recall | alarms | false | MOG2: recall | alarms | false | "
            "variance, opening, smallest | times fewer |\n");
        std::printf("|---|---|---|---|---|---|---|---|---|---|\n");
        for (const char* script : {"rain", "headlights", "shadows", "insects"})
            bench.measure(script, streets, seconds);
        std::printf("\nfalse alarms: %d, MOG2 %d\n", bench.ours(), bench.theirs());
        return bench.theirs() >= kBar * std::max(1, bench.ours()) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
