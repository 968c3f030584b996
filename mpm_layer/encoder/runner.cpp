#include "mpm_layer/encoder/runner.hpp"

#include <algorithm>

#include "base/stopwatch.hpp"
#include "mpm_layer/encoder/block_loop.hpp"
#include "mpm_layer/encoder/reuse/watched.hpp"
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
    const int others = checkedSum<int>(config.specialTokens, config.trailingTokens);
    if (tokens.size[1] < others) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEncoder got %d tokens, fewer than its %d special ones", tokens.size[1],
                            others));
    }
}

void checkMaps(const std::vector<MergeMap>& maps, const cv::Mat& tokens, const EncoderConfig& config) {
    const int images = config.takesMap ? tokens.size[0] : 0;
    if (static_cast<int>(maps.size()) != images) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEncoder takes a map of each of %d images, got %d", images,
                            static_cast<int>(maps.size())));
    }
    const int count = tokens.size[1] - config.specialTokens - config.trailingTokens;
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

// The stages of one forward of a whole chain: numbers of the blocks, and maps imposed there.
class Stages {
public:
    Stages(const Settings& settings, const EncoderConfig& config, bool merging)
        : m_imposed(settings.imposed) {
        if (*settings.method != "none" && config.merges && merging) m_reducer = makeReducer(*settings.method);
        if (!m_reducer) return;
        m_schedule = *settings.schedule;
        const std::vector<int> own = m_reducer->ownSchedule(config.blocks);
        if (own.empty()) {
            checkSchedule(m_schedule, config, settings.scheduleOrigin);
        } else {
            m_schedule.clear();
            for (int block : own)
                m_schedule.push_back(config.firstBlock + block);
        }
        checkImposed();
    }

    const Reducer* reducer() const { return m_reducer.get(); }

    void reduceAt(Moment moment, int block, Session& session) const {
        if (!m_reducer || m_reducer->moment() != moment) return;
        const auto found = std::find(m_schedule.begin(), m_schedule.end(), block);
        if (found == m_schedule.end()) return;
        StageRequest request;
        request.reducer = m_reducer.get();
        request.stage = static_cast<int>(found - m_schedule.begin());
        request.block = block;
        const auto imposed = m_imposed.find(request.stage);
        if (imposed != m_imposed.end()) request.imposed = &imposed->second;
        session.reduce(request);
    }

    /// Image tokens entering each block: the result of a stage is known only after the forward.
    std::vector<int> entering(const ImageReport& image, const EncoderConfig& config) const {
        std::vector<int> tokens;
        size_t stage = config.takesMap ? 1 : 0;  // the map that came in, before the first block
        int now = stage > 0 ? image.stages[0].tokens : static_cast<int>(image.map.total());
        const int delay = m_reducer && m_reducer->moment() == Moment::AfterAttention ? 1 : 0;
        for (int block = config.firstBlock; block <= config.lastBlock(); ++block) {
            for (; stage < image.stages.size() && image.stages[stage].block + delay <= block; ++stage)
                now = image.stages[stage].tokens;
            tokens.push_back(now);
        }
        return tokens;
    }

private:
    // Where nothing merges at all the maps wait for what does; a stage among others that never comes is an
    // error.
    void checkImposed() const {
        const int stages = static_cast<int>(m_schedule.size());
        if (stages == 0 || m_imposed.empty() || m_imposed.rbegin()->first < stages) return;
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: setMaps named stage %d, but the schedule has stages 0..%d",
                            m_imposed.rbegin()->first, stages - 1));
    }

    std::shared_ptr<const Reducer> m_reducer;
    std::vector<int> m_schedule;
    const std::map<int, std::vector<MergeMap>>& m_imposed;
};

}  // namespace

void EncoderRunner::setWeights(NamedWeights weights) {
    m_weights = std::move(weights);
    m_hasWeights = true;
    m_packed.reset();
}

Precision EncoderRunner::choose(const Settings& settings) {
    // Rows behind the image tokens have no kernels on a GPU yet; whoever asks for one by name is told so.
    const bool onProcessor = *settings.device == Device::Auto && m_config.trailingTokens > 0;
    const Device wanted = onProcessor ? Device::Cpu : *settings.device;
    if (!m_backend || m_wantedDevice != wanted || m_wantedIndex != settings.deviceIndex) {
        m_backend = makeBackend(wanted, settings.deviceIndex);
        m_wantedDevice = wanted;
        m_wantedIndex = settings.deviceIndex;
        m_packed.reset();
    }
    return m_backend->resolve(*settings.precision);
}

Precision EncoderRunner::precisionOnProcessor() {
    const Precision precision = choose(m_control->effective());
    return m_backend->device() == Device::Cpu ? precision : Precision::F32;
}

void EncoderRunner::prepare(const Settings& settings) {
    const Precision precision = choose(settings);
    if (m_packed && m_packedPrecision == precision) return;
    m_packed = packShared(*m_backend, m_wantedIndex, m_config, m_weights, precision);
    m_packedPrecision = precision;
    m_control->setDim(m_packed->dim());
}

std::vector<cv::Mat> EncoderRunner::run(const SessionInput& input, std::vector<cv::Mat>& outputs) {
    return run(input, m_control->effective(), outputs);
}

