#include "mpm_layer/cpu/linear.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "mpm_layer/cpu/chunks.hpp"

namespace mpm::cpu {

LeftRows::LeftRows(kernels::Buffer& memory, Precision precision, int count, int width,
                   std::optional<float> least, kernels::Finer finer)
    : m_precision(precision),
      m_count(count),
      m_width(width),
      m_least(least),
      m_finer(finer),
      m_stride(kernels::paddedStride(wordsOf(precision, width))) {
    const size_t size = kernels::paddedSize(count, m_stride);
    const size_t scales = precision == Precision::I8 ? kernels::paddedStride(count) : 0;
    const size_t row = precision == Precision::F32 ? 0 : kernels::paddedStride(width);
    m_data = memory.reserve(size + scales + row);
    m_scales = m_data + size;
    m_row = m_scales + scales;
}

void LeftRows::pack(int r, const float* row) {
    if (m_precision == Precision::BF16) kernels::packPairs(row, m_width, pairs() + r * m_stride);
    if (m_precision == Precision::I8) quantise(r, row);
}

void LeftRows::pack(int r, const kernels::Bf16Pair* row) {
    if (m_precision == Precision::BF16) std::copy_n(row, kernels::pairsOf(m_width), pairs() + r * m_stride);
    if (m_precision == Precision::I8) quantise(r, row);
}

template <class Value>
void LeftRows::quantise(int r, const Value* row) {
    kernels::I8Quad* to = quads() + r * m_stride;
    m_scales[r] = m_least ? kernels::packQuadsFrom(*m_least, row, m_width, to)
                          : kernels::packQuads(row, m_width, to, m_finer);
}

void LeftRows::errorsOf(int r, const float* row, float* errors) const {
    const int offset = kernels::formOf(m_finer).offset;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(quads() + r * m_stride);
    for (int k = 0; k < m_width; ++k)
        errors[k] = row[k] - m_scales[r] * static_cast<float>(static_cast<std::int8_t>(bytes[k] - offset));
}

void LeftRows::copy(int r, const LeftRows& from, int first, int words) {
    std::copy_n(from.m_data + first, words, m_data + r * m_stride);
    if (m_precision == Precision::I8) m_scales[r] = from.m_scales[0];
}

void RightColumns::multiply(const LeftRows& left, int row, int rows, const kernels::Epilogue& epilogue,
                            float* output, size_t outputStride) const {
    const size_t stride = left.stride(), at = row * stride;
    if (left.precision() == Precision::BF16) {
        kernels::productBf16(left.pairs() + at, stride, rows, pairs, epilogue, output, outputStride);
    } else if (left.precision() == Precision::I8) {
        kernels::productI8(left.quads() + at, stride, left.scales() + row, rows, quads, epilogue, output,
                           outputStride);
    } else {
        kernels::product(left.floats() + at, stride, rows, floats, epilogue, output, outputStride);
    }
}

Linear::Linear(const float* weight, int depth, int columns, std::vector<float> bias, Precision precision,
               std::optional<float> least, WeightBytes bytes)
    : m_depth(depth), m_columns(columns), m_precision(precision), m_least(least), m_bias(std::move(bias)) {
    if (precision == Precision::BF16) {
        m_weight.pairs = kernels::PackedWeightsBf16(weight, columns, depth, columns);
    } else if (precision == Precision::I8) {
        m_weight.quads = kernels::PackedWeightsI8(weight, columns, depth, columns, least);
        addToBias(m_weight.quads.least());
        if (bytes == WeightBytes::Two) {
            const std::vector<float> errors = m_weight.quads.errorsOf(weight, columns);
            m_errors = kernels::PackedWeightsI8(errors.data(), columns, depth, columns, least);
            addToBias(m_errors.least());
        }
    } else {
        m_weight.floats = kernels::PackedWeights(weight, columns, depth, columns);
    }
}

void Linear::addToBias(const std::vector<float>& values) {
    if (values.empty()) return;
    m_bias.resize(m_columns, 0.0f);
    std::transform(m_bias.begin(), m_bias.end(), values.begin(), m_bias.begin(), std::plus<>());
}

Linear::Linear(const NamedWeights& weights, const std::string& name, int depth, int columns,
               Precision precision, std::optional<float> least, WeightBytes bytes) {
    const cv::Mat matrix = weights.matrix(name + ".weight", depth, columns);
    const int all = matrix.size[1];
    if (all < 1) CV_Error(cv::Error::StsBadArg, "mpm: weight " + name + ".weight must not be empty");
    *this =
        Linear(matrix.ptr<float>(), depth, all, weights.vector(name + ".bias", all), precision, least, bytes);
}

kernels::Epilogue Linear::completed(kernels::Epilogue epilogue, const LeftRows& rows,
                                    const LeftRows* errors) const {
    epilogue.bias = m_bias.empty() ? nullptr : m_bias.data();
    if (m_errors.columns() == 0) return epilogue;
    CV_Assert(epilogue.residual == nullptr);
    static thread_local kernels::Buffer scratch;
    epilogue.residualStride = kernels::paddedStride(m_columns);
    float* const products = scratch.reserve(kernels::paddedSize(rows.count(), epilogue.residualStride));
    kernels::productI8(rows.quads(), rows.stride(), rows.scales(), rows.count(), m_errors, {}, products,
                       epilogue.residualStride);
    if (errors) {
        kernels::Epilogue sum;
        sum.add = true;
        m_weight.multiply(*errors, 0, errors->count(), sum, products, epilogue.residualStride);
    }
    epilogue.residual = products;
    return epilogue;
}

void Linear::apply(const LeftRows& rows, kernels::Epilogue epilogue, float* output,
                   size_t outputStride) const {
    m_weight.multiply(rows, 0, rows.count(), completed(epilogue, rows), output, outputStride);
}

void Linear::apply(const LeftRows& rows, kernels::Epilogue epilogue, const kernels::PairRows& output) const {
    if (m_precision == Precision::BF16) {
        kernels::productBf16(rows.pairs(), rows.stride(), rows.count(), m_weight.pairs,
                             completed(epilogue, rows), output);
    } else {
        kernels::productI8(rows.quads(), rows.stride(), rows.scales(), rows.count(), m_weight.quads,
                           completed(epilogue, rows), output);
    }
}

void Linear::apply(const LeftRows& rows, kernels::Epilogue epilogue, LeftRows& output) const {
    if (output.precision() == Precision::F32) {
        apply(rows, epilogue, output.floats(), output.stride());
    } else if (m_precision == Precision::BF16 && output.precision() == Precision::BF16) {
        apply(rows, epilogue, kernels::PairRows{output.pairs(), output.stride()});
    } else {
        // The scale of a row depends on all values of the row, so the whole row is computed first.
        static thread_local kernels::Buffer scratch;
        const bool inPairs = m_precision == Precision::I8 && writesPairs();
        const size_t stride = kernels::paddedStride(inPairs ? kernels::pairsOf(m_columns) : m_columns);
        float* const sums = scratch.reserve(kernels::paddedSize(rows.count(), stride));
        auto* const pairs = reinterpret_cast<kernels::Bf16Pair*>(sums);
        if (inPairs) {
            apply(rows, epilogue, kernels::PairRows{pairs, stride});
            for (int r = 0; r < rows.count(); ++r)
                output.pack(r, pairs + r * stride);
        } else {
            apply(rows, epilogue, sums, stride);
            for (int r = 0; r < rows.count(); ++r)
                output.pack(r, sums + r * stride);
        }
    }
}

void Linear::apply(const float* rows, size_t stride, int count, kernels::Epilogue epilogue, float* output,
                   size_t outputStride) const {
    if (m_precision == Precision::F32) {
        epilogue.bias = m_bias.empty() ? nullptr : m_bias.data();
        kernels::product(rows, stride, count, m_weight.floats, epilogue, output, outputStride);
        return;
    }
    static thread_local kernels::Buffer scratch;
    LeftRows packed(scratch, m_precision, count, depth(), m_least);
    for (int r = 0; r < count; ++r)
        packed.pack(r, rows + r * stride);
    if (m_errors.columns() == 0 || m_least) return apply(packed, epilogue, output, outputStride);
    static thread_local kernels::Buffer seconds;
    LeftRows errors(seconds, m_precision, count, depth());
    for (int r = 0; r < count; ++r)
        errors.fill(r, [&](float* row) { packed.errorsOf(r, rows + r * stride, row); });
    m_weight.multiply(packed, 0, count, completed(epilogue, packed, &errors), output, outputStride);
}

void multiplyRows(const float* rows, int all, const std::vector<int>* some, const Linear& layer,
                  kernels::Activation activation, float* output) {
    kernels::Epilogue epilogue;
    epilogue.activation = activation;
    const size_t depth = layer.depth(), columns = layer.columns();
    const bool floats = layer.precision() == Precision::F32;
    const bool scattered = some && static_cast<int>(some->size()) < all;
    const auto rowAt = [&](int n) { return static_cast<size_t>(some ? (*some)[n] : n); };
    forEachChunk(some ? static_cast<int>(some->size()) : all, chunkSize(layer.precision()),
                 [&](int first, int count) {
                     kernels::Buffer padded, results;
                     const float* from = rows + first * depth;
                     float* to = output + first * columns;
                     if (scattered ||
                         (floats && count % kernels::rowGroup() != 0)) {  // the product reads whole groups
                         float* copy = padded.reserve(kernels::paddedSize(count, depth));
                         std::fill_n(copy, kernels::paddedSize(count, depth), 0.f);
                         for (int r = 0; r < count; ++r)
                             std::copy_n(rows + rowAt(first + r) * depth, depth, copy + r * depth);
                         from = copy;
                     }
                     if (scattered) to = results.reserve(count * columns);
                     layer.apply(from, depth, count, epilogue, to, columns);
                     for (int r = 0; scattered && r < count; ++r)
                         std::copy_n(to + r * columns, columns, output + rowAt(first + r) * columns);
                 });
}

}  // namespace mpm::cpu
