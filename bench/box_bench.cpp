// Runs a model on frames of the built-in street, once with reuse and once with all tokens, and compares the
// boxes. For reference, also runs all tokens on two images of the same scene that differ only in the camera's
// noise, and compares these boxes.
//   mpm_bench_boxes [STREETS [SECONDS [MODEL [FIRST [RATE [REUSE]]]]]]
// MODEL: a detector, or a segmentation model whose regions of cars and people are used as boxes. The exit
// status is 1 if a required value is missed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <mpm/read_net.hpp>

#include "pipeline/metric/coco.hpp"
#include "pipeline/objects/frame_objects.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "street/layout/layout.hpp"
#include "street/street.hpp"

namespace {

using mpm::Detection;

constexpr double kBarMatched = .98, kBarLoss = .005;  // least matched share; largest loss of precision
constexpr double kSame = .75, kFound = .5;        // least IoU of two matching boxes; of a box and an object
constexpr double kLeastVisible = .5, kStill = 2;  // visible share of a true object; seconds without motion
constexpr int kLeastSide = 16;
const cv::Size kSize(640, 480);

double overlap(const cv::Rect2f& one, const cv::Rect2f& other) {
    const double both = (one & other).area();
    return both / (one.area() + other.area() - both);
}

class Watcher {
public:
    Watcher(const std::string& model, const std::string& reuse) : m_segmenter(mpm::pipeline::Network(model)) {
        const auto& info = m_segmenter.info();
        m_classes = mpm::pipeline::classesNamed(info.labels, {"car", "pedestrian", "bicyclist"});
        m_threshold = mpm::pipeline::usualThreshold(info.detections.has_value());
        mpm::pipeline::DetectionChoice choice;
        choice.threshold = mpm::pipeline::TrackRules().low;
        m_segmenter.setDetections(choice);
        m_segmenter.encoder().setPrecision(mpm::Precision::Auto);
        m_segmenter.encoder().setSchedule({});
        m_segmenter.encoder().setReuse(mpm::reuseFrom(reuse, m_segmenter.network().reuse()));
    }

    /// Returns boxes of any score, best first.
    std::vector<Detection> boxes(const cv::Mat& image) {
        const auto found = m_segmenter.segment(image, mpm::pipeline::Scores::Coarse);
        std::vector<Detection> all = found.detections;
        if (!found.detector) all = mpm::pipeline::regionObjects(found.labels, m_classes, 0, found.scores);
        mpm::pipeline::keepClasses(all, m_classes);
        const auto better = [](const Detection& a, const Detection& b) { return a.score > b.score; };
        std::stable_sort(all.begin(), all.end(), better);
        return all;
    }
    double recomputed() { return m_segmenter.encoder().report().images.at(0).reuse.recomputed; }
    void forget() { m_segmenter.encoder().forget(); }
    bool counts(const Detection& one) const { return one.score > m_threshold; }

private:
    mpm::pipeline::Segmenter m_segmenter;
    std::vector<int> m_classes;
    double m_threshold = 0;
};

/// `all`: number of boxes from all tokens; `some`: number of boxes with reuse; `both`: number of matches.
struct Matches {
    int all = 0, some = 0, both = 0;
    double share() const { return 2. * both / std::max(1, all + some); }
    void add(const Matches& more) { all += more.all, some += more.some, both += more.both; }
};

Matches match(const std::vector<Detection>& all, const std::vector<Detection>& some) {
    Matches matches{static_cast<int>(all.size()), static_cast<int>(some.size()), 0};
    std::vector<char> taken(some.size());
    for (const Detection& one : all) {
        size_t best = some.size();
        double most = kSame;
        for (size_t i = 0; i < some.size(); ++i)
            if (!taken[i] && some[i].label == one.label && overlap(some[i].box, one.box) >= most)
                best = i, most = overlap(some[i].box, one.box);
        if (best < some.size()) taken[best] = 1, ++matches.both;
    }
    return matches;
}

/// The average precision with all tokens and with reuse.
class Precision {
public:
    void add(const std::vector<mpm::street::StreetObject>& objects, const std::vector<Detection>& all,
             const std::vector<Detection>& some) {
        ++m_image;
        m_images.push_back(m_image);
        for (const auto& object : objects) {
            mpm::pipeline::CocoObject truth;
            truth.image = m_image, truth.category = object.label, truth.box = object.box;
            truth.area = double(object.box.area());
            truth.crowd =
                object.visible < kLeastVisible || std::min(object.box.width, object.box.height) < kLeastSide;
            m_truth.push_back(truth);
        }
        append(all, m_all), append(some, m_some);
    }
    double ofAll() const { return of(m_all); }
    double ofSome() const { return of(m_some); }

private:
    void append(const std::vector<Detection>& boxes, std::vector<mpm::pipeline::CocoObject>& found) const {
        for (const Detection& one : boxes) {
            mpm::pipeline::CocoObject object;
            object.image = m_image, object.category = one.label, object.box = one.box,
            object.score = one.score;
            object.area = one.box.area();
            found.push_back(object);
        }
    }
    double of(const std::vector<mpm::pipeline::CocoObject>& found) const {
        const std::vector<int64_t> classes = {mpm::street::kCar, mpm::street::kPedestrian,
                                              mpm::street::kBicyclist};
        return cocoScores(cocoMatches(m_images, classes, m_truth, found), classes).figures[0];
    }

