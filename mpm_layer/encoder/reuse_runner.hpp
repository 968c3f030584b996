// A batch of frames of several streams: each stream's memory, and which images run in which way.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/reuse/follower.hpp"
#include "mpm_layer/encoder/reuse/lead_frame.hpp"
#include "mpm_layer/encoder/reuse/watcher.hpp"

namespace mpm {

/// One forward of an encoder.
struct ReuseForward {
    const EncoderConfig& config;
    const Backend& backend;
    std::shared_ptr<const PackedEncoder> weights;
    SessionInput input;
};

struct ReuseStream {
    int id = 0;
    StreamWatcher watcher;
    StreamFollower follower;
    std::shared_ptr<StreamMemory> memory;
    std::shared_ptr<const PackedEncoder> weights;  ///< that the memory was computed with
    int rows = 0;
    std::vector<float> keyBias;
};

class ReuseRunner {
public:
    /// Runs a batch without memory, merging or not, into outputs that are allocated.
    using Plain = std::function<std::vector<ImageReport>(const SessionInput& input, bool merging,
                                                         std::vector<cv::Mat>& outputs)>;

    /// Decides by itself, and informs the encoders behind it. `streams` is empty or has one id for each
    /// image.
    std::vector<ImageReport> lead(const ReuseForward& forward, const Reuse& reuse, std::vector<int> streams,
                                  const Plain& plain, std::vector<cv::Mat>& outputs);
    /// Follows leadFrame().
    std::vector<ImageReport> follow(const ReuseForward& forward, const LeadFrame& lead, const Plain& plain,
                                    std::vector<cv::Mat>& outputs);

    void forget() { m_streams.clear(); }
    void forget(int stream);

private:
    ReuseStream& streamOf(int id);
    /// Forgets rows that were computed with other weights, of another size or with another bias.
    void match(ReuseStream& stream, const ReuseForward& forward, int image) const;
    std::vector<ImageReport> run(const ReuseForward& forward, const std::vector<ReuseStream*>& streams,
                                 const std::vector<FramePlan>& plans, const Plain& plain,
                                 std::vector<cv::Mat>& outputs) const;
    int blocksBehind() const;

    std::list<ReuseStream> m_streams;  ///< the one used last in front
    Reuse m_options;
    std::shared_ptr<std::map<const void*, int>> m_followers = std::make_shared<std::map<const void*, int>>();
};

}  // namespace mpm
