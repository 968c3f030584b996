#include "mpm_layer/cpu/winograd.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/kernels/product/winograd.hpp"

namespace mpm::cpu {
namespace {

using kernels::kWinogradInput;
using kernels::kWinogradProducts;
using kernels::kWinogradTile;

constexpr int kTiles = 64;           // tiles of a task; a multiple of the columns of a panel
constexpr int kBlockChannels = 512;  // channels of a block; a task's factors fit in the level-3 cache
constexpr int kSumRows = 96;         // rows of weights; their sums fit in the level-2 cache
constexpr int kLeastRows = 48;       // smallest number of rows of weights of a task
constexpr int kLanes = 16;           // floats of the widest vector
// Outputs and intermediate values are at most this many times as large as the sum of the absolute values of
// the convolution's products. WinogradWeights::largestPixel() follows from this limit.
constexpr float kGrowth = 4096;

int tilesOf(const ConvAxis& axis) {
    return divideUp(axis.outputs(), kWinogradTile);
}

// Consecutive tiles of a row. `column`: the column of the first tile in the right operand.
struct Run {
    int row, first, count, column;
};

class Winograd {
public:
    Winograd(const float* images, bool rectified, const ConvShape& shape, const WinogradWeights& weights,
             const ConvEnd& end, float* output)
        : m_images(images),
          m_rectified(rectified),
          m_shape(shape),
          m_weights(weights),
          m_end(end),
          m_output(output),
          m_tilesX(tilesOf(shape.x)),
          m_tiles(m_tilesX * tilesOf(shape.y)),  // fits: fewer than pixels
          m_blocks(divideUp(shape.channels, kBlockChannels)),
          m_blockChannels(divideUp(shape.channels, m_blocks)),
          m_bad(shape.images) {}

    std::vector<int> run() {
        // If there are few tiles, makes the tasks smaller, and then also divides the output channels.
        const int threads = std::max(1, cv::getNumThreads()), images = m_shape.images;
        const int columns = kernels::panelColumns(), panels = divideUp(m_tiles, columns);
        int groups = divideUp(panels, kTiles / columns);
        if (checkedProduct<int>(images, groups) < 4 * threads)
            groups = std::max(groups, panels / (kTiles / 2 / columns));
        const int tasks = std::max(1, checkedProduct<int>(images, groups));
        int parts = std::clamp(2 * threads / tasks, 1, divideUp(m_shape.outs, kLeastRows));
        parts -= parts > threads ? parts % threads : 0;
        const int each = groups * parts;
        const auto firstTile = [&](int group) {
            return std::min(m_tiles, static_cast<int>(std::int64_t{panels} * group / groups) * columns);
        };
        parallelRanges(checkedProduct<int>(images, each), [&](const cv::Range& range) {
            Task task(*this);
            for (int k = range.start; k < range.end; ++k) {
                const int group = k % each / parts;
                task.run(k / each, firstTile(group), firstTile(group + 1), k % parts, parts);
            }
        });
        std::vector<int> bad;
        for (int image = 0; image < m_shape.images; ++image)
            if (m_bad[image]) bad.push_back(image);
        return bad;
    }

private:
    // The work on some tiles of an image and, if there are few tiles, on a part of the output channels.
    class Task {
    public:
        explicit Task(const Winograd& all)
            : m_all(all),
              m_shape(all.m_shape),
              m_sumRows(all.m_blocks > 1 ? m_shape.outs : std::min(kSumRows, m_shape.outs)),
              m_sumStride(static_cast<size_t>(m_sumRows) * kTiles + kLanes),
              m_factors(kWinogradProducts),
              m_line(kWinogradProducts * kLineStride),
              m_sums(kWinogradProducts * m_sumStride + kLanes) {
            std::fill_n(m_line.data(), kWinogradProducts * kLineStride, 0.f);
        }

        void run(int image, int first, int last, int part, int parts) {
            m_image = image;
            setRuns(first, last - first);
            const int share = roundUp(divideUp(m_shape.outs, parts), kernels::rowGroup());
            const int begin = std::min(share * part, m_shape.outs),
                      end = std::min(begin + share, m_shape.outs);
            for (int channel = 0; channel < m_shape.channels; channel += m_all.m_blockChannels) {
                const int channels = std::min(m_all.m_blockChannels, m_shape.channels - channel);
                if (!setFactors(channel, channels)) {
                    m_all.m_bad[image] = true;
                    return;
                }
                for (int row = begin; row < end; row += m_sumRows) {
                    const int rows = std::min(m_sumRows, end - row);
                    multiply(row, rows, channel);
                    for (int k = 0; k < rows && channel + channels == m_shape.channels; ++k)
                        finish(row + k, m_sums.data() + static_cast<size_t>(k) * kTiles);
                }
            }
        }

