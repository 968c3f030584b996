// Mutual Pair Merging for vision transformers in OpenCV's DNN module: the public C++ interface. Sizes are in
// pixels, a matrix of tokens has a row for each token, times are in milliseconds.
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

/// The device of an encoder. Auto: the GPU, unless libmpm_cuda or a usable GPU is missing, reuse is on, or
/// the encoder has windows or rows after the image tokens. In these cases, Auto is the CPU.
enum class Device { Cpu, Cuda, Auto };

/// The number format of an encoder's products. I8: products are in int8, and the forward quantises their
/// inputs; the rest is in f32. Auto: BF16 if the hardware has instructions for it, else F32. AutoFast: I8 if
/// the hardware is a CPU with instructions for it, else the same as Auto. TF32 and F16 need a GPU, I8 needs a
/// CPU, BF16 needs a GPU or a CPU with AVX-512 BF16.
enum class Precision { F32, TF32, BF16, F16, Auto, I8, AutoFast };

/// A merge of an image: a stage of the schedule, or a merge map that is an input of the encoder.
struct Stage {
    int block = 0;  ///< block, counted from 0, before which (or after whose attention) tokens merged
    /// CV_32S 1xK: the cluster, 0..tokens-1, of each of the K image tokens that entered the stage; the
    /// identity if nothing merged.
    cv::Mat map;
    int tokens = 0;  ///< number of image tokens after the stage
};

/// Options of reuse over time: only tokens that changed since they were last computed are computed again.
struct Reuse {
    double sensitivity = 1.6;  ///< a token has changed if it differs by more than this multiple of the
                               ///< estimated noise; 0 or more
    double floor = -1;   ///< smallest difference that is a change, relative to the root mean square of the
                         ///< frame's embedded tokens; -1: the library's default
    bool exact = false;  ///< a token has changed if any bit differs; noise is not estimated
    int refresh = 30;    ///< each token is computed at least once in this many frames (0: no such limit),
                         ///< unless the input has been the same for so long that outputs cannot change
    double full = 0.25;  ///< if more than this share of the tokens, 0..1, changed, all tokens are computed
    double budget = 1;   ///< largest share of tokens, 0..1, that is computed, unless `full` applies. Tokens
                         ///< that `refresh` requires come first, then tokens with the largest changes. If the
                         ///< budget is below 1 / refresh, 1 / refresh of the tokens are computed
};

/// @param text "on", "off", or options separated by commas ("refresh=30,full=0.25"); absent options keep
/// their defaults
/// @return std::nullopt for "off"
/// @throws cv::Exception if a name is unknown or a value is out of range
MPM_API std::optional<Reuse> reuseFrom(const std::string& text);

/// Off: the frame ran without reuse. Full: all tokens were computed. Partial: some tokens were computed.
/// Suspended: the frame ran without reuse, because too much changes from frame to frame.
enum class ReuseState { Off, Full, Partial, Suspended };

/// Why a token was computed or kept. Refreshed: the token was computed although it had not changed.
/// Postponed: the token changed but was not computed, because the budget was used up.
enum class ReuseReason : unsigned char { Kept, Changed, Refreshed, Postponed };

/// Reuse in an image of the last forward. N: number of image tokens at the encoder's input.
struct ReuseReport {
    ReuseState state = ReuseState::Off;
    double recomputed = 1;  ///< share of the image tokens that were computed, 0..1
    cv::Mat reasons;  ///< CV_8U 1xN: ReuseReason of each image token; empty if Off or Suspended, or if the
                      ///< frame has NaN or Inf
    cv::Mat ages;     ///< CV_32S 1xN: frames since each image token was computed; empty if `reasons` is empty
    /// Drift of refreshed tokens; 0 if no token was refreshed. A token's drift is the root mean square of the
    /// change of its values, divided by the root mean square of the new values. The values are those of the
    /// last output (in a chain, of the last segment). The drift estimates the error of kept tokens.
    double meanDrift = 0, largestDrift = 0;
};

