// Mutual Pair Merging for vision transformers in OpenCV's DNN module: the public C++ interface. Sizes are in
// pixels, matrices of tokens have a row for each token, times are milliseconds.
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

/// The device of an encoder. Auto: a GPU if libmpm_cuda and a usable GPU are found, else the CPU.
enum class Device { Cpu, Cuda, Auto };

/// How an encoder multiplies. I8: products in int8, quantised as values arrive; the rest in f32. Auto: BF16
/// if the hardware has instructions for it, else F32. AutoFast: I8 if the hardware has instructions for it,
/// else as Auto. TF32 and F16 need a GPU; I8 a CPU; BF16 a GPU or a CPU with AVX-512 BF16.
enum class Precision { F32, TF32, BF16, F16, Auto, I8, AutoFast };

/// A merge of an image: a stage of the schedule, or the input map.
struct Stage {
    int block = 0;  ///< the block before which tokens merged, counted from 0
    /// CV_32S 1xK: cluster, 0..tokens-1, of each of the K image tokens that entered the stage; the identity
    /// if nothing merged.
    cv::Mat map;
    int tokens = 0;  ///< image tokens that left the stage
};

/// Reuse over time: only tokens that changed since the frames before are computed again.
struct Reuse {
    double sensitivity = 1.6;  ///< a token has changed if it differs by more than this multiple of the
                               ///< estimated noise; 0 or more
    double floor = -1;   ///< smallest difference that counts, relative to the root mean square of the frame's
                         ///< embedded tokens; -1: the library's default
    bool exact = false;  ///< any differing bit counts; no noise estimate
    int refresh = 30;    ///< no token stays uncomputed for more than this many frames; 0: no such limit
    double full = 0.25;  ///< above this share of changed tokens, 0..1, all tokens are computed
    double budget = 1;   ///< largest share of tokens, 0..1, computed in a frame that is not full: refreshed
                         ///< ones first, then the largest changes. `refresh` has precedence: if the budget
                         ///< is below 1 / refresh, 1 / refresh of the tokens are computed
};

/// @param text "on", "off", or values separated by commas ("refresh=30,full=0.25"); others keep their
///     defaults
/// @return std::nullopt for "off"
/// @throws cv::Exception if a name is unknown or a value is out of range
MPM_API std::optional<Reuse> reuseFrom(const std::string& text);

/// Off: without reuse. Full: all tokens were computed. Partial: some were. Suspended: too much changes from
/// frame to frame, and the frame ran as without reuse.
enum class ReuseState { Off, Full, Partial, Suspended };

/// Why a token was computed or kept. Postponed: it changed, but the budget was used up.
enum class ReuseReason : unsigned char { Kept, Changed, Refreshed, Postponed };

/// Reuse in an image of the last forward.
struct ReuseReport {
    ReuseState state = ReuseState::Off;
    double recomputed = 1;  ///< share of the image tokens that were computed, 0..1
    cv::Mat reasons;        ///< CV_8U 1xN: ReuseReason of each image token; empty if Off or Suspended
    cv::Mat ages;           ///< CV_32S 1xN: frames since each image token was computed; empty likewise
    /// Difference between the old and the new output of tokens that were refreshed without having changed:
    /// root mean square relative to that of the new output; of a chain, the output of its last segment.
    /// Shows how far kept tokens are from a full forward.
    double meanDrift = 0, largestDrift = 0;
};

/// An image of the last forward. N: the image tokens at the encoder's input.
struct ImageReport {
    cv::Mat map;                ///< CV_32S 1xN: final cluster of each image token
    std::vector<Stage> stages;  ///< in the order of the blocks; an input map comes first
    std::vector<int> tokens;    ///< image tokens that entered each block
    ReuseReport reuse;
};

/// Milliseconds of the last forward of an encoder.
struct Times {
    double merge = 0;    ///< all stages
    double restore = 0;  ///< all outputs
    double whole = 0;    ///< from the encoder's input to the last output
};

/// The last forward of an encoder.
struct Report {
    std::vector<ImageReport> images;  ///< for each image of the batch
    Times times;
    Device device = Device::Cpu;           ///< as executed, never Auto
    Precision precision = Precision::F32;  ///< as executed, never Auto or AutoFast
    std::vector<std::string> keptInF32;    ///< with I8: layers ("3.fc1") that kept f32 to lose less
};

class EncoderControl;

