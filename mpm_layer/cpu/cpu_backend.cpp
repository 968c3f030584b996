#include "mpm_layer/cpu/cpu_backend.hpp"

#include "mpm_layer/cpu/cpu_session.hpp"
#include "mpm_layer/cpu/packed_encoder.hpp"

namespace mpm {
namespace {

class CpuBackend : public Backend {
public:
    Device device() const override { return Device::Cpu; }

    Precision resolve(Precision wanted) const override {
        if (wanted == Precision::F32 || wanted == Precision::Auto) return Precision::F32;
        CV_Error(cv::Error::StsNotImplemented,
                 "mpm: precision tf32, bf16 and f16 are not there on this processor; use f32 or auto");
    }

    std::shared_ptr<const PackedEncoder> pack(const EncoderConfig& config, const NamedWeights& weights,
                                              Precision) const override {
        return std::make_shared<cpu::CpuEncoder>(config, weights);
    }

    std::unique_ptr<Session> begin(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights,
                                   const SessionInput& input) const override {
        return std::make_unique<cpu::CpuSession>(config, std::move(weights), input);
    }
};

}  // namespace

std::shared_ptr<const Backend> cpuBackend() {
    static const auto backend = std::make_shared<CpuBackend>();
    return backend;
}

}  // namespace mpm
