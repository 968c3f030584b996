#include "mpm_layer/cpu/linear.hpp"

namespace mpm::cpu {

LeftRows::LeftRows(kernels::Buffer& memory, Precision precision, int count, int width)
    : m_half(precision == Precision::BF16),
      m_count(count),
      m_width(width),
      m_stride(kernels::paddedStride(m_half ? kernels::pairsOf(width) : width)) {
    const size_t size = kernels::paddedSize(count, m_stride);
    m_data = memory.reserve(size + (m_half ? kernels::paddedStride(width) : 0));
    m_row = m_data + size;
}

Linear::Linear(const NamedWeights& weights, const std::string& name, int depth, int columns,
               Precision precision) {
    const cv::Mat matrix = weights.matrix(name + ".weight", depth, columns);
    m_columns = matrix.size[1];
    if (m_columns < 1) CV_Error(cv::Error::StsBadArg, "mpm: weight " + name + ".weight must not be empty");
    if (precision == Precision::BF16) {
        m_weightBf16 = kernels::PackedWeightsBf16(matrix.ptr<float>(), m_columns, depth, m_columns);
    } else {
        m_weight = kernels::PackedWeights(matrix.ptr<float>(), m_columns, depth, m_columns);
    }
    m_bias = weights.vector(name + ".bias", m_columns);
}

kernels::Epilogue Linear::withBias(kernels::Epilogue epilogue) const {
    epilogue.bias = m_bias.empty() ? nullptr : m_bias.data();
    return epilogue;
}

void Linear::apply(const LeftRows& rows, kernels::Epilogue epilogue, float* output,
                   size_t outputStride) const {
    if (m_weightBf16.empty()) {
        kernels::product(rows.floats(), rows.stride(), rows.count(), m_weight, withBias(epilogue), output,
                         outputStride);
    } else {
        kernels::productBf16(rows.pairs(), rows.stride(), rows.count(), m_weightBf16, withBias(epilogue),
                             output, outputStride);
    }
}

void Linear::apply(const LeftRows& rows, kernels::Epilogue epilogue, LeftRows& output) const {
    if (m_weightBf16.empty()) {
        apply(rows, epilogue, output.floats(), output.stride());
    } else {
        kernels::productBf16(rows.pairs(), rows.stride(), rows.count(), m_weightBf16, withBias(epilogue),
                             output.pairs(), output.stride());
    }
}

void Linear::apply(const float* rows, size_t stride, int count, kernels::Epilogue epilogue, float* output,
                   size_t outputStride) const {
    if (m_weightBf16.empty()) {
        kernels::product(rows, stride, count, m_weight, withBias(epilogue), output, outputStride);
        return;
    }
    static thread_local kernels::Buffer scratch;
    const int depth = m_weightBf16.depth();
    LeftRows pairs(scratch, Precision::BF16, count, depth);
    for (int r = 0; r < count; ++r)
        kernels::packPairs(rows + r * stride, depth, pairs.pairs() + r * pairs.stride());
    apply(pairs, epilogue, output, outputStride);
}

}  // namespace mpm::cpu
