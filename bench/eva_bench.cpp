// A benchmark of EVA-01's blocks at full width, with random weights: compares all tokens with merging. The
// blocks have the sizes of EVA-01 + ViT-Adapter + Mask2Former for images of 896x896.
//   mpm_bench_eva [--rounds N] [--tokens N] [--width N] [--precision f32,bf16] [--others MS]
// Runs a chain of four segments, each a single block, in turn with all tokens and with merging. The second
// segment merges to 0.75 of the tokens, the third to 0.57, and the fourth uses the map of the third. Between
// segments, rows are restored and values are added, as in an injector of the ViT-Adapter. The benchmark sets
// the merge maps: with random weights, the search would merge other numbers of tokens. The benchmark measures
// the search for pairs separately. The figures of the whole model are computed from both measurements.
#include <cstdio>
#include <memory>
#include <numeric>
#include <vector>

#include <CLI/CLI.hpp>
#include <opencv2/core/utility.hpp>

#include "base/statistics.hpp"
#include "base/stopwatch.hpp"
#include "mpm_layer/encoder/chain.hpp"
#include "mpm_layer/encoder/runner.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "support/encoder_case.hpp"

namespace mpm::bench {
namespace {

constexpr int kSegments = 4;
/// For each segment, the number of blocks that it represents in a model of 40 blocks that merges before
/// blocks 2 and 5.
constexpr int kAlike[kSegments] = {2, 3, 5, 30};
constexpr double kShares[] = {0.75, 0.57};
/// Billions of multiply-adds in the parts outside the blocks, for an image of 896x896: injectors, extractors,
/// pyramid, pixel encoder, FPN, decoder.
constexpr double kOtherGmac = 88 + 242 + 125 + 1181 + 599 + 216;

struct Options {
    int rounds = 5, tokens = 3136, width = 16;
    double others = 0;
    std::vector<std::string> precisions{"f32", "bf16"};
};

test::EncoderOptions evaBlocks(const Options& options) {
    test::EncoderOptions o;
    o.heads = options.width, o.headSize = 88, o.hidden = 384 * options.width;
    o.blocks = kSegments, o.schedule = {1, 2}, o.imageTokens = options.tokens, o.chain = "eva";
    return o;
}

/// Returns a merge map to `clusters` clusters of neighbouring tokens. The cluster sizes differ by at most 1.
cv::Mat neighbours(int tokens, int clusters) {
    cv::Mat map(1, tokens, CV_32S);
    for (int i = 0; i < tokens; ++i)
        map.at<int>(i) = static_cast<int>(static_cast<std::int64_t>(i) * clusters / tokens);
    return map;
}

class Chain {
public:
    explicit Chain(const test::EncoderCase& whole) {
        for (const test::EncoderCase& segment : test::cutEncoder(whole, {1, 2, 3})) {
            const auto place = std::make_shared<NetworkPlace>();
            m_control = place->join(segment.config);
            m_runners.push_back(std::make_unique<EncoderRunner>(m_control, segment.config, place));
            m_runners.back()->setWeights(segment.weights);
        }
    }

    Encoder handle() const { return Encoder(m_control); }

    /// Returns the milliseconds of each segment. A segment gets and returns all tokens in raster order, so
    /// its time includes merging with the given maps and restoring.
    std::vector<double> forward(const cv::Mat& tokens, const cv::Mat& injected) {
        SessionInput input;
        input.tokens = tokens.clone();
        std::vector<double> times;
        for (size_t s = 0; s < m_runners.size(); ++s) {
            if (s > 0) input.tokens += injected;
            std::vector<cv::Mat> out(1);
            out[0].create(tokens.dims, tokens.size.p, CV_32F);
            const Stopwatch watch;
            const std::vector<cv::Mat> maps = m_runners[s]->run(input, out);
            times.push_back(watch.milliseconds());
            input.tokens = out[0];
            input.maps.clear();
            for (const cv::Mat& map : maps)
                input.maps.push_back(toMergeMap(map, "the map between two segments"));
        }
        return times;
    }

private:
    std::shared_ptr<EncoderControl> m_control;
    std::vector<std::unique_ptr<EncoderRunner>> m_runners;
};

/// The times of the chain with all tokens or with merging. `segments`: milliseconds by segment and round.
struct Times {
    std::vector<std::vector<double>> segments{kSegments};
    std::vector<double> merges, restores;
    std::vector<int> tokens;  ///< number of tokens that each block computes

    double ms(int segment) const { return quantile(segments[segment], 0.5); }
    double mean() const {
        double sum = 0;
        for (int s = 0; s < kSegments; ++s)
            sum += ms(s);
        return sum / kSegments;
    }
};

class Bench {
public:
    explicit Bench(const Options& options)
        : m_options(options),
          m_blocks(evaBlocks(options)),
          m_chain(test::makeEncoder(m_blocks)),
          m_tokens(test::makeBatch(m_blocks, 1, options.tokens, 1)),
          m_injected(0.1 * test::makeBatch(m_blocks, 1, options.tokens, 2)) {
        Encoder handle = m_chain.handle();
        int entering = options.tokens;
        for (int stage = 0; stage < 2; ++stage) {
            const int left = cvRound(kShares[stage] * options.tokens);
            handle.setMaps(stage, {neighbours(entering, left)});
            m_searched.push_back(entering);
            entering = left;
        }
        handle.setDevice(Device::Cpu);
    }

