// A benchmark of false alarms in scripted streets (rain, insects, ...). Compares the alarms of our tracked
// objects with the alarms of OpenCV's MOG2 at the same recall.
//   mpm_bench_alarms [STREETS [SECONDS [MODEL [FIRST]]]]
// The exit status is 1 if MOG2 raises fewer than 5 times as many false alarms as our objects.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <opencv2/imgproc.hpp>
#include <opencv2/video/background_segm.hpp>

#include "base/random.hpp"
#include "base/statistics.hpp"
#include "pipeline/objects/frame_objects.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "street/layout/layout.hpp"
#include "street/street.hpp"

namespace {

using mpm::Detection;
using mpm::pipeline::regionObjects;

constexpr double kRate = 5, kWarmUp = 10, kBar = 5;  // frames a second; seconds to train MOG2; least ratio
constexpr double kLeastVisible = .5;                 // least share of an object that is in sight
constexpr int kLeastSide = 16, kLeastFrames = 5;     // least side of a box in pixels; least visible frames
constexpr double kOwnHold = .5;
constexpr int kResampled = 2000;
const cv::Size kSize(640, 480);

/// A box that was found in a frame. `shows`: whether most of the box's pixels belong to true objects.
struct Seen {
    Detection box;
    int area;
    bool shows;
};

/// The true objects of a frame. `found`: a list of boxes from our network, then one from MOG2 for each
/// Search.
struct Watched {
    std::vector<mpm::street::StreetObject> objects;
    std::vector<std::vector<Seen>> found;
};

struct Score {
    int objects = 0, recalled = 0, right = 0, wrong = 0;  // right, wrong: numbers of alarms
    void add(const Score& other) {
        objects += other.objects, recalled += other.recalled, right += other.right, wrong += other.wrong;
    }
};

struct Search {
    double variance;  ///< MOG2's threshold: squared distance from the background, in variances
    int history;      ///< frames from which MOG2 learns
    int opening;      ///< pixels of the morphological opening that removes noise
};

/// The parameters that decide which moving regions raise alarms.
struct Way {
    size_t search = 0;
    int smallest = 0;        ///< least number of pixels of a region
    double hold = kOwnHold;  ///< seconds after which an object raises an alarm
};

constexpr int kSmallest = 100;

std::vector<Search> searches() {
    std::vector<Search> all;
    for (const double variance : {8., 16., 40., 100.})
        for (const int history : {100, 500})
            for (const int opening : {1, 3, 5})
                all.push_back({variance, history, opening});
    return all;
}

/// The background models of MOG2: a model for each variance and history.
class Backgrounds {
public:
    std::vector<cv::Mat> find(const cv::Mat& image, const std::vector<Search>& all) {
        std::map<std::pair<double, int>, cv::Mat> masks;
        std::vector<cv::Mat> regions;
        for (const Search& search : all) {
            const std::pair<double, int> key(search.variance, search.history);
            auto& own = m_own[key];
            if (!own) own = cv::createBackgroundSubtractorMOG2(search.history, search.variance, true);
            cv::Mat& mask = masks[key];
            if (mask.empty()) own->apply(image, mask);
            regions.push_back(joined(mask == 255, search.opening));  // shadows have other values
        }
        return regions;
    }

private:
    static cv::Mat joined(const cv::Mat& moving, int opening) {
        const auto element = [](int side) {
            return cv::getStructuringElement(cv::MORPH_ELLIPSE, {side, side});
        };
        cv::Mat opened, closed;
        cv::morphologyEx(moving, opened, cv::MORPH_OPEN, element(opening));
        cv::morphologyEx(opened, closed, cv::MORPH_CLOSE, element(15));
        return closed / 255;
    }

