// MpmConvTranspose: see docs/reference/operators.md.
#include <algorithm>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/cpu/column_products.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/dnn/decoder_layers.hpp"
#include "mpm_layer/encoder/config.hpp"
#include "mpm_layer/kernels/common/limits.hpp"
#include "mpm_layer/kernels/tokens/activations.hpp"

namespace mpm::dnn {
namespace {

cv::Size windowOf(const cv::dnn::LayerParams& params) {
    const std::vector<int> window = wholeAttributes(params, "window", 1, kLongestSide);
    if (window.size() != 2) rejectAttribute(params, "window", "two sizes, rows and columns");
    return {window[1], window[0]};
}

kernels::Activation activationOf(const cv::dnn::LayerParams& params) {
    const std::string name = textAttribute(params, "activation", "none");
    return name == "none" ? kernels::Activation::None : activationFrom(name);
}

// Places the products of neighbouring pixels: row (channel, i, j) of a piece, column p, is pixel (i, j) of
// the window of input pixel p.
class Shuffle {
public:
    Shuffle(cv::Size window, const cv::Mat& input, const cv::Mat& bias, kernels::Activation activation,
            cv::Mat& out)
        : m_window(window), m_width(input.size[3]), m_bias(bias), m_activation(activation), m_out(out) {}

    void place(int image, const cpu::ProductPiece& piece, const float* products) const {
        const int area = m_window.area();
        for (int k = 0; k < piece.rows; k += area)
            placeChannel(image, (piece.row + k) / area, piece,
                         products + static_cast<size_t>(k) * piece.columns);
    }

private:
    void placeChannel(int image, int channel, const cpu::ProductPiece& piece, const float* products) const {
        const float bias = m_bias.empty() ? 0 : m_bias.ptr<float>()[channel];
        const size_t width = static_cast<size_t>(m_width) * m_window.width;
        float* const plane = m_out.ptr<float>(image, channel);
        for (int p = 0; p < piece.columns;) {
            const int y = (piece.column + p) / m_width, x = (piece.column + p) % m_width;
            const int run = std::min(piece.columns - p, m_width - x);
            for (int i = 0; i < m_window.height; ++i) {
                float* const to = plane + (static_cast<size_t>(y) * m_window.height + i) * width +
                                  static_cast<size_t>(x) * m_window.width;
                spread(products + static_cast<size_t>(i) * m_window.width * piece.columns + p, piece.columns,
                       run, bias, to);
                if (m_activation != kernels::Activation::None)
                    kernels::activate(m_activation, to, static_cast<size_t>(run) * m_window.width, to);
            }
            p += run;
        }
    }

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
    const kernels::Activation m_activation;
    cv::Mat& m_out;
};

}  // namespace

ConvTransposeLayer::ConvTransposeLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params), m_window(windowOf(params)), m_activation(activationOf(params)) {}

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

void ConvTransposeLayer::pack(const cv::Mat& weight, bool constant) {
    const bool pairs = network()->precisionBefore() == Precision::BF16;
    const Precision precision = pairs ? Precision::BF16 : Precision::F32;
    const int rows = weight.size[0], depth = weight.size[1];
    const bool same = isSame(m_packed, weight) && m_rows->precision() == precision;
    if (same && constant) return;
    m_rows.emplace(m_memory, precision, rows, depth);
    m_depth = depth;
    m_packed = weight;
    for (int r = 0; r < rows; ++r)
        m_rows->fill(r, [&](float* to) { std::copy_n(weight.ptr<float>(r), depth, to); });
}

void ConvTransposeLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0), weight = operand(in, 1);
    const cv::Mat bias = operands(in.size()) > 2 ? operand(in, 2) : cv::Mat();
    pack(weight, isConstant(in, 1));
    const int pixels = checkedProduct<int>(x.size[2], x.size[3]),
              tiles = (pixels + cpu::tileColumns() - 1) / cpu::tileColumns();
    const Shuffle shuffle(m_window, x, bias, m_activation, out[0]);
    parallelFor(checkedProduct<int>(x.size[0], tiles), [&](int t) {
        const int image = t / tiles;
        const cpu::ColumnOperand columns{x.ptr<float>(image), static_cast<size_t>(pixels), m_depth, pixels};
        cpu::multiplyTile(*m_rows, columns, t % tiles * cpu::tileColumns(), m_window.area(),
                          [&](const cpu::ProductPiece& piece, const float* products) {
                              shuffle.place(image, piece, products);
                          });
    });
}

}  // namespace mpm::dnn
