#include "pipeline/tune/model_trials.hpp"

#include <algorithm>

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

    /// Full runs, at least the fewest that count. The first forward allocates and is made twice.
    void addReferences(const Watcher& watcher, const Stopwatch& watch, double limit) {
        applyMethod(m_network, kAllTokens, m_own);
        const cv::Mat output = forward(0).front();
        if (!m_network.detects() && m_network.kindOf(output) == OutputKind::Unknown && output.dims != 2 &&
            !isMap(m_network, output))
            m_network.useFeatures(m_blobs[0]);
        for (size_t image = 0; image < m_blobs.size(); ++image) {
            const bool enough = m_agreement.size() >= kFewestTuneImages;
            if (watcher.stopped() || (enough && watch.seconds() > limit / 4)) break;
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
                return std::nullopt;  // ALGM without a grid
            }
        };
        work.seconds = [&watch] { return watch.seconds(); };
        return work;
    }

    const Agreement& agreement() const { return m_agreement; }
    /// Of the largest window.
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
    std::vector<cv::Size> m_sizes;  ///< of the images
    Agreement m_agreement;
};

[[noreturn]] void rejectImages(size_t images) {
    throw MeasureError(Kind::Input, "tuning needs at least " + std::to_string(kFewestTuneImages) +
                                        " images that show something, here " + std::to_string(images) +
                                        "; give a longer source or more images");
}

void checkResult(const Network& network, const TuneResult& result) {
    const auto any = [&](bool (*is)(const TuneRow&)) {
        return std::any_of(result.rows.begin(), result.rows.end(), is);
    };
    if (!any([](const TuneRow& row) { return row.images() > 0; }) && !result.complete)
        throw MeasureError(Kind::Failed,
                           (result.stopped ? "stopped" : "the time was over") +
                               std::string(" before anything was compared; ") +
                               (result.stopped ? "nothing is reported" : "allow more --minutes"));
    if (!any([](const TuneRow& row) { return row.merged(); }))
        throw MeasureError(Kind::Input, network.name() +
                                            ": no block of this model can merge its tokens; "
                                            "nothing can be tuned");
}

}  // namespace

ModelTuning tuneModel(Network& network, const std::vector<cv::Mat>& images, const TuneGoal& goal,
                      double seconds, const Watcher& watcher) {
    if (images.size() < kFewestTuneImages) rejectImages(images.size());
    const Stopwatch watch;
    ModelTrials trials(network, images);
    trials.addReferences(watcher, watch, seconds);
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

}  // namespace mpm::pipeline
