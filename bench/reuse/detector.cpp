#include "bench/reuse/detector.hpp"

#include <numeric>

#include "base/stopwatch.hpp"
#include "bench/reuse/contest.hpp"
#include "bench/reuse/peer.hpp"

namespace mpm::bench {

DetectorBench::DetectorBench(std::string model, std::string precision, Precision value,
                             const std::string& reuse)
    : m_model(std::move(model)), m_name(std::move(precision)), m_precision(value), m_reuse(reuse) {}

void DetectorBench::see(pipeline::Network& network, const cv::Mat& image, const pipeline::FlopsCounter& flops,
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

pipeline::Network DetectorBench::networkOf(const std::string& method) const {
    return networkFor(m_model, m_precision, pipeline::methodsFrom(method).front());
}

void DetectorBench::measureMemory(const cv::Mat& image, Lines& lines) const {
    constexpr double kMbF32 = 60, kMb = 35;
    lines.addMemory(
        m_name, m_precision == Precision::F32 ? kMbF32 : kMb, [&] { return networkOf(m_reuse); }, image);
}

void DetectorBench::measure(const Clip& clip, const pipeline::ModelCost& cost, const std::string& peer,
                            Lines& lines) const {
    constexpr double kFewer = 5, kFaster = 4, kPeer = 4;
    const pipeline::FlopsCounter flops(cost);
    pipeline::Network plain = networkOf("none"), reusing = networkOf(m_reuse);
    Score all, some, warm;
    const double before = peer.empty() ? 0 : peerMs(peer);
    for (pipeline::Network* network : {&plain, &reusing})
        see(*network, clip.shots(0).image, flops, warm);
    reusing.encoder().forget();  // the first frame of the clip counts, the network's first forward does not
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
        // The bar is that of int8.
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

}  // namespace mpm::bench
