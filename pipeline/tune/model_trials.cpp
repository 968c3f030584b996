#include "pipeline/tune/model_trials.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pipeline/measure/reuse_counts.hpp"
#include "pipeline/measure/watcher.hpp"

namespace mpm::pipeline {

namespace {

using Kind = MeasureError::Kind;

const Method kAllTokens{"none", std::nullopt, "none"};

class ModelTrials {
public:
    ModelTrials(Network& network, const std::vector<cv::Mat>& images)
        : m_network(network), m_own(ownMergingOf(network)) {
        for (const cv::Mat& image : images) {
            m_blobs.push_back(network.blob({image}));
            m_sizes.push_back(image.size());
        }
    }

    /// Runs the network with all tokens on at least kFewestTuneImages images, and on further images until a
    /// quarter of the time has passed. The first forward is a warm-up.
    void addReferences(const Watcher& watcher, const Stopwatch& watch, double limit) {
        applyMethod(m_network, kAllTokens, m_own);
        const cv::Mat output = forward(0).front();
        if (!m_network.detects() && m_network.kindOf(output) == OutputKind::Unknown && output.dims != 2 &&
            !isMap(m_network, output))
            m_network.useFeatures(m_blobs[0]);
        for (size_t image = 0; image < m_blobs.size(); ++image) {
            const bool enough = m_agreement.size() >= kFewestTuneImages;
            if (watcher.stopped() || watch.seconds() > (enough ? limit / 4 : limit)) break;
            m_agreement.add(m_network, forward(image), m_sizes[image]);
        }
    }

    TuneWork work(const Stopwatch& watch) {
        TuneWork work;
        work.full = [this](size_t image) {
            applyMethod(m_network, kAllTokens, m_own);
            const Stopwatch run;
            forward(image);
            return run.milliseconds();
        };
        work.trial = [this](const Method& method, size_t image) -> std::optional<Trial> {
            try {
                applyMethod(m_network, method, m_own);
                const Stopwatch run;
                const std::vector<cv::Mat> outputs = forward(image);
                const double ms = run.milliseconds();
                Trial trial = trialOf(m_network.encoder().report().images.front());
                trial.ms = ms;
                trial.agreement = m_agreement.of(m_network, image, outputs);
                return trial;
            } catch (const cv::Exception&) {
                return std::nullopt;  // the model cannot run the method, for example ALGM without a grid
            }
        };
        work.seconds = [&watch] { return watch.seconds(); };
        return work;
    }

    const Agreement& agreement() const { return m_agreement; }
    /// Returns the number of tokens of the largest window.
    int tokens() const {
        const std::vector<std::vector<int>> tokens = m_network.encoder().tokensByWindow();
        return tokens.empty() ? 0 : *std::max_element(tokens[0].begin(), tokens[0].end());
    }

private:
    std::vector<cv::Mat> forward(size_t image) {
        if (m_network.detects()) return m_network.forwardDetector(m_blobs[image], {m_sizes[image]});
        return {m_network.forward(m_blobs[image])};
    }

    static Trial trialOf(const mpm::ImageReport& report) {
        Trial trial;
        trial.tokens = report.tokens;
        trial.kept = report.map.empty() ? 1 : tokensKept(report) / static_cast<double>(report.map.total());
        return trial;
    }

