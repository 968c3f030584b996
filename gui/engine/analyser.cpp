#include "gui/engine/analyser.hpp"

#include <algorithm>

#include <QFileInfo>

#include "gui/text/safe_text.hpp"
#include "pipeline/draw/labels.hpp"
#include "pipeline/segment/features.hpp"

namespace mpm::gui {

namespace {

/// Numbers of the streams for comparisons and simulated nights, in addition to the streams of the sources.
/// Reuse keeps separate values for each stream.
constexpr int kCompared = 62, kSimulated = 63;

/// Returns the share of objects in `whole` that `merged` also contains: with the same class, and an overlap
/// (IoU) of at least three quarters.
double agreementOf(const std::vector<Detection>& merged, const std::vector<Detection>& whole) {
    const auto isThere = [&](const Detection& one) {
        return std::any_of(merged.begin(), merged.end(), [&](const Detection& other) {
            const double both = (one.box & other.box).area();
            return one.label == other.label && both >= .75 * (one.box.area() + other.box.area() - both);
        });
    };
    if (whole.empty()) return merged.empty() ? 1 : 0;
    return double(std::count_if(whole.begin(), whole.end(), isThere)) / double(whole.size());
}

/// Returns the share of equal pixels among the pixels that no mask covers.
double agreementOf(const cv::Mat& a, const cv::Mat& b, const cv::Mat& seen) {
    if (a.empty() || a.size() != b.size()) return 0;
    cv::Mat wideA, wideB, equal;
    a.convertTo(wideA, CV_16U);  // one of the two may have more than 8 bits
    b.convertTo(wideB, CV_16U);
    cv::compare(wideA, wideB, equal, cv::CMP_EQ);
    if (seen.empty()) return double(cv::countNonZero(equal)) / double(a.total());
    cv::bitwise_and(equal, seen, equal);
    return double(cv::countNonZero(equal)) / std::max(1, cv::countNonZero(seen));
}

/// Drops images, and also labels, features, scores and masks of objects, because they show the scene too.
void discardImages(Analysis& analysis) {
    analysis.frame.pixels.release();
    analysis.frame.truth = {};
    analysis.frame.image = {};
    analysis.merged.labels.release();
    analysis.merged.features.release();
    analysis.merged.scores.release();
    for (mpm::Detection& object : analysis.merged.detections)
        object.mask.release();
    analysis.beside.reset();
}

int classesIn(const cv::Mat& labels, const ModelFacts& facts) {
    if (!facts.labels.empty() || labels.empty()) return static_cast<int>(facts.labels.size());
    double most = 0;
    cv::minMaxLoc(labels, nullptr, &most);
    return static_cast<int>(most) + 1;
}

std::shared_ptr<ModelFacts> factsOf(pipeline::Network& network, bool shipped) {
    auto facts = std::make_shared<ModelFacts>();
    facts->random = network.random();
    facts->shipped = shipped && !facts->random;
    facts->path = QString::fromStdString(network.name());
    facts->name = safeText(facts->random ? facts->path : QFileInfo(facts->path).completeBaseName());
    facts->blocks = network.encoder().blocks();
    facts->heads = network.encoder().heads();
    facts->dim = network.encoder().dim();
    facts->input = network.info().size;
    for (const std::string& label : network.info().labels)
        facts->ownLabels.push_back(safeName(label));
    facts->labels = facts->ownLabels;
    facts->palette = pipeline::paletteOf(network.info().palette, facts->labels, int(facts->labels.size()));
    facts->schedule = network.info().schedule;
    return facts;
}

}  // namespace

Analyser::Analyser(pipeline::Segmenter segmenter, ModelFactsPtr facts)
    : m_segmenter(std::move(segmenter)), m_facts(std::move(facts)) {}

pipeline::Segmentation Analyser::run(const cv::Mat& image, const std::vector<int>& schedule,
                                     pipeline::Scores scores) {
    m_segmenter.encoder().setSchedule(schedule);
    return m_segmenter.segment(image, scores);
}

/// Turns reuse on or off. If reuse is not possible, for example on a GPU, frames run without reuse.
void Analyser::setReuse(bool on) {
    if (m_reuse == on || (on && m_reuseFailed)) return;
    try {
        m_segmenter.encoder().setReuse(on ? std::optional(m_segmenter.network().reuse()) : std::nullopt);
        m_reuse = on;
    } catch (const cv::Exception&) {
        m_reuseFailed = true;
    }
}

void Analyser::useStream(int stream, bool fresh) {
    if (!m_reuse) return;
    m_segmenter.encoder().setStreams({stream});
    if (fresh) m_segmenter.encoder().forget(stream);
}

/// Follows the objects. Boxes with a low score may continue an object, but are then removed, so that the
/// window does not show them.
void Analyser::follow(Analysis& analysis, const Request& request, pipeline::ObjectFollower& follower) const {
    const LiveFrame& frame = analysis.frame;
    const auto secondsOf = [](auto time) {
        return std::chrono::duration<double>(time.time_since_epoch()).count();
    };
    analysis.objects = follower.update(analysis.merged,
                                       {frame.generation, secondsOf(frame.time), secondsOf(frame.captured),
                                        frame.pixels.size(), &frame.masks},
                                       {request.objects, request.regions, request.knownObjects},
                                       m_facts->ownLabels, m_facts->labels);
    auto& boxes = analysis.merged.detections;
    const auto weak = [](const Detection& one) { return one.score <= pipeline::DetectionChoice().threshold; };
    boxes.erase(std::remove_if(boxes.begin(), boxes.end(), weak), boxes.end());
    for (std::size_t i = 0; analysis.objects && i < analysis.regions.size(); ++i)
        analysis.regions[i].objects = analysis.objects->byRegion[i];
}

Analysis Analyser::analyse(const LiveFrame& frame, const Request& request,
                           pipeline::ObjectFollower* follower) {
    Analysis analysis;
    analysis.frame = frame;
    analysis.size = frame.pixels.size();
    analysis.model = m_facts;
    for (int block : request.ownSchedule ? m_facts->schedule : request.schedule)
        if (block >= 0 && block < m_facts->blocks) analysis.schedule.push_back(block);
    analysis.queueMs = std::chrono::duration<double, std::milli>(Steady::now() - frame.captured).count();
    setReuse(request.reuse);
    const auto [known, fresh] = m_generations.try_emplace(frame.stream, frame.generation);
    useStream(frame.stream, fresh || std::exchange(known->second, frame.generation) != frame.generation);
    const bool follows = follower != nullptr && !request.objects.empty();
    if (follows) m_segmenter.setDetections({pipeline::TrackRules().low});
    const auto scores = request.scores ? pipeline::Scores::All
                        : follows      ? pipeline::Scores::Coarse
                                       : pipeline::Scores::None;
    analysis.merged = run(frame.pixels, analysis.schedule, scores);
    if (follows) m_segmenter.setDetections({});
    const ReuseState state = analysis.merged.tokens.reuse.state;
    if (state != ReuseState::Off && state != ReuseState::Suspended) analysis.schedule.clear();  // not used
    const cv::Mat& labels = analysis.merged.labels;
    const int classes = classesIn(labels, *m_facts);
    // Masked pixels have no class, so shares refer to the other pixels.
    const cv::Mat seen = labels.empty() ? cv::Mat() : pipeline::seenThrough(frame.masks, labels.size());
    if (!labels.empty()) analysis.shares = pipeline::classShares(labels, classes, seen);
    for (const pipeline::Region& region : request.regions)
        analysis.regions.push_back(pipeline::readRegion(region, labels, analysis.merged.tokens.map,
                                                        analysis.merged.grid, classes, seen));
    if (follower != nullptr) follow(analysis, request, *follower);
    analysis.beside = reuseBeside(analysis, request);
    if (!request.keepsImages) discardImages(analysis);
    return analysis;
}

std::shared_ptr<const pipeline::Segmentation> Analyser::reuseBeside(const Analysis& analysis,
                                                                    const Request& request) {
    if (!request.reuseBeside || request.reuse || !m_facts->shipped) {
        m_beside.reset();
        return nullptr;
    }
    if (m_reuseFailed) return nullptr;
    try {
        const bool fresh = m_beside == nullptr;
        if (fresh) {
            m_beside = std::make_unique<pipeline::Segmenter>(pipeline::Network(m_facts->path.toStdString()));
            m_beside->encoder().setReuse(m_beside->network().reuse());
        }
        const LiveFrame& frame = analysis.frame;
        const bool sameGeneration = std::exchange(m_besideGeneration, frame.generation) == frame.generation;
        const bool sameStream = std::exchange(m_besideStream, frame.stream) == frame.stream;
        if (!fresh && !(sameGeneration && sameStream)) m_beside->encoder().forget();
        return std::make_shared<const pipeline::Segmentation>(m_beside->segment(frame.pixels));
    } catch (const std::exception&) {
        m_beside.reset();
        m_reuseFailed = true;
        return nullptr;
    }
}

Comparison Analyser::compare(const AnalysisPtr& analysis, const std::vector<int>& with) {
    Comparison comparison;
    comparison.analysis = analysis;
    comparison.with = with;
    std::vector<int> schedule;
    for (int block : with)
        if (block >= 0 && block < m_facts->blocks) schedule.push_back(block);
    useStream(kCompared, true);
    comparison.whole = run(analysis->frame.pixels, schedule);
    const auto seen = [&](cv::Size size) { return pipeline::seenThrough(analysis->frame.masks, size); };
    const pipeline::Segmentation& whole = comparison.whole;
    comparison.agreement =
        whole.detector ? agreementOf(analysis->merged.detections, whole.detections)
        : whole.labels.empty()
            ? pipeline::meanCosine(analysis->merged.features, whole.features, seen(whole.grid))
            : agreementOf(analysis->merged.labels, whole.labels, seen(whole.labels.size()));
    comparison.savedMs = comparison.whole.totalMs() - analysis->merged.totalMs();
    comparison.scores = score(comparison);
    return comparison;
}

bool Analyser::Scored::isFor(const Comparison& comparison, bool reuses) const {
    const LiveFrame& frame = comparison.analysis->frame;
    return whole && with == comparison.with && reuse == reuses &&
           (reuse || schedule == comparison.analysis->schedule) && generation == frame.generation &&
           stream == frame.stream;
}

/// Returns the scores of all frames so far; absent if the frame has no labels, or if the number of classes in
/// the labels differs from the model's.
std::optional<Scores> Analyser::score(const Comparison& comparison) {
    const Analysis& analysis = *comparison.analysis;
    const Truth& truth = analysis.frame.truth;
    const pipeline::Segmentation &whole = comparison.whole, &merged = analysis.merged;
    if (truth.labels.empty() || truth.classes != static_cast<int>(m_facts->labels.size()) ||
        truth.labels.size() != whole.labels.size() || truth.labels.size() != merged.labels.size())
        return std::nullopt;
    if (!m_scored.isFor(comparison, m_reuse)) {
        const pipeline::Confusion none(truth.classes, truth.ignored);
        m_scored = {comparison.with,
                    analysis.schedule,
                    m_reuse,
                    analysis.frame.generation,
                    analysis.frame.stream,
                    0,
                    none,
                    none};
    }
    if (!analysis.repeat) {
        cv::Mat labels = truth.labels.clone();
        const cv::Mat seen = pipeline::seenThrough(analysis.frame.masks, labels.size());
        if (!seen.empty()) labels.setTo(truth.ignored, seen == 0);
        m_scored.whole->add(labels, whole.labels);
        m_scored.merged->add(labels, merged.labels);
        ++m_scored.frames;
    }
    if (m_scored.frames == 0) return std::nullopt;
    return Scores{m_scored.whole->miou(), m_scored.merged->miou(), m_scored.frames};
}

NightPair Analyser::simulateNight(const AnalysisPtr& analysis, const street::NightParameters& parameters) {
    NightPair pair;
    pair.analysis = analysis;
    pair.parameters = parameters;
    pair.pixels =
        street::night(analysis->frame.pixels, parameters, static_cast<uint64_t>(analysis->frame.number));
    useStream(kSimulated, true);
    pair.night = run(pair.pixels, analysis->schedule);
    return pair;
}

std::unique_ptr<Analyser> loadAnalyser(const std::string& model) {
    const bool random = model == "default" && !pipeline::hasDefaultModel();
    pipeline::Network network =
        random ? pipeline::Network(pipeline::RandomModel{}) : pipeline::Network(model);
    const std::shared_ptr<ModelFacts> facts = factsOf(network, model == "default");
    pipeline::Segmenter segmenter(std::move(network));
    try {
        // A model without a usable output fails at its first image. A test image runs here, before the model
        // replaces the previous model.
        const auto found = segmenter.segment(cv::Mat(facts->input, CV_8UC3, cv::Scalar::all(0)));
        facts->classes = !found.labels.empty();
        facts->features = found.labels.empty() && !found.detector;
    } catch (const std::exception& error) {
        throw UnusableOutput(facts->path.toStdString() + ": " + error.what());
    }
    return std::make_unique<Analyser>(std::move(segmenter), facts);
}

}  // namespace mpm::gui
