// A benchmark of reuse: speed, quality and memory, compared with required values (bars).
//   mpm_bench_reuse [--clips N] [--frames N] [--precision f32,bf16] [--only TEXT] [--video FILE] [--plot
//   FILE.svg] [--hour N] [--peer COMMAND]
// Prints Markdown tables; the exit status is 1 if a bar is missed. Full forwards, merging and reuse run in
// turn on every frame.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include <CLI/CLI.hpp>
#include <opencv2/core/utility.hpp>
#include <opencv2/core/utils/logger.hpp>

#include "bench/reuse/bars.hpp"
#include "bench/reuse/contest.hpp"
#include "bench/reuse/detector.hpp"
#include "bench/reuse/hour.hpp"
#include "bench/reuse/lines.hpp"
#include "bench/reuse/peer.hpp"
#include "cli/common/network.hpp"
#include "pipeline/chart/figure.hpp"
#include "pipeline/segment/names.hpp"

namespace mpm::bench {
namespace {

struct Options {
    std::string model = "default", only, video, plot, day, reuse = "reuse", peer;
    int clips = 10, frames = 100, threads = 2, hour = 0;
    bool detector = false;
    std::vector<std::string> precisions{"f32", "bf16"};
};

Precision precisionOf(const std::string& name) {
    return name == "bf16" ? Precision::BF16 : name == "i8" ? Precision::I8 : Precision::F32;
}

class Bench {
public:
    explicit Bench(const Options& options)
        : m_options(options), m_cost(cli::modelCost(pipeline::Network(options.model))) {}

    bool run() {
        if (m_options.detector) return detector();
        if (m_options.hour > 0) return hour();
        if (m_options.only != "none") bars();
        if (!m_options.plot.empty()) plot();
        if (!m_options.day.empty()) day();
        return m_lines.missed() == 0;
    }

private:
    bool wanted(const std::string& name) const {
        return m_options.only.empty() || name.find(m_options.only) != std::string::npos;
    }

    void bars() {
        m_lines.head();
        for (const std::string& precision : m_options.precisions)
            if (wanted("memory")) measureMemory(precision);  // forks, so threads must not run yet
        std::cout
            << "\n| clip | precision | GFLOPs fewer | faster | quality | computed | full | suspended | MPM: "
               "fewer | faster | quality | bars |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
        for (const Bar& bar : kBars)
            if (wanted(bar.name)) measure(bar);
        std::cout << '\n';
        m_lines.head();
        for (const std::string& precision : m_options.precisions) {
            if (wanted("equal")) measureEqual(precision);
            if (wanted("new")) measureNew(precision);
            if (wanted("peer") && !m_options.peer.empty()) measurePeer(precision);
        }
    }

    Contest contest(const std::string& precision, const std::string& methods) const {
        return {m_options.model, m_cost, precisionOf(precision), methods};
    }

    void measure(const Bar& bar) {
        std::vector<Contest> contests;
        for (const std::string& precision : m_options.precisions)
            contests.push_back(contest(precision, "none," + m_options.reuse + ",mpm"));
        for (int street = 0; street < m_options.clips; ++street) {
            const auto clip = clipOf(bar, street, m_options.frames, m_options.video);
            if (!clip) break;
            for (Contest& one : contests)
                one.run(*clip);
        }
        for (size_t i = 0; i < contests.size(); ++i)
            if (contests[i].scores()[0].frames > 0) print(bar, m_options.precisions[i], contests[i].scores());
    }

    static std::string quality(const Bar& bar, const Score& score, const Score& all) {
        if (bar.light.empty())
            return cv::format("agrees %.2f %%, worst %.2f %%", 100 * score.meanAgreement(),
                              100 * score.worst);
        return cv::format("loss %.2f", 100 * (all.confusion.miou() - score.confusion.miou()));
    }

    void print(const Bar& bar, const std::string& precision, const std::vector<Score>& scores) {
        const Score &all = scores[0], &reuse = scores[1], &merged = scores[2];
        const double fewer = all.operations / reuse.operations, faster = all.ms / reuse.ms;
        std::string missed;
        if (fewer < bar.flops) missed += cv::format(" GFLOPs %g", bar.flops);
        const double speed = precision == "f32" ? bar.speed : bar.speedBf16;
        if (faster < speed) missed += cv::format(" speed %g", speed);
        const bool good = bar.light.empty()
                              ? 100 * reuse.meanAgreement() >= bar.agreement && 100 * reuse.worst >= bar.worst
                              : 100 * (all.confusion.miou() - reuse.confusion.miou()) <= bar.loss;
        if (!good) missed += " quality";
        m_lines.miss(!missed.empty());
        std::cout << "| " << bar.name << " | " << precision << cv::format(" | %.2f | %.2f | ", fewer, faster)
                  << quality(bar, reuse, all)
                  << cv::format(" | %.1f %% | %.1f %% | %.1f %% | %.2f | %.2f | ",
                                100 * reuse.reuse.meanRecomputed(), 100 * reuse.reuse.fullShare(),
                                100 * reuse.reuse.suspendedShare(), all.operations / merged.operations,
                                all.ms / merged.ms)
                  << quality(bar, merged, all) << " | " << (missed.empty() ? "reached" : "missed:" + missed)
                  << " |" << std::endl;
    }

