// MpmConv and MpmConvTranspose: see docs/reference/operators.md.
#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/cpu/column_products.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/dnn/decoder_layers.hpp"
#include "mpm_layer/encoder/config.hpp"
#include "mpm_layer/kernels/common/limits.hpp"

namespace mpm::dnn {
namespace {

std::vector<int> listOf(const cv::dnn::LayerParams& params, const char* name, std::vector<int> usual,
                        const char* expected) {
    const std::vector<int> values = wholeAttributes(params, name, usual[0], kLongestSide);
    if (values.empty() && !params.has(name)) return usual;
    if (values.size() != usual.size()) rejectAttribute(params, name, expected);
    return values;
}

cv::Size sizeOf(const cv::dnn::LayerParams& params, const char* name) {
    const std::vector<int> size = wholeAttributes(params, name, 1, kLongestSide);
    if (size.size() != 2) rejectAttribute(params, name, "two sizes, rows and columns");
    return {size[1], size[0]};
}

// Places products in the output. The product in row (channel, i, j) and column p is pixel (i, j) of the
// output window of input pixel p.
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

bool followsEncoder(const cv::dnn::LayerParams& params) {
    return !choiceAttribute(params, "precision", "encoder", "f32");
}

std::string residualOf(const cv::dnn::LayerParams& params) {
    return textAttribute(params, "residual", "none");
}

}  // namespace

ConvLayer::ConvLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, residualOf(params) == "none" ? 2 : 3, residualOf(params) == "none" ? 3 : 4),
      m_size(listOf(params, "size", {0, 0}, "two numbers, rows and columns")),
      m_alignCorners(switchAttribute(params, "align_corners")),
      m_stride(listOf(params, "stride", {1, 1}, "two numbers, rows and columns")),
      m_padding(listOf(params, "padding", {0, 0, 0, 0}, "four numbers: top, left, bottom, right")),
      m_dilation(listOf(params, "dilation", {1, 1}, "two numbers, rows and columns")),
      m_groups(wholeAttribute(params, "groups", 1, 1, std::numeric_limits<int>::max())),
      m_activation(activationAttribute(params)),
      m_residual(Residual::None),
      m_rectified(choiceAttribute(params, "input_activation", "none", "relu")),
      m_followsEncoder(followsEncoder(params)) {
    const std::string residual = residualOf(params);
    if (residual == "first") m_residual = Residual::First;
    if (residual == "last") m_residual = Residual::Last;
    if (residual != "none" && m_residual == Residual::None)
        rejectAttribute(params, "residual", "none, first or last");
    const bool enlarges = params.has("size");
    if (enlarges && (m_size[0] < 1 || m_size[1] < 1)) rejectAttribute(params, "size", "at least 1");
    if (static_cast<int64>(m_size[0]) * m_size[1] > kMostPixels) {
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: MpmConv enlarges images to %d x %d pixels; at most %lld are allowed",
                            m_size[0], m_size[1], static_cast<long long>(kMostPixels)));
    }
    if (enlarges && (m_stride != std::vector<int>{1, 1} || m_groups > 1 || m_rectified)) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmConv with the attribute size must not have the attributes stride, groups or "
                 "input_activation");
    }
}

cpu::Enlarging ConvLayer::enlargingOf(const Sizes& x) const {
    return {x[2], x[3], m_alignCorners};
}

