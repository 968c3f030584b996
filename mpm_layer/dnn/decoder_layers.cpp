#include "mpm_layer/dnn/decoder_layers.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/decoder/row_scores.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/kernels/common/limits.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm::dnn {
namespace {

bool isOneOf(const std::string& text, std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) { return text == word; });
}

// The same interpolation is called `bilinear` in ONNX opset 16 and `linear` in opset 20.
decoder::GridSampling samplingFrom(const cv::dnn::LayerParams& params) {
    const std::string mode = textAttribute(params, "mode", "bilinear"),
                      padding = textAttribute(params, "padding_mode", "zeros");
    if (!isOneOf(mode, {"bilinear", "linear", "nearest"}))
        rejectAttribute(params, "mode", "bilinear, linear or nearest");
    if (!isOneOf(padding, {"zeros", "border"})) rejectAttribute(params, "padding_mode", "zeros or border");
    return {mode == "nearest", padding == "border", switchAttribute(params, "align_corners")};
}

// The largest index that an output can hold. f32 represents all whole numbers up to 2^24.
constexpr int kLargestIndex = kInteger == CV_32F ? 1 << 24 : std::numeric_limits<int>::max();

int countFrom(const cv::dnn::LayerParams& params) {
    if (!params.has("k")) rejectAttribute(params, "k", "given");
    return wholeAttribute(params, "k", 0, 1, std::numeric_limits<int>::max());
}

}  // namespace

std::vector<Sizes> MaskedSoftmaxLayer::outputSizes(const std::vector<Sizes>& operands) const {
    const Sizes& scores = operands[0];
    if (operands.size() == 1) {
        if (scores.empty() || scores.back() < 1)
            rejectSizes("MpmMaskedSoftmax takes scores with keys", operands);
        return operands;
    }
    const Sizes& masks = operands[1];
    const bool fits = scores.size() == 3 && masks.size() == 3 && masks[0] > 0 && scores[0] % masks[0] == 0 &&
                      scores[1] == masks[1] && scores[2] == masks[2] && scores[2] > 0;
    if (!fits) {
        rejectSizes(
            "MpmMaskedSoftmax takes scores [batch * heads, queries, keys] and masks [batch, queries, keys]",
            operands);
    }
    return {scores};
}

void MaskedSoftmaxLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat scores = operand(in, 0), masks = operand(in, 1);
    const int keys = scores.size[scores.dims - 1];
    const auto maskOf = [&](int row) -> const float* {
        if (masks.empty()) return nullptr;
        const int queries = scores.size[1], heads = scores.size[0] / masks.size[0];
        return masks.ptr<float>(row / queries / heads) + static_cast<size_t>(row % queries) * keys;
    };
    constexpr int kGrain = 1 << 14;  // scores of a parallel task
    parallelFor(
        checkedCast<int>(scores.total() / keys),
        [&](int row) {
            const size_t at = static_cast<size_t>(row) * keys;
            kernels::maskedSoftmax(scores.ptr<float>() + at, maskOf(row), keys, out[0].ptr<float>() + at);
        },
        std::max(kGrain / keys, 1));
}

GridSampleLayer::GridSampleLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 2, 2), m_sampling(samplingFrom(params)) {}

std::vector<Sizes> GridSampleLayer::outputSizes(const std::vector<Sizes>& operands) const {
    const Sizes &map = operands[0], &grid = operands[1];
    const bool fits =
        map.size() == 4 && grid.size() == 4 && map[0] == grid[0] && grid[3] == 2 && map[2] > 0 && map[3] > 0;
    if (!fits) {
        rejectSizes(
            "MpmGridSample takes a map [batch, channels, rows, columns], not empty, and a grid [batch, rows, "
            "columns, 2]",
            operands);
    }
    return {{map[0], map[1], grid[1], grid[2]}};
}

int64 GridSampleLayer::operations(const std::vector<Sizes>&, const Sizes& output) const {
    return m_sampling.nearest ? 0 : checkedProduct<int64>(2, 4, checkedTotal<int64>(output));
}

void GridSampleLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat map = operand(in, 0), grid = operand(in, 1);
    if (out[0].empty()) return;
    const int points = checkedProduct<int>(grid.size[1], grid.size[2]), channels = map.size[1];
    const size_t each = checkedProduct<size_t>(channels, points);
    for (int i = 0; i < map.size[0]; ++i) {
        decoder::gridSample(m_sampling, map.ptr<float>(i), channels, cv::Size(map.size[3], map.size[2]),
                            grid.ptr<float>(i), points, out[0].ptr<float>() + i * each);
    }
}

ShareLayer::ShareLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 3, 3),
      m_special(wholeAttribute(params, "special_tokens", 1, 0, kMostSpecialTokens)) {
    const std::vector<int> grid = wholeAttributes(params, "grid", 2, kLongestSide);
    if (grid.size() != 2 || grid[0] % 2 || grid[1] % 2)
        rejectAttribute(params, "grid", "rows and columns of patches, both even");
    m_rows = grid[0];
    m_columns = grid[1];
    const auto superpatches = checkedProduct<int>(m_rows / 2, m_columns / 2);
    checkedProduct<int>(superpatches, 4);
    if (!params.has("shared")) rejectAttribute(params, "shared", "given");
    m_control = std::make_shared<SharingControl>(cv::Size(m_columns / 2, m_rows / 2),
                                                 wholeAttribute(params, "shared", 0, 0, superpatches));
}

