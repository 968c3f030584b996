// The streams of an encoder that runs with reuse: the memory of each stream, and the plan of each batch.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/network_state.hpp"
#include "mpm_layer/encoder/reuse/plan.hpp"
#include "mpm_layer/encoder/reuse/watcher.hpp"

namespace mpm {

struct EncoderForward {
    const EncoderConfig& config;
    const Backend& backend;
    std::shared_ptr<const PackedEncoder> weights;
    SessionInput input;

    FrameRows frame(int image) const;
};

struct ReuseStream {
    int id = 0;
    std::int64_t firstFrame = 0;  ///< added to frame numbers, so that a restarted stream repeats no number
    StreamWatcher watcher;
    StreamFollower follower;
    std::shared_ptr<StreamMemory> memory;
    std::shared_ptr<const PackedEncoder> weights;  ///< the weights of the forward that filled `memory`
    int rows = 0;
    std::vector<float> keyBias;
};

/// The plan of a batch: the stream and the frame's plan for each image.
struct ReusePlan {
    std::vector<int> ids;               ///< the stream of each image
    std::vector<ReuseStream*> streams;  ///< valid until the streams change
    std::vector<FramePlan> frames;
};

class ReuseStreams {
public:
    /// Returns the streams of a batch: `ids`, or the indices of the images if `ids` is empty. Throws if there
    /// are too many images, or more or fewer ids than images.
    static std::vector<int> idsOf(std::vector<int> ids, int images);

    /// Decides which rows this encoder and the later encoders compute. The later encoders have
    /// `blocksBehind` blocks in total.
    ReusePlan lead(const EncoderForward& forward, const Reuse& reuse, std::vector<int> ids, int blocksBehind);
    /// Makes a plan that follows the decisions of another encoder.
    ReusePlan follow(const EncoderForward& forward, const LeadFrame& lead);

    void forget() { m_streams.clear(); }
    void forget(int stream);

private:
    ReuseStream& streamOf(int id);
    /// Returns the stream of an image. If the weights, the number of rows or the key biases have changed, the
    /// stream starts again without memory.
    ReuseStream& matchedStream(int id, const EncoderForward& forward, int image);

    std::list<ReuseStream> m_streams;  ///< the most recently used stream is in front
    std::int64_t m_begun = 0;
    Reuse m_options;
};

}  // namespace mpm