/// Handle of an encoder inside a network: an MpmEncoder, or all segments of a chain, with block numbers of
/// the chain. Cheap to copy; valid as long as a copy of it or of the network exists. Settings take effect at
/// the next forward, and stay until they are changed; they override the C interface, the environment and the
/// model file. A network and its handle belong to a single thread at a time.
///
/// Every function throws cv::Exception, with a message that names the argument and the expected value, if the
/// handle was moved from, and as described below.
class MPM_API Encoder {
public:
    /// For mpm::encoder(). @throws cv::Exception if `control` is null
    explicit Encoder(std::shared_ptr<EncoderControl> control);

    /// @param blocks the blocks before which tokens merge, counted from 0, strictly increasing; {} runs all
    ///     tokens
    /// @throws cv::Exception if a block is not in the encoder or not larger than the last
    void setSchedule(const std::vector<int>& blocks);
    /// @return the blocks of the next forward: those set here, by the process, or by the model file
    std::vector<int> schedule() const;

    /// @param method how tokens are reduced: "mpm", "none", or another reducer with parameters
    ///     ("tome:r=13"), see docs/reference/reducers.md. The schedule stays
    /// @throws cv::Exception if the reducer or a parameter is unknown, or a value is out of range
    void setMethod(const std::string& method);
    /// @return the method of the next forward: that set here, by the process, or by the model file
    std::string method() const;

    /// @param device Auto (the default) uses the GPU `index` if it is usable, else the CPU
    /// @param index number of the GPU, from 0; not used on a CPU
    /// @throws cv::Exception if `index` is negative, or `device` is Cuda and that GPU is not usable; the
    ///     message names what is missing
    void setDevice(Device device, int index = 0);

    /// @param precision F32 is the default
    /// @throws cv::Exception if the device cannot compute in it; if only the environment or the C interface
    ///     names the device, the next forward throws instead
    void setPrecision(Precision precision);

    /// @param independent true: on a GPU too, the bits of an image do not depend on the batch, at the cost of
    ///     some speed. On a CPU they never depend on it
    void setBatchIndependent(bool independent);

    /// Uses the given maps at a stage instead of computing them, until clearMaps().
    /// @param stage index in the schedule, from 0
    /// @param maps a map for each image, or a single map for all: CV_32S 1xK for the K image tokens that
    ///     enter the stage, ids 0..M-1, each used at least once
    /// @throws cv::Exception if `stage` is negative, `maps` is empty, or a map has another type or other ids.
    ///     The next forward throws if the schedule merges but has no such stage, if a map has another length,
    ///     if the number of maps fits neither, and if reuse is on
    void setMaps(int stage, const std::vector<cv::Mat>& maps);
    /// Removes the maps of all stages.
    void clearMaps();

    /// While reuse is on the schedule is not used: a full forward computes all tokens, without merging.
    /// @param reuse std::nullopt (the default) turns it off
    /// @throws cv::Exception if a value is out of range, or setDevice() has chosen a GPU
    void setReuse(const std::optional<Reuse>& reuse);
    /// @param ids the stream of each image of the batch, each id once; by default the image's index
    /// @throws cv::Exception if an id is there twice; the next forward throws if their number is not the
    ///     batch's
    void setStreams(const std::vector<int>& ids);
    /// The next forward of a stream is full. At most 64 streams are remembered; the least recently used is
    /// dropped.
    /// @param stream an id of setStreams(); unknown ones are ignored
    void forget(int stream);
    /// The next forward of every stream is full.
    void forget();

    /// A forward of the encoder alone, on memory of the GPU that setDevice(Device::Cuda, index) has chosen.
    /// When it returns, the outputs are complete and report() is set. The network must exist and have run
    /// once before.
    /// @param tokens f32 [images, rows, dim()] on the device, special tokens included
    /// @param images images of the batch, at least 1
    /// @param rows tokens of each image, special tokens included
    /// @param outputs f32 [images, rows, dim()] on the device, for each output of the encoder, in their
    ///     order
    /// @param stream a cudaStream_t; earlier work in it is done before tokens are read. Null: the
    ///     default stream
    /// @throws cv::Exception if a requirement above does not hold, a pointer is not of that device, reuse is
    ///     on, or the device fails or has too little memory
    void forwardOnDevice(const float* tokens, int images, int rows, const std::vector<float*>& outputs,
                         void* stream = nullptr);

    /// @return a copy of the last forward's report, which shares no memory with the encoder; without images
    ///     before the first forward
    Report report() const;
    /// @param image index in the batch of the last forward, from 0
    /// @return the image tokens that entered each block, as report().images[image].tokens
    /// @throws cv::Exception if the last forward had no such image
    std::vector<int> tokens(int image = 0) const;
    /// @param image as in tokens()
    /// @return the image tokens of each window that entered each block, [block][window], windows in raster
    /// order;
    ///     an encoder without windows has one
    /// @throws cv::Exception if the last forward had no such image
    std::vector<std::vector<int>> tokensByWindow(int image = 0) const;

