#include "mpm_layer/encoder/forward.hpp"

#include <algorithm>

#include "mpm_layer/encoder/backend.hpp"

namespace mpm {
namespace {

// Runs all blocks: merge, attention, merge, MLP, and an output at each tap. reduceAt(moment, block) must
// merge if the block has a stage at this moment. The caller must allocate an output for each tap.
template <class ReduceAt>
void runBlocks(const EncoderConfig& config, Session& session, std::vector<cv::Mat>& outputs,
               const ReduceAt& reduceAt) {
    size_t tap = 0;
    for (int b = 0; b < config.blocks; ++b) {
        const int block = config.firstBlock + b;
        reduceAt(Moment::BeforeBlock, block);
        session.attend(b);
        reduceAt(Moment::AfterAttention, block);
        session.runMlp(b);
        if (tap >= config.taps.size() || config.taps[tap] != block) continue;
        session.emit(config.tapNorm[tap] != 0, outputs[tap]);
        ++tap;
    }
    session.finish();
}

// The stages of a forward. Stages and blocks are numbered across the whole chain, not within a segment.
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

    /// Returns, for each block of the encoder, whether a stage compares the keys of the block's attention. A
    /// stage before a block compares the keys of the previous block, or keys from a separate product.
    std::vector<bool> comparedKeys(const EncoderConfig& config) const {
        std::vector<bool> compared(config.blocks, false);
        if (!m_reducer || m_reducer->metric() == Metric::Tokens) return compared;
        const bool before = m_reducer->moment() == Moment::BeforeBlock;
        if (before && m_reducer->metric() == Metric::Keys) return compared;  // a product computes the keys
        const int first = config.firstBlock + (before ? 1 : 0);
        for (const int block : m_schedule)
            if (block >= first && block < first + config.blocks) compared[block - first] = true;
        return compared;
    }

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

