// Resize and Upsample, computed one axis at a time. Each result is a weighted sum of a few elements along the
// axis, called taps.
#include <algorithm>
#include <cmath>

#include "base/printable.hpp"
#include "models/onnx/eval/call.hpp"

namespace mpm::models {
namespace {

/// Returns whether the node is an Upsample, or a Resize before opset 11. Both have the same inputs and
/// coordinates.
bool isOld(const Call& c) {
    return c.opset < 11 || c.node.op == "Upsample";
}

struct Taps {
    std::vector<int64_t> index;  // for each result, `each` indices, clamped to the axis
    std::vector<double> weight;
    int64_t each = 1;
    Held held;
};

double sourceOf(const std::string& mode, int64_t k, int64_t in, int64_t out, double scale) {
    if (mode == "align_corners") return out > 1 ? static_cast<double>(k) * (in - 1) / (out - 1) : 0;
    if (mode == "asymmetric") return k / scale;
    if (mode == "pytorch_half_pixel" && out <= 1) return 0;
    if (mode == "half_pixel" || mode == "pytorch_half_pixel") return (k + 0.5) / scale - 0.5;
    throw Refusal("the coordinates '" + printable(mode, 80) + "' are not supported");
}

int64_t nearest(const std::string& mode, double at) {
    if (mode == "floor") return toInteger(std::floor(at));
    if (mode == "ceil") return toInteger(std::ceil(at));
    if (mode == "round_prefer_ceil") return toInteger(std::floor(at + 0.5));
    return toInteger(std::ceil(at - 0.5));
}

double cubic(double x, double a) {
    x = std::abs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

Taps tapsOf(Call& c, int64_t in, int64_t out, double scale) {
    const std::string mode = c.node.getString("mode", "nearest");
    const std::string coordinates =
        c.node.getString("coordinate_transformation_mode", isOld(c) ? "asymmetric" : "half_pixel");
    const std::string rounding = c.node.getString("nearest_mode", isOld(c) ? "floor" : "round_prefer_floor");
    const double a = c.node.getFloat("cubic_coeff_a", -0.75f);
    const bool antialias = c.node.getInt("antialias", 0) != 0 && scale < 1 && mode != "nearest";
    const double stretch = antialias ? 1 / scale : 1;
    const double reach = (mode == "cubic" ? 2 : 1) * stretch;
    Taps taps;
    const bool excludes = antialias || c.node.getInt("exclude_outside", 0) != 0;
    taps.each = mode == "nearest" ? 1 : checkedProduct<int64_t>(2, toInteger(std::ceil(reach)));
    taps.held.add(checkedProduct<int64_t>(taps.each, out, 16), "its weights");
    for (int64_t k = 0; k < out; ++k) {
        const double at = sourceOf(coordinates, k, in, out, scale);
        if (mode == "nearest") {
            taps.index.push_back(std::min(std::max<int64_t>(nearest(rounding, at), 0), in - 1));
            taps.weight.push_back(1);
            continue;
        }
        const int64_t first = checkedSum<int64_t>(toInteger(std::floor(at)), -taps.each / 2, 1);
        double sum = 0;
        for (int64_t t = 0; t < taps.each; ++t) {
            const double away = (at - static_cast<double>(first + t)) / stretch;
            double weight = mode == "cubic" ? cubic(away, a) : std::max(0.0, 1 - std::abs(away));
            const bool outside = first + t < 0 || first + t >= in;
            if (outside && excludes) weight = 0;
            taps.index.push_back(std::min(std::max<int64_t>(first + t, 0), in - 1));
            taps.weight.push_back(weight);
            sum += weight;
        }
        for (int64_t t = 0; t < taps.each; ++t)
            taps.weight[taps.weight.size() - 1 - static_cast<size_t>(t)] /= sum;
        if (k % 1024 == 0) checkTime();
    }
    return taps;
}

Tensor along(const Tensor& x, int axis, int64_t extent, const Taps& taps) {
    Shape shape = x.shape();
    const int64_t in = shape[axis];
    shape[axis] = extent;
    Tensor y = Tensor::zeros(Type::Float, shape);
    const int64_t inner = extentOf(shape, static_cast<size_t>(axis) + 1, shape.size());
    parallel(y.size() / std::max<int64_t>(1, inner), 64, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const int64_t k = row % extent;
            const float* from = x.f() + row / extent * in * inner;
            float* to = y.writeF() + row * inner;
            for (int64_t t = 0; t < taps.each; ++t) {
                const float weight = static_cast<float>(taps.weight[k * taps.each + t]);
                const float* tap = from + taps.index[k * taps.each + t] * inner;
                for (int64_t p = 0; p < inner; ++p)
                    to[p] += weight * tap[p];
            }
        }
    });
    return y;
}

void resize(Call& c) {
    Tensor x = c.input(0);
    const bool old = isOld(c);
    const size_t scalesAt = old ? 1 : 2;
    std::vector<float> scales = c.has(scalesAt) ? c.knownInput(scalesAt).toFloats() : std::vector<float>{};
    List<int64_t> sizes = !old && c.has(3) ? c.knownInput(3).toInts() : List<int64_t>{};
    List<int64_t> axes = c.node.getInts("axes");
    if (axes.empty()) axes = counted(x.shape().size());
    if (c.node.getString("keep_aspect_ratio_policy", "stretch") != "stretch")
        throw Refusal("keeping the aspect ratio is not supported");
    if ((sizes.empty() ? scales.size() : sizes.size()) != axes.size())
        throw Refusal("its sizes do not fit " + toString(x.shape()));
    Shape shape = x.shape();
    std::vector<double> scale(x.rank(), 1);
    for (size_t k = 0; k < axes.size(); ++k) {
        const int axis = c.axis(axes[k], x.rank());
        const double in = static_cast<double>(x.shape()[axis]);
        // The product is rounded to f32, as in ONNX's shape inference, so that 14 times (18 / 14) is 18.
        shape[axis] = sizes.empty() ? toInteger(std::floor(static_cast<float>(in) * scales[k])) : sizes[k];
        if (shape[axis] == x.shape()[axis] && sizes.size() == axes.size()) continue;
        scale[axis] = sizes.empty() ? scales[k] : static_cast<double>(sizes[k]) / in;
        if (in == 0 || !(scale[axis] > 0) || std::isinf(scale[axis]))
            throw Refusal("its size or scale is out of range");
    }
    elementCount(shape);
    if (!x.known()) return c.shape(0, x.type(), shape);
    if (!x.isFloat()) throw Refusal("resizing integers is not supported");
    for (int axis = 0; axis < x.rank(); ++axis) {
        if (shape[axis] == x.shape()[axis] && scale[axis] == 1) continue;
        checkTime();
        x = along(x, axis, shape[axis], tapsOf(c, x.shape()[axis], shape[axis], scale[axis]));
    }
    c.out.assign(1, x);
}

}  // namespace

void addResize(OperatorTable& table) {
    table["Resize"] = resize;
    table["Upsample"] = resize;
}

}  // namespace mpm::models
