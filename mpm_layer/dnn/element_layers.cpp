#include "mpm_layer/dnn/element_layers.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "base/printable.hpp"
#include "mpm_layer/decoder/transpose.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/kernels/common/limits.hpp"
#include "mpm_layer/kernels/tokens/upsample.hpp"

namespace mpm::dnn {
namespace {

constexpr int kChunk = 1 << 14, kMostAxes = 32;

const std::map<std::string, float (*)(float)>& functions() {
    using F = float (*)(float);
    static const std::map<std::string, F> all{
        {"abs", [](float x) { return std::abs(x); }},
        {"cos", [](float x) { return std::cos(x); }},
        {"erf", [](float x) { return std::erf(x); }},
        {"exp", [](float x) { return std::exp(x); }},
        {"floor", [](float x) { return std::floor(x); }},
        {"log", [](float x) { return std::log(x); }},
        {"neg", [](float x) { return -x; }},
        {"reciprocal", [](float x) { return 1 / x; }},
        {"relu", [](float x) { return x < 0 ? 0.f : x; }},
        {"sigmoid", [](float x) { return 1 / (1 + std::exp(-x)); }},
        {"sin", [](float x) { return std::sin(x); }},
        {"softplus", [](float x) { return x > 20 ? x : std::log1p(std::exp(x)); }},
        {"sqrt", [](float x) { return std::sqrt(x); }},
        {"tanh", [](float x) { return std::tanh(x); }},
        {"trunc", [](float x) { return std::trunc(x); }}};
    return all;
}

// Functions that the kernels compute as activations.
const std::map<std::string, kernels::Activation>& activations() {
    using kernels::Activation;
    static const std::map<std::string, Activation> all{
        {"gelu", Activation::Gelu}, {"gelu_tanh", Activation::GeluTanh}, {"silu", Activation::Silu}};
    return all;
}

std::vector<int> broadcast(const std::vector<int>& a, const std::vector<int>& b) {
    // If both shapes have no axes, the result has an axis of one element.
    std::vector<int> shape(std::max<size_t>({a.size(), b.size(), 1}), 1);
    for (size_t k = 1; k <= shape.size(); ++k) {
        const int x = k <= a.size() ? a[a.size() - k] : 1, y = k <= b.size() ? b[b.size() - k] : 1;
        if (x != y && x != 1 && y != 1) {
            CV_Error(cv::Error::StsUnmatchedSizes, "mpm: MpmArithmetic cannot broadcast " +
                                                       textOf(toShape(a)) + " and " + textOf(toShape(b)));
        }
        shape[shape.size() - k] = x == 1 ? y : x;
    }
    return shape;
}

std::vector<size_t> stepsOver(const std::vector<int>& shape, const std::vector<int>& target) {
    std::vector<size_t> steps(target.size(), 0);
    size_t step = 1;
    for (size_t k = 1; k <= shape.size(); ++k) {
        const int extent = shape[shape.size() - k];
        if (extent != 1) steps[target.size() - k] = step;
        step *= static_cast<size_t>(extent);  // fits: a product of sizes of one checked shape
    }
    return steps;
}

/// An axis of a result, and the steps of both operands along this axis.
struct Axis {
    size_t extent, a, b;
};

struct Operands {
    const float* a;
    const float* b;
    std::vector<Axis> axes;  // last axis first; axes are joined if each operand has a single step for them
};

std::vector<Axis> axesOf(const Sizes& a, const Sizes& b, const Sizes& shape) {
    const std::vector<size_t> stepsA = stepsOver(a, shape), stepsB = stepsOver(b, shape);
    std::vector<Axis> axes;
    for (size_t k = shape.size(); k-- > 0;) {
        const Axis axis{static_cast<size_t>(shape[k]), stepsA[k], stepsB[k]};
        if (axis.extent == 1) continue;
        if (!axes.empty() && axis.a == axes.back().a * axes.back().extent &&
            axis.b == axes.back().b * axes.back().extent)
            axes.back().extent *= axis.extent;  // fits: a part of the checked total
        else
            axes.push_back(axis);
    }
    if (axes.empty()) axes.push_back({1, 0, 0});
    return axes;
}

template <typename F>
void combineRun(const float* a, size_t stepA, const float* b, size_t stepB, size_t count, float* out, F f) {
    if (stepA == 1 && stepB == 1) {
        for (size_t k = 0; k < count; ++k)
            out[k] = f(a[k], b[k]);
    } else if (stepA == 1 && stepB == 0) {
        for (size_t k = 0; k < count; ++k)
            out[k] = f(a[k], *b);
    } else {
        for (size_t k = 0; k < count; ++k)
            out[k] = f(a[k * stepA], b[k * stepB]);
    }
}

template <typename F>
void combine(const Operands& o, float* out, F f) {
    const Axis& run = o.axes[0];
    const size_t pieces = (run.extent + kChunk - 1) / kChunk, last = o.axes.size() - 1;
    size_t rows = 1;
    for (size_t k = 1; k <= last; ++k)
        rows *= o.axes[k].extent;  // fits: a part of the checked total
    parallelRanges(
        checkedProduct<int>(rows, pieces),
        [&](const cv::Range& range) {
            for (int task = range.start; task < range.end; ++task) {
                const size_t row = task / pieces, first = task % pieces * kChunk;
                size_t rest = row, pa = first * run.a, pb = first * run.b;
                for (size_t k = 1; k <= last; ++k) {
                    const size_t index = k < last ? rest % o.axes[k].extent : rest;
                    pa += index * o.axes[k].a;
                    pb += index * o.axes[k].b;
                    if (k < last) rest /= o.axes[k].extent;
                }
                combineRun(o.a + pa, run.a, o.b + pb, run.b, std::min<size_t>(kChunk, run.extent - first),
                           out + row * run.extent + first, f);
            }
        },
        std::max(1, static_cast<int>(kChunk / std::max<size_t>(1, run.extent))));
}

}  // namespace

ArithmeticLayer::ArithmeticLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 2, 2),
      m_operation(textAttribute(params, "operation", "add")),
      m_reversed(switchAttribute(params, "reversed")) {
    static const char* const kKnown[] = {"add", "sub", "mul", "div", "pow", "min", "max"};
    if (std::find(std::begin(kKnown), std::end(kKnown), m_operation) == std::end(kKnown)) {
        CV_Error(cv::Error::StsBadArg, "mpm: operation '" + printable(m_operation, 80) +
                                           "' is not known; expected add, sub, mul, div, pow, min or max");
    }
}

