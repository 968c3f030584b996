// Softmax and the normalisations.
#include <algorithm>
#include <cmath>

#include "models/onnx/eval/call.hpp"
#include "models/onnx/eval/functions.hpp"

namespace mpm::models {
namespace {

/// Calls body(inputs, outputs, row number) for each row of `length` contiguous elements.
template <typename Body>
void overRows(const Tensor& x, Tensor& y, int64_t length, const Body& body) {
    if (length == 0) return;
    parallel(x.size() / length, std::max<int64_t>(1, (1 << 15) / length), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
            body(x.f() + row * length, y.writeF() + row * length, row);
    });
}

// Returns the largest value of a contiguous row; ignores NaN.
float largest(const float* x, int64_t count) {
    float tops[16];
    std::fill(std::begin(tops), std::end(tops), -INFINITY);
    int64_t k = 0;
    for (; k + 16 <= count; k += 16) {
        for (int lane = 0; lane < 16; ++lane)
            tops[lane] = x[k + lane] > tops[lane] ? x[k + lane] : tops[lane];
    }
    for (; k < count; ++k)
        tops[0] = std::max(tops[0], x[k]);
    return *std::max_element(std::begin(tops), std::end(tops));
}

void softmaxRow(const float* x, float* y, int64_t length, int64_t step, bool logarithm) {
    float top = step == 1 ? largest(x, length) : -INFINITY;
    for (int64_t k = 0; k < length && step != 1; ++k)
        top = std::max(top, x[k * step]);
    double sum = step == 1 ? exponentials(x, y, length, top) : 0;
    for (int64_t k = 0; k < length && step != 1; ++k)
        sum += exponentials(x + k * step, y + k * step, 1, top);
    const float scale = static_cast<float>(1 / sum), shift = top + static_cast<float>(std::log(sum));
    for (int64_t k = 0; k < length && logarithm; ++k)
        y[k * step] = x[k * step] - shift;
    if (logarithm) return;
    for (int64_t k = 0; k < length && step == 1; ++k)  // the compiler vectorises this loop
        y[k] *= scale;
    for (int64_t k = 0; k < length && step != 1; ++k)
        y[k * step] *= scale;
}

void softmax(Call& c) {
    const Tensor x = c.input(0);
    const bool flat = c.opset < 13;  // before opset 13, a row spans all axes from `axis` on
    const int axis = c.axis(c.node.getInt("axis", flat ? 1 : -1), x.rank());
    if (!x.known()) return c.shape(0, x.type(), x.shape());
    Tensor& y = c.make(0, x.type(), x.shape());
    const bool logarithm = c.node.is("LogSoftmax");
    int64_t inner = extentOf(x.shape(), axis + 1, x.rank());
    const int64_t length = checkedProduct<int64_t>(x.shape()[axis], flat ? inner : 1);
    if (flat) inner = 1;
    overRows(x, y, length * inner, [&](const float* from, float* to, int64_t) {
        for (int64_t k = 0; k < inner; ++k)
            softmaxRow(from + k, to + k, length, inner, logarithm);
    });
}

struct Moments {
    double mean = 0, scale;
};

Moments momentsOf(const float* from, int64_t length, float epsilon, bool meanToo) {
    double mean = 0, squares = 0;
    for (int64_t k = 0; meanToo && k < length; ++k)
        mean += from[k];
    mean /= static_cast<double>(length);
    for (int64_t k = 0; k < length; ++k)
        squares += (from[k] - mean) * (from[k] - mean);
    return {mean, 1 / std::sqrt(squares / static_cast<double>(length) + epsilon)};
}

void layerNorm(Call& c) {
    const Tensor x = c.input(0);
    const int axis = c.axis(c.node.getInt("axis", -1), x.rank());
    const bool meanToo = !c.node.is("RMSNormalization") && !c.node.is("SimplifiedLayerNormalization");
    const float epsilon = c.node.getFloat("epsilon", 1e-5f);
    if (!c.known()) return c.shape(0, x.type(), x.shape());
    const int64_t length = extentOf(x.shape(), axis, x.rank());
    const float* weight = c.input(1).f();
    const float* bias = c.has(2) ? c.input(2).f().data() : nullptr;
    if (c.input(1).size() != length || (bias && c.input(2).size() != length))
        throw Refusal("its weight does not fit " + toString(x.shape()));
    Tensor& y = c.make(0, x.type(), x.shape());
    overRows(x, y, length, [&](const float* from, float* to, int64_t) {
        const auto [mean, scale] = momentsOf(from, length, epsilon, meanToo);
        for (int64_t k = 0; k < length; ++k) {
            to[k] = static_cast<float>((from[k] - mean) * scale) * weight[k] + (bias ? bias[k] : 0);
        }
    });
}

void batchNorm(Call& c) {
    const Tensor x = c.input(0);
    if (!c.known()) return c.shape(0, x.type(), x.shape());
    const int64_t channels = x.rank() > 1 ? x.shape()[1] : 1;
    for (size_t k = 1; k < 5; ++k) {
        if (c.input(k).size() != channels) throw Refusal("its parameters do not fit " + toString(x.shape()));
    }
    Tensor& y = c.make(0, x.type(), x.shape());
    const float epsilon = c.node.getFloat("epsilon", 1e-5f);
    const int64_t inner = x.size() / std::max<int64_t>(1, checkedProduct<int64_t>(x.shape()[0], channels));
    overRows(x, y, inner, [&](const float* from, float* to, int64_t row) {
        const int64_t ch = row % channels;
        const float scale = c.in[1].f()[ch] / std::sqrt(c.in[4].f()[ch] + epsilon);
        for (int64_t k = 0; k < inner; ++k)
            to[k] = (from[k] - c.in[3].f()[ch]) * scale + c.in[2].f()[ch];
    });
}

// Instance normalisation is group normalisation with a group for each channel.
void groupNorm(Call& c) {
    const Tensor x = c.input(0);
    if (!c.known()) return c.shape(0, x.type(), x.shape());
    if (x.rank() < 2) throw Refusal("it needs channels");
    const int64_t channels = x.shape()[1];
    const int64_t groups = c.node.is("InstanceNormalization") ? channels : c.node.getInt("num_groups", 1);
    const int64_t parameters = c.input(1).size();
    if (groups < 1 || channels % groups || c.input(2).size() != parameters ||
        (parameters != channels && parameters != groups)) {
        throw Refusal("its groups do not fit " + toString(x.shape()));
    }
    Tensor& y = c.make(0, x.type(), x.shape());
    if (x.size() == 0) return;
    const float epsilon = c.node.getFloat("epsilon", 1e-5f);
    const int64_t length = x.size() / checkedProduct<int64_t>(x.shape()[0], groups),
                  inner = length / (channels / groups);
    overRows(x, y, length, [&](const float* from, float* to, int64_t row) {
        const auto [mean, scale] = momentsOf(from, length, epsilon, true);
        for (int64_t k = 0; k < length; ++k) {
            const int64_t channel = row % groups * (channels / groups) + k / inner;
            const int64_t p = parameters == channels ? channel : row % groups;
            to[k] = static_cast<float>((from[k] - mean) * scale) * c.in[1].f()[p] + c.in[2].f()[p];
        }
    });
}

void lpNorm(Call& c) {
    const Tensor x = c.input(0);
    const int axis = c.axis(c.node.getInt("axis", -1), x.rank());
    if (axis != x.rank() - 1 || c.node.getInt("p", 2) != 2) throw Refusal("this norm is not supported");
    if (!x.known()) return c.shape(0, x.type(), x.shape());
    const int64_t length = x.shape()[axis];
    overRows(x, c.make(0, x.type(), x.shape()), length, [&](const float* from, float* to, int64_t) {
        double squares = 0;
        for (int64_t k = 0; k < length; ++k)
            squares += double{from[k]} * from[k];
        for (int64_t k = 0; k < length; ++k)
            to[k] = static_cast<float>(from[k] / std::sqrt(squares));
    });
}

}  // namespace

void addNorms(OperatorTable& table) {
    table["Softmax"] = softmax;
    table["LogSoftmax"] = softmax;
    table["LayerNormalization"] = layerNorm;
    table["RMSNormalization"] = layerNorm;
    table["SimplifiedLayerNormalization"] = layerNorm;
    table["BatchNormalization"] = batchNorm;
    table["InstanceNormalization"] = groupNorm;
    table["GroupNormalization"] = groupNorm;
    table["LpNormalization"] = lpNorm;
}

}  // namespace mpm::models