std::vector<Sizes> ShareLayer::outputSizes(const std::vector<Sizes>& operands) const {
    const Sizes &policy = operands[0], &fine = operands[1], &coarse = operands[2];
    const int patches = checkedProduct<int>(m_rows, m_columns);
    const bool fits = policy.size() == 4 && fine.size() == 3 && coarse.size() == 3 && fine[2] > 0 &&
                      policy == Sizes{fine[0], 2, m_rows / 2, m_columns / 2} &&
                      fine[1] == checkedSum<int>(m_special, patches) &&
                      coarse == Sizes{fine[0], patches / 4, fine[2]};
    if (!fits) {
        rejectSizes(cv::format("MpmShare takes a policy [batch, 2, %d, %d], tokens [batch, %d + %d, dim] and "
                               "shared tokens [batch, %d, dim]",
                               m_rows / 2, m_columns / 2, m_special, patches, patches / 4),
                    operands);
    }
    return {fine, {fine[0], patches}};
}

void ShareLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat policy = operand(in, 0), fine = operand(in, 1), coarse = operand(in, 2);
    const int patches = checkedProduct<int>(m_rows, m_columns), across = m_columns / 2;
    const size_t dim = fine.size[2], rows = fine.size[1];
    const std::vector<cv::Mat> scores = m_control->scores(fine.size[0]);
    const int count = m_control->shared();
    std::copy_n(fine.ptr<float>(), fine.total(), out[0].ptr<float>());
    for (int i = 0; i < fine.size[0]; ++i) {
        const std::vector<int> shared = decoder::sharedSuperpatches(
            scores.empty() ? decoder::policyScores(policy.ptr<float>(i), patches / 4)
                           : std::vector<float>(scores[i].begin<float>(), scores[i].end<float>()),
            count);
        float* const tokens = out[0].ptr<float>() + (i * rows + m_special) * dim;
        for (const int superpatch : shared) {
            const float* token = coarse.ptr<float>(i) + superpatch * dim;
            const size_t first =
                static_cast<size_t>(superpatch / across) * 2 * m_columns + superpatch % across * 2;
            for (const size_t patch : {first, first + 1, first + m_columns, first + m_columns + 1})
                std::copy_n(token, dim, tokens + patch * dim);
        }
        const std::vector<int> map = decoder::sharedMap(shared, m_rows, m_columns);
        if (out.size() > 1) writeIntegers(map.data(), patches, out[1], static_cast<size_t>(i) * patches);
    }
}

TopKLayer::TopKLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 1, 1), m_count(countFrom(params)), m_flatten(switchAttribute(params, "flatten")) {
    network()->select();
}

std::vector<Sizes> TopKLayer::outputSizes(const std::vector<Sizes>& operands) const {
    const Sizes& scores = operands[0];
    if ((scores.size() != 2 && scores.size() != 3) || scores.back() < 1)
        rejectSizes("MpmTopK takes scores [batch, S] or [batch, S, classes], not empty", operands);
    const int count = m_flatten && scores.size() == 3 ? checkedProduct<int>(scores[1], scores[2]) : scores[1];
    if (m_count > count) {
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: MpmTopK's attribute k is %d, but there are %d scores", m_count, count));
    }
    if (count - 1 > kLargestIndex) {
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: MpmTopK's indices are f32 here, exact up to %d; there are %d scores",
                            kLargestIndex, count));
    }
    return {{scores[0], m_count}, {scores[0], m_count}};
}

void TopKLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    cv::Mat scores = operand(in, 0);
    const int images = scores.size[0], rows = scores.size[1];
    if (scores.dims == 3 && !m_flatten) {
        cv::Mat largest(images, rows, CV_32F);
        decoder::largestOfRows(scores.ptr<float>(), checkedProduct<int>(images, rows), scores.size[2],
                               largest.ptr<float>());
        scores = largest;
    }
    const int count = images == 0 ? 0 : checkedCast<int>(scores.total() / images);
    for (int i = 0; i < images; ++i) {
        const float* own = scores.ptr<float>() + static_cast<size_t>(i) * count;
        const std::vector<int> best = decoder::bestScores(own, count, m_count);
        const size_t at = static_cast<size_t>(i) * m_count;
        std::transform(best.begin(), best.end(), out[0].ptr<float>() + at, [&](int b) { return own[b]; });
        if (out.size() > 1) writeIntegers(best.data(), m_count, out[1], at);
    }
}

std::vector<Sizes> GatherRowsLayer::outputSizes(const std::vector<Sizes>& operands) const {
    const size_t at = dataAt(operands[0]);
    const Sizes &data = operands[at], &indices = operands[1 - at];
    if (data.size() != 3 || indices.size() != 2 || (data[0] != 1 && data[0] != indices[0])) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 "mpm: MpmGatherRows takes data [1 or batch, S, dim] and indices [batch, k]; got " +
                     textOf(toShape(data)) + " and " + textOf(toShape(indices)));
    }
    return {{indices[0], indices[1], data[2]}};
}

void GatherRowsLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const size_t at = dataAt(sizesOf(in[0])), other = 1 - at;
    const cv::Mat data = operand(in, at);
    const std::vector<int> indices =
        readIntegers(other < in.size() ? in[other] : blobs[other - in.size()], "MpmGatherRows' indices");
    const int rows = data.size[1], width = data.size[2];
    const auto outside =
        std::find_if(indices.begin(), indices.end(), [&](int i) { return i < 0 || i >= rows; });
    if (outside != indices.end()) {
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: MpmGatherRows' index %d must be a whole number of 0..%d",
                            static_cast<int>(outside - indices.begin()), rows - 1));
    }
    if (out[0].empty()) return;
    const int images = out[0].size[0], count = out[0].size[1];
    for (int i = 0; i < images; ++i) {
        const size_t first = static_cast<size_t>(i) * count;
        decoder::gatherRows(data.ptr<float>(data.size[0] == 1 ? 0 : i), width, indices.data() + first, count,
                            out[0].ptr<float>() + first * width);
    }
}

namespace {

// Models stay far below these limits, which bound the memory of a thread's tile.
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
