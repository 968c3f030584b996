#include "bench/reuse/hour.hpp"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <future>

#include "base/memory_use.hpp"
#include "bench/reuse/contest.hpp"
#include "pipeline/measure/method.hpp"
#include "pipeline/metric/confusion.hpp"
#include "pipeline/segment/network.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "street/street.hpp"

namespace mpm::bench {
namespace {

constexpr int kSeed = 7201, kFramesASecond = 5;
constexpr double kFirstHour = 16, kHours = 8;                   // hours of the street's clock
constexpr double kDayEnds = 18.5, kDusk = 19.3, kNight = 20.5;  // hours of the street's clock

// Interpolates between the lights `a` (share 0) and `b` (share 1).
street::NightParameters between(const street::NightParameters& a, const street::NightParameters& b,
                                double share) {
    share = std::clamp(share, 0.0, 1.0);
    const auto mix = [share](double from, double to) { return from * std::pow(to / from, share); };
    return {mix(a.luminance, b.luminance), mix(a.photons, b.photons), mix(a.deviation, b.deviation)};
}

// The frames of the hour, each in the light of its time. A thread draws the next frame while the network
// runs.
class Hour {
public:
    explicit Hour(int frames) : m_frames(frames), m_street(cv::Size(640, 480), kSeed) { drawNext(); }

    street::StreetFrame next() {
        street::StreetFrame shot = m_next.get();
        if (++m_number < m_frames) drawNext();
        return shot;
    }

private:
    void drawNext() {
        m_next = std::async(std::launch::async, [this, number = m_number] { return draw(number); });
    }

    street::StreetFrame draw(int number) {
        const double hour = kFirstHour + kHours * number / m_frames;
        const auto day = street::clipLight("day").noise, dusk = street::clipLight("dusk").noise,
                   night = street::clipLight("night").noise;
        street::StreetFrame shot = m_street.at(hour, static_cast<double>(number) / kFramesASecond);
        const auto noise = hour < kDusk ? between(day, dusk, (hour - kDayEnds) / (kDusk - kDayEnds))
                                        : between(dusk, night, (hour - kDusk) / (kNight - kDusk));
        shot.image = street::night(shot.image, noise, static_cast<uint64_t>(number) + 1);
        return shot;
    }

    const int m_frames;
    int m_number = 0;
    street::Street m_street;
    std::future<street::StreetFrame> m_next;  // last member, so destroyed first: its thread uses m_street
};

class Watcher {
public:
    Watcher(const std::string& model, Precision precision, const std::string& method)
        : m_network(networkFor(model, precision, pipeline::methodsFrom(method).front())) {}

    cv::Mat forward(const cv::Mat& blob) { return m_network.forward(blob); }
    cv::Mat blob(const cv::Mat& image) const { return m_network.blob({image}); }
    double recomputed() const {
        const ReuseReport reuse = m_network.encoder().report().images.at(0).reuse;
        return reuse.state == ReuseState::Suspended ? 1 : reuse.recomputed;
    }
    void score(const street::StreetFrame& shot, const cv::Mat& output) {
        m_confusion.add(shot.labels, pipeline::labelsOf(output, 0, m_network.info().size));
    }
    double takeMiou() {
        const double miou = m_confusion.miou();
        m_confusion = pipeline::Confusion(11, 255);
        return miou;
    }

private:
    pipeline::Network m_network;
    pipeline::Confusion m_confusion{11, 255};  // between the street's classes
};

}  // namespace

double residentMb() {
    return static_cast<double>(memoryUse().resident) / 1e6;
}

std::vector<HourPart> watchHour(const std::string& model, Precision precision, const std::string& reuse,
                                int frames, int every) {
    Watcher all(model, precision, "none"), reusing(model, precision, reuse);
    std::vector<HourPart> parts;
    Hour hour(frames);
    for (int part = 0; part < kHourParts; ++part) {
        HourPart now;
        const int begin = frames * part / kHourParts, end = frames * (part + 1) / kHourParts;
        for (int number = begin; number < end; ++number) {
            const street::StreetFrame shot = hour.next();
            const cv::Mat blob = reusing.blob(shot.image), output = reusing.forward(blob);
            now.computed += reusing.recomputed() / (end - begin);
            if ((number - begin) % every != 0) continue;
            reusing.score(shot, output);
            all.score(shot, all.forward(blob));
        }
        now.loss = 100 * (all.takeMiou() - reusing.takeMiou());
        // Gives free memory back to the system, so that the resident memory grows only if memory leaks.
        malloc_trim(0);
        now.resident = residentMb();
        parts.push_back(now);
    }
    return parts;
}

}  // namespace mpm::bench