/// An image of the last forward. N: number of image tokens at the encoder's input.
struct ImageReport {
    cv::Mat map;                ///< CV_32S 1xN: final cluster of each image token
    std::vector<Stage> stages;  ///< in the order of the blocks; a map at the encoder's input comes first
    std::vector<int> tokens;    ///< number of image tokens that entered each block
    ReuseReport reuse;
};

/// Milliseconds of the last forward of an encoder.
struct Times {
    double merge = 0;    ///< merging in all stages
    double restore = 0;  ///< restoring all outputs
    double whole = 0;    ///< from the encoder's input to its last output
};

/// The last forward of an encoder.
struct Report {
    std::vector<ImageReport> images;
    Times times;
    Device device = Device::Cpu;           ///< the device that ran, never Auto
    Precision precision = Precision::F32;  ///< the precision that ran, never Auto or AutoFast
    std::vector<std::string> keptInF32;    ///< with I8: layers, such as "3.fc1", that needed a more accurate
                                           ///< format than int8 with one byte for each weight
};

class EncoderControl;

/// Handle of an encoder inside a network: an MpmEncoder, or all segments of a chain. In a chain, blocks
/// are numbered across all segments. A handle is cheap to copy, and remains valid after the network is
/// destroyed. A setting takes effect at the next forward, and remains until it is changed. Settings of the
/// handle override the C interface, the environment and the model file. A network and its handle belong to a
/// single thread at a time.
///
/// Every function throws cv::Exception if the handle was moved from, and in the cases described below. The
/// message names the argument and the expected value.
class MPM_API Encoder {
public:
    /// mpm::encoder() calls this constructor. @throws cv::Exception if `control` is null
    explicit Encoder(std::shared_ptr<EncoderControl> control);

    /// @param blocks the blocks before which tokens merge, counted from 0, strictly increasing; {}: no merges
    /// @throws cv::Exception if the encoder has no such block, or the blocks do not increase
    void setSchedule(const std::vector<int>& blocks);
    /// @return the schedule of the next forward, from setSchedule(), the C interface, the environment or the
    ///     model file
    std::vector<int> schedule() const;

    /// @param method how tokens are reduced: "mpm", "none", or another reducer with its parameters
    ///     ("tome:r=13"), see docs/reference/reducers.md. The schedule does not change
    /// @throws cv::Exception if the reducer or a parameter is unknown, or a value is out of range
    void setMethod(const std::string& method);
    /// @return the method of the next forward, from setMethod(), the C interface, the environment or the
    ///     model file
    std::string method() const;

    /// @param device see Device; Auto is the default
    /// @param index number of the GPU, from 0; not used on a CPU
    /// @throws cv::Exception if `index` is negative, or if `device` is Cuda and the GPU is not usable; then
    ///     the message names the missing part
    void setDevice(Device device, int index = 0);

    /// @param precision F32 is the default
    /// @throws cv::Exception if the device does not support `precision`; if only the environment or the C
    ///     interface names the device, the next forward throws instead
    void setPrecision(Precision precision);

    /// @param independent true: on a GPU, the bits of an image's result do not depend on the other images of
    ///     the batch, which costs some speed. On a CPU the bits never depend on other images
    void setBatchIndependent(bool independent);

    /// Uses `maps` at a stage instead of the method's maps, until clearMaps().
    /// @param stage index in the schedule, from 0
    /// @param maps a map for each image, or a single map for all: CV_32S 1xK for the K image tokens that
    ///     enter the stage, ids 0..M-1, each used at least once
    /// @throws cv::Exception if `stage` is negative, `maps` is empty, or a map has another type or other ids.
    ///     The next forward throws if a schedule with merges has no such stage, if a map has another length,
    ///     if the number of maps is neither 1 nor the number of images, or if reuse is on
    void setMaps(int stage, const std::vector<cv::Mat>& maps);
    /// Removes the maps of all stages.
    void clearMaps();