    /// @param keep true: every forward of the network keeps its tokens for output(), at the cost of a copy
    void keepOutput(bool keep);
    /// @return CV_32F [images, rows, dim()] with the special tokens: the last output of the last forward;
    /// empty
    ///     if none was kept. Later forwards leave it as it is
    cv::Mat output() const;

    int blocks() const;  ///< number of transformer blocks
    int dim() const;     ///< values of a token; 0 until it is known, after the first forward
    int heads() const;   ///< attention heads of a block
    /// Class, distillation and register tokens in front of the image tokens; with windows those of all
    /// windows.
    int specialTokens() const;

private:
    EncoderControl& control() const;

    std::shared_ptr<EncoderControl> m_control;
};

/// Tokens after a merge. M: clusters, N: image tokens before, D: values of a token.
struct Merged {
    cv::Mat tokens;  ///< CV_32F (special+M) x D
    cv::Mat map;     ///< CV_32S 1xN: cluster of each image token, 0..M-1
};

/// Centre, width and height, or the corners left, top, right, bottom.
enum class BoxFormat { CxCyWh, XyXy };

/// Unit: shares of the image, 0..1. Pixels: of the original image if the network has an input for its size,
/// else of the network's input.
enum class BoxScale { Unit, Pixels };

/// What turns a detector's scores into values of 0..1.
enum class ScoreActivation { None, Sigmoid, Softmax };

/// Width and height, or height and width.
enum class SizeOrder { Wh, Hw };

/// How the outputs of a detector are read.
struct DetectionOutputs {
    std::string boxes;   ///< name of the output [images, boxes, 4]
    std::string scores;  ///< name of the output [images, boxes, classes] or [images, boxes]
    std::string masks;   ///< name of the output [images, boxes, rows, columns] of logits; empty: none
    std::string labels;  ///< name of the output [images, boxes] of class ids; empty: none
    BoxFormat format = BoxFormat::CxCyWh;
    BoxScale scale = BoxScale::Unit;
    ScoreActivation activation = ScoreActivation::Sigmoid;
    int background = -1;  ///< the class that is no object; -1: none
    std::string
        sizeInput;  ///< name of the input [images, 2] with the size of the original image; empty: none
    SizeOrder sizeOrder = SizeOrder::Wh;
    bool sizeIsInt64 = false;  ///< the type of sizeInput in the file; OpenCV 4 takes f32 for both
};

/// The metadata of a model file. Missing entries keep these defaults.
struct ModelInfo {
    std::vector<std::string> labels;  ///< class names by id
    std::vector<cv::Vec3b> palette;   ///< RGB by id
    cv::Size size;                    ///< of the network's input in pixels; empty if dynamic and not recorded
    cv::Scalar mean{0.5, 0.5, 0.5};   ///< RGB, for values of 0..1
    cv::Scalar std{0.5, 0.5, 0.5};    ///< RGB, standard deviation for values of 0..1
    std::vector<int> schedule;        ///< blocks before which the model merges by default
    std::string sourceSha256;         ///< of the export it was converted from, hexadecimal
    std::optional<DetectionOutputs> detections;  ///< of a detector
    std::string input;                           ///< name of the input of images in the file
};

/// One object in an image.
struct Detection {
    cv::Rect2f box;   ///< in pixels of the original image, clipped to it
    int label = 0;    ///< id of the class
    float score = 0;  ///< 0..1
    /// CV_8U, 1 inside, of the box's size rounded to whole pixels, at least 1x1; empty if the model has none.
    cv::Mat mask;
};

/// Registers the operators of the domain `mpm` with OpenCV. May be called often, and from several threads.
MPM_API void registerLayers();

/// @param net a network with an MpmEncoder; call registerLayers() before reading it
/// @return a handle of the backbone: the MpmEncoder that merges, or the chain of them nearest to the image
/// @throws cv::Exception if there is none
MPM_API Encoder encoder(cv::dnn::Net& net);

/// A merge by mutual pairs: two tokens merge if each is the other's most similar token.
/// @param tokens CV_32F (special+N) x D, D at least 1; N may be 0. Tokens with NaN or Inf are never merged
/// @param special rows in front that are never merged, 0..rows
/// @return mean of each cluster and the map, clusters in the order of their first tokens
/// @throws cv::Exception if `tokens` has another type or no columns, or `special` is out of range
MPM_API Merged mergeTokens(const cv::Mat& tokens, int special = 0);