    void measure(const std::string& precision) {
        m_chain.handle().setPrecision(precision == "bf16" ? Precision::BF16 : Precision::F32);
        Times all, merged;
        double search = 0;
        for (int round = -1; round < m_options.rounds; ++round) {  // round -1 packs weights, unmeasured
            add(all, {}, round >= 0);
            add(merged, {1, 2}, round >= 0);
        }
        for (const int tokens : m_searched)
            search += searchMs(tokens);
        printBlocks(precision, all, merged);
        printWhole(precision, all, merged, search);
    }

private:
    void add(Times& times, const std::vector<int>& schedule, bool keep) {
        m_chain.handle().setSchedule(schedule);
        const std::vector<double> ms = m_chain.forward(m_tokens, m_injected);
        const Report report = m_chain.handle().report();
        times.tokens = report.images.at(0).tokens;
        if (!keep) return;
        for (int s = 0; s < kSegments; ++s)
            times.segments[s].push_back(ms[s]);
        times.merges.push_back(report.times.merge);
        times.restores.push_back(report.times.restore);
    }

    /// Returns the median milliseconds of three merges, each with the search for pairs and the means.
    double searchMs(int tokens) const {
        const cv::Mat rows = test::imageOf(m_tokens, 0).rowRange(0, 1 + tokens);
        std::vector<double> times;
        for (int i = 0; i < 3; ++i) {
            const Stopwatch watch;
            mergeTokens(rows, 1);
            times.push_back(watch.milliseconds());
        }
        return quantile(times, 0.5);
    }

    double gflops(int tokens) const {
        const double rows = tokens + 1.0, dim = m_blocks.dim(), hidden = m_blocks.hidden;
        return 1e-9 * (2 * rows * (4 * dim * dim + 2 * dim * hidden) + 4 * rows * rows * dim);
    }

    void printBlocks(const std::string& precision, const Times& all, const Times& merged) const {
        std::printf("\n| %s: block | tokens | GFLOPs | ms | GFLOP/s |\n|---|---|---|---|---|\n",
                    precision.c_str());
        const auto print = [&](const char* name, const Times& times, int s) {
            const double work = gflops(times.tokens[s]), ms = times.ms(s);
            std::printf("| %s %d | %d | %.1f | %.0f | %.0f |\n", name, s, times.tokens[s], work, ms,
                        1e3 * work / ms);
        };
        for (int s = 0; s < kSegments; ++s)
            print("all", all, s);
        for (int s = 0; s < kSegments; ++s)
            print("merged", merged, s);
        std::printf("\nof the four merged blocks: averaging %.1f ms, restoring %.1f ms\n",
                    quantile(merged.merges, 0.5), quantile(merged.restores, 0.5));
    }

    void printWhole(const std::string& precision, const Times& all, const Times& merged,
                    double search) const {
        std::printf(
            "\n| %s | all ms | merged ms | times faster | FLOPs allow | measured / allowed |\n"
            "|---|---|---|---|---|---|\n",
            precision.c_str());
        const auto print = [](const char* name, double before, double after, double allowed) {
            std::printf("| %s | %.0f | %.0f | %.3f | %.3f | %.3f |\n", name, before, after, before / after,
                        allowed, before / after / allowed);
        };
        double four[4] = {}, model[4] = {};  // ms and GFLOPs with all tokens, then with merging
        for (int s = 0; s < kSegments; ++s) {
            const double parts[] = {all.mean(), gflops(all.tokens[s]), merged.ms(s),
                                    gflops(merged.tokens[s])};
            for (int i = 0; i < 4; ++i) {
                four[i] += parts[i];
                model[i] += kAlike[s] * parts[i];
            }
        }
        print("four blocks, measured", four[0], four[2], four[1] / four[3]);
        print("40 blocks, computed", model[0], model[2], model[1] / model[3]);
        double searched = 0;
        for (const double tokens : m_searched)
            searched += 1e-9 * tokens * (tokens - 1) * m_blocks.dim();
        model[2] += search, model[3] += searched;
        print("with the search for pairs", model[0], model[2], model[1] / model[3]);
        std::printf("\nsearch for pairs %.0f ms\n", search);
        if (m_options.tokens == Options().tokens && m_options.width == Options().width) printModel(model);
    }

    /// Prints the figures of the whole model, including the parts outside the blocks at 896x896.
    void printModel(const double model[4]) const {
        const double work = 2 * kOtherGmac, atRate = work / model[1] * model[0];
        const double others = m_options.others > 0 ? m_options.others : atRate;
        std::printf(
            "\nThe whole model, computed: other parts %.0f ms (%s), all tokens %.0f ms, merged %.0f ms: %.3f "
            "times as fast; FLOPs allow %.3f\n",
            others, m_options.others > 0 ? "as given" : "their FLOPs at the rate of the blocks",
            model[0] + others, model[2] + others, (model[0] + others) / (model[2] + others),
            (model[1] + work) / (model[3] + work));
    }

    Options m_options;
    test::EncoderOptions m_blocks;
    Chain m_chain;
    cv::Mat m_tokens, m_injected;
    std::vector<int> m_searched;  ///< number of tokens among which each stage searches for pairs
};

}  // namespace
}  // namespace mpm::bench

int main(int argc, char** argv) {
    mpm::bench::Options options;
    CLI::App app("EVA-01's blocks at their real width: all tokens against merged ones");
    app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
    app.add_option("--tokens", options.tokens)->check(CLI::Range(4, 65536));
    app.add_option("--width", options.width, "heads of 88; EVA-01 has 16")->check(CLI::Range(1, 64));
    app.add_option("--precision", options.precisions)->delimiter(',')->check(CLI::IsMember({"f32", "bf16"}));
    app.add_option("--others", options.others, "measured ms of the parts around the blocks");
    CLI11_PARSE(app, argc, argv);
    mpm::bench::Bench bench(options);
    for (const std::string& precision : options.precisions) {
        if (precision == "bf16" && !mpm::kernels::hasBf16())
            std::puts("\nbf16: this processor multiplies no bf16");
        else
            bench.measure(precision);
    }
    return 0;
}