cpu::ConvShape ConvLayer::shapeFrom(const std::vector<Sizes>& operands) const {
    const Sizes &x = operands[0], &weight = operands[weightIndex()];
    const bool enlarges = m_size[0] > 0;
    const bool valid = x.size() == 4 && weight.size() == 4 && (!enlarges || (x[2] > 0 && x[3] > 0)) &&
                       checkedTotal<size_t>(weight) > 0 && weight[0] % m_groups == 0 &&
                       x[1] % m_groups == 0 && weight[1] == x[1] / m_groups;
    if (!valid) {
        CV_Error(
            cv::Error::StsUnmatchedSizes,
            "mpm: MpmConv takes images [B, C, rows, columns] and a weight [D, C / groups, rows, columns], "
            "got " +
                textOf(toShape(x)) + " and " + textOf(toShape(weight)));
    }
    const auto axis = [&](int k) {
        const cpu::ConvAxis one{enlarges ? m_size[k] : x[2 + k],
                                weight[2 + k],
                                m_stride[k],
                                m_dilation[k],
                                m_padding[k],
                                m_padding[2 + k]};
        const int64 reach = checkedProduct<int64>(one.kernel - 1, one.dilation) + 1;
        const int64 padded = checkedSum<int64>(one.size, one.before, one.after);
        if (padded > kMostElements || reach > padded || one.before >= reach || one.after >= reach) {
            CV_Error(
                cv::Error::StsUnmatchedSizes,
                cv::format("mpm: MpmConv's windows of %lld pixels do not fit %d with padding of %d and %d; "
                           "padding must be smaller than a window",
                           static_cast<long long>(reach), one.size, one.before, one.after));
        }
        return one;
    };
    const cpu::ConvShape shape{x[0], x[1], weight[0], m_groups, axis(0), axis(1)};
    cpu::checkShape(shape);
    return shape;
}

std::vector<Sizes> ConvLayer::outputSizes(const std::vector<Sizes>& operands) const {
    const size_t weight = weightIndex();
    const cpu::ConvShape shape = shapeFrom(operands);
    const Sizes out{shape.images, shape.outs, shape.y.outputs(), shape.x.outputs()};
    if (operands.size() > weight + 1 &&
        checkedTotal<size_t>(operands[weight + 1]) != static_cast<size_t>(shape.outs)) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmConv's bias must have %d elements", shape.outs));
    }
    if (weight > 1 && operands[1] != out) {
        CV_Error(cv::Error::StsUnmatchedSizes, "mpm: MpmConv's residual must be " + textOf(toShape(out)) +
                                                   ", got " + textOf(toShape(operands[1])));
    }
    return {out};
}

int64 ConvLayer::operations(const std::vector<Sizes>& operands, const Sizes& output) const {
    const Sizes& weight = operands[weightIndex()];
    if (weight.size() != 4) return 0;
    if (m_size[0] > 0)
        return checkedProduct<int64>(2, checkedTotal<int64>(operands[0]), weight[0], weight[2], weight[3]);
    return checkedProduct<int64>(2, checkedTotal<int64>(output), weight[1], weight[2], weight[3]);
}

void ConvLayer::pack(const cv::Mat& weight, bool constant, const cpu::ConvShape& shape, const Sizes& x) {
    const Precision precision = m_followsEncoder ? network()->precisionOfHead() : Precision::F32;
    const bool enlarges = m_size[0] > 0;
    if (constant && isSame(m_packed, weight) && m_precision == precision &&
        (enlarges ? m_enlarged->fits(shape, enlargingOf(x)) : m_weights->fit(shape)))
        return;
    m_packed.release();  // so that the next call packs again if this packing throws
    if (enlarges)
        m_enlarged.emplace(weight.ptr<float>(), shape, enlargingOf(x), precision);
    else
        m_weights.emplace(weight.ptr<float>(), shape, precision,
                          constant ? cpu::Source::Kept : cpu::Source::Temporary);
    const Precision packed = enlarges ? m_enlarged->precision() : m_weights->precision();
    network()->noteF32(m_followsEncoder && packed == Precision::F32);
    m_precision = precision;
    m_packed = weight;
}

void ConvLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const size_t at = weightIndex();
    const cv::Mat x = operand(in, 0), weight = operand(in, at), bias = operand(in, at + 1);
    const cv::Mat residual = at > 1 ? operand(in, 1) : cv::Mat();
    const std::vector<Sizes> sizes = operandSizes(in);
    const cpu::ConvShape shape = shapeFrom(sizes);
    cpu::ConvEnd end;
    end.bias = bias.empty() ? nullptr : bias.ptr<float>();
    end.residual = residual.empty() ? nullptr : residual.ptr<float>();
    end.residualLast = m_residual == Residual::Last;
    end.activation = m_activation;
    pack(weight, isConstant(in, at), shape, sizes[0]);
    if (m_size[0] > 0)
        m_enlarged->run(x.ptr<float>(), shape.images, end, out[0].ptr<float>());
    else
        cpu::convolve(x.ptr<float>(), m_rectified, shape, *m_weights, end, out[0].ptr<float>());
}