    // Measures frames after the input has not changed for more than (blocks + 1) * refresh frames. From then
    // on, the results have the bits of full forwards.
    void measureEqual(const std::string& precision) {
        constexpr int kConverged = 15 * 30 + 5, kMeasured = 20;
        Contest all = contest(precision, "none," + m_options.reuse);
        const Clip clip = frozen("day", 7001, kConverged + kMeasured);
        all.run(clip, kConverged);
        const double share = 100 * all.scores()[1].ms / all.scores()[0].ms;
        m_lines.add("input equal to the bit", precision,
                    cv::format("%.2f %% of a full frame, %s", share,
                               all.scores()[1].equalBits ? "equal bits" : "other bits"),
                    "3 %, equal bits", share <= 3 && all.scores()[1].equalBits);
    }

    void measureNew(const std::string& precision) {
        Contest both = contest(precision, "mpm," + m_options.reuse);
        both.run(everyFrameNew(7101, 100));
        const double slower = 100 * (both.scores()[1].ms / both.scores()[0].ms - 1);
        m_lines.add("every frame new", precision, cv::format("%.1f %% slower than MPM", slower), "5 %",
                    slower <= 5);
    }

    // Compares reuse with the peer, which runs before and after the video.
    void measurePeer(const std::string& precision) {
        Contest reuse = contest(precision, m_options.reuse);
        const double before = peerMs(m_options.peer);
        reuse.run(video(m_options.video, m_options.frames));
        const double peer = (before + peerMs(m_options.peer)) / 2, ms = reuse.scores()[0].meanMs();
        const double bar = precision == "f32" ? 6 : 10;
        m_lines.add("video, against the peer's " + cv::format("%.1f ms", peer), precision,
                    cv::format("%.1f ms a frame, %.2f times as fast", ms, peer / ms), cv::format("%g", bar),
                    peer / ms >= bar);
    }

    void measureMemory(const std::string& precision) {
        const pipeline::Method reuse = pipeline::methodsFrom(m_options.reuse).front();
        m_lines.addMemory(
            precision, precision == "f32" ? 32 : 20,
            [&] { return networkFor(m_options.model, precisionOf(precision), reuse); },
            street("day", 0, 7001, 1).shots(0).image);
    }

    // Plots loss against time, by day and by night, for several methods and for MotionGate.
    void plot() const {
        const std::vector<std::string> variants = {"reuse:sensitivity=1",   "reuse",
                                                   "reuse:sensitivity=2.5", "reuse:sensitivity=4",
                                                   "reuse:refresh=10",      "reuse:refresh=100"};
        std::string methods = "none,mpm";
        for (const std::string& variant : variants)
            methods += "," + variant;
        pipeline::Figure figure{"Loss and time on a fixed camera, 5 frames a second", {}};
        for (const std::string light : {"day", "night"}) {
            Contest all = contest(m_options.precisions.back(), methods);
            std::vector<MotionGate> gates;
            for (const double share : {0.0, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08})
                gates.emplace_back(share);
            for (int number = 0; number < m_options.clips; ++number) {
                for (MotionGate& gate : gates)
                    gate.restart();
                all.run(recorded(street(light, 5, 7001 + number, m_options.frames)), 0, &gates);
            }
            figure.panels.push_back(panelOf(light, all.scores(), variants, gates));
        }
        std::ofstream(m_options.plot) << toSvg(figure);
    }

    static pipeline::PlotPanel panelOf(const std::string& light, const std::vector<Score>& scores,
                                       const std::vector<std::string>& variants,
                                       const std::vector<MotionGate>& gates) {
        const double base = scores[0].confusion.miou();
        const auto point = [&](const Score& score, const std::string& label) {
            std::printf("%s, %s: %.2f ms, loss %.2f points\n", light.c_str(), label.c_str(), score.meanMs(),
                        100 * (base - score.confusion.miou()));
            return pipeline::PlotPoint{score.meanMs(), 100 * (base - score.confusion.miou()), 0, 0, label};
        };
        pipeline::PlotPanel panel{
            "Street by " + light, "ms a frame", "mIoU lost, points", {}, {}, false, 0, 0};
        pipeline::PlotSeries all, mpm, reuse, gate;
        all.name = "all tokens", mpm.name = "MPM", reuse.name = "reuse", reuse.line = false;
        gate.name = "full forward only when something moves";
        all.points = {point(scores[0], "all tokens")};
        mpm.points = {point(scores[1], "MPM")};
        for (size_t i = 0; i < variants.size(); ++i)
            reuse.points.push_back(
                point(scores[i + 2], variants[i] == "reuse" ? "default" : variants[i].substr(6)));
        for (const MotionGate& one : gates)
            gate.points.push_back(point(one.score(), cv::format("%g %% moves", 100 * one.share())));
        panel.series = {all, mpm, reuse, gate};
        return panel;
    }

