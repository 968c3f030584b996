#include "mpm_layer/cpu/cpu_backend.hpp"

#include <algorithm>

#include "mpm_layer/cpu/cpu_session.hpp"
#include "mpm_layer/cpu/packed_encoder.hpp"
#include "mpm_layer/cpu/reuse_session.hpp"
#include "mpm_layer/kernels/common/isa.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/i8.hpp"
#include "mpm_layer/merge/mutual_pairs.hpp"
#include "mpm_layer/merge/nearest.hpp"

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
                         "mpm: precision bf16 needs a processor with AVX-512 BF16; use f32, i8 or auto");
            case Precision::I8:
                return Precision::I8;
            case Precision::AutoFast:
                return kernels::hasI8() ? Precision::I8 : resolve(Precision::Auto);
            case Precision::TF32:
            case Precision::F16:
                break;
        }
        CV_Error(cv::Error::StsNotImplemented,
                 "mpm: precision tf32 and f16 are for GPUs; use f32, bf16, i8, auto or auto-fast");
    }

    std::shared_ptr<const PackedEncoder> pack(const EncoderConfig& config, const NamedWeights& weights,
                                              Precision precision) const override {
        return std::make_shared<cpu::CpuEncoder>(config, weights, precision);
    }

    std::unique_ptr<Session> begin(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights,
                                   const SessionInput& input) const override {
        return std::make_unique<cpu::CpuSession>(config, std::move(weights), input);
    }

    std::shared_ptr<StreamMemory> remember(const EncoderConfig& config,
                                           std::shared_ptr<const PackedEncoder> weights,
                                           int rows) const override {
        return std::make_shared<cpu::TokenMemory>(config, std::move(weights), rows);
    }

    std::unique_ptr<Session> beginReuse(const EncoderConfig& config,
                                        std::shared_ptr<const PackedEncoder> weights,
                                        const SessionInput& input,
                                        const std::vector<RememberedImage>& images) const override {
        return std::make_unique<cpu::ReuseSession>(config, std::move(weights), input, images);
    }

    void merge(const cv::Mat& tokens, int special, const PlaceMerged& place) const override {
        std::vector<RowsView> views;
        for (int i = 0; i < tokens.size[0]; ++i)
            views.push_back(imageRows(tokens, i, special));
        std::vector<MergeMap> maps;
        for (const std::vector<int>& nearest : nearestNeighbours(views))
            maps.push_back(pairUp(nearest));
        const std::vector<float*> to = place(maps);
        for (size_t i = 0; i < maps.size(); ++i)
            averageRows(views[i], Clusters(maps[i]), {0, maps[i].clusters}, Mean::Plain, nullptr, to[i],
                        views[i].width);
    }

    void restore(const cv::Mat& merged, const std::vector<MergeMap>& maps, int special,
                 cv::Mat& out) const override {
        const int rows = out.size[1], dim = out.size[2];
        for (int i = 0; i < merged.size[0]; ++i) {
            const RowsView view = imageRows(merged, i, special);
            const size_t head = static_cast<size_t>(special) * dim;
            float* to = out.ptr<float>() + static_cast<size_t>(i) * rows * dim;
            std::copy_n(view.data - head, head, to);
            restoreRows(view, maps[i], to + head, dim);
        }
    }

private:
    static RowsView imageRows(const cv::Mat& tokens, int image, int special) {
        const int rows = tokens.size[1], dim = tokens.size[2];
        const float* data = tokens.ptr<float>() + (static_cast<size_t>(image) * rows + special) * dim;
        return {data, static_cast<size_t>(dim), rows - special, dim};
    }
};

}  // namespace

std::shared_ptr<const Backend> cpuBackend() {
    kernels::checkInstructionSetLimit();
    static const auto backend = std::make_shared<CpuBackend>();
    return backend;
}

}  // namespace mpm
