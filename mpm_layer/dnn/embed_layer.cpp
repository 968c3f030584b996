#include "mpm_layer/dnn/embed_layer.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/common/limits.hpp"

namespace mpm::dnn {
namespace {

// Channels first, as a convolution leaves them: a strided read of each token, written once.
void addChannelsFirst(const float* from, int tokens, int dim, int begin, int end, float* to) {
    for (int t = begin; t < end; ++t) {
        for (int c = 0; c < dim; ++c)
            to[static_cast<size_t>(t) * dim + c] += from[static_cast<size_t>(c) * tokens + t];
    }
}

cv::Size patchOf(const cv::dnn::LayerParams& params) {
    if (!params.has("patch")) return {};
    const std::vector<int> patch = wholeAttributes(params, "patch", 1, kLongestSide);
    if (patch.size() != 2) rejectAttribute(params, "patch", "two sizes, rows and columns");
    return {patch[1], patch[0]};
}

int patchesOf(int rows, int columns, cv::Size patch) {
    return checkedProduct<int>(rows / patch.height, columns / patch.width);
}

// Channel by channel, row by row, the order of the weights of a convolution.
void gatherPatch(const cv::Mat& input, int image, cv::Point corner, cv::Size patch, float* to) {
    for (int c = 0; c < input.size[1]; ++c) {
        for (int y = 0; y < patch.height; ++y, to += patch.width) {
            const float* from = input.ptr<float>(image, c, corner.y + y) + corner.x;
            std::copy_n(from, patch.width, to);
        }
    }
}

}  // namespace

EmbedLayer::EmbedLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params),
      m_first(wholeAttribute(params, "first", 0, 0, kMostSpecialTokens)),
      m_patches(wholeAttribute(params, "patches", -1, -1, std::numeric_limits<int>::max())),
      m_patch(patchOf(params)) {}

cv::Ptr<cv::dnn::Layer> EmbedLayer::create(cv::dnn::LayerParams& params) {
    return cv::Ptr<cv::dnn::Layer>(new EmbedLayer(params));
}

std::vector<Shape> EmbedLayer::outputShapes(const std::vector<Shape>& in) const {
    if (projects()) return projectedShapes(in);
    checkOperands(in.size(), 2, 2);
    const std::vector<int> x = operandShape(in, 0), table = operandShape(in, 1);
    const bool grid = x.size() == 4;
    if ((!grid && x.size() != 3) || table.size() != 2) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmEmbed takes patches [B, D, rows, columns] or [B, N, D] and a table [T, D]");
    }
    const int tokens = grid ? checkedProduct<int>(x[2], x[3]) : x[1], dim = grid ? x[1] : x[2];
    if (table[1] != dim || !fits(tokens, table[0])) {
        CV_Error(cv::Error::StsUnmatchedSizes, cv::format("mpm: MpmEmbed's table of %d rows and %d columns "
                                                          "does not fit %d patches of width %d from row %d",
                                                          table[0], table[1], tokens, dim, m_first));
    }
    return {toShape({x[0], table[0], dim})};
}

// The model's number of patches, if it is known, so that a smaller image is rejected.
bool EmbedLayer::fits(int tokens, int rows) const {
    if (m_patches >= 0 && tokens != m_patches) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEmbed takes images of %d patches, not of %d", m_patches, tokens));
    }
    return m_first <= rows && tokens <= rows - m_first;
}

std::vector<Shape> EmbedLayer::projectedShapes(const std::vector<Shape>& in) const {
    checkOperands(in.size(), 3, 3);
    const std::vector<int> x = operandShape(in, 0), table = operandShape(in, 1), weight = operandShape(in, 2);
    if (x.size() != 4 || table.size() != 2 || weight.size() != 2) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmEmbed with a patch takes images [B, C, rows, columns], a table [T, D] and a "
                 "weight [C * patch, D]");
    }
    const int tokens = patchesOf(x[2], x[3], m_patch);
    const auto depth = checkedProduct<int64>(x[1], m_patch.height, m_patch.width);
    if (weight[0] != depth || weight[1] != table[1] || !fits(tokens, table[0])) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEmbed's table of %d rows and %d columns and weight of %d rows and %d "
                            "columns do not fit %d patches of %dx%d and %d channels from row %d",
                            table[0], table[1], weight[0], weight[1], tokens, m_patch.height, m_patch.width,
                            x[1], m_first));
    }
    return {toShape({x[0], table[0], table[1]})};
}

