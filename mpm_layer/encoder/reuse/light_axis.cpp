#include "mpm_layer/encoder/reuse/light_axis.hpp"

#include <algorithm>
#include <cmath>

#include "base/loops.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm {
namespace {

constexpr int kSample = 256;      // tokens that the axis is found from
constexpr int kStepsAtFirst = 8;  // the axis of the first frame
constexpr int kGrain = 64;        // tokens of a thread

}  // namespace

// The scalar product, from |x|^2 + |a|^2 - |x - a|^2.
float LightAxis::positionOf(const float* token, float size) const {
    const int dim = static_cast<int>(m_axis.size());
    return size * size * static_cast<float>(dim) - kernels::squaredDistance(token, m_axis.data(), dim);
}

void LightAxis::step(const FrameRows& frame, const std::vector<float>& sizes) {
    const int stride = std::max(1, frame.tokens / kSample);
    std::vector<int> sample;
    for (int t = 0; t < frame.tokens; t += stride)
        sample.push_back(t);
    std::vector<double> positions, sums(frame.dim, 0.0);
    double mean = 0;
    for (int t : sample) {
        positions.push_back(positionOf(frame.token(t), sizes[t]));
        mean += positions.back() / static_cast<double>(sample.size());
    }
    // Positions around their mean, so that the sum is that of tokens around theirs.
    for (size_t i = 0; i < sample.size(); ++i)
        for (int d = 0; d < frame.dim; ++d)
            sums[d] += (positions[i] - mean) * frame.token(sample[i])[d];
    double squares = 0;
    for (double sum : sums)
        squares += sum * sum;
    if (!(squares > 0) || !std::isfinite(squares)) return;
    for (int d = 0; d < frame.dim; ++d)
        m_axis[d] = static_cast<float>(sums[d] / std::sqrt(squares));
}

std::vector<float> LightAxis::positions(const FrameRows& frame, const std::vector<float>& sizes) {
    const bool first = static_cast<int>(m_axis.size()) != frame.dim;
    if (first) m_axis.assign(frame.dim, 1.0f / std::sqrt(static_cast<float>(std::max(1, frame.dim))));
    for (int i = 0; i < (first ? kStepsAtFirst : 1); ++i)
        step(frame, sizes);
    std::vector<float> positions(frame.tokens);
    parallelFor(
        frame.tokens, [&](int t) { positions[t] = positionOf(frame.token(t), sizes[t]); }, kGrain);
    return positions;
}

}  // namespace mpm
