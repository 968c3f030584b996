// A benchmark of a detector with reuse: memory, and speed against all tokens and against another engine.
#pragma once

#include <numeric>

#include "base/stopwatch.hpp"
#include "bench/reuse/clips.hpp"
#include "bench/reuse/contest.hpp"
#include "bench/reuse/lines.hpp"
#include "bench/reuse/peer.hpp"
#include "pipeline/segment/flops.hpp"

namespace mpm::bench {

class DetectorBench {
public:
    DetectorBench(std::string model, std::string precision, Precision value, const std::string& reuse)
        : m_model(std::move(model)), m_name(std::move(precision)), m_precision(value), m_reuse(reuse) {}

    /// Adds a line with the memory of a stream. Forks, so it must be called before any thread starts.
    void measureMemory(const cv::Mat& image, Lines& lines) const {
        constexpr double kMbF32 = 60, kMb = 35;
        lines.addMemory(
            m_name, m_precision == Precision::F32 ? kMbF32 : kMb, [&] { return networkOf(m_reuse); }, image);
    }

    /// Adds a line for each figure, with the figure's bar (required value) if there is one. `peer`: command
    /// of another engine, or empty.
    void measure(const Clip& clip, const pipeline::ModelCost& cost, const std::string& peer,
                 Lines& lines) const {
        constexpr double kFewer = 5, kFaster = 4, kPeer = 4;
        const pipeline::FlopsCounter flops(cost);
        pipeline::Network plain = networkOf("none"), reusing = networkOf(m_reuse);
        Score all, some, warm;
        const double before = peer.empty() ? 0 : peerMs(peer);
        for (pipeline::Network* network : {&plain, &reusing})
            see(*network, clip.shots(0).image, flops, warm);
        // The forwards above allocate memory and are not measured. forget() makes the first frame of the clip
        // a full frame again.
        reusing.encoder().forget();
        for (int number = 0; number < clip.frames; ++number) {
            see(plain, clip.shots(number).image, flops, all);
            see(reusing, clip.shots(number).image, flops, some);
        }
        const double fewer = all.operations / some.operations, faster = all.encoder / some.encoder;
        lines.add(
            "encoder, operations against all tokens", m_name,
            cv::format("%.2f times fewer, %.1f %% of the tokens", fewer, 100 * some.recomputed / clip.frames),
            cv::format("%g", kFewer), fewer >= kFewer);
        lines.add("encoder, time against all tokens", m_name,
                  cv::format("%.1f ms in place of %.1f, %.2f times as fast", some.encoder / clip.frames,
                             all.encoder / clip.frames, faster),
                  cv::format("%g", kFaster), faster >= kFaster);
        if (!peer.empty()) {
            const double ms = (before + peerMs(peer)) / 2, own = some.whole / clip.frames;
            // Only int8 has a required value for this figure.
            lines.add(cv::format("whole network against the peer's %.1f ms", ms), m_name,
                      cv::format("%.1f ms (%.1f outside of the encoder), %.2f times as fast", own,
                                 own - some.encoder / clip.frames, ms / own),
                      m_precision == Precision::I8 ? cv::format("%g", kPeer) : "-",
                      m_precision != Precision::I8 || ms / own >= kPeer);
        }
        lines.add("whole network, all tokens", m_name,
                  cv::format("%.1f ms (%.1f outside of the encoder)", all.whole / clip.frames,
                             (all.whole - all.encoder) / clip.frames),
                  "-", true);
    }

private:
    struct Score {
        double whole = 0, encoder = 0, operations = 0, recomputed = 0;
    };

    pipeline::Network networkOf(const std::string& method) const {
        return networkFor(m_model, m_precision, pipeline::methodsFrom(method).front());
    }

    void see(pipeline::Network& network, const cv::Mat& image, const pipeline::FlopsCounter& flops,
             Score& score) const {
        const cv::Mat blob = network.blob({image});
        const Stopwatch watch;
        network.forwardDetector(blob, {image.size()});
        score.whole += watch.milliseconds();
        const Report report = network.encoder().report();
        score.encoder += report.times.whole;
        score.recomputed += report.images[0].reuse.recomputed;
        const std::vector<double> blocks = flops.blocks(report.images[0], "none");
        score.operations += std::accumulate(blocks.begin(), blocks.end(), 0.0);
    }

    std::string m_model, m_name;
    Precision m_precision;
    std::string m_reuse;
};

}  // namespace mpm::bench
