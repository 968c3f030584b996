#include "mpm_layer/encoder/reuse/watcher.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/loops.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm {
namespace {

constexpr int kMostNoiseClasses = 8, kLeastTokens = 48;  // a class needs kLeastTokens for a reliable quantile
constexpr double kQuantile = 0.3;
constexpr float kRise = 1.02f;   // largest factor by which an estimate rises in a frame
constexpr float kChance = 0.8f;  // a bound above this share of the noise may be chance, and is not used

}  // namespace

void NoiseEvidence::resize(size_t tokens) {
    for (auto* values : {&differences, &apart, &contrasts, &contrastsBefore})
        values->resize(tokens);
}

void NoiseEstimate::classify(const std::vector<float>& positions) {
    const int tokens = static_cast<int>(positions.size());
    m_order.resize(tokens);
    m_classes.resize(tokens);
    std::iota(m_order.begin(), m_order.end(), 0);
    std::sort(m_order.begin(), m_order.end(), [&](int a, int b) {
        return positions[a] < positions[b] || (positions[a] == positions[b] && a < b);
    });
    const int classes = std::clamp(tokens / kLeastTokens, 1, kMostNoiseClasses);
    for (int rank = 0; rank < tokens; ++rank)
        m_classes[m_order[rank]] = static_cast<int>(static_cast<long long>(rank) * classes / tokens);
}

// Returns the quantile kQuantile of the values of the tokens with ranks first..end-1.
float NoiseEstimate::quantileOf(const std::vector<float>& values, size_t first, size_t end) {
    m_sample.clear();
    for (size_t rank = first; rank < end; ++rank)
        m_sample.push_back(values[m_order[rank]]);
    const auto quantile = m_sample.begin() + static_cast<long>(kQuantile * (m_sample.size() - 1));
    std::nth_element(m_sample.begin(), quantile, m_sample.end());
    return *quantile;
}

void NoiseEstimate::add(const std::vector<float>& positions, const NoiseEvidence& evidence, float least,
                        float most) {
    if (positions.empty()) return;
    classify(positions);
    const size_t classes = m_classes[m_order.back()] + 1;
    const bool first = m_noise.size() != classes;
    m_noise.resize(classes);
    size_t rank = 0;
    for (size_t c = 0; c < classes; ++c) {
        const size_t start = rank;
        while (rank < m_order.size() && m_classes[m_order[rank]] == static_cast<int>(c))
            ++rank;
        float noise = quantileOf(evidence.differences, start, rank);
        for (const auto* bound : {&evidence.apart, &evidence.contrasts, &evidence.contrastsBefore}) {
            const float highest = quantileOf(*bound, start, rank);
            if (highest < kChance * noise) noise = highest;
        }
        noise = std::min(noise, most);
        m_noise[c] = first ? noise : std::min(noise, std::max(m_noise[c], least) * kRise);
    }
}

namespace {

constexpr int kSample = 256;                   // approximate number of tokens to learn from in a later frame
constexpr int kStepsAtFirst = 16, kSteps = 2;  // steps of the conjugate gradient method
constexpr float kMoves = 2;                    // tokens whose change exceeds this many medians are ignored
constexpr int kGrain = 64;                     // tokens of a parallel task

// Tokens and their squared differences, both with the mean subtracted.
struct Sample {
    int dim = 0;
    std::vector<float> rows;
    std::vector<float> wanted;  // squared differences, divided by the squared median

