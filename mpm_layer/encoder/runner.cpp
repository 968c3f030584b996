#include "mpm_layer/encoder/runner.hpp"

#include <algorithm>

#include "base/stopwatch.hpp"
#include "mpm_layer/encoder/chain.hpp"
#include "mpm_layer/encoder/forward.hpp"
#include "mpm_layer/encoder/shared_weights.hpp"
#include "mpm_layer/kernels/common/limits.hpp"

namespace mpm {
namespace {

void checkTokens(const cv::Mat& tokens, const EncoderConfig& config, int dim) {
    if (tokens.dims != 3 || tokens.type() != CV_32F) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmEncoder's tokens must be f32 [batch, special + image + trailing tokens, dim]");
    }
    checkShape(std::vector<int>(tokens.size.p, tokens.size.p + tokens.dims), "mpm: MpmEncoder's tokens");
    if (tokens.size[2] != dim) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEncoder's tokens are %d wide, its weights %d", tokens.size[2], dim));
    }
    const int others = checkedSum<int>(config.specialRows(), config.trailingTokens);
    if (tokens.size[1] < others) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEncoder got %d tokens, fewer than its %d special ones", tokens.size[1],
                            others));
    }
    if (config.windowed() && tokens.size[1] - others != config.grid.area()) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEncoder got %d image tokens and %d special ones; its windows divide a "
                            "grid of %dx%d",
                            tokens.size[1] - others, others, config.grid.height, config.grid.width));
    }
}

void checkMaps(const std::vector<MergeMap>& maps, const cv::Mat& tokens, const EncoderConfig& config) {
    const int images = config.takesMap ? tokens.size[0] : 0;
    if (static_cast<int>(maps.size()) != images) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEncoder takes a map of each of %d images, got %d", images,
                            static_cast<int>(maps.size())));
    }
    const int count = tokens.size[1] - config.specialRows() - config.trailingTokens;
    for (const MergeMap& map : maps) {
        if (map.tokens() == count) continue;
        CV_Error(
            cv::Error::StsUnmatchedSizes,
            cv::format("mpm: MpmEncoder's map is of %d image tokens, but there are %d", map.tokens(), count));
    }
}

void checkKeyBias(const cv::Mat& bias, const cv::Mat& tokens) {
    if (bias.empty()) return;
    const size_t row = tokens.size[1], all = row * tokens.size[0];
    if (bias.type() != CV_32F || (bias.total() != row && bias.total() != all)) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: key_bias must be f32 with %d values, or %d for each image of the batch",
                            static_cast<int>(row), static_cast<int>(all)));
    }
}

[[noreturn]] void rejectMapWithReuse() {
    CV_Error(cv::Error::StsBadArg,
             "mpm: a map from outside the chain and reuse over time exclude each other");
}

}  // namespace

void EncoderRunner::setWeights(NamedWeights weights) {
    m_weights = std::move(weights);
    m_hasWeights = true;
    m_packed.reset();
}

EncoderRunner::Choice EncoderRunner::choiceFor(const Settings& settings) const {
    const bool reusesByItself = settings.reuse && *settings.reuse && *settings.device == Device::Auto;
    const Device wanted = reusesByItself ? Device::Cpu : deviceFor(m_config, *settings.device);
    if (m_choice.backend && m_choice.device == wanted && m_choice.index == settings.deviceIndex)
        return m_choice;
    return {makeBackend(wanted, settings.deviceIndex), wanted, settings.deviceIndex};
}

Settings EncoderRunner::settings() const {
    const bool decodes = m_place && !m_config.merges;
    const std::shared_ptr<EncoderControl> backbone = decodes ? m_place->backboneBefore() : nullptr;
    return m_control->effective(backbone.get());
}

Precision EncoderRunner::precisionOnProcessor() const {
    const Settings now = settings();
    const Choice choice = choiceFor(now);
    const Precision precision = choice.backend->resolve(*now.precision);
    return choice.backend->device() == Device::Cpu ? precision : Precision::F32;
}

