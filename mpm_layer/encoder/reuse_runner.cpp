#include "mpm_layer/encoder/reuse_runner.hpp"

#include <algorithm>

#include "mpm_layer/encoder/block_loop.hpp"
#include "mpm_layer/encoder/reuse/options.hpp"

namespace mpm {
namespace {

constexpr size_t kMostStreams = 64;

FrameRows rowsOf(const SessionInput& input, const EncoderConfig& config, int image) {
    FrameRows frame;
    frame.dim = input.tokens.size[2];
    frame.special = config.specialTokens;
    frame.trailing = config.trailingTokens;
    frame.tokens = input.tokens.size[1] - config.specialTokens - config.trailingTokens;
    frame.data = input.tokens.ptr<float>() + static_cast<size_t>(image) * frame.rows() * frame.dim;
    return frame;
}

// The key biases of one image, however they came.
std::vector<float> keyBiasOf(const SessionInput& input, int image) {
    if (input.keyBias.empty()) return {};
    const size_t row = input.tokens.size[1];
    const float* values = input.keyBias.ptr<float>();
    if (input.keyBias.total() != row) values += image * row;
    return {values, values + row};
}

cv::Mat imagesOf(const cv::Mat& batch, const std::vector<int>& images) {
    const int sizes[] = {static_cast<int>(images.size()), batch.size[1], batch.size[2]};
    cv::Mat some(3, sizes, CV_32F);
    const size_t image = static_cast<size_t>(batch.size[1]) * batch.size[2];
    for (size_t i = 0; i < images.size(); ++i)
        std::copy_n(batch.ptr<float>() + images[i] * image, image, some.ptr<float>() + i * image);
    return some;
}

// Streams whose decisions were made but not carried out know nothing any more.
template <class Run>
auto orRestart(std::list<ReuseStream>& streams, const Run& run) {
    try {
        return run();
    } catch (...) {
        streams.clear();
        throw;
    }
}

std::vector<ImageReport> runRemembered(const ReuseForward& forward, const SessionInput& input,
                                       const std::vector<RememberedImage>& images,
                                       std::vector<cv::Mat>& outputs) {
    const EncoderConfig& config = forward.config;
    const auto session = forward.backend.beginReuse(config, forward.weights, input, images);
    runBlocks(config, *session, outputs, [](Moment, int) {});  // nothing merges
    return session->takeReport();
}

// Some images of a batch as a batch of their own, and the way back.
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
    const std::vector<int>& images() const { return m_images; }

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

void checkStreams(const std::vector<int>& streams, int images) {
    if (images > static_cast<int>(kMostStreams)) {
        CV_Error(cv::Error::StsOutOfRange, cv::format("mpm: reuse takes at most %d images in a batch, got %d",
                                                      static_cast<int>(kMostStreams), images));
    }
    if (static_cast<int>(streams.size()) == images) return;
    CV_Error(cv::Error::StsUnmatchedSizes,
             cv::format("mpm: setStreams named %d streams for a batch of %d images",
                        static_cast<int>(streams.size()), images));
}

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
    if (plan.reasons.empty()) return;
    report.reuse.reasons = cv::Mat(1, tokens, CV_8U);
    for (int t = 0; t < tokens; ++t)
        report.reuse.reasons.at<uchar>(t) = static_cast<uchar>(plan.reasons[t]);
    report.reuse.ages = cv::Mat(plan.ages, true).reshape(1, 1);
}

}  // namespace

ReuseStream& ReuseRunner::streamOf(int id) {
    auto found =
        std::find_if(m_streams.begin(), m_streams.end(), [&](const ReuseStream& s) { return s.id == id; });
    if (found == m_streams.end()) {
        if (m_streams.size() >= kMostStreams) m_streams.pop_back();
        m_streams.emplace_front();
        m_streams.front().id = id;
    } else {
        m_streams.splice(m_streams.begin(), m_streams, found);
    }
    return m_streams.front();
}

void ReuseRunner::forget(int stream) {
    m_streams.remove_if([&](const ReuseStream& s) { return s.id == stream; });
}

void ReuseRunner::match(ReuseStream& stream, const ReuseForward& forward, int image) const {
    const int rows = forward.input.tokens.size[1];
    std::vector<float> bias = keyBiasOf(forward.input, image);
    if (stream.weights == forward.weights && stream.rows == rows && stream.keyBias == bias) return;
    const int id = stream.id;
    stream = ReuseStream();
    stream.id = id;
    stream.weights = forward.weights;
    stream.rows = rows;
    stream.keyBias = std::move(bias);
}

