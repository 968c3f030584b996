#include "mpm_layer/dnn/embed_layer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/kernels/common/limits.hpp"

namespace mpm::dnn {
namespace {

// Adds tokens that are stored with channels first, as a convolution outputs them. Reads are strided, so that
// each token is written once, in order.
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

// Copies the table to each image of `out`. If `out` has more rows than the table, the rows in front become
// zeros.
void layTable(const cv::Mat& table, cv::Mat& out) {
    const size_t image = out.total() / std::max(1, out.size[0]), zeros = image - table.total();
    for (int b = 0; b < out.size[0]; ++b) {
        float* const to = out.ptr<float>() + b * image;
        std::fill_n(to, zeros, 0.0f);
        parallelCopy(table.ptr<float>(), table.total(), to + zeros);
    }
}

kernels::Epilogue onTable() {
    kernels::Epilogue epilogue;
    epilogue.add = true;
    return epilogue;
}

}  // namespace

class PatchGrid {
public:
    PatchGrid(const cv::Mat& images, cv::Size patch)
        : m_images(images),
          m_patch(patch),
          m_columns(images.size[3] / patch.width),
          m_tokens(patchesOf(images.size[2], images.size[3], patch)) {}

    int tokens() const { return m_tokens; }
    int columns() const { return m_columns; }

    /// Copies a patch in the order of a convolution's weights: channel by channel, row by row.
    void gather(int image, int token, float* to) const {
        eachRow(image, token, [&](const float* from) {
            to = std::copy_n(from, m_patch.width, to);
            return true;
        });
    }
    /// Returns whether a patch has the same bits in `other`, whose images must have the same size.
    bool samePatch(const PatchGrid& other, int image, int token) const {
        return eachRow(image, token, [&](const float* row) {
            const float* const others = other.m_images.ptr<float>() + (row - m_images.ptr<float>());
            return std::memcmp(row, others, m_patch.width * sizeof(float)) == 0;
        });
    }
    /// Returns whether patches first..end-1 (complete rows of patches) have the same bits in `other`.
    bool sameRows(const PatchGrid& other, int image, int first, int end) const {
        return eachBand(image, first, end, [&](size_t at, size_t count) {
            return std::memcmp(m_images.ptr<float>() + at, other.m_images.ptr<float>() + at,
                               count * sizeof(float)) == 0;
        });
    }
    void copyRows(const PatchGrid& from, int image, int first, int end) {
        eachBand(image, first, end, [&](size_t at, size_t count) {
            std::copy_n(from.m_images.ptr<float>() + at, count, m_images.ptr<float>() + at);
            return true;
        });
    }

private:
    /// Calls visit(pixels) for each row of a patch, until visit() returns false.
    template <class Visit>
    bool eachRow(int image, int token, const Visit& visit) const {
        const int top = token / m_columns * m_patch.height;  // fits: a row of the image
        const int left = token % m_columns * m_patch.width;  // fits: a column
        for (int c = 0; c < m_images.size[1]; ++c) {
            for (int y = 0; y < m_patch.height; ++y) {
                if (!visit(m_images.ptr<float>(image, c, top + y) + left)) return false;
            }
        }
        return true;
    }
    /// Calls visit(offset, count) for each channel of patches first..end-1, until visit() returns false.
    template <class Visit>
    bool eachBand(int image, int first, int end, const Visit& visit) const {
        const int top = first / m_columns * m_patch.height;             // fits: a row of the image
        const int height = (end - first) / m_columns * m_patch.height;  // fits: rows of the image
        for (int c = 0; c < m_images.size[1]; ++c) {
            const float* const pixels = m_images.ptr<float>(image, c, top);
            if (!visit(pixels - m_images.ptr<float>(), static_cast<size_t>(height) * m_images.size[3]))
                return false;
        }
        return true;
    }

    cv::Mat m_images;
    cv::Size m_patch;
    int m_columns, m_tokens;
};

EmbedLayer::EmbedLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, params.has("patch") ? 3 : 2, params.has("patch") ? 3 : 2),
      m_first(wholeAttribute(params, "first", 0, 0, kMostSpecialTokens)),
      m_zeros(wholeAttribute(params, "zeros", 0, 0, std::numeric_limits<int>::max())),
      m_patches(wholeAttribute(params, "patches", -1, -1, std::numeric_limits<int>::max())),
      m_patch(patchOf(params)) {
    if (projects() && m_zeros > 0) rejectAttribute(params, "zeros", "0 if there is a patch");
}

std::vector<Sizes> EmbedLayer::outputSizes(const std::vector<Sizes>& operands) const {
    if (projects()) return {projectedSizes(operands)};
    const Sizes &x = operands[0], &table = operands[1];
    const bool grid = x.size() == 4;
    if ((!grid && x.size() != 3) || table.size() != 2) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmEmbed takes patches [B, D, rows, columns] or [B, N, D] and a table [T, D]");
    }
    const int tokens = grid ? checkedProduct<int>(x[2], x[3]) : x[1], dim = grid ? x[1] : x[2];
    const int rows = checkedSum<int>(m_zeros, table[0]);
    if (table[1] != dim || !fits(tokens, rows)) {
        CV_Error(cv::Error::StsUnmatchedSizes, cv::format("mpm: MpmEmbed's table of %d rows and %d columns "
                                                          "does not fit %d patches of width %d from row %d",
                                                          rows, table[1], tokens, dim, m_first));
    }
    return {{x[0], rows, dim}};
}

// Returns whether the patches fit the table. Throws if the model requires another number of patches: without
// this check, the table would also accept fewer patches.
bool EmbedLayer::fits(int tokens, int rows) const {
    if (m_patches >= 0 && tokens != m_patches) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEmbed takes images of %d patches, not of %d", m_patches, tokens));
    }
    return m_first <= rows && tokens <= rows - m_first;
}

