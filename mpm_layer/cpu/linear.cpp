#include "mpm_layer/cpu/linear.hpp"

namespace mpm::cpu {

Linear::Linear(const NamedWeights& weights, const std::string& name, int depth, int columns,
               Precision precision) {
    const cv::Mat matrix = weights.matrix(name + ".weight", depth, columns);
    m_columns = matrix.size[1];
    if (precision == Precision::BF16) {
        m_weightBf16 = kernels::PackedWeightsBf16(matrix.ptr<float>(), m_columns, depth, m_columns);
    } else {
        m_weight = kernels::PackedWeights(matrix.ptr<float>(), m_columns, depth, m_columns);
    }
    m_bias = weights.vector(name + ".bias", m_columns);
}

void Linear::apply(const float* rows, size_t stride, int count, kernels::Epilogue epilogue, float* output,
                   size_t outputStride) const {
    epilogue.bias = m_bias.empty() ? nullptr : m_bias.data();
    if (m_weightBf16.empty()) {
        kernels::product(rows, stride, count, m_weight, epilogue, output, outputStride);
        return;
    }
    static thread_local kernels::Buffer scratch;
    const int depth = m_weightBf16.depth();
    const size_t pairStride = kernels::paddedStride(kernels::pairsOf(depth));
    auto* pairs =
        reinterpret_cast<kernels::Bf16Pair*>(scratch.reserve(kernels::paddedSize(count, pairStride)));
    for (int r = 0; r < count; ++r)
        kernels::packPairs(rows + r * stride, depth, pairs + r * pairStride);
    kernels::productBf16(pairs, pairStride, count, m_weightBf16, epilogue, output, outputStride);
}

}  // namespace mpm::cpu