    Network& m_network;
    const OwnMerging m_own;
    std::vector<cv::Mat> m_blobs;
    std::vector<cv::Size> m_sizes;  ///< sizes of the images
    Agreement m_agreement;
};

[[noreturn]] void rejectImages(size_t images) {
    throw MeasureError(Kind::Input, "tuning needs at least " + std::to_string(kFewestTuneImages) +
                                        " images that show something, here " + std::to_string(images) +
                                        "; give a longer source or more images");
}

[[noreturn]] void rejectNothing(bool stopped) {
    throw MeasureError(Kind::Failed, (stopped ? "stopped" : "the time was over") +
                                         std::string(" before anything was compared; ") +
                                         (stopped ? "nothing is reported" : "allow more --minutes"));
}

void checkResult(const Network& network, const TuneResult& result) {
    const auto any = [&](bool (*is)(const TuneRow&)) {
        return std::any_of(result.rows.begin(), result.rows.end(), is);
    };
    if (!any([](const TuneRow& row) { return row.images() > 0; }) && !result.complete)
        rejectNothing(result.stopped);
    if (!any([](const TuneRow& row) { return row.merged(); }))
        throw MeasureError(Kind::Input, network.name() +
                                            ": no block of this model can merge its tokens; "
                                            "nothing can be tuned");
}

}  // namespace

ModelTuning tuneModel(Network& network, const std::vector<cv::Mat>& images, const TuneGoal& goal,
                      double seconds, const Watcher& watcher) {
    if (watcher.stopped()) rejectNothing(true);  // the user may have stopped the reading of images
    if (images.size() < kFewestTuneImages) rejectImages(images.size());
    const Stopwatch watch;
    ModelTrials trials(network, images);
    trials.addReferences(watcher, watch, seconds);
    if (watcher.stopped()) rejectNothing(true);
    if (trials.agreement().size() < kFewestTuneImages) rejectNothing(false);
    ModelTuning tuning;
    tuning.kind = trials.agreement().kind();
    tuning.images = trials.agreement().size();
    const std::vector<Method> candidates = tuneCandidates(network.encoder().blocks(), trials.tokens());
    tuning.result = tune(candidates, tuning.images, trials.work(watch), goal, seconds, watcher);
    checkResult(network, tuning.result);
    const mpm::Report report = network.encoder().report();
    tuning.device = report.device;
    tuning.precision = report.precision;
    return tuning;
}

namespace {

/// The blocks before which tokens merge in an encoder of 12 blocks: every `step`th block from `first` to
/// `last`. In an encoder of another depth, these numbers are scaled.
struct Span {
    int first, last, step;
};

constexpr Span kUsual{1, 9, 2}, kEvery{1, 9, 1}, kFirst{1, 7, 1}, kLate{3, 9, 2}, kEarly{1, 5, 2},
    kWide{2, 8, 3}, kOwn{0, 0, 0};

struct Row {
    const char* method;  ///< a method, or a share of pairs such as "0.4"; "0.3 mlp": merge before the MLP
    Span span;
    double share = 0;  ///< for ToMe: r / tokens, for 12 blocks; scaled to other depths
};

/// The candidates, the most promising first. A number such as "0.4" means the method gentle with this share
/// of pairs.
const Row kTable[] = {{"0.4", kUsual},       {"0.2", kUsual},       {"0.6", kUsual},       {"mpm", {2, 5, 3}},
                      {"tome", kOwn, 0.025}, {"0.3", kUsual},       {"0.5", kUsual},       {"0.2", kEvery},
                      {"0.6", kWide},        {"mpm", {5, 5, 1}},    {"tome", kOwn, 0.05},  {"0.4", kEarly},
                      {"0.32", kFirst},      {"0.3 mlp", kEvery},   {"0.4", kLate},        {"0.6", kLate},
                      {"0.3", kEvery},       {"last-keys", kUsual}, {"tome", kOwn, 0.075}, {"algm", kOwn},
                      {"0.6", kEarly}};

/// Returns the blocks of a row, in proportion to the encoder's depth. Does not scale the blocks of "mpm",
/// which come from the paper.
std::vector<int> blocksOf(const Row& row, int blocks) {
    const Span& span = row.span;
    const bool paper = std::string(row.method) == "mpm";
    const double scale = paper ? 1 : blocks / 12.0;
    const int step = std::max(1, static_cast<int>(std::lround(span.step * scale)));
    const int first = paper ? span.first : std::max(1, static_cast<int>(std::lround(span.first * scale)));
    std::vector<int> chosen;
    for (int block = first; block <= span.last * scale && block < blocks; block += step)
        chosen.push_back(block);
    return chosen;
}

std::string gentleWith(const std::string& share, const std::string& by) {
    const size_t end = share.find(' ');
    return "mpm:pairs=" + share.substr(0, end) + ",by=" + by + ",mean=scaled,attention=proportional" +
           (end == std::string::npos ? "" : ",before=" + share.substr(end + 1));
}

std::string methodOf(const Row& row, int blocks, int tokens) {
    const std::string text = row.method;
    if (text == "0.4") return "gentle";
    if (text == "last-keys") return gentleWith("0.4", text);
    if (text == "tome") {
        const int pairs = static_cast<int>(tokens * row.share * 12 / blocks);
        return "tome:r=" + std::to_string(std::max(1, std::min(pairs, tokens / 2)));
    }
    return text.find('.') != std::string::npos ? gentleWith(text, "keys") : text;
}

}  // namespace

std::vector<Method> tuneCandidates(int blocks, int tokens) {
    std::vector<Method> candidates;
    for (const Row& row : kTable) {
        const std::string name = methodOf(row, blocks, tokens);
        const bool own = row.span.step == 0;
        std::vector<int> before =
            own ? mpm::usualBlocks(name, blocks)
            : name == "gentle" && row.span.step == 2 && row.span.first == 1 && row.span.last == 9
                ? mpm::usualBlocks(name, blocks)
                : blocksOf(row, blocks);
        if (before.empty() || tokens < 2) continue;
        std::string text = name;
        for (size_t i = 0; i < before.size() && !own; ++i)
            text += (i == 0 ? ":" : "+") + std::to_string(before[i]);
        const auto same = [&](const Method& other) { return other.text == text; };
        if (std::none_of(candidates.begin(), candidates.end(), same))
            candidates.push_back({name, std::move(before), text});
    }
    return candidates;
}

namespace {

bool isOneColour(const cv::Mat& image) {
    if (image.empty()) return true;
    cv::Scalar mean, deviation;
    cv::meanStdDev(image, mean, deviation);
    return *std::max_element(deviation.val, deviation.val + 4) < 1;
}

unsigned reversed(unsigned value) {
    unsigned result = 0;
    for (int bit = 0; bit < 16; ++bit)
        result |= ((value >> bit) & 1U) << (15 - bit);
    return result;
}

}  // namespace

void ImagePicker::add(const cv::Mat& image) {
    ++m_seen;
    if (isOneColour(image)) {
        ++m_blank;
        return;
    }
    if (m_useful++ % m_step != 0) return;
    m_kept.push_back(image.clone());
    if (m_kept.size() < 2 * m_most) return;
    for (size_t i = 0; i < m_most; ++i)
        m_kept[i] = m_kept[2 * i];
    m_kept.resize(m_most);
    m_step *= 2;
}

std::vector<cv::Mat> ImagePicker::images() const {
    const size_t count = std::min(m_kept.size(), m_most);
    std::vector<unsigned> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [](unsigned a, unsigned b) { return reversed(a) < reversed(b); });
    std::vector<cv::Mat> chosen;
    for (const unsigned place : order)
        chosen.push_back(m_kept[place * m_kept.size() / count]);
    return chosen;
}

}  // namespace mpm::pipeline