std::vector<Sizes> ArithmeticLayer::outputSizes(const std::vector<Sizes>& operands) const {
    return {broadcast(operands[0], operands[1])};
}

void ArithmeticLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    cv::Mat a = operand(in, 0), b = operand(in, 1);
    if (m_reversed) std::swap(a, b);
    const Sizes sa = sizesOf(a), sb = sizesOf(b), shape = broadcast(sa, sb);
    const Operands o{a.ptr<float>(), b.ptr<float>(), axesOf(sa, sb, shape)};
    float* to = out[0].ptr<float>();
    if (m_operation == "add") combine(o, to, [](float x, float y) { return x + y; });
    if (m_operation == "sub") combine(o, to, [](float x, float y) { return x - y; });
    if (m_operation == "mul") combine(o, to, [](float x, float y) { return x * y; });
    if (m_operation == "div") combine(o, to, [](float x, float y) { return x / y; });
    if (m_operation == "pow")
        combine(o, to, [](float x, float y) { return y == 2 ? x * x : std::pow(x, y); });
    // If either operand is NaN, the result is NaN.
    if (m_operation == "min") combine(o, to, [](float x, float y) { return x < y || std::isnan(x) ? x : y; });
    if (m_operation == "max") combine(o, to, [](float x, float y) { return x > y || std::isnan(x) ? x : y; });
}

FunctionLayer::FunctionLayer(const cv::dnn::LayerParams& params) : SmallLayer(params, 1, 1) {
    const std::string name = textAttribute(params, "function", "");
    const auto activation = activations().find(name);
    const auto function = functions().find(name);
    if (activation != activations().end()) {
        m_activation = activation->second;
    } else if (function != functions().end()) {
        m_function = function->second;
    } else {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: function '" + printable(name, 80) + "' is not known; see docs/reference/operators.md");
    }
}

std::vector<Sizes> FunctionLayer::outputSizes(const std::vector<Sizes>& operands) const {
    return operands;
}

void FunctionLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0);
    const size_t count = x.total();
    const float* from = x.ptr<float>();
    float* to = out[0].ptr<float>();
    const int chunks = static_cast<int>((count + kChunk - 1) / kChunk);
    parallelRanges(chunks, [&](const cv::Range& range) {
        const size_t begin = static_cast<size_t>(range.start) * kChunk,
                     end = std::min(count, static_cast<size_t>(range.end) * kChunk);
        if (!m_function) return kernels::activate(m_activation, from + begin, end - begin, to + begin);
        for (size_t k = begin; k < end; ++k)
            to[k] = m_function(from[k]);
    });
}

TransposeLayer::TransposeLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 1, 1), m_order(wholeAttributes(params, "perm", 0, kMostAxes - 1)) {}

