#include "mpm_layer/merge/screened_rows.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm {
namespace {

constexpr int kSample = 32;
constexpr double kGolden = 0.6180339887;
constexpr float kScale = 1.41429988f;  // sqrt(2 (1 + 2 kTilt))

}  // namespace

/// Unit rows from all over the image, one from each of kSample parts. Where in its part varies: else a grid
/// of tokens would give rows of few columns.
struct Basis::Sample {
    Sample(const RowsView& rows, size_t stride) : stride(stride), data(kSample * stride) {
        for (int n = 0; n < std::min(kSample, rows.count); ++n) {
            float* to = row(count);
            const double at = (n + std::fmod(n * kGolden, 1.0)) * rows.count / std::min(kSample, rows.count);
            if (!kernels::unitRow(rows.row(static_cast<int>(at)), rows.width, to)) continue;
            // Rows of zeros are no reason to move the origin away from all others.
            count += std::any_of(to, to + rows.width, [](float v) { return v != 0; });
        }
    }

    float* row(int i) { return data.data() + i * stride; }

    size_t stride;
    kernels::Buffer data;
    int count = 0;
};

Basis::Basis(const RowsView& rows) : m_width(rows.width), m_stride(kernels::paddedStride(rows.width)) {
    std::fill_n(m_data.reserve((1 + kernels::kDirections) * m_stride), (1 + kernels::kDirections) * m_stride,
                0.0f);
    Sample sample(rows, m_stride);
    if (sample.count == 0) return;
    centre(sample);
    turn(sample);
    if (!isTrue()) std::fill_n(direction(0), kernels::kDirections * m_stride, 0.0f);
}

kernels::ScreenBasis Basis::view() const {
    kernels::ScreenBasis basis{m_data.data(), direction(0), m_stride, {}};
    for (int l = 0; l < kernels::kDirections; ++l)
        basis.offsets[l] = static_cast<float>(kernels::exactDot(m_data.data(), direction(l), m_width));
    return basis;
}

/// The sample's mean is the origin; what remains of its rows is their distance from it.
void Basis::centre(Sample& sample) {
    float* origin = m_data.data();
    for (int i = 0; i < sample.count; ++i)
        kernels::addScaledRow(1.0f / static_cast<float>(sample.count), sample.row(i), m_width, origin);
    for (int i = 0; i < sample.count; ++i)
        kernels::addScaledRow(-1, origin, m_width, sample.row(i));
}

/// A direction after the other: near the one in which the sample is widest, by one step of the power method
/// from the row which is furthest from all before.
void Basis::turn(Sample& sample) {
    std::vector<float> squares(sample.count);
    for (int i = 0; i < sample.count; ++i)
        squares[i] = kernels::dotRows(sample.row(i), sample.row(i), m_width);
    const float enough = 1e-10f * *std::max_element(squares.begin(), squares.end());
    for (int l = 0; l < kernels::kDirections; ++l) {
        const auto furthest = std::max_element(squares.begin(), squares.end());
        if (!(*furthest > enough)) return;
        float* to = direction(l);
        const float* start = sample.row(static_cast<int>(furthest - squares.begin()));
        for (int i = 0; i < sample.count; ++i) {
            const float along = kernels::dotRows(sample.row(i), start, m_width) / *furthest;
            kernels::addScaledRow(along, sample.row(i), m_width, to);
        }
        // What is left of a row is not quite at right angles to the directions before.
        for (int before = 0; before < l; ++before) {
            const float along = kernels::dotRows(to, direction(before), m_width) / (kScale * kScale);
            kernels::addScaledRow(-along, direction(before), m_width, to);
        }
        const float length = std::sqrt(kernels::dotRows(to, to, m_width));
        std::transform(to, to + m_width, to, [&](float v) { return v * (kScale / length); });
        for (int i = 0; i < sample.count; ++i) {
            const float along = kernels::dotRows(sample.row(i), to, m_width) / (kScale * kScale);
            kernels::addScaledRow(-along, to, m_width, sample.row(i));
            squares[i] -= along * along * kScale * kScale;
        }
    }
}

/// Whether the directions are as long, and as much at right angles, as the screen's bound takes for granted:
/// a'B'Ba / 2 differs from |a|^2 (1 + 2 kTilt) by at most kTilt |a|^2.
bool Basis::isTrue() const {
    double off = 0;
    for (int l = 0; l < kernels::kDirections; ++l) {
        for (int k = 0; k < kernels::kDirections; ++k) {
            const double product = kernels::exactDot(direction(l), direction(k), m_width) / 2;
            const double wanted = l == k && product > 0 ? 1 + 2 * kernels::kTilt : 0;
            off += (product - wanted) * (product - wanted);
        }
    }
    return std::sqrt(off) <= kernels::kTilt;
}

}  // namespace mpm