    /// Turns reuse over time on or off. While reuse is on, tokens merge only in suspended images.
    /// @param reuse std::nullopt (the default) turns reuse off
    /// @throws cv::Exception if a value is out of range, or setDevice() has set a GPU
    void setReuse(const std::optional<Reuse>& reuse);
    /// Sets the streams that the images of a batch belong to. Has no effect without reuse.
    /// @param ids the stream of each image of the batch, each id once; {} (the default): the image's index
    /// @throws cv::Exception if an id occurs twice; with reuse, the next forward throws if there are more or
    ///     fewer ids than images
    void setStreams(const std::vector<int>& ids);
    /// Makes the next forward of a stream compute all tokens. Encoders keep the 64 most recently used
    /// streams.
    /// @param stream an id of setStreams(); unknown ids are ignored
    void forget(int stream);
    /// Makes the next forward of every stream compute all tokens.
    void forget();

    /// Runs the encoder alone, on memory of the GPU that setDevice(Device::Cuda, index) has set. Outputs and
    /// report() are complete when the function returns. The network must still exist and must have run once.
    /// The encoder must not be a chain of several segments, and must not have a merge map as an input.
    /// @param tokens f32 [images, rows, dim()] on the device, special tokens included
    /// @param images number of images in the batch, at least 1
    /// @param rows number of tokens of each image, special tokens included
    /// @param outputs device arrays f32 [images, rows, dim()]: one for each output of the encoder, in order
    /// @param stream a cudaStream_t; the tokens are read after all earlier work in this stream. Null: the
    ///     default stream
    /// @throws cv::Exception if a requirement above is not met, if a pointer does not point to memory of that
    ///     device, if reuse is on, or if the device fails or has too little memory
    void forwardOnDevice(const float* tokens, int images, int rows, const std::vector<float*>& outputs,
                         void* stream = nullptr);

    /// @return a copy of the last forward's report, which shares no memory with the encoder. Before the first
    ///     forward, the report has no images
    Report report() const;
    /// @param image index in the batch of the last forward, from 0
    /// @return the number of image tokens that entered each block: report().images[image].tokens
    /// @throws cv::Exception if the last forward had no such image
    std::vector<int> tokens(int image = 0) const;
    /// @param image index in the batch of the last forward, from 0
    /// @return for each block and each window, the number of image tokens that entered: [block][window],
    ///     windows in raster order; an encoder without windows has a single window
    /// @throws cv::Exception if the last forward had no such image
    std::vector<std::vector<int>> tokensByWindow(int image = 0) const;

    /// @param keep true: every forward of the network keeps a copy of the last output's tokens for output();
    ///     false (the default) also drops an existing copy
    void keepOutput(bool keep);
    /// @return the last output of the last forward, with the special tokens: CV_32F [images, rows, dim()];
    ///     empty if no copy was kept. Later forwards do not change the matrix
    cv::Mat output() const;

    int blocks() const;  ///< number of transformer blocks
    int dim() const;     ///< values of a token; 0 before the first forward if the model file has no `dim`
    int heads() const;   ///< attention heads of a block
    /// Number of class, distillation and register tokens before the image tokens, summed over all windows.
    int specialTokens() const;

private:
    EncoderControl& control() const;

    std::shared_ptr<EncoderControl> m_control;
};

/// Tokens after a merge. M: number of clusters, N: number of image tokens before the merge, D: values of a
/// token.
struct Merged {
    cv::Mat tokens;  ///< CV_32F (special+M) x D
    cv::Mat map;     ///< CV_32S 1xN: cluster of each image token, 0..M-1
};

/// CxCyWh: centre x and y, width, height. XyXy: left, top, right, bottom.
enum class BoxFormat { CxCyWh, XyXy };

/// The unit of a box. Unit: shares of the image, 0..1. Pixels: pixels of the original image if the network
/// has an input for the image's size, else pixels of the network's input.
enum class BoxScale { Unit, Pixels };

/// The function that turns a detector's scores into values of 0..1.
enum class ScoreActivation { None, Sigmoid, Softmax };

/// Wh: width, height. Hw: height, width.
enum class SizeOrder { Wh, Hw };