std::vector<Sizes> TransposeLayer::outputSizes(const std::vector<Sizes>& operands) const {
    return {decoder::Transpose(operands[0], m_order).sizes()};
}

void TransposeLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0);
    decoder::Transpose(sizesOf(x), m_order).run(x.ptr<float>(), out[0].ptr<float>());
}

namespace {

constexpr int kRowsPerTask = 16;

// Interpolates between two rows of a class's plane.
void blendRows(const float* plane, int width, const kernels::Tap& tap, float* row) {
    const float* low = plane + static_cast<size_t>(tap.index) * width;
    const float* high = plane + static_cast<size_t>(tap.next) * width;
    const float weight = tap.weight;
    for (int k = 0; k < width; ++k) {
        const float slope = high[k] - low[k];
        const float blend =
            std::isfinite(slope) ? low[k] + weight * slope : (1 - weight) * low[k] + weight * high[k];
        row[k] = low[k] == high[k] || weight == 0 ? low[k] : blend;
    }
}

void readPair(const cv::dnn::LayerParams& params, const char* name, int& rows, int& columns) {
    const std::vector<int> pair = wholeAttributes(params, name, 1, kLongestSide);
    if (pair.empty()) return;
    if (pair.size() != 2) rejectAttribute(params, name, "two numbers, rows and columns");
    rows = pair[0];
    columns = pair[1];
}

}  // namespace

ResizeLayer::ResizeLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 1, 1),
      m_rows(0),
      m_columns(0),
      m_cropRows(0),
      m_cropColumns(0),
      m_alignCorners(switchAttribute(params, "align_corners")),
      m_argmax(switchAttribute(params, "argmax")) {
    readPair(params, "size", m_rows, m_columns);
    m_cropRows = m_rows;
    m_cropColumns = m_columns;
    readPair(params, "crop", m_cropRows, m_cropColumns);
    if (m_rows < 1 || m_columns < 1 || m_cropRows < 1 || m_cropColumns < 1 || m_cropRows > m_rows ||
        m_cropColumns > m_columns) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmResize needs the attribute size, rows and columns, and a crop within it");
    }
    if (static_cast<std::int64_t>(m_cropRows) * m_cropColumns > kMostPixels) {
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: MpmResize gives %d x %d elements of a class; at most %lld are allowed",
                            m_cropRows, m_cropColumns, static_cast<long long>(kMostPixels)));
    }
}

std::vector<Sizes> ResizeLayer::outputSizes(const std::vector<Sizes>& operands) const {
    const Sizes& x = operands[0];
    if (x.size() != 4 || x[2] < 1 || x[3] < 1) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmResize takes [batch, classes, rows, columns], got " + textOf(toShape(x)));
    }
    return {{x[0], m_argmax ? 1 : x[1], m_cropRows, m_cropColumns}};
}

void ResizeLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0);
    const int images = x.size[0], classes = x.size[1], height = x.size[2], width = x.size[3];
    const std::vector<kernels::Tap> down = kernels::bilinearTaps(height, m_rows, m_alignCorners);
    kernels::Runs across = kernels::bilinearRuns(width, m_columns, m_alignCorners);
    kernels::crop(across, m_cropColumns);
    const size_t plane = static_cast<size_t>(height) * width;
    const auto blended = [&](int above, int row, float* to) {
        blendRows(x.ptr<float>() + above * plane, width, down[row], to);
    };
    if (m_argmax) {
        parallelRanges(
            images * m_cropRows,  // fits: two sizes of the output
            [&](const cv::Range& range) {
                std::vector<float> rows(static_cast<size_t>(classes) * width);
                std::vector<int> labels(m_cropColumns);
                for (int k = range.start; k < range.end; ++k) {
                    for (int c = 0; c < classes; ++c)
                        blended(k / m_cropRows * classes + c, k % m_cropRows,
                                rows.data() + static_cast<size_t>(c) * width);
                    kernels::stretchArgmax(rows.data(), width, classes, across, labels.data());
                    writeIntegers(labels.data(), m_cropColumns, out[0],
                                  static_cast<size_t>(k) * m_cropColumns);
                }
            },
            kRowsPerTask);
        return;
    }
    const int outputRows = images * classes * m_cropRows;  // fits: three sizes of the output
    parallelRanges(outputRows, [&](const cv::Range& range) {
        std::vector<float> row(width);
        for (int k = range.start; k < range.end; ++k) {
            blended(k / m_cropRows, k % m_cropRows, row.data());
            kernels::stretchRow(row.data(), across,
                                out[0].ptr<float>() + static_cast<size_t>(k) * m_cropColumns);
        }
    });
}

}  // namespace mpm::dnn
