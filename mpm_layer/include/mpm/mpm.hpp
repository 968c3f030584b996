// Mutual Pair Merging for vision transformers in OpenCV's DNN module: all that a program may include.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/dnn.hpp>

#if defined(__GNUC__)
#define MPM_API __attribute__((visibility("default")))
#else
#define MPM_API
#endif

namespace mpm {

enum class Device { Cpu, Cuda, Auto };
/// I8: products in int8, quantised as they come; all else in f32. Auto: BF16 where the hardware has it, else
/// F32. AutoFast: I8 where the hardware has instructions for it, else as Auto.
enum class Precision { F32, TF32, BF16, F16, Auto, I8, AutoFast };

/// One merge of one image: one of the schedule, or the map that came in with the tokens.
struct Stage {
    int block = 0;  ///< the block before which it happened
    cv::Mat map;  ///< CV_32S 1xK: cluster of each image token that entered the stage; the identity if nothing
                  ///< merged
    int tokens = 0;  ///< image tokens that left the stage
};

/// How an encoder reuses its work on the frames before: only tokens that changed are computed again.
struct Reuse {
    double sensitivity = 1.6;  ///< a token has changed when it differs by more than this multiple of the
                               ///< estimated noise
    double floor = -1;   ///< smallest difference that counts, relative to the root mean square of the frame's
                         ///< embedded tokens; -1: the library's default
    bool exact = false;  ///< any differing bit counts; no noise estimate
    int refresh = 30;    ///< every token is recomputed at least every so many frames; 0: never by age
    double full = 0.25;  ///< above this share of changed tokens the forward is full
    double budget = 1;   ///< largest share of tokens recomputed in a frame that is not full: refreshed ones
                         ///< first, then the largest changes
};

/// "on", "off", or values separated by commas ("refresh=30,full=0.25"); those not named keep their defaults.
/// Throws where a name is not known or a value is out of its range.
MPM_API std::optional<Reuse> reuseFrom(const std::string& text);

/// Off: reuse is not on. Full: all tokens were computed. Suspended: the scene keeps changing, and the frame
/// ran as without reuse.
enum class ReuseState { Off, Full, Partial, Suspended };
/// Postponed: it changed, but the budget was used up.
enum class ReuseReason : unsigned char { Kept, Changed, Refreshed, Postponed };

/// Reuse in one image of the last forward.
struct ReuseReport {
    ReuseState state = ReuseState::Off;
    double recomputed = 1;  ///< share of the image tokens
    cv::Mat reasons;        ///< CV_8U 1xN: ReuseReason of each image token; empty where not Full or Partial
    cv::Mat ages;           ///< CV_32S 1xN: frames since each image token was computed; empty likewise
    /// Of tokens refreshed without having changed: the difference between their old and new output, as the
    /// root of its mean square relative to that of the new output. Grows where context goes stale.
    double meanDrift = 0, largestDrift = 0;
};

struct ImageReport {
    cv::Mat map;                ///< CV_32S 1xN: final cluster of each image token of the picture
    std::vector<Stage> stages;  ///< in the order of the blocks; a map that came in is before the others
    std::vector<int> tokens;    ///< image tokens entering each block
    ReuseReport reuse;
};

/// Milliseconds of the last forward of one encoder.
struct Times {
    double merge = 0;
    double restore = 0;
    double whole = 0;
};

struct Report {
    std::vector<ImageReport> images;
    Times times;
    Device device = Device::Cpu;           ///< what ran, never Auto
    Precision precision = Precision::F32;  ///< what ran, never Auto or AutoFast
    std::vector<std::string> keptInF32;  ///< in I8: layers ("3.fc1") that would lose too much and ran in f32
};

class EncoderControl;

/// Handle of an encoder inside a network: one MpmEncoder, or all segments of a chain, whose blocks are
/// numbered through. Cheap to copy; stays valid as long as a copy of the network or the
/// handle lives. Settings take effect at the next forward. A network and its handle belong to one thread at a
/// time.
class MPM_API Encoder {
public:
    explicit Encoder(std::shared_ptr<EncoderControl> control);

    /// 0-based blocks before which tokens merge, strictly increasing; {} runs all tokens.
    void setSchedule(const std::vector<int>& blocks);
    std::vector<int> schedule() const;

