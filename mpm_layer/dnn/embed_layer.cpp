#include "mpm_layer/dnn/embed_layer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/encoder/reuse/watched.hpp"
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

// The patches of a batch of images.
class PatchGrid {
public:
    PatchGrid(const cv::Mat& input, cv::Size patch)
        : m_input(input),
          m_patch(patch),
          m_columns(input.size[3] / patch.width),
          m_tokens(patchesOf(input.size[2], input.size[3], patch)) {}

    int tokens() const { return m_tokens; }

    /// Channel by channel, row by row, the order of the weights of a convolution.
    void gather(int image, int token, float* to) const {
        eachRow(image, token, [&](const float* from, int row) {
            std::copy_n(from, m_patch.width, to + static_cast<size_t>(row) * m_patch.width);
            return true;
        });
    }
    /// Whether gather() would write these bits.
    bool equals(int image, int token, const float* patch) const {
        return eachRow(image, token, [&](const float* from, int row) {
            return std::memcmp(from, patch + static_cast<size_t>(row) * m_patch.width,
                               m_patch.width * sizeof(float)) == 0;
        });
    }

private:
    /// Stops where visit(pixels, row) returns false.
    template <class Visit>
    bool eachRow(int image, int token, const Visit& visit) const {
        const int top = token / m_columns * m_patch.height;  // fits: a row of the image
        const int left = token % m_columns * m_patch.width;  // fits: a column of it
        for (int c = 0, row = 0; c < m_input.size[1]; ++c) {
            for (int y = 0; y < m_patch.height; ++y, ++row) {
                if (!visit(m_input.ptr<float>(image, c, top + y) + left, row)) return false;
            }
        }
        return true;
    }

    const cv::Mat& m_input;
    const cv::Size m_patch;
    const int m_columns, m_tokens;
};

// The same for every image.
void layTable(const cv::Mat& table, cv::Mat& out) {
    for (int b = 0; b < out.size[0]; ++b)
        std::copy_n(table.ptr<float>(), table.total(), out.ptr<float>() + b * table.total());
}

kernels::Epilogue onTable() {
    kernels::Epilogue epilogue;
    epilogue.add = true;
    return epilogue;
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
    const bool packed = projects() && pack(operand(in, 2), isConstant(in, 2));
    const bool again = projects() && isConstant(in, 1) && isConstant(in, 2) && tokensAreWatched(out[0].data);
    if (packed || !again) m_tokens.release();
    if (again) return projectAgain(x, table, out[0]);
    m_patchRows = kernels::Buffer();
    layTable(table, out[0]);
    if (projects()) {
        project(x, out[0]);
    } else {
        lay(x, out[0]);
    }
}

bool EmbedLayer::pack(const cv::Mat& weight, bool constant) {
    const int depth = weight.size[0], dim = weight.size[1];
    if (m_weights.depth() == depth && m_weights.columns() == dim && constant) return false;
    m_weights = kernels::PackedWeights(weight.ptr<float>(), dim, depth, dim);
    return true;
}

void EmbedLayer::project(const cv::Mat& input, cv::Mat& out) const {
    const int depth = m_weights.depth(), dim = m_weights.columns(), rows = out.size[1];
    const PatchGrid grid(input, m_patch);
    const int group = kernels::rowGroup(), chunk = (48 + group - 1) / group * group;
    const int chunks = (grid.tokens() + chunk - 1) / chunk;
    const size_t stride = kernels::paddedStride(depth);
    // Each chunk has a token of the output.
    parallelRanges(checkedProduct<int>(input.size[0], chunks), [&](const cv::Range& range) {
        kernels::Buffer patches(kernels::paddedSize(chunk, stride));
        for (int k = range.start; k < range.end; ++k) {
            const int b = k / chunks, begin = k % chunks * chunk;
            const int count = std::min(chunk, grid.tokens() - begin);
            for (int t = 0; t < count; ++t)
                grid.gather(b, begin + t, patches.data() + t * stride);
            float* to = out.ptr<float>() + (static_cast<size_t>(b) * rows + m_first + begin) * dim;
            kernels::product(patches.data(), stride, count, m_weights, onTable(), to, dim);
        }
    });
}

void EmbedLayer::projectAgain(const cv::Mat& input, const cv::Mat& table, cv::Mat& out) {
    const int depth = m_weights.depth(), dim = m_weights.columns(), rows = out.size[1];
    const PatchGrid grid(input, m_patch);
    // The unit of products: few patches around one that changed.
    const int chunk = kernels::rowGroup(), chunks = (grid.tokens() + chunk - 1) / chunk;
    const size_t stride = kernels::paddedStride(depth), step = kernels::paddedSize(chunk, stride);
    const std::vector<int> sizes(input.size.p, input.size.p + input.dims);
    const bool known = !m_tokens.empty() && m_inputSizes == sizes;
    if (!known) {
        m_inputSizes = sizes;
        m_patchRows.reserve(checkedProduct<size_t>(input.size[0], chunks, step));
        m_tokens.create(out.dims, out.size.p, CV_32F);
        layTable(table, m_tokens);
    }
    parallelRanges(checkedProduct<int>(input.size[0], chunks), [&](const cv::Range& range) {
        for (int k = range.start; k < range.end; ++k) {
            const int b = k / chunks, begin = k % chunks * chunk;
            const int count = std::min(chunk, grid.tokens() - begin);
            float* const patches = m_patchRows.data() + k * step;
            bool changed = !known;
            for (int t = 0; t < count; ++t) {
                if (known && grid.equals(b, begin + t, patches + t * stride)) continue;
                grid.gather(b, begin + t, patches + t * stride);
                changed = true;
            }
            if (!changed) continue;
            const size_t at = static_cast<size_t>(m_first + begin) * dim;
            float* const to = m_tokens.ptr<float>() + static_cast<size_t>(b) * rows * dim + at;
            std::copy_n(table.ptr<float>() + at, static_cast<size_t>(count) * dim, to);
            kernels::product(patches, stride, count, m_weights, onTable(), to, dim);
        }
    });
    std::copy_n(m_tokens.ptr<float>(), m_tokens.total(), out.ptr<float>());
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
