#include "mpm_layer/dnn/decoder_layers.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/kernels/common/limits.hpp"

namespace mpm::dnn {
namespace {

// More than any model has, and few enough for a thread's tile.
constexpr int kMostQueries = 65535, kMostClasses = 65535;

cv::Size sizeFrom(const cv::dnn::LayerParams& params) {
    const std::vector<int> size = wholeAttributes(params, "size", 1, kLongestSide);
    if (size.size() != 2) rejectAttribute(params, "size", "two numbers, rows and columns");
    if (static_cast<std::int64_t>(size[0]) * size[1] > kMostPixels) {
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: MpmMaskLabels gives %d x %d labels; at most %lld are allowed", size[0],
                            size[1], static_cast<long long>(kMostPixels)));
    }
    return {size[1], size[0]};
}

}  // namespace

MaskLabelsLayer::MaskLabelsLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 2, 2),
      m_size(sizeFrom(params)),
      m_sigmoidFirst(switchAttribute(params, "sigmoid_first")) {}

decoder::MaskLabelsShape MaskLabelsLayer::checkedShape(const Sizes& masks, const Sizes& logits) const {
    const bool fits = masks.size() == 4 && logits.size() == 3 && masks[0] == logits[0] &&
                      masks[1] == logits[1] && masks[1] >= 1 && masks[2] >= 1 && masks[3] >= 1 &&
                      logits[2] >= 2;
    if (!fits) {
        CV_Error(
            cv::Error::StsUnmatchedSizes,
            "mpm: MpmMaskLabels takes masks [batch, queries, rows, columns] and classes [batch, queries, "
            "classes + 1], none of them empty; got " +
                textOf(toShape(masks)) + " and " + textOf(toShape(logits)));
    }
    if (masks[1] > kMostQueries || logits[2] > kMostClasses) {
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: MpmMaskLabels takes at most %d queries and %d classes, got %d and %d",
                            kMostQueries, kMostClasses, masks[1], logits[2]));
    }
    return {masks[1], logits[2] - 1, cv::Size(masks[3], masks[2]), m_size};
}

std::vector<Sizes> MaskLabelsLayer::outputSizes(const std::vector<Sizes>& operands) const {
    checkedShape(operands[0], operands[1]);
    return std::vector<Sizes>(2, {operands[0][0], 1, m_size.height, m_size.width});
}

int64 MaskLabelsLayer::operations(const std::vector<Sizes>& operands, const Sizes& output) const {
    const Sizes &masks = operands[0], &logits = operands[1], &labels = m_sigmoidFirst ? masks : output;
    if (masks.size() != 4 || logits.size() != 3 || labels.size() != 4) return 0;
    return checkedProduct<int64>(2, masks[0], labels[2], labels[3], masks[1], logits[2] - 1);
}

void MaskLabelsLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat masks = operand(in, 0), logits = operand(in, 1);
    const decoder::MaskLabelsShape shape = checkedShape(sizesOf(masks), sizesOf(logits));
    decoder::MaskLabels labels(shape, m_sigmoidFirst);
    const auto pixels = static_cast<size_t>(m_size.area());  // fits: at most kMostPixels
    for (int i = 0; i < masks.size[0]; ++i) {
        labels.run(masks.ptr<float>(i), logits.ptr<float>(i),
                   [&](int row, int column, int count, const int* ids, const float* scores) {
                       const size_t at = i * pixels + static_cast<size_t>(row) * m_size.width + column;
                       writeIntegers(ids, count, out[0], at);
                       if (out.size() > 1) std::copy_n(scores, count, out[1].ptr<float>() + at);
                   });
    }
}

}  // namespace mpm::dnn