    private:
        static constexpr size_t kLineStride = kTiles + kLanes;

        void setRuns(int first, int count) {
            m_runs.clear();
            m_columns = count;
            for (int column = 0; column < count;) {
                const int x = (first + column) % m_all.m_tilesX;
                const int here = std::min(count - column, m_all.m_tilesX - x);
                m_runs.push_back({(first + column) / m_all.m_tilesX, x, here, column});
                column += here;
            }
        }

        // Returns false if a pixel is too large, infinite or NaN.
        bool setFactors(int channel, int channels) {
            for (kernels::PackedWeights& factors : m_factors)
                factors.reshape(channels, m_columns);
            const int width = kernels::panelColumns();
            for (int c = 0; c < channels; ++c) {
                for (const Run& run : m_runs)
                    if (!transform(channel + c, run)) return false;
                for (int k = 0; k < kWinogradProducts; ++k) {
                    const float* const line = m_line.data() + k * kLineStride;
                    for (int p = 0; p * width < m_columns; ++p)
                        std::copy_n(line + static_cast<size_t>(p) * width, width,
                                    m_factors[k].panel(p) + static_cast<size_t>(c) * width);
                }
            }
            return true;
        }

        bool transform(int channel, const Run& run) {
            const ConvAxis &y = m_shape.y, &x = m_shape.x;
            const int left = run.first * kWinogradTile - x.before;
            const int width = kWinogradTile * (run.count - 1) + kWinogradInput;
            const size_t stride = static_cast<size_t>(width) + kLanes,
                         pixels = static_cast<size_t>(y.size) * x.size;
            const float* const image = m_all.m_images + m_image * m_shape.channels * pixels;
            const float* const end = image + m_shape.channels * pixels;
            float* to = m_rows.reserve(kWinogradInput * stride + kernels::winogradScratch(run.count));
            float* const scratch = to + kWinogradInput * stride;
            const float* rows[kWinogradInput];
            for (int k = 0; k < kWinogradInput; ++k, to += stride) {
                const int line = run.row * kWinogradTile - y.before + k;
                const bool inside = line >= 0 && line < y.size;
                const float* const from =
                    image + channel * pixels + static_cast<size_t>(std::clamp(line, 0, y.size - 1)) * x.size;
                const bool whole = left >= 0 && left + width <= x.size;
                rows[k] = to;
                if (inside) prefetch(from + pixels + std::max(left, 0), width);  // the next channel
                if (inside && whole && !m_all.m_rectified && end - from >= left + width + kLanes)
                    rows[k] = from + left;
                else
                    copyRow(inside ? from : nullptr, left, width, to);
            }
            return kernels::winogradInput(rows, run.count, m_all.m_weights.largestPixel(), scratch,
                                          m_line.data() + run.column, kLineStride);
        }

        // Copies `width` pixels of a line from pixel `left`, and applies the input activation. Pixels outside
        // the line become zero.
        void copyRow(const float* line, int left, int width, float* to) const {
            const int begin = line ? std::clamp(-left, 0, width) : width,
                      end = line ? std::clamp(m_shape.x.size - left, begin, width) : width;
            std::fill_n(to, begin, 0.f);
            std::fill_n(to + end, width - end, 0.f);
            if (begin == end) return;
            const float* const from = line + left + begin;
            if (m_all.m_rectified)
                kernels::activate(kernels::Activation::Relu, from, end - begin, to + begin);
            else
                std::copy_n(from, end - begin, to + begin);
        }

        void multiply(int row, int rows, int channel) {
            const LeftRows& weights = m_all.m_weights.rows();
            kernels::Epilogue epilogue;
            epilogue.add = channel > 0;
            for (int k = 0; k < kWinogradProducts; ++k) {
                const size_t at = static_cast<size_t>(k) * m_shape.outs + row;
                for (int r = 0; r < rows; r += kSumRows)
                    kernels::product(weights.floats() + (at + r) * weights.stride() + channel,
                                     weights.stride(), std::min(kSumRows, rows - r), m_factors[k], epilogue,
                                     m_sums.data() + k * m_sumStride + static_cast<size_t>(r) * kTiles,
                                     kTiles);
            }
        }

