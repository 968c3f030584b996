// The interface between the encoder and a device. An opaque handle has packed weights; a session is a
// forward.
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

/// Weights in the layout of a device; immutable, and shared between networks.
class PackedEncoder {
public:
    virtual ~PackedEncoder() = default;
    virtual int dim() const = 0;
    /// With int8: layers that would lose too much in int8, and are computed in f32.
    virtual std::vector<std::string> keptInF32() const { return {}; }
};

/// A merge of the whole batch.
struct StageRequest {
    const Reducer* reducer = nullptr;                ///< decides, unless maps are imposed
    const std::vector<MergeMap>* imposed = nullptr;  ///< a map for each image, or a single map for all
    int stage = 0;
    int block = 0;

    /// Returns a map for each of `images`. Throws if there is neither a single map nor one for each image.
    std::vector<MergeMap> imposedMaps(int images) const;
};

/// A forward of a batch: the rows of all images follow each other without padding.
class Session {
public:
    virtual ~Session() = default;
    virtual void reduce(const StageRequest& request) = 0;
    virtual void attend(int block) = 0;  ///< x += attention; here blocks are counted from 0
    virtual void runMlp(int block) = 0;  ///< x += MLP; nothing if attend() ran the MLP in parallel
    /// Outputs the tokens of the whole image in raster order: [B, E+N+T, D], the shape of the input. `output`
    /// must stay in place until finish(), which may be the first to write it.
    virtual void emit(bool norm, cv::Mat& output) = 0;
    /// Waits for all functions above; the functions below may be called only after that.
    virtual void finish() = 0;

    virtual std::vector<ImageReport> takeReport() = 0;  ///< maps and stages; the encoder adds `tokens`
    virtual double mergeMs() const = 0;
    virtual double restoreMs() const = 0;
};

/// The input of a forward.
struct SessionInput {
    cv::Mat tokens;   ///< CV_32F [B, E+N+T, D], continuous
    cv::Mat keyBias;  ///< CV_32F, empty or broadcastable to [B, E+N+T]
    /// A map for each image: the clusters of the image tokens at entry; empty without input maps. Rows of an
    /// image have the order of its cluster ids.
    std::vector<MergeMap> maps;
    const Reducer* reducer = nullptr;  ///< names the data that stages will need
    bool batchIndependent = false;     ///< the bits of an image must not depend on the other images
    /// True: `tokens` and the outputs of emit() are headers of memory on the device, and earlier work in
    /// `stream` writes the tokens.
    bool onDevice = false;
    void* stream = nullptr;
};

/// The memory of a stream: keys and values of each block, and the outputs.
class StreamMemory {
public:
    virtual ~StreamMemory() = default;
    /// Copies all rows of a tap's output, each as it was last computed.
    virtual void recall(int tap, float* to) const = 0;
};

/// An image of which only the rows in its plan are computed; the memory of its stream has the other rows.
struct RememberedImage {
    StreamMemory* memory = nullptr;
    const FramePlan* plan = nullptr;
};

/// Gets the map of each image, and returns the address of its merged rows: map.clusters rows of D values,
/// without special rows.
using PlaceMerged = std::function<std::vector<float*>(const std::vector<MergeMap>&)>;

class Backend {
public:
    virtual ~Backend() = default;
    virtual Device device() const = 0;
    /// Returns the precision that runs for `wanted`; throws if the device does not support it.
    virtual Precision resolve(Precision wanted) const = 0;
    virtual std::shared_ptr<const PackedEncoder> pack(const EncoderConfig& config,
                                                      const NamedWeights& weights,
                                                      Precision precision) const = 0;
    virtual std::unique_ptr<Session> begin(const EncoderConfig& config,
                                           std::shared_ptr<const PackedEncoder> weights,
                                           const SessionInput& input) const = 0;

    /// Creates the memory for a stream of `rows` rows. Throws if the device does not support reuse.
    virtual std::shared_ptr<StreamMemory> remember(const EncoderConfig& config,
                                                   std::shared_ptr<const PackedEncoder> weights,
                                                   int rows) const = 0;
    /// Begins a forward of the rows that are computed again. emit() outputs all rows, remembered rows too.
    virtual std::unique_ptr<Session> beginReuse(const EncoderConfig& config,
                                                std::shared_ptr<const PackedEncoder> weights,
                                                const SessionInput& input,
                                                const std::vector<RememberedImage>& images) const = 0;

    /// Merges mutual pairs of each image. `tokens`: f32 [B, special+N, D], continuous.
    virtual void merge(const cv::Mat& tokens, int special, const PlaceMerged& place) const = 0;
    /// Restores rows, special rows included: `merged` [B, special+M, D] to `out` [B, special+N, D], both
    /// continuous. The maps must fit.
    virtual void restore(const cv::Mat& merged, const std::vector<MergeMap>& maps, int special,
                         cv::Mat& out) const = 0;
};

/// Returns the backend of a device: the only switch over devices. Cuda without a usable GPU throws; for Auto,
/// Backend::device() returns the selected device.
std::shared_ptr<const Backend> makeBackend(Device device, int index);

/// Selects the CPU for Auto if there are windows or rows after the image tokens, which have no GPU kernels.
inline Device deviceFor(const EncoderConfig& config, Device wanted) {
    const bool onProcessor = config.trailingTokens > 0 || config.windowed();
    return wanted == Device::Auto && onProcessor ? Device::Cpu : wanted;
}

}  // namespace mpm
