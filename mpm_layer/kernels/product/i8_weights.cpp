#include <algorithm>
#include <cmath>
#include <limits>

#include "mpm_layer/kernels/product/i8.hpp"

namespace mpm::kernels {
namespace {

/// Returns the quantisation step of each column, or NaN if a weight of the column is not finite. Steps are
/// large enough that their inverses are finite.
std::vector<float> stepsOf(const float* weights, size_t stride, int depth, int columns,
                           const ByteForm& form) {
    std::vector<float> largest(columns, 0.0f), half(columns, 0.0f), poison(columns, 0.0f);
    for (int k = 0; k < depth; ++k) {
        const float* row = weights + k * stride;
        const float* other = k % 2 == 1 ? row - stride : nullptr;
        for (int n = 0; n < columns; ++n) {
            largest[n] = std::max(largest[n], std::abs(row[n]));
            if (other) half[n] = std::max(half[n], std::abs(row[n] / 2 + other[n] / 2));
            poison[n] += row[n] - row[n];  // 0 for finite weights, else NaN
        }
    }
    const auto single = static_cast<float>(form.right), pair = static_cast<float>(form.pair) / 2;
    for (int n = 0; n < columns; ++n)
        largest[n] = std::max({largest[n] / single, half[n] / pair, 0x1p-126f}) + poison[n];
    return largest;
}

/// Returns value * inverse, rounded to a whole number: the sum with kMagic has no bits for fractions.
float wholeSteps(float value, float inverse) {
    constexpr float kMagic = 12582912.0f;
    return (value * inverse + kMagic) - kMagic;
}

}  // namespace

void PackedWeightsI8::reshape(int depth, int columns) {
    Panels::reshape(depth, columns);
    const int width = panelColumns(), panels = (columns + width - 1) / width;
    m_scales.assign(static_cast<size_t>(panels) * width, 0.0f);
    m_offsets.assign(m_scales.size(), 0);
}

void PackedWeightsI8::setColumns(int first, int count, float largest, const std::int32_t* sums) {
    const float inverse = inverseOf(largest);
    // If `largest` is NaN, the scale and all products of the columns are NaN.
    std::fill_n(m_scales.begin() + first, count, largest > 0 ? 1.0f / inverse : largest);
    const int offset = formOf(Finer::Right).offset;
    for (int n = 0; n < count; ++n)
        m_offsets[first + n] = -offset * sums[n];
}

size_t PackedWeightsI8::bytes() const {
    return Panels::bytes() + m_scales.size() * sizeof(float) + m_offsets.size() * sizeof(std::int32_t);
}

PackedWeightsI8::PackedWeightsI8(const float* weights, size_t stride, int depth, int columns,
                                 std::optional<float> least) {
    Panels::reshape(depth, columns, true);
    const int width = panelColumns(), panels = (columns + width - 1) / width, quads = quadsOf(depth);
    const ByteForm& form = formOf(Finer::Left);
    const int offset = form.offset - (least ? form.left : 0);  // the byte of `least` or, without it, of 0
    const size_t size = static_cast<size_t>(panels) * width * quads;
    auto* bytes = reinterpret_cast<std::int8_t*>(panel(0));
    std::fill_n(bytes, size * 4, std::int8_t(0));
    m_scales = stepsOf(weights, stride, depth, columns, form);
    if (least) m_least.assign(columns, 0.0f);
    m_scales.resize(static_cast<size_t>(panels) * width, 0.0f);
    m_offsets.assign(m_scales.size(), 0);
    for (int first = 0; first < columns; first += width) {
        const int present = std::min(width, columns - first);
        for (int k = 0; k < depth; ++k) {
            const float* row = weights + k * stride + first;
            std::int8_t* to =
                bytes + (static_cast<size_t>(first) * quads + static_cast<size_t>(k / 4) * width) * 4;
            for (int n = 0; n < present; ++n) {
                const int value = static_cast<int>(wholeSteps(row[n], 1.0f / m_scales[first + n]));
                to[n * 4 + k % 4] = static_cast<std::int8_t>(value);
                m_offsets[first + n] -= offset * value;
                if (least) m_least[first + n] += *least * m_scales[first + n] * static_cast<float>(value);
            }
        }
    }
}

std::vector<float> PackedWeightsI8::errorsOf(const float* weights, size_t stride) const {
    std::vector<float> errors(static_cast<size_t>(depth()) * columns());
    for (int k = 0; k < depth(); ++k) {
        const float* row = weights + k * stride;
        float* to = &errors[static_cast<size_t>(k) * columns()];
        for (int n = 0; n < columns(); ++n)
            to[n] = row[n] - m_scales[n] * wholeSteps(row[n], 1.0f / m_scales[n]);
    }
    return errors;
}

double lossOfI8(const float* weights, size_t stride, int depth, int columns) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    if (depth > kLargestI8Depth) return kInfinite;
    constexpr int kLevels = 127;  // the same on every processor, so that the same layers use int8
    const std::vector<float> steps = stepsOf(weights, stride, depth, columns, {0, kLevels, kLevels});
    if (std::any_of(steps.begin(), steps.end(), [](float step) { return !(step == step); })) return kInfinite;
    double lost = 0, all = 0;
    for (int k = 0; k < depth; ++k) {
        const float* row = weights + k * stride;
        float rowLost = 0, rowAll = 0;
        for (int n = 0; n < columns; ++n) {
            const float error = row[n] - steps[n] * wholeSteps(row[n], 1.0f / steps[n]);
            rowLost += error * error;
            rowAll += row[n] * row[n];
        }
        lost += rowLost;
        all += rowAll;
    }
    // The largest weight of a column has no rounding error, but it determines the step, and thus the errors
    // of all other weights. `others` excludes the largest weights, because they would hide these errors.
    double others = all;
    for (const float step : steps)
        others -= std::pow(static_cast<double>(step) * kLevels, 2);
    if (lost <= 1e-12 * all) return 0;
    return others > 0 ? std::sqrt(lost / others) : kInfinite;
}

}  // namespace mpm::kernels
