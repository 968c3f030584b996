#include "mpm_layer/cpu/cpu_backend.hpp"

#include "mpm_layer/cpu/cpu_session.hpp"
#include "mpm_layer/cpu/packed_encoder.hpp"
#include "mpm_layer/kernels/bf16.hpp"

namespace mpm {
namespace {

class CpuBackend : public Backend {
public:
    Device device() const override { return Device::Cpu; }

    Precision resolve(Precision wanted) const override {
        switch (wanted) {
            case Precision::F32:
                return Precision::F32;
            case Precision::Auto:
                return kernels::hasBf16() ? Precision::BF16 : Precision::F32;
            case Precision::BF16:
                if (kernels::hasBf16()) return Precision::BF16;
                CV_Error(cv::Error::StsNotImplemented,
                         "mpm: precision bf16 needs a processor with AVX-512 BF16; use f32 or auto");
            case Precision::TF32:
            case Precision::F16:
                break;
        }
        CV_Error(cv::Error::StsNotImplemented,
                 "mpm: precision tf32 and f16 are for GPUs; use f32, bf16 or auto");
    }

    std::shared_ptr<const PackedEncoder> pack(const EncoderConfig& config, const NamedWeights& weights,
                                              Precision precision) const override {
        return std::make_shared<cpu::CpuEncoder>(config, weights, precision);
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