    int64_t m_image = 0;
    std::vector<int64_t> m_images;
    std::vector<mpm::pipeline::CocoObject> m_truth, m_all, m_some;
};

/// Counts the true objects that stand still, over all frames: in total, found with all tokens, and found with
/// reuse.
class Standing {
public:
    void add(double seconds, const std::vector<mpm::street::StreetObject>& objects,
             const std::vector<Detection>& all, const std::vector<Detection>& some) {
        for (const auto& object : objects) {
            auto& [box, since] = m_known.try_emplace(object.id, object.box, seconds).first->second;
            if (overlap(box, object.box) < .95) box = object.box, since = seconds;
            if (seconds - since < kStill || object.visible < kLeastVisible) continue;
            ++frames, ofAll += isFound(object, all), ofSome += isFound(object, some);
        }
    }
    int frames = 0, ofAll = 0, ofSome = 0;

private:
    static bool isFound(const mpm::street::StreetObject& object, const std::vector<Detection>& boxes) {
        return std::any_of(boxes.begin(), boxes.end(), [&](const Detection& one) {
            return one.label == object.label && overlap(one.box, object.box) >= kFound;
        });
    }
    std::map<std::int64_t, std::pair<cv::Rect2f, double>> m_known;
};

struct Options {
    int streets = 2, first = 1;
    double seconds = 20, rate = 5;
    std::string model = "default", reuse = "on";
};

bool run(const Options& o) {
    Watcher all(o.model, "off"), some(o.model, o.reuse), again(o.model, "off");
    bool holds = true;
    std::printf(
        "| light | boxes | matched at IoU %g | all tokens, other noise | AP, all tokens | AP, reuse "
        "| standing: found | by reuse | tokens computed |\n",
        kSame);
    std::printf("|---|---|---|---|---|---|---|---|---|\n");
    for (const char* light : {"day", "dusk", "night"}) {
        Matches matches, noise;
        Precision precision;
        int frames = 0, still = 0, stillAll = 0, stillSome = 0;
        double recomputed = 0;
        for (int street = o.first; street < o.first + o.streets; ++street) {
            mpm::street::Clip clip(kSize, mpm::street::clipLight(light), o.rate, street);
            Standing standing;
            some.forget();
            for (int number = 0; number < o.seconds * o.rate; ++number) {
                const auto frame = clip.frame(number);
                auto a = all.boxes(frame.image), b = some.boxes(frame.image),
                     c = again.boxes(clip.frame(number, 1).image);
                recomputed += number > 0 ? some.recomputed() : 0, frames += number > 0;
                precision.add(frame.objects, a, b);
                const auto isWeak = [&](const Detection& one) { return !all.counts(one); };
                for (auto* boxes : {&a, &b, &c})
                    boxes->erase(std::remove_if(boxes->begin(), boxes->end(), isWeak), boxes->end());
                matches.add(match(a, b)), noise.add(match(a, c));
                standing.add(number / o.rate, frame.objects, a, b);
            }
            still += standing.frames, stillAll += standing.ofAll, stillSome += standing.ofSome;
        }
        std::printf("| %s | %d | %.2f %% | %.2f %% | %.2f | %.2f | %d of %d | %d | %.1f %% |\n", light,
                    matches.all, 100 * matches.share(), 100 * noise.share(), 100 * precision.ofAll(),
                    100 * precision.ofSome(), stillAll, still, stillSome, 100 * recomputed / frames);
        std::fflush(stdout);
        holds = holds && matches.share() >= kBarMatched &&
                precision.ofAll() - precision.ofSome() <= kBarLoss && stillSome >= stillAll;
    }
    return holds;
}

}  // namespace

int main(int argc, char** argv) {
    Options o;
    if (argc > 1) o.streets = std::atoi(argv[1]);
    if (argc > 2) o.seconds = std::atof(argv[2]);
    if (argc > 3) o.model = argv[3];
    if (argc > 4) o.first = std::atoi(argv[4]);
    if (argc > 5) o.rate = std::atof(argv[5]);
    if (argc > 6) o.reuse = argv[6];
    if (argc > 7 || o.streets < 1 || !(o.seconds >= 2 && o.seconds <= 3600) || !(o.rate > 0)) {
        std::fprintf(stderr, "usage: mpm_bench_boxes [STREETS [SECONDS [MODEL [FIRST [RATE [REUSE]]]]]]\n");
        return 2;
    }
    try {
        return run(o) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