/// The outputs of a detector and their meaning.
struct DetectionOutputs {
    std::string boxes;   ///< name of the output [images, boxes, 4]
    std::string scores;  ///< name of the output [images, boxes, classes] or [images, boxes]
    std::string masks;   ///< name of the output [images, boxes, rows, columns] of logits; empty: none
    std::string labels;  ///< name of the output [images, boxes] of class ids; empty: none
    BoxFormat format = BoxFormat::CxCyWh;
    BoxScale scale = BoxScale::Unit;
    ScoreActivation activation = ScoreActivation::Sigmoid;
    int background = -1;  ///< class id for "not an object"; -1: none
    std::string
        sizeInput;  ///< name of the input [images, 2] with the size of the original image; empty: none
    SizeOrder sizeOrder = SizeOrder::Wh;
    bool sizeIsInt64 = false;  ///< true: sizeInput is int64 in the file; false: f32. OpenCV 4 takes only f32
};

/// The metadata of a model file. Missing entries keep these defaults.
struct ModelInfo {
    std::vector<std::string> labels;  ///< class names by id
    std::vector<cv::Vec3b> palette;   ///< RGB colours by id
    cv::Size size;                    ///< size of the network's input in pixels; empty if the file has none
    cv::Scalar mean{0.5, 0.5, 0.5};   ///< RGB, for values of 0..1
    cv::Scalar std{0.5, 0.5, 0.5};    ///< standard deviation, RGB, for values of 0..1
    std::vector<int> schedule;        ///< blocks before which the model merges by default
    std::string sourceSha256;         ///< SHA-256 of the export that was converted, in hexadecimal
    std::optional<DetectionOutputs> detections;  ///< set if the model is a detector
    std::string input;                           ///< name of the network's input for images
};

struct Detection {
    cv::Rect2f box;   ///< in pixels of the original image, clipped to it
    int label = 0;    ///< id of the class
    float score = 0;  ///< 0..1
    cv::Mat mask;     ///< CV_8U of the box's size in whole pixels, at least 1x1: 1 inside the object, else 0;
                      ///< empty if the model has no masks
};

/// Registers the operators of the domain `mpm` with OpenCV. May be called repeatedly and from several
/// threads.
MPM_API void registerLayers();

/// @param net a network with an MpmEncoder; call registerLayers() before reading it
/// @return a handle of the backbone: the first MpmEncoder that merges, or its chain
/// @throws cv::Exception if no MpmEncoder merges, or if OpenCV 5 could not create the encoder; the message
///     then has the reason
MPM_API Encoder encoder(cv::dnn::Net& net);

/// Merges mutual pairs: two tokens merge if each is the other's most similar token.
/// @param tokens CV_32F (special+N) x D, D at least 1; N may be 0. Tokens with NaN or Inf are never merged
/// @param special number of rows in front that are never merged, 0..rows
/// @return the mean of each cluster and the map, clusters in the order of their first tokens
/// @throws cv::Exception if `tokens` has another type or no columns, or `special` is out of range
MPM_API Merged mergeTokens(const cv::Mat& tokens, int special = 0);

/// Restores merged tokens: row special+i of the result is a copy of row special+map[i] of `tokens`.
/// @param tokens CV_32F (special+M) x D
/// @param map CV_32S 1xN, ids 0..M-1; not all ids have to be used
/// @param special number of rows in front that are copied as they are, 0..rows
/// @return CV_32F (special+N) x D
/// @throws cv::Exception if a matrix has another type, or `special` or an id is out of range
MPM_API cv::Mat restoreTokens(const cv::Mat& tokens, const cv::Mat& map, int special = 0);

/// Composes the maps of two consecutive merges: result[i] = second[first[i]].
/// @param first CV_32S 1xN, ids 0..K-1, each used at least once
/// @param second CV_32S 1xK, ids 0..M-1, each used at least once
/// @return CV_32S 1xN, ids 0..M-1
/// @throws cv::Exception if a type or an id is not as described, or if the lengths do not fit
MPM_API cv::Mat composeMaps(const cv::Mat& first, const cv::Mat& second);