Sizes EmbedLayer::projectedSizes(const std::vector<Sizes>& operands) const {
    const Sizes &x = operands[0], &table = operands[1], &weight = operands[2];
    if (x.size() != 4 || table.size() != 2 || weight.size() != 2) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmEmbed with a patch takes images [B, C, rows, columns], a table [T, D] and a "
                 "weight [C * patch, D]");
    }
    const int tokens = patchesOf(x[2], x[3], m_patch);
    const auto depth = checkedProduct<int64>(x[1], m_patch.height, m_patch.width);
    if (depth < 1 || weight[0] != depth || weight[1] != table[1] || !fits(tokens, table[0])) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmEmbed's table of %d rows and %d columns and weight of %d rows and %d "
                            "columns do not fit %d patches of %dx%d and %d channels from row %d",
                            table[0], table[1], weight[0], weight[1], tokens, m_patch.height, m_patch.width,
                            x[1], m_first));
    }
    return {x[0], table[0], table[1]};
}

int64 EmbedLayer::operations(const std::vector<Sizes>& operands, const Sizes&) const {
    if (!projects()) return 0;
    const Sizes &x = operands[0], &weight = operands[2];
    if (x.size() != 4 || weight.size() != 2) return 0;
    return checkedProduct<int64>(2, x[0], patchesOf(x[2], x[3], m_patch), weight[0], weight[1]);
}

void EmbedLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0), table = operand(in, 1);
    const bool packed = projects() && pack(operand(in, 2), isConstant(in, 2));
    const bool again =
        projects() && isConstant(in, 1) && isConstant(in, 2) && network()->watches(out[0].data);
    if (packed || !again) m_tokens.release();
    if (again) return projectAgain(x, table, out[0]);
    m_images.release();
    layTable(table, out[0]);
    if (!projects()) return lay(x, out[0]);
    const PatchGrid grid(x, m_patch);
    eachRowOfPatches(grid, x.size[0], [&](int image, int first, int end) {
        std::vector<int> all(end - first);
        std::iota(all.begin(), all.end(), first);
        project(grid, image, all, table, out[0]);
    });
}

bool EmbedLayer::pack(const cv::Mat& weight, bool constant) {
    // If a layer of the network selects positions of the image by their scores, products are in f32. Some
    // models with such a layer, like DEIMv2, have no norm before the scores, so errors of bf16 in the scores
    // grow with the largest token.
    const Precision precision = network()->precisionOfRows();
    const int depth = weight.size[0], dim = weight.size[1];
    const bool same = isSame(m_packed, weight) && m_weights.precision() == precision;
    if (same && constant) return false;
    m_weights = cpu::Linear(weight.ptr<float>(), depth, dim, {}, precision);
    m_depth = depth;
    m_packed = weight;
    return true;
}

// Calls visit(image, first, end) in parallel. Tokens first..end-1 are whole rows of patches.
template <class Visit>
void EmbedLayer::eachRowOfPatches(const PatchGrid& grid, int images, const Visit& visit) const {
    if (grid.tokens() == 0) return;
    constexpr int kPatches = 48;  // so few that patches and results fit in a cache
    const int chunk = std::max(1, kPatches / grid.columns()) * grid.columns();  // fits: a row, or few patches
    const int chunks = (grid.tokens() + chunk - 1) / chunk;
    parallelFor(checkedProduct<int>(images, chunks), [&](int k) {
        const int first = k % chunks * chunk;  // fits: a token
        visit(k / chunks, first, std::min(first + chunk, grid.tokens()));
    });
}

// Multiplies the patches of some tokens by the weights, and adds the table's rows.
void EmbedLayer::project(const PatchGrid& grid, int image, const std::vector<int>& tokens,
                         const cv::Mat& table, cv::Mat& out) const {
    static thread_local kernels::Buffer memory, scratch;
    const int dim = m_weights.columns(), count = static_cast<int>(tokens.size());
    cpu::LeftRows patches(memory, m_weights.precision(), count, m_depth);
    float* const sums = scratch.reserve(checkedProduct<size_t>(count, dim));
    for (int r = 0; r < count; ++r) {
        patches.fill(r, [&](float* to) { grid.gather(image, tokens[r], to); });
        std::copy_n(table.ptr<float>(m_first + tokens[r]), dim, sums + static_cast<size_t>(r) * dim);
    }
    m_weights.apply(patches, onTable(), sums, dim);
    for (int r = 0; r < count; ++r)
        std::copy_n(sums + static_cast<size_t>(r) * dim, dim, out.ptr<float>(image, m_first + tokens[r]));
}

void EmbedLayer::projectAgain(const cv::Mat& input, const cv::Mat& table, cv::Mat& out) {
    const bool known = !m_tokens.empty() && m_images.size == input.size;
    if (!known) {
        m_images.create(input.dims, input.size.p, CV_32F);
        m_tokens.create(out.dims, out.size.p, CV_32F);
        layTable(table, m_tokens);
    }
    cv::Mat tokens = std::exchange(m_tokens, {});  // if a product throws, m_tokens stays empty
    const PatchGrid grid(input, m_patch);
    PatchGrid before(m_images, m_patch);
    eachRowOfPatches(grid, input.size[0], [&](int image, int first, int end) {
        if (known && grid.sameRows(before, image, first, end)) return;
        std::vector<int> changed;
        for (int t = first; t < end; ++t)
            if (!known || !grid.samePatch(before, image, t)) changed.push_back(t);
        if (!changed.empty()) project(grid, image, changed, table, tokens);
        before.copyRows(grid, image, first, end);
    });
    parallelCopy(tokens.ptr<float>(), tokens.total(), out.ptr<float>());
    m_tokens = tokens;
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