    int count() const { return static_cast<int>(wanted.size()); }
    const float* row(int i) const { return rows.data() + static_cast<size_t>(i) * dim; }
    float* row(int i) { return rows.data() + static_cast<size_t>(i) * dim; }
};

float dot(const float* a, const float* b, int dim) {
    constexpr int kLanes = 16;  // independent sums, so that the compiler uses vectors
    float sums[kLanes] = {}, rest = 0;
    int d = 0;
    for (; d + kLanes <= dim; d += kLanes)
        for (int lane = 0; lane < kLanes; ++lane)
            sums[lane] += a[d + lane] * b[d + lane];
    for (; d < dim; ++d)
        rest += a[d] * b[d];
    for (const float sum : sums)
        rest += sum;
    return rest;
}

void add(float scale, const float* from, int dim, float* to) {
    for (int d = 0; d < dim; ++d)
        to[d] += scale * from[d];
}

float medianOf(std::vector<float> values) {
    const auto middle = values.begin() + static_cast<long>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void centre(Sample& sample) {
    const float share = 1.0f / static_cast<float>(sample.count());
    std::vector<float> mean(sample.dim);
    float wanted = 0;
    for (int i = 0; i < sample.count(); ++i) {
        add(share, sample.row(i), sample.dim, mean.data());
        wanted += share * sample.wanted[i];
    }
    for (int i = 0; i < sample.count(); ++i) {
        add(-1, mean.data(), sample.dim, sample.row(i));
        sample.wanted[i] -= wanted;
    }
}

Sample sampleOf(const FrameRows& frame, const std::vector<float>& differences, int first, int stride) {
    Sample sample;
    const float median = medianOf(differences);
    if (!(median > 0) || !std::isfinite(median)) return sample;
    sample.dim = frame.dim;
    for (int t = first; t < frame.tokens; t += stride) {
        const float difference = differences[t] / median;
        if (difference > kMoves) continue;
        sample.wanted.push_back(difference * difference);
        sample.rows.insert(sample.rows.end(), frame.token(t), frame.token(t) + frame.dim);
    }
    if (sample.count() > 0) centre(sample);
    return sample;
}

// Solves least squares by conjugate gradients, starting from `axis`. The change is damped by the mean
// variance of the sample, so a single frame changes the axis only a little.
void improve(Sample& sample, int steps, std::vector<float>& axis) {
    const int dim = sample.dim, count = sample.count();
    std::vector<float>& rest = sample.wanted;
    std::vector<float> change(dim), slope(dim), direction(dim), moved(count);
    float weight = 0, before = 0;
    for (int i = 0; i < count; ++i) {
        weight += dot(sample.row(i), sample.row(i), dim) / static_cast<float>(dim);
        rest[i] -= dot(sample.row(i), axis.data(), dim);
    }
    for (int step = 0; step < steps; ++step) {
        for (int d = 0; d < dim; ++d)
            slope[d] = -weight * change[d];
        for (int i = 0; i < count; ++i)
            add(rest[i], sample.row(i), dim, slope.data());
        const float now = dot(slope.data(), slope.data(), dim), turn = step == 0 ? 0 : now / before;
        for (int d = 0; d < dim; ++d)
            direction[d] = slope[d] + turn * direction[d];
        float curve = weight * dot(direction.data(), direction.data(), dim);
        for (int i = 0; i < count; ++i) {
            moved[i] = dot(sample.row(i), direction.data(), dim);
            curve += moved[i] * moved[i];
        }
        const float length = now / curve;
        if (!(now > 0) || !std::isfinite(length)) break;
        add(length, direction.data(), dim, change.data());
        for (int i = 0; i < count; ++i)
            rest[i] -= length * moved[i];
        before = now;
    }
    for (int d = 0; d < dim; ++d)
        axis[d] += change[d];
}

}  // namespace

// Returns twice the scalar product of token x and axis a, minus |a|^2, which equals |x|^2 - |x - a|^2.
float NoiseAxis::positionOf(const float* token, float size) const {
    const int dim = static_cast<int>(m_axis.size());
    return size * size * static_cast<float>(dim) - kernels::squaredDistance(token, m_axis.data(), dim);
}

void NoiseAxis::learn(const FrameRows& frame, const std::vector<float>& differences) {
    const bool first = m_frames == 0;
    const int stride = first ? 1 : std::max(1, frame.tokens / kSample);
    if (frame.tokens == 0) return;
    Sample sample = sampleOf(frame, differences, static_cast<int>(m_frames % stride), stride);
    if (sample.count() == 0) return;
    improve(sample, first ? kStepsAtFirst : kSteps, m_axis);
    ++m_frames;
}

std::vector<float> NoiseAxis::positions(const FrameRows& frame, const std::vector<float>& sizes,
                                        const std::vector<float>& differences) {
    if (static_cast<int>(m_axis.size()) != frame.dim) {
        m_axis.assign(frame.dim, 0);
        m_frames = 0;
    }
    learn(frame, differences);
    std::vector<float> positions(frame.tokens);
    parallelFor(
        frame.tokens, [&](int t) { positions[t] = positionOf(frame.token(t), sizes[t]); }, kGrain);
    return positions;
}

}  // namespace mpm