void EncoderRunner::prepare(const Settings& settings) {
    const Choice choice = choiceFor(settings);
    if (choice.backend != m_choice.backend) m_packed.reset();
    m_choice = choice;
    const Precision precision = m_choice.backend->resolve(*settings.precision);
    if (m_packed && m_packedPrecision == precision) return;
    m_packed = packShared(*m_choice.backend, m_choice.index, m_config, m_weights, precision);
    m_packedPrecision = precision;
    m_control->setDim(m_packed->dim());
}

std::vector<cv::Mat> EncoderRunner::run(const SessionInput& input, std::vector<cv::Mat>& outputs) {
    return run(input, settings(), outputs);
}

void EncoderRunner::run(const cv::Mat& tokens, const cv::Mat& keyBias, std::vector<cv::Mat>& outputs) {
    SessionInput input;
    input.tokens = tokens;
    input.keyBias = keyBias;
    run(input, outputs);
}

void EncoderRunner::runOnDevice(const float* tokens, int images, int rows, const std::vector<float*>& outputs,
                                void* stream) {
    const Settings settings = this->settings();
    if (*settings.device != Device::Cuda)
        CV_Error(cv::Error::StsBadArg, "mpm: a forward on device memory needs setDevice(Device::Cuda)");
    if (*settings.reuse)
        CV_Error(cv::Error::StsBadArg,
                 "mpm: a forward on device memory and reuse over time exclude each other");
    if (m_config.takesMap || m_control->segments() > 1) {
        CV_Error(cv::Error::StsNotImplemented,
                 "mpm: a forward on device memory runs an encoder without map that is no chain of segments");
    }
    if (!m_hasWeights) {
        CV_Error(cv::Error::StsError,
                 "mpm: the encoder does not know its weights yet; run the network once before");
    }
    const size_t taps = m_config.taps.size();
    if (images < 1 || rows < 0 || !tokens || outputs.size() != taps ||
        std::find(outputs.begin(), outputs.end(), nullptr) != outputs.end()) {
        CV_Error(
            cv::Error::StsBadArg,
            cv::format("mpm: a forward on device memory takes tokens of at least one image and %d outputs, "
                       "none of them null; got %d images of %d rows and %d outputs",
                       static_cast<int>(taps), images, rows, static_cast<int>(outputs.size())));
    }
    prepare(settings);
    const int sizes[] = {images, rows, m_packed->dim()};
    checkShape(sizes, "mpm: tokens of a forward on device memory");
    // The matrices are only headers: the CPU never reads the device memory at `data`.
    const auto header = [&](const float* data) {
        return cv::Mat(3, sizes, CV_32F, const_cast<float*>(data));
    };
    SessionInput input;
    input.tokens = header(tokens);
    input.onDevice = true;
    input.stream = stream;
    std::vector<cv::Mat> headers;
    for (const float* output : outputs)
        headers.push_back(header(output));
    run(input, settings, headers);
}

void EncoderRunner::check(const SessionInput& input, const Settings& settings, size_t outputs) const {
    m_control->checkSegments();
    checkTokens(input.tokens, m_config, m_packed->dim());
    checkKeyBias(input.keyBias, input.tokens);
    checkMaps(input.maps, input.tokens, m_config);
    if (outputs < m_config.taps.size()) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEncoder has %d outputs, one for each of taps; %d are connected",
                            static_cast<int>(m_config.taps.size()), static_cast<int>(outputs)));
    }
    if (follows() || !*settings.reuse) return;
    if (!input.maps.empty()) rejectMapWithReuse();
    if (!settings.imposed.empty()) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: setMaps and reuse over time exclude each other; call clearMaps or turn reuse off");
    }
    ReuseStreams::idsOf(settings.streams, input.tokens.size[0]);
}

