#include "mpm_layer/encoder/reuse_streams.hpp"

#include <algorithm>

#include "mpm_layer/encoder/reuse/plan.hpp"

namespace mpm {
namespace {

constexpr size_t kMostStreams = 64;

// Returns the key biases of an image. The input has key biases for each image, or once for all images.
std::vector<float> keyBiasOf(const SessionInput& input, int image) {
    if (input.keyBias.empty()) return {};
    const size_t row = input.tokens.size[1];
    const float* values = input.keyBias.ptr<float>();
    if (input.keyBias.total() != row) values += image * row;
    return {values, values + row};
}

}  // namespace

FrameRows EncoderForward::frame(int image) const {
    FrameRows frame;
    frame.dim = input.tokens.size[2];
    frame.special = config.specialRows();
    frame.trailing = config.trailingTokens;
    frame.tokens = input.tokens.size[1] - frame.special - config.trailingTokens;
    frame.data = input.tokens.ptr<float>() + static_cast<size_t>(image) * frame.rows() * frame.dim;
    return frame;
}

std::vector<int> ReuseStreams::idsOf(std::vector<int> ids, int images) {
    if (images > static_cast<int>(kMostStreams)) {
        CV_Error(cv::Error::StsOutOfRange, cv::format("mpm: reuse takes at most %d images in a batch, got %d",
                                                      static_cast<int>(kMostStreams), images));
    }
    for (int i = 0; i < images && static_cast<int>(ids.size()) == i; ++i)
        ids.push_back(i);
    if (static_cast<int>(ids.size()) == images) return ids;
    CV_Error(cv::Error::StsUnmatchedSizes,
             cv::format("mpm: setStreams named %d streams for a batch of %d images",
                        static_cast<int>(ids.size()), images));
}

ReuseStream& ReuseStreams::streamOf(int id) {
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

void ReuseStreams::forget(int stream) {
    m_streams.remove_if([&](const ReuseStream& s) { return s.id == stream; });
}

ReuseStream& ReuseStreams::matchedStream(int id, const EncoderForward& forward, int image) {
    ReuseStream& stream = streamOf(id);
    const int rows = forward.input.tokens.size[1];
    std::vector<float> bias = keyBiasOf(forward.input, image);
    if (stream.weights == forward.weights && stream.rows == rows && stream.keyBias == bias) return stream;
    stream = ReuseStream();
    stream.id = id;
    stream.firstFrame = ++m_begun << 32;
    stream.weights = forward.weights;
    stream.rows = rows;
    stream.keyBias = std::move(bias);
    return stream;
}

ReusePlan ReuseStreams::lead(const EncoderForward& forward, const Reuse& reuse, std::vector<int> ids,
                             int blocksBehind) {
    if (!sameReuse(m_options, reuse)) forget();
    m_options = reuse;
    ReusePlan plan;
    plan.ids = std::move(ids);
    for (size_t i = 0; i < plan.ids.size(); ++i) {
        const int image = static_cast<int>(i);
        plan.streams.push_back(&matchedStream(plan.ids[i], forward, image));
        plan.frames.push_back(plan.streams.back()->watcher.next(forward.frame(image), reuse,
                                                                forward.config.blocks + blocksBehind));
        plan.frames.back().number += plan.streams.back()->firstFrame;
    }
    return plan;
}

ReusePlan ReuseStreams::follow(const EncoderForward& forward, const LeadFrame& lead) {
    ReusePlan plan;
    plan.ids = lead.streams;
    for (size_t i = 0; i < plan.ids.size(); ++i) {
        const int image = static_cast<int>(i);
        plan.streams.push_back(&matchedStream(plan.ids[i], forward, image));
        plan.frames.push_back(plan.streams.back()->follower.next(forward.frame(image), lead.plans[i]));
    }
    return plan;
}

}  // namespace mpm