ConvTransposeLayer::ConvTransposeLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 2, 3),
      m_window(sizeOf(params, "window")),
      m_kernel(params.has("kernel") ? sizeOf(params, "kernel") : m_window),
      m_padding(listOf(params, "padding", {0, 0}, "two numbers, rows and columns")),
      m_activation(activationAttribute(params)),
      m_followsEncoder(followsEncoder(params)) {
    const cv::Size more = m_kernel - m_window;
    if (more.width < 0 || more.height < 0) rejectAttribute(params, "kernel", "at least the window");
    if (m_padding[0] > more.height || m_padding[1] > more.width)
        rejectAttribute(params, "padding", "at most what the kernel has beyond the window");
}

std::vector<Sizes> ConvTransposeLayer::outputSizes(const std::vector<Sizes>& operands) const {
    const Sizes &x = operands[0], &weight = operands[1];
    const int area = checkedProduct<int>(m_kernel.height, m_kernel.width);
    if (x.size() != 4 || weight.size() != 2 || weight[1] != x[1] || weight[0] < 1 || weight[1] < 1 ||
        weight[0] % area != 0) {
        CV_Error(
            cv::Error::StsUnmatchedSizes,
            cv::format(
                "mpm: MpmConvTranspose takes images [B, C, rows, columns] and a weight [D * %d, C], got ",
                area) +
                textOf(toShape(x)) + " and " + textOf(toShape(weight)));
    }
    const int channels = weight[0] / area;
    if (operands.size() > 2 && checkedTotal<size_t>(operands[2]) != static_cast<size_t>(channels))
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: MpmConvTranspose's bias must have %d elements", channels));
    if (overlaps() && checkedTotal<size_t>(x) > 0) cpu::checkShape(phaseShape(x, channels, 0, 0));
    return {{x[0], channels, checkedProduct<int>(x[2], m_window.height),
             checkedProduct<int>(x[3], m_window.width)}};
}

int64 ConvTransposeLayer::operations(const std::vector<Sizes>& operands, const Sizes&) const {
    const Sizes &x = operands[0], &weight = operands[1];
    return weight.empty() ? 0 : checkedProduct<int64>(2, checkedTotal<int64>(x), weight[0]);
}

// Returns the shape of the convolution that computes, for every input pixel, pixel (row, column) of the
// output window. Along an axis, the transposed convolution adds kernel element k times input pixel i to
// output pixel stride * i + k - padding.
cpu::ConvShape ConvTransposeLayer::phaseShape(const Sizes& x, int outs, int row, int column) const {
    const auto axis = [](int size, int kernel, int stride, int place) {
        const int before = (kernel - 1 - place) / stride, after = place / stride;
        return cpu::ConvAxis{size, before + after + 1, 1, 1, before, after};
    };
    return {x[0],
            x[1],
            outs,
            1,
            axis(x[2], m_kernel.height, m_window.height, row + m_padding[0]),
            axis(x[3], m_kernel.width, m_window.width, column + m_padding[1])};
}

void ConvTransposeLayer::packRows(const cv::Mat& weight, Precision precision) {
    const int rows = weight.size[0], depth = weight.size[1];
    if (precision == Precision::I8 && cpu::losesTooMuch(weight.ptr<float>(), rows, depth))
        precision = Precision::F32;
    network()->noteF32(m_followsEncoder && precision == Precision::F32);
    m_rows.emplace(m_memory, precision, rows, depth, std::nullopt, kernels::Finer::Right);
    m_depth = depth;
    for (int r = 0; r < rows; ++r)
        m_rows->fill(r, [&](float* to) { std::copy_n(weight.ptr<float>(r), depth, to); });
}

