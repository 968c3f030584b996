#include "mpm_layer/cuda/loader/cuda_backend.hpp"

#include "mpm_layer/cuda/loader/cuda_encoder.hpp"
#include "mpm_layer/cuda/loader/cuda_session.hpp"
#include "mpm_layer/cuda/loader/library.hpp"

namespace mpm {
namespace {

class CudaBackend : public Backend {
public:
    CudaBackend(std::shared_ptr<const cuda::Library> library, int index)
        : m_library(std::move(library)), m_index(index) {
        m_library->checkDevice(index);
        cuda::call(m_library->entry().device_info, index, &m_device);
        if (m_device.major < 8) {
            CV_Error(
                cv::Error::StsNotImplemented,
                cv::format("mpm: device cuda:%d, %s, has compute capability %d.%d; 8.0 or later is needed",
                           index, m_device.name, m_device.major, m_device.minor));
        }
    }

    Device device() const override { return Device::Cuda; }

    Precision resolve(Precision wanted) const override {
        if (wanted == Precision::I8) {
            CV_Error(cv::Error::StsNotImplemented,
                     "mpm: precision i8 is for CPUs; use f32, tf32, bf16, f16 or auto on a GPU");
        }
        return wanted == Precision::Auto || wanted == Precision::AutoFast ? Precision::BF16 : wanted;
    }

    std::shared_ptr<const PackedEncoder> pack(const EncoderConfig& config, const NamedWeights& weights,
                                              Precision precision) const override {
        return std::make_shared<cuda::CudaEncoder>(m_library, m_index, config, weights, precision);
    }

    std::unique_ptr<Session> begin(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights,
                                   const SessionInput& input) const override {
        if (config.trailingTokens > 0 || config.windowed()) {
            CV_Error(cv::Error::StsNotImplemented,
                     "mpm: device cuda does not take trailing_tokens and windows; use the device cpu");
        }
        auto session = std::make_unique<cuda::CudaSession>(
            config, std::static_pointer_cast<const cuda::CudaEncoder>(weights), input);
        if (!input.maps.empty()) session->enter(input.maps);
        return session;
    }

    std::shared_ptr<StreamMemory> remember(const EncoderConfig&, std::shared_ptr<const PackedEncoder>,
                                           int) const override {
        rejectReuse();
    }

    std::unique_ptr<Session> beginReuse(const EncoderConfig&, std::shared_ptr<const PackedEncoder>,
                                        const SessionInput&,
                                        const std::vector<RememberedImage>&) const override {
        rejectReuse();
    }

    void merge(const cv::Mat& tokens, int special, const PlaceMerged& place) const override {
        cuda::merge(m_library->entry(), m_index, tokens, special, place);
    }

    void restore(const cv::Mat& merged, const std::vector<MergeMap>& maps, int special,
                 cv::Mat& out) const override {
        cuda::restore(m_library->entry(), m_index, merged, maps, special, out);
    }

private:
    [[noreturn]] static void rejectReuse() {
        CV_Error(
            cv::Error::StsNotImplemented,
            "mpm: reuse over time runs on the processor only; use setDevice(Device::Cpu), or setReuse with "
            "std::nullopt");
    }

    std::shared_ptr<const cuda::Library> m_library;
    int m_index;
    MpmCudaDevice m_device{};
};

}  // namespace

std::shared_ptr<const Backend> cudaBackend(int index) {
    return std::make_shared<CudaBackend>(cuda::Library::load(), index);
}

}  // namespace mpm
