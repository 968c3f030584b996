// The interface between the encoder and a device. Weights are packed once into an opaque handle; a session is
// one forward.
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

/// Weights in a device's own form. Immutable, shared between networks.
class PackedEncoder {
public:
    virtual ~PackedEncoder() = default;
    virtual int dim() const = 0;
    /// Layers that would lose too much in int8 and are computed in f32, where int8 was asked for.
    virtual std::vector<std::string> keptInF32() const { return {}; }
};

/// A reduction of the whole batch.
struct StageRequest {
    const Reducer* reducer = nullptr;                ///< decides, unless maps are imposed
    const std::vector<MergeMap>* imposed = nullptr;  ///< one map for each image, or one for all
    int stage = 0;
    int block = 0;

    /// One for each of `images`. Throws if there are neither as many nor one.
    std::vector<MergeMap> imposedMaps(int images) const;
};

/// A batch of images on its way through the blocks: one packed run of rows, no padding.
class Session {
public:
    virtual ~Session() = default;
    virtual void reduce(const StageRequest& request) = 0;
    virtual void attend(int block) = 0;  ///< x += attention; blocks count from 0 here
    virtual void runMlp(int block) = 0;  ///< x += MLP; attend() has done it where they are parallel
    /// Tokens of the whole image in raster order, [B, E+N+T, D] as the input was. `output` may be written as
    /// late as by finish() and must stay where it is until then.
    virtual void emit(bool norm, cv::Mat& output) = 0;
    /// Waits for all of the above; the functions below may be called only then.
    virtual void finish() = 0;

    virtual std::vector<ImageReport> takeReport() = 0;  ///< maps and stages; `tokens` is the encoder's
    virtual double mergeMs() const = 0;
    virtual double restoreMs() const = 0;
};

/// The input of a forward.
struct SessionInput {
    cv::Mat tokens;   ///< CV_32F [B, E+N+T, D], continuous
    cv::Mat keyBias;  ///< CV_32F, empty or broadcastable to [B, E+N+T]
    /// Clusters of the image tokens at entry, one map for each image; empty if there are none. The rows of
    /// an image follow each other as its clusters are numbered.
    std::vector<MergeMap> maps;
    const Reducer* reducer = nullptr;  ///< for the data that it needs
    bool batchIndependent = false;     ///< no image's bits may depend on the others
    /// Tokens and the outputs of emit() are headers of memory on the device; `stream` is where tokens come
    /// from.
    bool onDevice = false;
    void* stream = nullptr;
};

/// The memory of a stream: keys and values of each block, and the outputs.
class StreamMemory {
public:
    virtual ~StreamMemory() = default;
    /// All rows of the output of a tap, as they were computed last.
    virtual void recall(int tap, float* to) const = 0;
};

/// An image whose rows are computed as its plan says, among those its stream remembers.
struct RememberedImage {
    StreamMemory* memory = nullptr;
    const FramePlan* plan = nullptr;
};

/// Told each image's map, says where its merged rows go: map.clusters rows of D, without the special ones.
using PlaceMerged = std::function<std::vector<float*>(const std::vector<MergeMap>&)>;

class Backend {
public:
    virtual ~Backend() = default;
    virtual Device device() const = 0;
    /// The precision that runs for `wanted`; throws if the device cannot compute in it.
    virtual Precision resolve(Precision wanted) const = 0;
    virtual std::shared_ptr<const PackedEncoder> pack(const EncoderConfig& config,
                                                      const NamedWeights& weights,
                                                      Precision precision) const = 0;
    virtual std::unique_ptr<Session> begin(const EncoderConfig& config,
                                           std::shared_ptr<const PackedEncoder> weights,
                                           const SessionInput& input) const = 0;

    /// Room for a stream of `rows` rows. Throws if the device cannot reuse.
    virtual std::shared_ptr<StreamMemory> remember(const EncoderConfig& config,
                                                   std::shared_ptr<const PackedEncoder> weights,
                                                   int rows) const = 0;
    /// A forward of the rows that are computed again; emit() hands out all rows, those of the memory too.
    virtual std::unique_ptr<Session> beginReuse(const EncoderConfig& config,
                                                std::shared_ptr<const PackedEncoder> weights,
                                                const SessionInput& input,
                                                const std::vector<RememberedImage>& images) const = 0;

    /// A merge by mutual pairs of each image of f32 [B, special+N, D], continuous.
    virtual void merge(const cv::Mat& tokens, int special, const PlaceMerged& place) const = 0;
    /// The way back, special rows included: merged [B, special+M, D] to `out` [B, special+N, D], both
    /// continuous. The maps fit.
    virtual void restore(const cv::Mat& merged, const std::vector<MergeMap>& maps, int special,
                         cv::Mat& out) const = 0;
};

/// The only switch over devices. Cuda without a usable GPU throws; for Auto, Backend::device() returns the
/// selected one.
std::shared_ptr<const Backend> makeBackend(Device device, int index);

/// Windows and rows behind the image tokens have no kernels on a GPU: Auto takes the CPU.
inline Device deviceFor(const EncoderConfig& config, Device wanted) {
    const bool onProcessor = config.trailingTokens > 0 || config.windowed();
    return wanted == Device::Auto && onProcessor ? Device::Cpu : wanted;
}

}  // namespace mpm