int64 EmbedLayer::getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>&) const {
    if (in.empty() || !projects()) return 0;
    const std::vector<int> x = operandShape(in, 0), weight = operandShape(in, 2);
    if (x.size() != 4 || weight.size() != 2) return 0;
    return checkedProduct<int64>(2, x[0], patchesOf(x[2], x[3], m_patch), weight[0], weight[1]);
}

void EmbedLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0), table = operand(in, 1);
    for (int b = 0; b < x.size[0]; ++b)
        std::copy_n(table.ptr<float>(), table.total(), out[0].ptr<float>() + b * table.total());
    if (projects()) {
        project(x, operand(in, 2), isConstant(in, 2), out[0]);
    } else {
        lay(x, out[0]);
    }
}

void EmbedLayer::project(const cv::Mat& input, const cv::Mat& weight, bool keepWeights, cv::Mat& out) {
    const int depth = weight.size[0], dim = weight.size[1], images = input.size[0], rows = out.size[1];
    if (m_weights.depth() != depth || m_weights.columns() != dim || !keepWeights)
        m_weights = kernels::PackedWeights(weight.ptr<float>(), dim, depth, dim);
    const int columns = input.size[3] / m_patch.width;
    const int tokens = patchesOf(input.size[2], input.size[3], m_patch);
    const int group = kernels::rowGroup(), chunk = (48 + group - 1) / group * group;
    const int chunks = (tokens + chunk - 1) / chunk;
    const size_t stride = kernels::paddedStride(depth);
    kernels::Epilogue onTable;
    onTable.add = true;
    // Each chunk has a token of the output.
    parallelRanges(checkedProduct<int>(images, chunks), [&](const cv::Range& range) {
        kernels::Buffer patches(kernels::paddedSize(chunk, stride));
        for (int k = range.start; k < range.end; ++k) {
            const int b = k / chunks, begin = k % chunks * chunk, count = std::min(chunk, tokens - begin);
            for (int t = 0; t < count; ++t) {
                const int row = (begin + t) / columns, column = (begin + t) % columns;
                const cv::Point corner(column * m_patch.width, row * m_patch.height);
                gatherPatch(input, b, corner, m_patch, patches.data() + t * stride);
            }
            float* to = out.ptr<float>() + (static_cast<size_t>(b) * rows + m_first + begin) * dim;
            kernels::product(patches.data(), stride, count, m_weights, onTable, to, dim);
        }
    });
}

void EmbedLayer::lay(const cv::Mat& x, cv::Mat& out) const {
    const bool grid = x.dims == 4;
    const int images = x.size[0], rows = out.size[1], dim = out.size[2];
    const int tokens = grid ? checkedProduct<int>(x.size[2], x.size[3]) : x.size[1];
    const size_t size = static_cast<size_t>(tokens) * dim;
    constexpr int kChunk = 64;
    const int chunks = (tokens + kChunk - 1) / kChunk;
    parallelRanges(checkedProduct<int>(images, chunks), [&](const cv::Range& range) {
        for (int k = range.start; k < range.end; ++k) {
            const int b = k / chunks, begin = k % chunks * kChunk, end = std::min(tokens, begin + kChunk);
            const float* from = x.ptr<float>() + b * size;
            float* to = out.ptr<float>() + (static_cast<size_t>(b) * rows + m_first) * dim;
            if (grid) {
                addChannelsFirst(from, tokens, dim, begin, end, to);
            } else {
                for (size_t i = static_cast<size_t>(begin) * dim; i < static_cast<size_t>(end) * dim; ++i)
                    to[i] += from[i];
            }
        }
    });
}

}  // namespace mpm::dnn