void EncoderRunner::run(const cv::Mat& tokens, const cv::Mat& keyBias, std::vector<cv::Mat>& outputs) {
    SessionInput input;
    input.tokens = tokens;
    input.keyBias = keyBias;
    run(input, outputs);
}

void EncoderRunner::runOnDevice(const float* tokens, int images, int rows, const std::vector<float*>& outputs,
                                void* stream) {
    const Settings settings = m_control->effective();
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
    // Headers only: nothing on the processor looks behind them.
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

void EncoderRunner::check(const SessionInput& input, size_t outputs) const {
    m_control->checkSegments();
    checkTokens(input.tokens, m_config, m_packed->dim());
    checkKeyBias(input.keyBias, input.tokens);
    checkMaps(input.maps, input.tokens, m_config);
    if (outputs >= m_config.taps.size()) return;
    CV_Error(cv::Error::StsUnmatchedSizes,
             cv::format("mpm: MpmEncoder has %d outputs, one for each of taps; %d are connected",
                        static_cast<int>(m_config.taps.size()), static_cast<int>(outputs)));
}

// Reuses by itself, or follows the encoder its tokens come from. Without reuse the memory is given back.
bool EncoderRunner::reuses(const Settings& settings) {
    const bool reuses = follows() ? leadFrame() != nullptr : settings.reuse->has_value();
    if (reuses) return true;
    if (!follows()) setLeadFrame(nullptr);
    m_reuse.forget();
    return false;
}

// Images that are computed with memory are never merged, so nothing in the network has a map for them.
void EncoderRunner::checkMapsWithReuse(const SessionInput& input, const LeadFrame* lead) const {
    for (size_t i = 0; i < input.maps.size(); ++i) {
        if (lead && (!lead->plans[i].remembers || input.maps[i].isIdentity())) continue;
        CV_Error(cv::Error::StsBadArg,
                 "mpm: a map from outside the chain and reuse over time exclude each other");
    }
}

std::vector<ImageReport> EncoderRunner::runWithReuse(const SessionInput& input, const Settings& settings,
                                                     const ReuseRunner::Plain& plain,
                                                     std::vector<cv::Mat>& outputs) {
    const ReuseForward forward{m_config, *m_backend, m_packed, input};
    if (follows()) {
        const std::shared_ptr<const LeadFrame> frame = leadFrame();
        const bool fits = static_cast<int>(frame->plans.size()) == input.tokens.size[0];
        if (!fits) return plain(input, false, outputs);
        checkMapsWithReuse(input, frame.get());
        return m_reuse.follow(forward, *frame, plain, outputs);
    }
    checkMapsWithReuse(input, nullptr);
    if (!settings.imposed.empty()) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: setMaps and reuse over time exclude each other; call clearMaps or turn reuse off");
    }
    return m_reuse.lead(forward, **settings.reuse, settings.streams, plain, outputs);
}

std::vector<ImageReport> EncoderRunner::runPlain(const SessionInput& given, const Settings& settings,
                                                 bool merging, std::vector<cv::Mat>& outputs,
                                                 Times& times) const {
    const EncoderConfig& config = m_config;
    const Stages stages(settings, m_control->config(), merging);
    SessionInput input = given;
    input.reducer = stages.reducer();
    const auto session = m_backend->begin(config, m_packed, input);
    runBlocks(config, *session, outputs,
              [&](Moment moment, int block) { stages.reduceAt(moment, block, *session); });
    std::vector<ImageReport> images = session->takeReport();
    for (ImageReport& image : images)
        image.tokens = stages.entering(image, config);
    times.merge += session->mergeMs();
    times.restore += session->restoreMs();
    return images;
}

std::vector<cv::Mat> EncoderRunner::run(const SessionInput& given, const Settings& settings,
                                        std::vector<cv::Mat>& outputs) {
    const Stopwatch watch;
    prepare(settings);
    check(given, outputs.size());
    SessionInput input = given;
    input.batchIndependent = *settings.batchIndependent;
    // A map from outside may number clusters in any order, a segment's are in the order of its rows.
    for (MergeMap& map : input.maps)
        if (!m_config.continues()) renumber(map, representativeOrder(map));
    std::vector<cv::Mat> taps(outputs.begin(), outputs.begin() + m_config.taps.size());
    Report report;
    const auto plain = [&](const SessionInput& some, bool merging, std::vector<cv::Mat>& to) {
        return runPlain(some, settings, merging, to, report.times);
    };
    const bool again = reuses(settings);
    if (!follows()) watchTokens(input.tokens.data, again);
    report.images = again ? runWithReuse(input, settings, plain, taps) : plain(input, true, taps);
    std::vector<cv::Mat> composed;
    for (ImageReport& image : report.images) {
        composed.push_back(image.map);
        if (m_config.takesMap || m_config.chainBlocks > 0) numberByRepresentative(image);
    }
    report.times.whole = watch.milliseconds();
    report.device = m_backend->device();
    report.precision = m_packedPrecision;
    report.keptInF32 = m_packed->keptInF32();
    m_control->setReport(m_config, std::move(report));
    return composed;
}

}  // namespace mpm