void ConvTransposeLayer::packPhases(const cv::Mat& weight, Precision precision, const Sizes& x) {
    const int outs = weight.size[0] / m_kernel.area(), depth = weight.size[1];
    m_phases.clear();
    bool inF32 = false;
    for (int k = 0; k < m_window.area(); ++k) {
        const int row = k / m_window.width, column = k % m_window.width;
        const cpu::ConvShape shape = phaseShape(x, outs, row, column);
        const int firstRow = row + m_padding[0] + m_window.height * shape.y.before,
                  firstColumn = column + m_padding[1] + m_window.width * shape.x.before;
        std::vector<float> part(checkedProduct<size_t>(outs, depth, shape.taps()));
        float* to = part.data();
        for (int out = 0; out < outs; ++out) {
            for (int c = 0; c < depth; ++c) {
                for (int tap = 0; tap < shape.taps(); ++tap) {
                    const int i = firstRow - m_window.height * (tap / shape.x.kernel),
                              j = firstColumn - m_window.width * (tap % shape.x.kernel);
                    const int from =
                        (out * m_kernel.height + i) * m_kernel.width + j;  // fits: a row of weights
                    *to++ = weight.ptr<float>(from)[c];
                }
            }
        }
        m_phases.emplace_back(part.data(), shape, precision);
        inF32 |= m_phases.back().precision() == Precision::F32;
    }
    network()->noteF32(m_followsEncoder && inF32);
}

void ConvTransposeLayer::pack(const cv::Mat& weight, bool constant, const Sizes& x) {
    const Precision precision = m_followsEncoder ? network()->precisionOfHead() : Precision::F32;
    if (isSame(m_packed, weight) && m_precision == precision && constant) return;
    m_packed.release();  // so that the next call packs again if this packing throws
    m_precision = precision;
    overlaps() ? packPhases(weight, precision, x) : packRows(weight, precision);
    m_packed = weight;
}

void ConvTransposeLayer::computeRows(const cv::Mat& x, const cv::Mat& bias, cv::Mat& out) const {
    const int pixels = checkedProduct<int>(x.size[2], x.size[3]),
              tiles = (pixels + cpu::tileColumns() - 1) / cpu::tileColumns();
    const Shuffle shuffle(m_window, x, bias, m_activation, out);
    parallelFor(checkedProduct<int>(x.size[0], tiles), [&](int t) {
        const int image = t / tiles;
        const cpu::ColumnOperand columns{x.ptr<float>(image), static_cast<size_t>(pixels), m_depth, pixels};
        cpu::multiplyTile(*m_rows, columns, t % tiles * cpu::tileColumns(), m_window.area(),
                          [&](const cpu::ProductPiece& piece, const float* products) {
                              shuffle.place(image, piece, products);
                          });
    });
}

void ConvTransposeLayer::computePhases(const cv::Mat& x, int outs, const cv::Mat& bias, float* out) const {
    const int rows = x.size[2], columns = x.size[3], step = m_window.width;
    const size_t width = static_cast<size_t>(columns) * step;
    cpu::ConvEnd end;
    end.bias = bias.empty() ? nullptr : bias.ptr<float>();
    end.activation = m_activation;
    const Sizes sizes(x.size.p, x.size.p + x.dims);
    kernels::Buffer plane(checkedProduct<size_t>(x.size[0], outs, rows, columns));
    for (int k = 0; k < m_window.area(); ++k) {
        const int row = k / step, column = k % step;
        cpu::convolve(x.ptr<float>(), false, phaseShape(sizes, outs, row, column), m_phases[k], end,
                      plane.data());
        parallelFor(checkedProduct<int>(x.size[0], outs), [&](int channel) {
            const size_t first = static_cast<size_t>(channel) * rows;
            for (int y = 0; y < rows; ++y) {
                const float* const from = plane.data() + (first + y) * columns;
                float* const to = out + ((first + y) * m_window.height + row) * width + column;
                for (int c = 0; c < columns; ++c)
                    to[static_cast<size_t>(c) * step] = from[c];
            }
        });
    }
}

void ConvTransposeLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0), weight = operand(in, 1), bias = operand(in, 2);
    if (x.total() == 0) return;
    pack(weight, isConstant(in, 1), operandSizes(in)[0]);
    overlaps() ? computePhases(x, weight.size[0] / m_kernel.area(), bias, out[0].ptr<float>())
               : computeRows(x, bias, out[0]);
}

}  // namespace mpm::dnn
