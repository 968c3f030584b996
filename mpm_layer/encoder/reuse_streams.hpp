// The streams of an encoder that reuses: their memories, and the plan of each batch of frames.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/network_state.hpp"
#include "mpm_layer/encoder/reuse/plan.hpp"
#include "mpm_layer/encoder/reuse/watcher.hpp"

namespace mpm {

/// A forward of an encoder.
struct EncoderForward {
    const EncoderConfig& config;
    const Backend& backend;
    std::shared_ptr<const PackedEncoder> weights;
    SessionInput input;

    /// The rows of an image.
    FrameRows frame(int image) const;
};

struct ReuseStream {
    int id = 0;
    std::int64_t firstFrame = 0;  ///< no number of another stream of that id
    StreamWatcher watcher;
    StreamFollower follower;
    std::shared_ptr<StreamMemory> memory;
    std::shared_ptr<const PackedEncoder> weights;  ///< that the memory was computed with
    int rows = 0;
    std::vector<float> keyBias;
};

/// How the images of a batch run.
struct ReusePlan {
    std::vector<int> ids;               ///< the stream of each image
    std::vector<ReuseStream*> streams;  ///< valid until the streams change
    std::vector<FramePlan> frames;
};

class ReuseStreams {
public:
    /// The streams of a batch: `ids`, or the numbers of the images if that is empty. Throws if there are too
    /// many images, or not one id for each.
    static std::vector<int> idsOf(std::vector<int> ids, int images);

    /// Decides which rows are computed, before `blocksBehind` blocks of other encoders.
    ReusePlan lead(const EncoderForward& forward, const Reuse& reuse, std::vector<int> ids, int blocksBehind);
    /// Follows an encoder that decided.
    ReusePlan follow(const EncoderForward& forward, const LeadFrame& lead);

    void forget() { m_streams.clear(); }
    void forget(int stream);

private:
    ReuseStream& streamOf(int id);
    /// The stream of an image. It forgets rows of other weights, of another size or with another bias.
    ReuseStream& matchedStream(int id, const EncoderForward& forward, int image);

    std::list<ReuseStream> m_streams;  ///< the one used last in front
    std::int64_t m_begun = 0;
    Reuse m_options;
};

}  // namespace mpm