    bool detector() {
        const Clip clip = video(m_options.video, m_options.frames);
        std::vector<DetectorBench> benches;
        for (const std::string& precision : m_options.precisions)
            benches.emplace_back(m_options.model, precision, precisionOf(precision), m_options.reuse);
        m_lines.head();
        for (const DetectorBench& bench : benches)
            bench.measureMemory(clip.shots(0).image, m_lines);
        for (const DetectorBench& bench : benches)
            bench.measure(clip, m_cost, m_options.peer, m_lines);
        return m_lines.missed() == 0;
    }

    // Checks that loss and memory of the later parts stay near those of the first ten minutes.
    bool hour() {
        constexpr int kEvery = 15;
        constexpr double kMostMore = 0.3, kMostMb = 8;
        std::cout << "| minutes | precision | loss | computed | memory | |\n|---|---|---|---|---|---|\n";
        for (const std::string& precision : m_options.precisions) {
            const std::vector<HourPart> parts =
                watchHour(m_options.model, precisionOf(precision), m_options.reuse, m_options.hour, kEvery);
            for (int i = 0; i < kHourParts; ++i) {
                const bool reached = parts[i].loss - parts[0].loss <= kMostMore &&
                                     parts[i].resident - parts[0].resident <= kMostMb;
                m_lines.miss(!reached);
                std::cout << cv::format("| %d to %d | %s | %.2f | %.1f %% | %.1f MB | %s |\n", 10 * i,
                                        10 * (i + 1), precision.c_str(), parts[i].loss,
                                        100 * parts[i].computed, parts[i].resident,
                                        reached ? "reached" : "missed");
            }
        }
        return m_lines.missed() == 0;
    }

    // Plots the share of computed tokens by hour of the day, without the first frame of each clip.
    void day() const {
        pipeline::PlotSeries computed, full;
        computed.name = "computed tokens", full.name = "full or suspended";
        for (int hour = 0; hour < 24; ++hour) {
            Contest one = contest(m_options.precisions.back(), m_options.reuse);
            for (int number = 0; number < m_options.clips; ++number)
                one.run(atHour(hour, 7001 + number, m_options.frames), 1);
            const pipeline::ReuseCounts& reuse = one.scores()[0].reuse;
            const double rest = 100 * (reuse.fullShare() + reuse.suspendedShare());
            std::printf("%02d:00 %.1f %% computed, %.1f %% full or suspended\n", hour,
                        100 * reuse.meanRecomputed(), rest);
            computed.points.push_back({double(hour), 100 * reuse.meanRecomputed(), 0, 0, {}});
            full.points.push_back({double(hour), rest, 0, 0, {}});
        }
        pipeline::PlotPanel panel{
            "A street at 5 frames a second", "hour of the day", "share, %", {}, {}, true, 0, 24};
        panel.series = {computed, full};
        std::ofstream(m_options.day) << toSvg(
            pipeline::Figure{"Tokens computed by hour", {panel}, {720, 330}});
    }

    const Options m_options;
    const pipeline::ModelCost m_cost;
    Lines m_lines;
};

}  // namespace
}  // namespace mpm::bench

int main(int argc, char** argv) {
    mpm::bench::Options options;
    CLI::App app("Reuse over time against its bars");
    app.add_option("--model", options.model, "default, or a converted model with the street's classes");
    app.add_option("--reuse", options.reuse, "the method, as reuse:refresh=60");
    app.add_option("--clips", options.clips, "streets of each kind")->check(CLI::Range(1, 1000));
    app.add_option("--frames", options.frames, "of each clip")->check(CLI::Range(2, 100000));
    app.add_option("--precision", options.precisions, "f32, bf16, i8")->delimiter(',');
    app.add_option("--only", options.only, "clips with this text in their name (none: no table)");
    app.add_option("--video", options.video, "a fixed camera's video, as vtest.avi of opencv-doc");
    app.add_option("--plot", options.plot, "draw loss against time as SVG");
    app.add_option("--day", options.day, "draw the share of computed tokens by hour of a day as SVG");
    app.add_option(
           "--hour", options.hour,
           "run only this: number of frames, five a second (18000: an hour), through day, dusk and night")
        ->check(CLI::Range(60, 1000000));
    app.add_option("--peer", options.peer,
                   "a command that times all tokens of the model elsewhere, as \"python3 "
                   "bench/peers/peer.py onnxruntime model.onnx 2 10\"; needs --video")
        ->needs("--video");
    app.add_flag("--detector", options.detector,
                 "run only this: the bars of detectors, on the video; --model is a converted detector")
        ->needs("--video");
    app.add_option("--threads", options.threads)->check(CLI::Range(1, 1024));
    CLI11_PARSE(app, argc, argv);
    try {
        cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_ERROR);
        cv::setNumThreads(options.threads);
        return mpm::bench::Bench(options).run() ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
}
