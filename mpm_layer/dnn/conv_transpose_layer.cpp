// MpmConvTranspose: see docs/reference/operators.md.
#include <algorithm>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/dnn/decoder_layers.hpp"
#include "mpm_layer/kernels/common/limits.hpp"
#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::dnn {
namespace {

cv::Size windowOf(const cv::dnn::LayerParams& params) {
    const std::vector<int> window = wholeAttributes(params, "window", 1, kLongestSide);
    if (window.size() != 2) rejectAttribute(params, "window", "two sizes, rows and columns");
    return {window[1], window[0]};
}

// Places the products of neighbouring pixels: row (channel, i, j) of `products`, column p, is pixel (i, j) of
// the window of input pixel first + p.
class Shuffle {
public:
    Shuffle(cv::Size window, const cv::Mat& input, const cv::Mat& bias, cv::Mat& out)
        : m_window(window), m_width(input.size[3]), m_bias(bias), m_out(out) {}

    void place(int image, int channel, int first, int count, const float* products) const {
        const float bias = m_bias.empty() ? 0 : m_bias.ptr<float>()[channel];
        const size_t width = static_cast<size_t>(m_width) * m_window.width;
        float* const plane = m_out.ptr<float>(image, channel);
        for (int p = 0; p < count;) {
            const int y = (first + p) / m_width, x = (first + p) % m_width;
            const int run = std::min(count - p, m_width - x);
            for (int i = 0; i < m_window.height; ++i) {
                float* const row = plane + (static_cast<size_t>(y) * m_window.height + i) * width;
                const float* const from = products + static_cast<size_t>(i) * m_window.width * count + p;
                spread(from, count, run, bias, row + static_cast<size_t>(x) * m_window.width);
            }
            p += run;
        }
    }

private:
    void spread(const float* from, int stride, int run, float bias, float* to) const {
        if (m_window.width == 2) {
            for (int k = 0; k < run; ++k) {
                to[2 * k] = from[k] + bias;
                to[2 * k + 1] = from[stride + k] + bias;
            }
            return;
        }
        for (int j = 0; j < m_window.width; ++j) {
            for (int k = 0; k < run; ++k)
                to[static_cast<size_t>(k) * m_window.width + j] =
                    from[static_cast<size_t>(j) * stride + k] + bias;
        }
    }

    const cv::Size m_window;
    const int m_width;
    const cv::Mat& m_bias;
    cv::Mat& m_out;
};

}  // namespace

ConvTransposeLayer::ConvTransposeLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params), m_window(windowOf(params)) {}

cv::Ptr<cv::dnn::Layer> ConvTransposeLayer::create(cv::dnn::LayerParams& params) {
    return cv::Ptr<cv::dnn::Layer>(new ConvTransposeLayer(params));
}

std::vector<Shape> ConvTransposeLayer::outputShapes(const std::vector<Shape>& in) const {
    checkOperands(in.size(), 2, 3);
    const std::vector<int> x = operandShape(in, 0), weight = operandShape(in, 1);
    const int area = checkedProduct<int>(m_window.height, m_window.width);
    if (x.size() != 4 || weight.size() != 2 || weight[1] != x[1] || weight[0] < 1 || weight[0] % area != 0) {
        CV_Error(
            cv::Error::StsUnmatchedSizes,
            cv::format(
                "mpm: MpmConvTranspose takes images [B, C, rows, columns] and a weight [D * %d, C], got ",
                area) +
                textOf(in[0]) + " and " + textOf(toShape(weight)));
    }
    const int channels = weight[0] / area;
    if (operands(in.size()) > 2 && checkedTotal<size_t>(operandShape(in, 2)) != static_cast<size_t>(channels))
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmConvTranspose's bias must have %d elements", channels));
    return {toShape({x[0], channels, checkedProduct<int>(x[2], m_window.height),
                     checkedProduct<int>(x[3], m_window.width)})};
}

int64 ConvTransposeLayer::getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>&) const {
    if (in.empty()) return 0;
    const std::vector<int> x = operandShape(in, 0), weight = operandShape(in, 1);
    return weight.empty() ? 0 : checkedProduct<int64>(2, checkedTotal<int64>(x), weight[0]);
}

void ConvTransposeLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0), weight = operand(in, 1);
    const cv::Mat bias = operands(in.size()) > 2 ? operand(in, 2) : cv::Mat();
    const int rows = weight.size[0], depth = weight.size[1], area = m_window.area();
    const size_t padded = kernels::paddedSize(rows, depth),
                 pixels = static_cast<size_t>(x.size[2]) * x.size[3];
    if (m_rows != rows || m_depth != depth || !isConstant(in, 1)) {
        m_rows = rows;
        m_depth = depth;
        std::fill_n(m_weights.reserve(padded), padded, 0.f);
        std::copy_n(weight.ptr<float>(), weight.total(), m_weights.data());
    }
    // A tile of pixels is a right operand that stays in the nearest cache while all weights pass by it.
    const int tile = 4 * kernels::panelColumns(), all = checkedCast<int>(pixels),
              tiles = (all + tile - 1) / tile;
    const int step = std::min(rows, checkedProduct<int>(kernels::rowGroup(), area));
    const Shuffle shuffle(m_window, x, bias, out[0]);
    parallelRanges(checkedProduct<int>(x.size[0], tiles), [&](const cv::Range& range) {
        kernels::Buffer products(
            checkedProduct<size_t>(step, std::min(tile, all)));  // at most the output's size
        for (int t = range.start; t < range.end; ++t) {
            const int image = t / tiles, first = t % tiles * tile, count = std::min(tile, all - first);
            const kernels::PackedWeights right(x.ptr<float>(image) + first, pixels, depth, count);
            for (int row = 0; row < rows; row += step) {
                const int here = std::min(step, rows - row);
                kernels::product(m_weights.data() + static_cast<size_t>(row) * depth, depth, here, right, {},
                                 products.data(), count);
                for (int k = 0; k < here; k += area)
                    shuffle.place(image, (row + k) / area, first, count,
                                  products.data() + static_cast<size_t>(k) * count);
            }
        }
    });
}

}  // namespace mpm::dnn