        void finish(int out, const float* sums) {
            const ConvEnd& end = m_all.m_end;
            const int height = m_shape.y.outputs(), width = m_shape.x.outputs();
            for (const Run& run : m_runs) {
                const size_t stride =
                    static_cast<size_t>(kWinogradTile) * roundUp(run.count, kLanes) + kLanes;
                float* from = m_rows.reserve(kWinogradTile * stride);
                kernels::winogradOutput(sums + run.column, m_sumStride, run.count,
                                        end.bias ? end.bias[out] : 0, from, stride);
                const int y = run.row * kWinogradTile, x = run.first * kWinogradTile;
                const int columns = std::min(run.count * kWinogradTile, width - x);
                size_t at = ((static_cast<size_t>(m_image) * m_shape.outs + out) * height + y) * width + x;
                for (int k = 0; k < kWinogradTile && y + k < height; ++k, from += stride, at += width) {
                    float* const to = m_all.m_output + at;
                    prefetch(to + static_cast<size_t>(height) * width, columns);  // the next channel
                    if (end.residual && !end.residualLast) add(end.residual + at, columns, from);
                    kernels::activate(end.activation, from, columns, to);
                    if (end.residual && end.residualLast) add(end.residual + at, columns, to);
                }
            }
        }

        static void prefetch(const float* from, int count) {
            for (int k = 0; k < count; k += kLanes)
                __builtin_prefetch(from + k);
        }

        static void add(const float* from, int count, float* to) {
            for (int k = 0; k < count; ++k)
                to[k] += from[k];
        }

        const Winograd& m_all;
        const ConvShape& m_shape;
        const int m_sumRows;
        const size_t m_sumStride;  ///< not a multiple of a large power of two, to use all sets of the caches
        int m_image = 0, m_columns = 0;
        std::vector<Run> m_runs;
        std::vector<kernels::PackedWeights> m_factors;
        kernels::Buffer m_rows, m_line, m_sums;
    };

    const float* const m_images;
    const bool m_rectified;
    const ConvShape& m_shape;
    const WinogradWeights& m_weights;
    const ConvEnd& m_end;
    float* const m_output;
    const int m_tilesX, m_tiles, m_blocks, m_blockChannels;
    mutable std::vector<std::atomic<bool>> m_bad;  ///< images that run() leaves out
};

}  // namespace

bool suitsWinograd(const ConvShape& shape, Precision precision) {
    // If there are fewer channels or tiles than these limits, the transforms take longer than the saved
    // products. If there are fewer tiles than columns in two panels, too many columns stay empty. Products in
    // bf16 take less time, so Winograd's transforms need more tiles to be faster.
    constexpr int kLeastChannels = 16, kLeastTilesBf16 = 256;
    constexpr std::int64_t kLeastWeights = 32 * 32;
    const bool half = precision == Precision::BF16;
    if (precision == Precision::I8 || (half && kernels::multipliesInTiles())) return false;
    for (const ConvAxis* axis : {&shape.y, &shape.x})
        if (axis->kernel != 3 || axis->stride != 1 || axis->dilation != 1) return false;
    return shape.groups == 1 && std::min(shape.channels, shape.outs) >= kLeastChannels &&
           std::int64_t{shape.channels} * shape.outs >= kLeastWeights &&
           tilesOf(shape.y) * tilesOf(shape.x) >= (half ? kLeastTilesBf16 : 2 * kernels::panelColumns());
}

WinogradWeights::WinogradWeights(const float* weights, const ConvShape& shape) {
    const int outs = shape.outs, channels = shape.channels;
    // Products read whole row groups from the first row of each factor, so they may read beyond the last row.
    const int rows = checkedSum<int>(checkedProduct<int>(kWinogradProducts, outs), kernels::rowGroup());
    m_rows.emplace(m_memory, Precision::F32, rows, channels);
    parallelFor(outs, [&](int out) {
        for (int c = 0; c < channels; ++c) {
            float kernel[9], factors[kWinogradProducts];
            std::copy_n(weights + (static_cast<size_t>(out) * channels + c) * 9, 9, kernel);
            kernels::winogradKernel(kernel, factors);
            for (int k = 0; k < kWinogradProducts; ++k)
                m_rows->floats()[(static_cast<size_t>(k) * outs + out) * m_rows->stride() + c] = factors[k];
        }
    });
    float largest = 0;
    for (int out = 0; out < outs && !std::isnan(largest); ++out) {
        const float here =
            kernels::largestMagnitude(weights + static_cast<size_t>(out) * shape.depth(), shape.depth());
        if (!(here <= largest)) largest = here;
    }
    if (std::isfinite(largest))
        m_largestPixel = std::numeric_limits<float>::max() / kGrowth /
                         (static_cast<float>(shape.depth()) * std::max(1.f, largest));
}

std::vector<int> convolveByWinograd(const float* images, bool rectified, const ConvShape& shape,
                                    const WinogradWeights& weights, const ConvEnd& end, float* output) {
    return Winograd(images, rectified, shape, weights, end, output).run();
}

}  // namespace mpm::cpu