/// The inverse of mergeTokens(): row special+i of the result is a copy of row special+map[i] of `tokens`.
/// @param tokens CV_32F (special+M) x D
/// @param map CV_32S 1xN, ids 0..M-1, which need not all be used
/// @param special rows in front that keep their place, 0..rows
/// @return CV_32F (special+N) x D
/// @throws cv::Exception if a type, `special` or an id is out of range
MPM_API cv::Mat restoreTokens(const cv::Mat& tokens, const cv::Mat& map, int special = 0);

/// The map of two consecutive merges: result[i] = second[first[i]].
/// @param first CV_32S 1xN, ids 0..K-1, each used at least once
/// @param second CV_32S 1xK, ids 0..M-1, each used at least once
/// @return CV_32S 1xN, ids 0..M-1
/// @throws cv::Exception if a type or an id is not as described, or the lengths do not fit
MPM_API cv::Mat composeMaps(const cv::Mat& first, const cv::Mat& second);

/// A parameter of a reducer.
struct ReducerParameter {
    std::string name;
    std::string fallback;  ///< the value if it is not given
    std::string values;    ///< a range ("0..100000") or the words it takes ("plain, weighted")
};

/// A reducer as Encoder::setMethod names it.
struct ReducerInfo {
    std::string name;
    std::string description;  ///< a single line
    std::vector<ReducerParameter> parameters;
};

/// All reducers, the default "mpm" first; without "none".
MPM_API std::vector<ReducerInfo> reducers();

/// Sizes that the cost of a matching follows from.
struct MatchingSize {
    double tokens = 0;    ///< image tokens entering the stage
    double width = 0;     ///< of a token
    double keyWidth = 0;  ///< of an attention head's key
};

/// Operations (two a multiply-add) by which `method` decides which tokens of an image merge in a stage.
/// Throws cv::Exception on an unknown method or parameter, as Encoder::setMethod does.
MPM_API double matchingCost(const std::string& method, const MatchingSize& size);

/// @param method a reducer as Encoder::setMethod names it
/// @param blocks number of blocks of the encoder
/// @return the blocks before which the method merges if no schedule is given; empty if it has none, as "mpm"
/// @throws cv::Exception on an unknown method or parameter, as Encoder::setMethod does
MPM_API std::vector<int> usualBlocks(const std::string& method, int blocks);

/// @param method a reducer as Encoder::setMethod names it
/// @return whether the method chooses the blocks (ToMe, ALGM), whatever the schedule but an empty one
/// @throws cv::Exception on an unknown method or parameter, as Encoder::setMethod does
MPM_API bool ignoresSchedule(const std::string& method);

/// @param path an ONNX file
/// @return the metadata; `size` from the shape of the first input if it is not recorded
/// @throws cv::Exception if the file cannot be read, is not an ONNX model, or a value is not as documented
MPM_API ModelInfo modelInfo(const std::string& path);

/// The preprocessing that a model was trained with: stretched (bilinear), RGB, (value / 255 - mean) / std.
/// @param image CV_8UC3, BGR, any size but empty
/// @param info from modelInfo(); `size` must be set, `std` positive
/// @return CV_32F 1x3xHxW with info.size
/// @throws cv::Exception if the type is another, or a value of `info` cannot be used
MPM_API cv::Mat blobFromImage(const cv::Mat& image, const ModelInfo& info);

/// Reads the outputs of a detector. Sigmoid: each pair of box and class above the threshold is an object;
/// without activation likewise, or each box with its label. Softmax: each box is an object of its best class
/// other than the background. Boxes are clipped to the image; those with NaN or without area are left out.
/// @param outputs of net.forward(outputs, names)
/// @param names of the outputs, in the same order; all that info.detections names
/// @param info from modelInfo(); `detections` must be set, and `size` for boxes in pixels of the input
/// @param imageSize of the original image
/// @param threshold scores must be larger
/// @param b index of the image in the batch
/// @param most only so many, the best
/// @return largest score first; of equal scores the first box and class first
/// @throws cv::Exception if an output is missing or has another shape or type, or an argument is out of its
///     range
MPM_API std::vector<Detection> detections(const std::vector<cv::Mat>& outputs,
                                          const std::vector<std::string>& names, const ModelInfo& info,
                                          cv::Size imageSize, float threshold, int b = 0,
                                          int most = 0x7fffffff);

/// @return the version of the library, "MAJOR.MINOR.PATCH"; never null, not to be freed
MPM_API const char* version();

}  // namespace mpm