    std::map<std::pair<double, int>, cv::Ptr<cv::BackgroundSubtractorMOG2>> m_own;
};

double share(const cv::Rect2f& box, const cv::Rect2f& truth, bool ofBox) {
    const double both = (box & truth).area();
    return both / (ofBox ? box.area() : box.area() + truth.area() - both);
}

/// Adds area and `shows` to the boxes. `truth` must be 0 except at pixels of true objects.
std::vector<Seen> seen(std::vector<Detection> boxes, const cv::Mat& truth) {
    std::vector<Seen> all;
    for (Detection& one : boxes) {
        const cv::Rect place = cv::Rect(one.box) & cv::Rect({0, 0}, truth.size());
        const cv::Mat mask = one.mask.empty() ? cv::Mat(place.size(), CV_8U, cv::Scalar(1)) : one.mask;
        cv::Mat both = truth(place) & (mask(cv::Rect({0, 0}, place.size())) > 0);
        const int area = cv::countNonZero(mask);
        all.push_back({{one.box, one.label, one.score, {}}, area, 2 * cv::countNonZero(both) >= area});
    }
    return all;
}

/// Returns the true objects that must be recalled: they move and are visible in at least kLeastFrames frames.
std::set<std::int64_t> wanted(const std::vector<Watched>& frames) {
    std::map<std::int64_t, int> times;
    std::map<std::int64_t, cv::Rect> first;
    std::set<std::int64_t> moved, all;
    for (const Watched& frame : frames)
        for (const auto& object : frame.objects) {
            if (object.visible < kLeastVisible || std::min(object.box.width, object.box.height) < kLeastSide)
                continue;
            ++times[object.id];
            const cv::Rect& begin = first.emplace(object.id, object.box).first->second;
            if (share(cv::Rect2f(begin), cv::Rect2f(object.box), false) < .5) moved.insert(object.id);
        }
    for (const auto& [id, count] : times)
        if (count >= kLeastFrames && moved.count(id) > 0) all.insert(id);
    return all;
}

/// Counts alarms. As in the monitor, an object raises an alarm after `hold` seconds. The alarm is right if
/// the object's box overlaps a true object or is mostly inside a true object, or if most pixels of the object
/// belong to true objects. A true object is recalled if it overlaps, in any frame, an object that raised an
/// alarm. Recall counts only the true objects in wanted().
Score score(const std::vector<Watched>& frames, const Way& way, double threshold) {
    mpm::pipeline::ObjectTracker tracker(mpm::pipeline::trackRules(threshold));
    Score score;
    std::set<std::int64_t> alarms, recalled;
    std::map<std::int64_t, std::set<std::int64_t>> covered;
    for (size_t number = 0; number < frames.size(); ++number) {
        const Watched& frame = frames[number];
        const std::vector<Seen>& found = frame.found[way.search];
        std::vector<Detection> boxes;
        for (const Seen& one : found)
            if (one.area >= way.smallest) boxes.push_back(one.box);
        for (const auto& track : tracker.update(boxes, static_cast<double>(number) / kRate, kSize)) {
            if (!track.seen) continue;
            bool right = std::any_of(found.begin(), found.end(),
                                     [&](const Seen& one) { return one.shows && one.box.box == track.box; });
            for (const auto& object : frame.objects) {
                const double overlap = share(track.box, cv::Rect2f(object.box), false);
                right = right || overlap >= .2 || share(track.box, cv::Rect2f(object.box), true) >= .5;
                if (overlap >= .2) covered[track.id].insert(object.id);
            }
            if (track.dwell() >= way.hold && alarms.insert(track.id).second)
                ++(right ? score.right : score.wrong);
        }
    }
    for (const std::int64_t id : alarms)
        recalled.insert(covered[id].begin(), covered[id].end());
    for (const std::int64_t id : wanted(frames))
        ++score.objects, score.recalled += static_cast<int>(recalled.count(id));
    return score;
}

Score sumOf(const std::vector<Score>& streets) {
    Score sum;
    for (const Score& one : streets)
        sum.add(one);
    return sum;
}

/// The scores of a script, with an entry for each street.
struct Row {
    std::vector<Score> ours, peer;
};

class Bench {
public:
    explicit Bench(const std::string& model)
        : m_segmenter(mpm::pipeline::Network(model)),
          m_threshold(mpm::pipeline::usualThreshold(m_segmenter.network().detects())) {
        const auto& labels = m_segmenter.info().labels;
        if (!m_segmenter.network().detects())
            m_classes = mpm::pipeline::classesNamed(labels, {"car", "pedestrian", "bicyclist"});
        m_segmenter.encoder().setPrecision(mpm::Precision::Auto);
        m_segmenter.encoder().setReuse(m_segmenter.network().reuse());
        for (size_t search = 0; search < m_searches.size(); ++search)
            for (const int smallest : {kSmallest, 200, 300, 500, 1000})
                for (const double hold : {0., .3, .5, .7})
                    m_ways.push_back({1 + search, smallest, hold});
    }

    /// Scores our alarms and those of MOG2 in all streets. Chooses the setting of MOG2 with the fewest false
    /// alarms at our recall. If no setting reaches our recall, chooses the setting with the highest recall.
    void measure(const std::string& script, int first, int streets, double seconds) {
        Row row;
        std::vector<std::vector<Score>> peers(m_ways.size());
        for (int street = first; street < first + streets; ++street) {
            const std::vector<Watched> frames = watch(script, street, seconds);
            row.ours.push_back(score(frames, {}, m_threshold));
            for (size_t way = 0; way < m_ways.size(); ++way)
                peers[way].push_back(score(frames, m_ways[way], m_threshold));
        }
        const int wanted = sumOf(row.ours).recalled;
        const auto isBetter = [&](const std::vector<Score>& one, const std::vector<Score>& other) {
            const Score a = sumOf(one), b = sumOf(other);
            return std::make_tuple(-std::min(a.recalled, wanted), a.wrong) <
                   std::make_tuple(-std::min(b.recalled, wanted), b.wrong);
        };
        const auto best = std::min_element(peers.begin(), peers.end(), isBetter);
        row.peer = *best;
        print(script, row, first, m_ways[static_cast<size_t>(best - peers.begin())]);
        m_rows.push_back(std::move(row));
    }

