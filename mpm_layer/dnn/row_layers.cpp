#include "mpm_layer/dnn/row_layers.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm::dnn {
namespace {

// Returns the length of a vector. In OpenCV 4.x, a vector may be a column, but its length is the same.
size_t lengthOf(const Sizes& sizes) {
    return checkedTotal<size_t>(sizes);
}

}  // namespace

LayerNormLayer::LayerNormLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 2, 3), m_rule(normAttributes(params, "", {1e-5f})) {
    const int axis = wholeAttribute(params, "axis", -1, -1, 1);
    if (axis == 0) rejectAttribute(params, "axis", "-1 (the last axis) or 1 (the channels of images)");
    m_channelsFirst = axis == 1;
}

std::vector<Sizes> LayerNormLayer::outputSizes(const std::vector<Sizes>& operands) const {
    const Sizes& x = operands[0];
    if (m_channelsFirst ? x.size() != 4 || x[1] < 1 : x.empty() || x.back() < 1) {
        CV_Error(cv::Error::StsBadArg, "mpm: MpmLayerNorm needs " +
                                           std::string(m_channelsFirst ? "images [B, C, rows, columns]"
                                                                       : "rows of at least one element") +
                                           ", got " + textOf(toShape(x)));
    }
    const int width = m_channelsFirst ? x[1] : x.back();
    for (size_t k = 1; k < operands.size(); ++k) {
        if (lengthOf(operands[k]) != static_cast<size_t>(width)) {
            CV_Error(cv::Error::StsUnmatchedSizes,
                     "mpm: MpmLayerNorm's weight and bias must be as long as the " +
                         std::string(m_channelsFirst ? "channels" : "last axis") + " of " +
                         textOf(toShape(x)));
        }
    }
    return {x};
}

void LayerNormLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0), weight = operand(in, 1), bias = operand(in, 2);
    const float* const shift = bias.empty() ? nullptr : bias.ptr<float>();
    if (m_channelsFirst) return normalisePixels(x, weight.ptr<float>(), shift, out[0]);
    const int width = x.size[x.dims - 1];
    const int rows = static_cast<int>(x.total() / width);
    parallelRanges(rows, [&](const cv::Range& range) {
        for (int r = range.start; r < range.end; ++r) {
            const size_t at = static_cast<size_t>(r) * width;
            kernels::normaliseRow(x.ptr<float>() + at, width, weight.ptr<float>(), shift, m_rule,
                                  out[0].ptr<float>() + at);
        }
    });
}

void LayerNormLayer::normalisePixels(const cv::Mat& x, const float* weight, const float* bias,
                                     cv::Mat& out) const {
    constexpr int kTile = 256;  // pixels of a parallel task
    const int channels = x.size[1], pixels = checkedProduct<int>(x.size[2], x.size[3]),
              tiles = (pixels + kTile - 1) / kTile;
    parallelFor(checkedProduct<int>(x.size[0], tiles), [&](int t) {
        const int image = t / tiles, first = t % tiles * kTile;
        kernels::normaliseColumns(x.ptr<float>(image) + first, pixels, channels,
                                  std::min(kTile, pixels - first), weight, bias, m_rule,
                                  out.ptr<float>(image) + first);
    });
}

LinearLayer::LinearLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 2, 3),
      m_activation(activationAttribute(params)),
      m_followsEncoder(choiceAttribute(params, "precision", "f32", "encoder")) {}

std::vector<Sizes> LinearLayer::outputSizes(const std::vector<Sizes>& operands) const {
    Sizes x = operands[0];
    const Sizes& weight = operands[1];
    if (x.empty() || weight.size() != 2 || x.back() != weight[0] || weight[0] < 1) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 "mpm: MpmLinear's weight must be [K, N] for an input of width K, got " + textOf(toShape(x)) +
                     " and " + textOf(toShape(weight)));
    }
    if (operands.size() > 2 && lengthOf(operands[2]) != static_cast<size_t>(weight[1])) {
        CV_Error(cv::Error::StsUnmatchedSizes, "mpm: MpmLinear's bias must be as long as its weight is wide");
    }
    x.back() = weight[1];
    return {x};
}

int64 LinearLayer::operations(const std::vector<Sizes>& operands, const Sizes& output) const {
    return operands[0].empty() ? 0 : checkedProduct<int64>(2, lengthOf(output), operands[0].back());
}

void LinearLayer::pack(const std::vector<cv::Mat>& in, Precision precision) {
    const cv::Mat weight = operand(in, 1), bias = operand(in, 2);
    std::vector<float> values;
    if (!bias.empty()) values.assign(bias.ptr<float>(), bias.ptr<float>() + weight.size[1]);
    m_weights = cpu::Linear(weight.ptr<float>(), weight.size[0], weight.size[1], values, precision);
    m_packed = weight;
    m_bias = bias;
    m_memory.clear();
}

void LinearLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0), weight = operand(in, 1), bias = operand(in, 2);
    const int depth = weight.size[0], rows = static_cast<int>(x.total() / depth);
    const Precision precision = m_followsEncoder ? network()->precisionOfRows() : Precision::F32;
    const bool constant = isConstant(in, 1) && isConstant(in, 2);
    const bool same = isSame(m_packed, weight) && (isSame(m_bias, bias) || (m_bias.empty() && bias.empty()));
    if (!constant || !same || m_weights.precision() != precision) pack(in, precision);
    const bool reuses = constant && network()->reuses();
    if (!reuses) m_memory.clear();
    try {
        const auto differ = reuses ? m_memory.update(x, depth, m_weights.columns()) : std::nullopt;
        float* const results = differ ? m_memory.results() : out[0].ptr<float>();
        cpu::multiplyRows(x.ptr<float>(), rows, differ ? &*differ : nullptr, m_weights, m_activation,
                          results);
        if (differ) parallelCopy(results, out[0].total(), out[0].ptr<float>());
    } catch (...) {
        m_memory.clear();  // the memory has new rows without results
        throw;
    }
}

}  // namespace mpm::dnn
