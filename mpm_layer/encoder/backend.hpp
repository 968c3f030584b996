// The interface between the encoder and a device. A batch has B images. An image has E special rows, N image
// tokens and T trailing rows. A row has D values.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/config.hpp"
#include "mpm_layer/encoder/reuse/plan.hpp"
#include "mpm_layer/merge/reducer.hpp"

namespace mpm {

/// An encoder's weights in the layout of a device. They are immutable, so networks can share them.
class PackedEncoder {
public:
    virtual ~PackedEncoder() = default;
    virtual int dim() const = 0;
    /// With precision i8, returns the layers that do not run in plain int8 (one byte for each weight). These
    /// layers run in f32, in bf16, or in int8 with two bytes for each weight.
    virtual std::vector<std::string> keptInF32() const { return {}; }
};

/// Imposed maps (Encoder::setMaps) replace the maps of the reducer.
struct StageRequest {
    const Reducer* reducer = nullptr;                ///< decides which tokens merge, unless maps are imposed
    const std::vector<MergeMap>* imposed = nullptr;  ///< a map for each image, or a single map for all
    int stage = 0;
    int block = 0;

    /// Returns a map for each of `images` images; a single imposed map applies to all of them. Throws if the
    /// number of imposed maps is neither 1 nor `images`.
    std::vector<MergeMap> imposedMaps(int images) const;
};

/// A forward of a batch. The rows of consecutive images follow each other without padding.
class Session {
public:
    virtual ~Session() = default;
    virtual void reduce(const StageRequest& request) = 0;
    virtual void attend(int block) = 0;  ///< adds attention to the rows; block 0 is the encoder's first block
    virtual void runMlp(int block) = 0;  ///< adds the MLP to the rows, unless attend() has done so
    /// Outputs the restored tokens [B, E+N+T, D], with image tokens in raster order. The caller must not move
    /// or release `output` before finish(), because finish() may write to `output`.
    virtual void emit(bool norm, cv::Mat& output) = 0;
    /// Waits until the work that the functions above started is complete. The caller must call finish()
    /// before the functions below.
    virtual void finish() = 0;

    virtual std::vector<ImageReport> takeReport() = 0;  ///< the caller must set ImageReport::tokens
    virtual double mergeMs() const = 0;
    virtual double restoreMs() const = 0;
};

struct SessionInput {
    cv::Mat tokens;   ///< CV_32F [B, E+N+T, D], continuous
    cv::Mat keyBias;  ///< CV_32F, empty or broadcastable to [B, E+N+T]
    /// For each image, the merge map at the input of the encoder; empty if the encoder takes no maps. The
    /// packed rows of an image are in the order of the cluster ids.
    std::vector<MergeMap> maps;
    const Reducer* reducer = nullptr;  ///< null if no token merges
    /// An entry for each block: true if a stage compares the block's keys. May be empty if all are false.
    std::vector<bool> keepsKeys;
    bool batchIndependent = false;  ///< true: the bits of an image's result do not depend on other images
    /// If true, `tokens` and the output of emit() are headers for memory on the device. Work that is already
    /// queued in `stream` writes the tokens.
    bool onDevice = false;
    void* stream = nullptr;
};

/// The memory of a stream of frames: keys and values of each block, and the outputs.
class StreamMemory {
public:
    virtual ~StreamMemory() = default;
    /// Copies all rows of a tap's output to `to`. Each row has the values of the last frame that computed it.
    virtual void recall(int tap, float* to) const = 0;
};

/// An image that runs with reuse. Only the rows of `plan` are computed; the results of all other rows are in
/// the memory of the image's stream.
struct RememberedImage {
    StreamMemory* memory = nullptr;
    const FramePlan* plan = nullptr;
};

/// Receives the map of each image. Returns, for each image, the address to which Backend::merge() writes the
/// merged rows: map.clusters rows of D values, without special rows.
using PlaceMerged = std::function<std::vector<float*>(const std::vector<MergeMap>&)>;

class Backend {
public:
    virtual ~Backend() = default;
    virtual Device device() const = 0;
    /// Returns the precision that the device uses for `wanted`. Throws if `wanted` is not supported.
    virtual Precision resolve(Precision wanted) const = 0;
    virtual std::shared_ptr<const PackedEncoder> pack(const EncoderConfig& config,
                                                      const NamedWeights& weights,
                                                      Precision precision) const = 0;
    virtual std::unique_ptr<Session> begin(const EncoderConfig& config,
                                           std::shared_ptr<const PackedEncoder> weights,
                                           const SessionInput& input) const = 0;

    /// Creates the memory of a stream whose frames have `rows` rows. Throws if the device does not support
    /// reuse.
    virtual std::shared_ptr<StreamMemory> remember(const EncoderConfig& config,
                                                   std::shared_ptr<const PackedEncoder> weights,
                                                   int rows) const = 0;
    /// Begins a forward of the rows in each image's plan. emit() also outputs the other rows, from memory.
    virtual std::unique_ptr<Session> beginReuse(const EncoderConfig& config,
                                                std::shared_ptr<const PackedEncoder> weights,
                                                const SessionInput& input,
                                                const std::vector<RememberedImage>& images) const = 0;

    /// Merges mutual pairs of each image. `tokens`: f32 [B, special+N, D], continuous.
    virtual void merge(const cv::Mat& tokens, int special, const PlaceMerged& place) const = 0;
    /// Restores rows, special rows included: `merged` [B, special+M, D] to `out` [B, special+N, D], both
    /// continuous. Each map must have N ids in 0..M-1.
    virtual void restore(const cv::Mat& merged, const std::vector<MergeMap>& maps, int special,
                         cv::Mat& out) const = 0;
};

/// Returns the backend of a device. Throws if `device` is Cuda and there is no usable GPU. If `device` is
/// Auto, Backend::device() returns the selected device.
std::shared_ptr<const Backend> makeBackend(Device device, int index);

/// Replaces Auto with the CPU if the encoder has windows or trailing tokens, because the GPU has no kernels
/// for them.
inline Device deviceFor(const EncoderConfig& config, Device wanted) {
    const bool onProcessor = config.trailingTokens > 0 || config.windowed();
    return wanted == Device::Auto && onProcessor ? Device::Cpu : wanted;
}

}  // namespace mpm