EncoderRunner::Plan EncoderRunner::planLeading(const EncoderForward& forward, const Settings& settings) {
    const bool reuses = settings.reuse->has_value();
    if (m_place) m_place->beginLead(reuses ? forward.input.tokens.data : nullptr);
    if (!reuses) {
        m_streams.forget();
        return {};
    }
    const int blocksBehind = m_place ? m_place->blocksBehind() : 0;
    Plan plan;
    plan.reuse =
        m_streams.lead(forward, **settings.reuse,
                       ReuseStreams::idsOf(settings.streams, forward.input.tokens.size[0]), blocksBehind);
    return plan;
}

// Plans a forward for which an earlier encoder has already decided which rows are computed. An image that
// runs with memory never merges. Throws if the image's map merges tokens: such a map is not from the chain.
EncoderRunner::Plan EncoderRunner::planFollowing(const EncoderForward& forward) {
    const SessionInput& input = forward.input;
    const std::shared_ptr<const LeadFrame> frame = m_place ? m_place->follow(m_config.blocks) : nullptr;
    Plan plan;
    if (!frame || static_cast<int>(frame->plans.size()) != input.tokens.size[0]) {
        m_streams.forget();
        plan.merging = !frame;
        return plan;
    }
    for (size_t i = 0; i < input.maps.size(); ++i)
        if (frame->plans[i].remembers && !input.maps[i].isIdentity()) rejectMapWithReuse();
    plan.reuse = m_streams.follow(forward, *frame);
    return plan;
}

EncoderRunner::Plan EncoderRunner::plan(const EncoderForward& forward, const Settings& settings) {
    return follows() ? planFollowing(forward) : planLeading(forward, settings);
}

std::vector<ImageReport> EncoderRunner::execute(const EncoderForward& forward, const Settings& settings,
                                                Plan plan, std::vector<cv::Mat>& outputs,
                                                Times& times) const {
    if (!plan.reuse) return runPlain(forward, settings, plan.merging, outputs, times);
    std::vector<ImageReport> images = runPlanned(forward, settings, *plan.reuse, outputs, times);
    if (m_place && !follows()) {
        m_place->lead(std::make_shared<LeadFrame>(
            LeadFrame{std::move(plan.reuse->ids), std::move(plan.reuse->frames)}));
    }
    return images;
}

std::vector<cv::Mat> EncoderRunner::report(std::vector<ImageReport> images, const Times& times) {
    Report report;
    report.images = std::move(images);
    std::vector<cv::Mat> composed;
    for (ImageReport& image : report.images) {
        composed.push_back(image.map);
        if (m_config.numbersByRepresentative()) numberByRepresentative(image);
    }
    report.times = times;
    report.device = m_choice.backend->device();
    report.precision = m_packedPrecision;
    report.keptInF32 = m_packed->keptInF32();
    m_control->setReport(m_config, std::move(report));
    return composed;
}

std::vector<cv::Mat> EncoderRunner::run(const SessionInput& given, const Settings& settings,
                                        std::vector<cv::Mat>& outputs) {
    const Stopwatch watch;
    prepare(settings);
    check(given, settings, outputs.size());
    EncoderForward forward{m_config, *m_choice.backend, m_packed, given};
    forward.input.batchIndependent = *settings.batchIndependent;
    // A map from outside the chain may number clusters in any order. In the map of a later segment, clusters
    // are already in the order of their rows.
    for (MergeMap& map : forward.input.maps)
        if (!m_config.continues()) renumber(map, representativeOrder(map));
    std::vector<cv::Mat> taps(outputs.begin(), outputs.begin() + m_config.taps.size());
    Times times;
    std::vector<ImageReport> images;
    try {
        images = execute(forward, settings, plan(forward, settings), taps, times);
    } catch (...) {
        m_streams.forget();  // the plan ran only in part, so the memories are not valid
        throw;
    }
    times.whole = watch.milliseconds();
    return report(std::move(images), times);
}

}  // namespace mpm