    /// How tokens are reduced: "mpm" (default), "none", or another reducer with its parameters ("tome:r=13").
    void setMethod(const std::string& method);

    /// Cuda without a usable GPU throws at once; Auto takes the GPU `index` where there is one.
    void setDevice(Device device, int index = 0);
    void setPrecision(Precision precision);

    /// True: on a GPU too, an image's bits do not depend on its batch, for some speed. On the processor they
    /// never do.
    void setBatchIndependent(bool independent);

    /// Imposes the map of one stage of the schedule (CV_32S 1xK, ids 0..M-1 all used) instead of computing
    /// it: one Mat per image, or one for every image. Stays until clearMaps(). A forward whose schedule
    /// merges but has no such stage throws.
    void setMaps(int stage, const std::vector<cv::Mat>& maps);
    void clearMaps();

    /// Turns reuse over time on, or off (std::nullopt, the default). While it is on the schedule is not used:
    /// a full forward computes all tokens. Throws where a value is out of its range, and on a GPU.
    void setReuse(const std::optional<Reuse>& reuse);
    /// Which stream each image of the batch belongs to, each id once; default: the image's index.
    void setStreams(const std::vector<int>& ids);
    /// The next forward of that stream, or of all streams, is full. At most 64 streams are remembered; the
    /// one not used for longest is dropped.
    void forget(int stream);
    void forget();

    /// A forward of the encoder alone over memory of the GPU that setDevice(Device::Cuda, ..) chose. tokens:
    /// f32 [images, rows, dim()], special tokens included; outputs: one such array for each depth the encoder
    /// hands out, in the network's order. Waits for what `stream` (a cudaStream_t; null is the default
    /// stream) holds when called; outputs are complete and report() is set when it returns. The network must
    /// have run once before and must still be there.
    void forwardOnDevice(const float* tokens, int images, int rows, const std::vector<float*>& outputs,
                         void* stream = nullptr);

    /// Of the last forward; a copy, the caller's own. Empty before the first.
    Report report() const;

    int blocks() const;  ///< transformer blocks of the encoder
    int dim() const;     ///< width of a token
    int heads() const;
    int specialTokens() const;  ///< class, distillation and register tokens in front

private:
    EncoderControl& control() const;

    std::shared_ptr<EncoderControl> m_control;
};

/// Tokens after one merge, and where each image token went.
struct Merged {
    cv::Mat tokens;  ///< CV_32F (special+M) x D
    cv::Mat map;     ///< CV_32S 1xN, ids 0..M-1
};

/// What a model file says of itself. Missing entries keep the defaults.
struct ModelInfo {
    std::vector<std::string> labels;  ///< class names by id
    std::vector<cv::Vec3b> palette;   ///< RGB by id
    cv::Size size;                    ///< of the network's input; empty where dynamic and not recorded
    cv::Scalar mean{0.5, 0.5, 0.5};   ///< RGB, on values of 0..1
    cv::Scalar std{0.5, 0.5, 0.5};
    std::vector<int> schedule;  ///< blocks the model merges before by default
    std::string sourceSha256;   ///< of the export it was converted from
};

/// Makes the operators of domain `mpm` known to OpenCV. Idempotent, thread-safe.
MPM_API void registerLayers();

/// The backbone of a network: the MpmEncoder that merges, or the chain of them nearest to the image. Throws
/// cv::Exception where there is none.
MPM_API Encoder encoder(cv::dnn::Net& net);

/// One merge by mutual pairs. tokens: CV_32F (special+N) x D; the first `special` rows stay.
MPM_API Merged mergeTokens(const cv::Mat& tokens, int special = 0);

/// The inverse gather: row special+i of the result is row special+map[i] of `tokens`.
MPM_API cv::Mat restoreTokens(const cv::Mat& tokens, const cv::Mat& map, int special = 0);

/// r(i) = second(first(i)).
MPM_API cv::Mat composeMaps(const cv::Mat& first, const cv::Mat& second);

MPM_API ModelInfo modelInfo(const std::string& path);

/// The preprocessing a model was trained with: 8-bit BGR of any size -> 1x3xHxW, stretched, RGB, normalised.
MPM_API cv::Mat blobFromImage(const cv::Mat& picture, const ModelInfo& info);

MPM_API const char* version();

}  // namespace mpm
