// An encoder's weights on a GPU, passed through the C interface.
#pragma once

#include <memory>
#include <vector>

#include "mpm_layer/cuda/loader/library.hpp"
#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/shape.hpp"
#include "mpm_layer/encoder/stage_keys.hpp"

namespace mpm::cuda {

/// Throws cv::Exception if `status`, the result of a call to the C interface, is an error.
void check(int status, const MpmCudaError& error);

template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
    MpmCudaError error{};
    check(function(arguments..., &error), error);
}

class CudaEncoder : public PackedEncoder {
public:
    CudaEncoder(std::shared_ptr<const Library> library, int device, const EncoderConfig& config,
                const NamedWeights& weights, Precision precision);
    ~CudaEncoder() override;
    CudaEncoder(const CudaEncoder&) = delete;
    CudaEncoder& operator=(const CudaEncoder&) = delete;

    int dim() const override { return m_shape.dim; }
    int headSize() const { return m_shape.headSize; }
    /// Returns, for each block, an object that computes the block's keys on the CPU.
    const std::vector<StageKeys>& stageKeys() const { return m_stageKeys; }
    /// Returns the number of image tokens in the rotary tables of each block; 0 without tables.
    const std::vector<int>& rotaryPositions() const { return m_rotaryPositions; }
    const MpmCudaEntry& entry() const { return m_library->entry(); }
    MpmCudaEncoder* handle() const { return m_handle; }

private:
    std::shared_ptr<const Library> m_library;
    EncoderShape m_shape;
    std::vector<StageKeys> m_stageKeys;
    std::vector<int> m_rotaryPositions;
    MpmCudaEncoder* m_handle = nullptr;
};

}  // namespace mpm::cuda