struct ReducerParameter {
    std::string name;
    std::string fallback;  ///< the default value
    std::string values;    ///< a range ("0..100000") or the accepted words ("plain, weighted")
};

/// Describes a reducer. Encoder::setMethod() accepts a string: `name`, with values of `parameters` if needed,
/// as in "tome:r=13".
struct ReducerInfo {
    std::string name;
    std::string description;
    std::vector<ReducerParameter> parameters;
};

/// @return all reducers, the default "mpm" first; "none" is not among them
MPM_API std::vector<ReducerInfo> reducers();

/// The sizes that determine the cost of finding the tokens that merge in a stage.
struct MatchingSize {
    double tokens = 0;    ///< image tokens that enter the stage
    double width = 0;     ///< values of a token
    double keyWidth = 0;  ///< values of an attention head's key
};

/// Returns the number of operations, two for each multiply-add, that `method` needs to decide which tokens of
/// an image merge in a stage.
/// @throws cv::Exception if the method or a parameter is unknown
MPM_API double matchingCost(const std::string& method, const MatchingSize& size);

/// @param method a reducer as Encoder::setMethod names it
/// @param blocks number of blocks of the encoder
/// @return the blocks before which the method merges if no schedule is given; empty if the method has no such
///     blocks, like "mpm"
/// @throws cv::Exception if the method or a parameter is unknown
MPM_API std::vector<int> usualBlocks(const std::string& method, int blocks);

/// @param method a reducer as Encoder::setMethod names it
/// @return whether the method (such as ToMe or ALGM) chooses the blocks itself and ignores the schedule. But
///     if an empty schedule was set, no tokens merge
/// @throws cv::Exception if the method or a parameter is unknown
MPM_API bool ignoresSchedule(const std::string& method);

/// @param path an ONNX file
/// @return the metadata; if no size is recorded, `size` comes from the shape of the input for images
/// @throws cv::Exception if the file cannot be read, is not an ONNX model, or has an invalid value
MPM_API ModelInfo modelInfo(const std::string& path);

/// Prepares an image as in the model's training: stretches it to info.size (bilinear), converts BGR to RGB,
/// and computes (value / 255 - mean) / std.
/// @param image CV_8UC3, BGR, any size but empty
/// @param info from modelInfo(); `size` must be set, `std` must be positive
/// @return CV_32F 1x3xHxW with info.size
/// @throws cv::Exception if `image` has another type, or a value of `info` cannot be used
MPM_API cv::Mat blobFromImage(const cv::Mat& image, const ModelInfo& info);

/// Reads the outputs of a detector. Sigmoid: each pair of a box and a class other than the background is a
/// candidate. Softmax: each box is a candidate for its best class other than the background. None: if the
/// network has an output of labels, each box with its label is a candidate; else each pair is a candidate, as
/// for Sigmoid. Boxes are clipped to the image; boxes with NaN or without area are skipped.
/// @param outputs from net.forward(outputs, names)
/// @param names names of the outputs, in the same order; must include all outputs named in info.detections
/// @param info from modelInfo(); `detections` must be set, and `size` if boxes are in pixels of the input
/// @param imageSize size of the original image
/// @param threshold only candidates with a larger score are returned
/// @param b index of the image in the batch
/// @param most largest number of objects to return; the objects with the largest scores are returned
/// @return the objects, the largest score first; objects with equal scores are ordered by box, then by class
/// @throws cv::Exception if an output is missing or has another shape, or if an argument is out of range
MPM_API std::vector<Detection> detections(const std::vector<cv::Mat>& outputs,
                                          const std::vector<std::string>& names, const ModelInfo& info,
                                          cv::Size imageSize, float threshold, int b = 0,
                                          int most = 0x7fffffff);

/// @return the version of the library, "MAJOR.MINOR.PATCH"; never null, must not be freed
MPM_API const char* version();

}  // namespace mpm