int ReuseRunner::blocksBehind() const {
    int blocks = 0;
    for (const auto& [who, count] : *m_followers)
        blocks += count;
    return blocks;
}

std::vector<ImageReport> ReuseRunner::lead(const ReuseForward& forward, const Reuse& reuse,
                                           std::vector<int> streams, const Plain& plain,
                                           std::vector<cv::Mat>& outputs) {
    const int images = forward.input.tokens.size[0];
    setLeadFrame(nullptr);  // encoders behind follow only where this forward succeeds
    if (streams.empty()) {
        for (int i = 0; i < images; ++i)
            streams.push_back(i);
    }
    checkStreams(streams, images);
    if (!sameReuse(m_options, reuse)) forget();
    m_options = reuse;
    auto frame = std::make_shared<LeadFrame>();
    frame->followers = m_followers;
    std::vector<ImageReport> reports = orRestart(m_streams, [&] {
        std::vector<ReuseStream*> chosen;
        for (int i = 0; i < images; ++i) {
            chosen.push_back(&streamOf(streams[i]));
            match(*chosen.back(), forward, i);
            frame->plans.push_back(chosen.back()->watcher.next(
                rowsOf(forward.input, forward.config, i), reuse, forward.config.blocks + blocksBehind()));
        }
        return run(forward, chosen, frame->plans, plain, outputs);
    });
    frame->streams = std::move(streams);
    setLeadFrame(std::move(frame));
    return reports;
}

std::vector<ImageReport> ReuseRunner::follow(const ReuseForward& forward, const LeadFrame& lead,
                                             const Plain& plain, std::vector<cv::Mat>& outputs) {
    (*lead.followers)[this] = forward.config.blocks;
    return orRestart(m_streams, [&] {
        std::vector<ReuseStream*> chosen;
        std::vector<FramePlan> plans;
        for (size_t i = 0; i < lead.plans.size(); ++i) {
            const int image = static_cast<int>(i);
            chosen.push_back(&streamOf(lead.streams[i]));
            match(*chosen.back(), forward, image);
            plans.push_back(
                chosen.back()->follower.next(rowsOf(forward.input, forward.config, image), lead.plans[i]));
        }
        return run(forward, chosen, plans, plain, outputs);
    });
}

std::vector<ImageReport> ReuseRunner::run(const ReuseForward& forward,
                                          const std::vector<ReuseStream*>& streams,
                                          const std::vector<FramePlan>& plans, const Plain& plain,
                                          std::vector<cv::Mat>& outputs) const {
    std::vector<int> merged, whole, remembered;
    for (int i = 0; i < static_cast<int>(plans.size()); ++i) {
        if (plans[i].idle) {
            recall(*streams[i]->memory, i, outputs);
        } else if (plans[i].remembers) {
            remembered.push_back(i);
        } else {
            (plans[i].state == ReuseState::Suspended ? merged : whole).push_back(i);
            streams[i]->memory.reset();
        }
    }
    std::vector<ImageReport> reports(plans.size());
    const auto take = [&](const SubBatch& batch, std::vector<ImageReport> from) {
        for (size_t i = 0; i < from.size(); ++i)
            reports[batch.images()[i]] = std::move(from[i]);
    };
    for (const auto* images : {&merged, &whole}) {
        if (images->empty()) continue;
        SubBatch batch(forward.input, outputs, *images);
        take(batch, plain(batch.input(), images == &merged, batch.outputs()));
        batch.copyBack();
    }
    if (!remembered.empty()) {
        SubBatch batch(forward.input, outputs, remembered);
        std::vector<RememberedImage> images;
        for (int i : remembered) {
            if (!streams[i]->memory)
                streams[i]->memory =
                    forward.backend.remember(forward.config, forward.weights, streams[i]->rows);
            images.push_back({streams[i]->memory.get(), &plans[i]});
        }
        take(batch, runRemembered(forward, batch.input(), images, batch.outputs()));
        batch.copyBack();
    }
    for (size_t i = 0; i < plans.size(); ++i)
        describe(plans[i], rowsOf(forward.input, forward.config, static_cast<int>(i)).tokens,
                 forward.config.blocks, reports[i]);
    return reports;
}

}  // namespace mpm