    /// Prints the sums of all scripts. Returns whether MOG2 raises at least kBar times as many false alarms.
    bool verdict() const {
        const size_t streets = m_rows.front().ours.size();
        std::vector<size_t> all(streets);
        for (size_t i = 0; i < streets; ++i)
            all[i] = i;
        mpm::Random random(1);
        std::vector<double> ratios;
        for (int i = 0; i < kResampled; ++i) {
            std::vector<size_t> some;
            for (size_t k = 0; k < streets; ++k)
                some.push_back(static_cast<size_t>(random.below(static_cast<int>(streets))));
            const auto [ours, theirs] = wrong(some);
            ratios.push_back(theirs / std::max(1., ours));
        }
        const auto [ours, theirs] = wrong(all);
        std::printf(
            "\nfalse alarms: %g, MOG2 %g: %.1f times fewer; 90 %% of resampled streets: %.1f to %.1f\n", ours,
            theirs, theirs / std::max(1., ours), mpm::quantile(ratios, .05), mpm::quantile(ratios, .95));
        return theirs >= kBar * std::max(1., ours);
    }

private:
    void print(const std::string& script, const Row& row, int first, const Way& way) const {
        const auto line = [&](const std::string& street, const Score& ours, const Score& peer) {
            std::printf("| %s | %s | %d | %d | %d | %d | %d | %d | %d |", script.c_str(), street.c_str(),
                        ours.objects, ours.recalled, ours.right, ours.wrong, peer.recalled, peer.right,
                        peer.wrong);
        };
        for (size_t i = 0; i < row.ours.size(); ++i) {
            line(std::to_string(first + static_cast<int>(i)), row.ours[i], row.peer[i]);
            std::printf(" |\n");
        }
        const Search& search = m_searches[way.search - 1];
        line("all", sumOf(row.ours), sumOf(row.peer));
        std::printf(" %g, %d, %d, %d, %g |\n", search.variance, search.history, search.opening, way.smallest,
                    way.hold);
        std::fflush(stdout);
    }

    /// Returns the numbers of false alarms in `streets`, summed over all scripts: ours, then MOG2's.
    std::pair<double, double> wrong(const std::vector<size_t>& streets) const {
        std::pair<double, double> sum;
        for (const Row& row : m_rows)
            for (const size_t street : streets)
                sum.first += row.ours[street].wrong, sum.second += row.peer[street].wrong;
        return sum;
    }

    std::vector<Watched> watch(const std::string& script, int street, double seconds) {
        m_segmenter.encoder().forget();
        mpm::street::Clip clip(kSize, mpm::street::clipLight(script), kRate, street);
        Backgrounds backgrounds;
        std::vector<Watched> frames;
        for (int number = 0; number < (kWarmUp + seconds) * kRate; ++number) {
            const auto frame = clip.frame(number);
            const auto moving = backgrounds.find(frame.image, m_searches);
            if (number < kWarmUp * kRate) continue;
            cv::Mat truth;
            cv::inRange(frame.labels, mpm::street::kCar, mpm::street::kBicyclist, truth);
            frames.push_back({frame.objects, {seen(objects(frame.image), truth)}});
            for (const cv::Mat& mask : moving)
                frames.back().found.push_back(seen(regionObjects(mask, {1}, kSmallest), truth));
        }
        return frames;
    }

    std::vector<Detection> objects(const cv::Mat& image) {
        const auto found = m_segmenter.segment(image, mpm::pipeline::Scores::Coarse);
        return found.detector ? found.detections : regionObjects(found.labels, m_classes, 0, found.scores);
    }

    mpm::pipeline::Segmenter m_segmenter;
    const double m_threshold;
    std::vector<int> m_classes;
    const std::vector<Search> m_searches = searches();
    std::vector<Way> m_ways;
    std::vector<Row> m_rows;
};

}  // namespace

int main(int argc, char** argv) {
    const int streets = argc > 1 ? std::atoi(argv[1]) : 5, first = argc > 4 ? std::atoi(argv[4]) : 1;
    const double seconds = argc > 2 ? std::atof(argv[2]) : 20;
    if (argc > 5 || streets < 1 || streets > 1000 || !(seconds >= 2 && seconds <= 3600)) {
        std::fprintf(stderr, "usage: mpm_bench_alarms [STREETS [SECONDS [MODEL [FIRST]]]]\n");
        return 2;
    }
    try {
        Bench bench(argc > 3 ? argv[3] : "default");
        std::printf("%d streets of %g s for each script, %g frames a second\n\n", streets, seconds, kRate);
        std::printf(
            "| script | street | moving objects | recalled | alarms | false | MOG2: recalled | alarms | "
            "false | variance, history, opening, smallest, hold |\n");
        std::printf("|---|---|---|---|---|---|---|---|---|---|\n");
        for (const char* script : {"rain", "headlights", "shadows", "insects"})
            bench.measure(script, first, streets, seconds);
        return bench.verdict() ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