    /// Counts the image tokens that entered each block. Must be called after the forward, because some
    /// backends report the stages only then.
    std::vector<int> entering(const ImageReport& image, const EncoderConfig& config) const {
        std::vector<int> tokens;
        size_t stage = config.takesMap ? 1 : 0;  // stage 0 is the input map, before the first block
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
    // Throws if a map is imposed on a stage that the schedule lacks. An empty schedule ignores imposed maps.
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

cv::Mat imagesOf(const cv::Mat& batch, const std::vector<int>& images) {
    const int sizes[] = {static_cast<int>(images.size()), batch.size[1], batch.size[2]};
    cv::Mat some(3, sizes, CV_32F);
    const size_t image = static_cast<size_t>(batch.size[1]) * batch.size[2];
    for (size_t i = 0; i < images.size(); ++i)
        std::copy_n(batch.ptr<float>() + images[i] * image, image, some.ptr<float>() + i * image);
    return some;
}

// Some images of a batch as a separate batch. copyBack() copies the outputs to the original batch's outputs.
class SubBatch {
public:
    SubBatch(const SessionInput& input, std::vector<cv::Mat>& outputs, std::vector<int> images)
        : m_images(std::move(images)), m_whole(outputs), m_input(input), m_outputs(outputs) {
        const int all = input.tokens.size[0];
        if (static_cast<int>(m_images.size()) == all) return;
        m_input.tokens = imagesOf(input.tokens, m_images);
        m_input.maps.clear();
        for (size_t i = 0; i < m_images.size() && !input.maps.empty(); ++i)
            m_input.maps.push_back(input.maps[m_images[i]]);
        if (!input.keyBias.empty() && input.keyBias.total() != static_cast<size_t>(input.tokens.size[1])) {
            const int sizes[] = {all, input.tokens.size[1], 1};
            m_input.keyBias = imagesOf(input.keyBias.reshape(1, 3, sizes), m_images);
        }
        for (cv::Mat& output : m_outputs)
            output = cv::Mat(3, m_input.tokens.size.p, CV_32F);
        m_apart = true;
    }

    const SessionInput& input() const { return m_input; }
    std::vector<cv::Mat>& outputs() { return m_outputs; }

    void copyBack() {
        if (!m_apart) return;
        for (size_t o = 0; o < m_outputs.size(); ++o) {
            const cv::Mat& from = m_outputs[o];
            const size_t image = static_cast<size_t>(from.size[1]) * from.size[2];
            for (size_t i = 0; i < m_images.size(); ++i)
                std::copy_n(from.ptr<float>() + i * image, image,
                            m_whole[o].ptr<float>() + m_images[i] * image);
        }
    }

private:
    std::vector<int> m_images;
    std::vector<cv::Mat>& m_whole;
    SessionInput m_input;
    std::vector<cv::Mat> m_outputs;
    bool m_apart = false;
};

void recall(const StreamMemory& memory, int image, std::vector<cv::Mat>& outputs) {
    for (size_t tap = 0; tap < outputs.size(); ++tap) {
        const size_t size = static_cast<size_t>(outputs[tap].size[1]) * outputs[tap].size[2];
        memory.recall(static_cast<int>(tap), outputs[tap].ptr<float>() + image * size);
    }
}

void describe(const FramePlan& plan, int tokens, int blocks, ImageReport& report) {
    report.reuse.state = plan.state;
    if (plan.state == ReuseState::Suspended) return;
    report.map = toMat(identityMap(tokens));
    report.stages.clear();
    report.tokens.assign(blocks, tokens);
    if (!plan.remembers) return;
    report.reuse.recomputed = tokens == 0 ? 0 : static_cast<double>(plan.tokens.size()) / tokens;
    if (plan.ages.empty()) return;
    report.reuse.reasons = cv::Mat(1, tokens, CV_8U);
    for (int t = 0; t < tokens; ++t)
        report.reuse.reasons.at<uchar>(t) = static_cast<uchar>(plan.reasons[t]);
    report.reuse.ages = cv::Mat(plan.ages, true).reshape(1, 1);
}

// Three groups of the images of a batch. The images of `merged` merge tokens, the images of `whole` run all
// tokens without memory, and the images of `remembered` run with memory.
struct Groups {
    std::vector<int> merged, whole, remembered;
};

// Groups the images. An image whose frame is idle is in no group: its outputs are copied from memory.
Groups groupsOf(const ReusePlan& plan, std::vector<cv::Mat>& outputs) {
    Groups groups;
    for (int i = 0; i < static_cast<int>(plan.frames.size()); ++i) {
        const FramePlan& frame = plan.frames[i];
        if (frame.idle) {
            recall(*plan.streams[i]->memory, i, outputs);
        } else if (frame.remembers) {
            groups.remembered.push_back(i);
        } else {
            (frame.state == ReuseState::Suspended ? groups.merged : groups.whole).push_back(i);
            plan.streams[i]->memory.reset();
        }
    }
    return groups;
}

std::vector<ImageReport> runRemembered(const EncoderForward& forward, const ReusePlan& plan,
                                       const std::vector<int>& images, std::vector<cv::Mat>& outputs) {
    std::vector<RememberedImage> remembered;
    for (int i : images) {
        ReuseStream& stream = *plan.streams[i];
        if (!stream.memory)
            stream.memory = forward.backend.remember(forward.config, forward.weights, stream.rows);
        remembered.push_back({stream.memory.get(), &plan.frames[i]});
    }
    const auto session =
        forward.backend.beginReuse(forward.config, forward.weights, forward.input, remembered);
    runBlocks(forward.config, *session, outputs, [](Moment, int) {});  // images with memory never merge
    return session->takeReport();
}

}  // namespace

std::vector<MergeMap> StageRequest::imposedMaps(int images) const {
    const int given = static_cast<int>(imposed->size());
    if (given == images) return *imposed;
    if (given == 1) return std::vector<MergeMap>(images, imposed->front());
    CV_Error(
        cv::Error::StsUnmatchedSizes,
        cv::format("mpm: stage %d has %d imposed maps for a batch of %d; give one, or one for each image",
                   stage, given, images));
}

std::vector<ImageReport> runPlain(const EncoderForward& forward, const Settings& settings, bool merging,
                                  std::vector<cv::Mat>& outputs, Times& times) {
    const EncoderConfig& config = forward.config;
    const Stages stages(settings, config.ofChain(), merging);
    SessionInput input = forward.input;
    input.reducer = stages.reducer();
    input.keepsKeys = stages.comparedKeys(config);
    const auto session = forward.backend.begin(config, forward.weights, input);
    runBlocks(config, *session, outputs,
              [&](Moment moment, int block) { stages.reduceAt(moment, block, *session); });
    std::vector<ImageReport> images = session->takeReport();
    for (ImageReport& image : images)
        image.tokens = stages.entering(image, config);
    times.merge += session->mergeMs();
    times.restore += session->restoreMs();
    return images;
}

std::vector<ImageReport> runPlanned(const EncoderForward& forward, const Settings& settings,
                                    const ReusePlan& plan, std::vector<cv::Mat>& outputs, Times& times) {
    const Groups groups = groupsOf(plan, outputs);
    std::vector<ImageReport> reports(plan.frames.size());
    const auto runGroup = [&](const std::vector<int>& images, const auto& run) {
        if (images.empty()) return;
        SubBatch batch(forward.input, outputs, images);
        std::vector<ImageReport> some = run(
            EncoderForward{forward.config, forward.backend, forward.weights, batch.input()}, batch.outputs());
        for (size_t i = 0; i < some.size(); ++i)
            reports[images[i]] = std::move(some[i]);
        batch.copyBack();
    };
    for (const auto* images : {&groups.merged, &groups.whole}) {
        runGroup(*images, [&](const EncoderForward& part, std::vector<cv::Mat>& to) {
            return runPlain(part, settings, images == &groups.merged, to, times);
        });
    }
    runGroup(groups.remembered, [&](const EncoderForward& part, std::vector<cv::Mat>& to) {
        return runRemembered(part, plan, groups.remembered, to);
    });
    for (size_t i = 0; i < reports.size(); ++i) {
        const int image = static_cast<int>(i);
        describe(plan.frames[i], forward.frame(image).tokens, forward.config.blocks, reports[i]);
    }
    return reports;
}

}  // namespace mpm
