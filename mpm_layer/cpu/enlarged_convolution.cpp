#include "mpm_layer/cpu/enlarged_convolution.hpp"

#include <algorithm>
#include <tuple>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"
#include "mpm_layer/kernels/tokens/upsample.hpp"

namespace mpm::cpu {
namespace {

// The largest number of products of a part. The products should fit in the level-3 cache. Smaller parts would
// be slower, because each part reads all pixels again.
constexpr size_t kPartProducts = size_t{1} << 22;

// Enlarges the products of an output channel, and sums them.
class Channel {
public:
    Channel(const ConvShape& shape, const Enlarging& from, const ConvEnd& end)
        : m_shape(shape),
          m_from(from),
          m_end(end),
          m_width(shape.x.outputs()),
          m_down(kernels::bilinearTaps(from.rows, shape.y.size, from.alignCorners)),
          m_across(kernels::bilinearRuns(from.columns, shape.x.size, from.alignCorners)) {}

    /// `products` has an image of the small size for each element of the kernel.
    void run(const float* products, int channel, const float* residual, float* output) const {
        const size_t kernelRow = static_cast<size_t>(m_from.rows) * m_width;
        std::vector<float> lines(m_shape.y.kernel * kernelRow), enlarged(m_shape.x.size);
        for (int i = 0; i < m_shape.y.kernel; ++i)
            sumColumns(products + static_cast<size_t>(i) * m_shape.x.kernel * m_from.rows * m_from.columns,
                       lines.data() + i * kernelRow, enlarged.data());
        const size_t pixels = static_cast<size_t>(m_shape.pixels());
        if (residual && !m_end.residualLast)
            std::copy_n(residual, pixels, output);
        else
            std::fill_n(output, pixels, 0.f);
        for (int y = 0; y < m_shape.y.outputs(); ++y) {
            float* const to = output + static_cast<size_t>(y) * m_width;
            for (int i = 0; i < m_shape.y.kernel; ++i) {
                const int row = y + i * m_shape.y.dilation - m_shape.y.before;  // fits: near an output row
                if (row < 0 || row >= m_shape.y.size) continue;
                const float* const own = lines.data() + i * kernelRow;
                const kernels::Tap& tap = m_down[row];
                kernels::addBlend(own + static_cast<size_t>(tap.index) * m_width,
                                  own + static_cast<size_t>(tap.next) * m_width, tap.weight, m_width, to);
            }
        }
        const float bias = m_end.bias ? m_end.bias[channel] : 0;
        for (size_t k = 0; m_end.bias && k < pixels; ++k)
            output[k] += bias;
        kernels::activate(m_end.activation, output, pixels, output);
        for (size_t k = 0; residual && m_end.residualLast && k < pixels; ++k)
            output[k] += residual[k];
    }

private:
    // `products` has an image for each element of a kernel row. Enlarges and shifts each row of these images.
    // Writes the sums over all elements to `lines`.
    void sumColumns(const float* products, float* lines, float* enlarged) const {
        const size_t image = static_cast<size_t>(m_from.rows) * m_from.columns;
        std::fill_n(lines, static_cast<size_t>(m_from.rows) * m_width, 0.f);
        for (int row = 0; row < m_from.rows; ++row, lines += m_width) {
            for (int j = 0; j < m_shape.x.kernel; ++j) {
                kernels::stretchRow(products + j * image + static_cast<size_t>(row) * m_from.columns,
                                    m_across, enlarged);
                const int shift =
                    j * m_shape.x.dilation - m_shape.x.before;  // fits: within the kernel's reach
                const int begin = std::max(0, -shift), end = std::min(m_width, m_shape.x.size - shift);
                if (begin < end)
                    kernels::addScaledRow(1, enlarged + begin + shift, end - begin, lines + begin);
            }
        }
    }

    const ConvShape& m_shape;
    const Enlarging& m_from;
    const ConvEnd& m_end;
    const int m_width;
    const std::vector<kernels::Tap> m_down;
    const kernels::Runs m_across;
};

auto keyOf(const ConvShape& shape) {
    const auto axis = [](const ConvAxis& a) {
        return std::tuple(a.size, a.kernel, a.stride, a.dilation, a.before, a.after);
    };
    return std::tuple(shape.channels, shape.outs, shape.groups, axis(shape.y), axis(shape.x));
}

}  // namespace

EnlargedConvolution::EnlargedConvolution(const float* weights, const ConvShape& shape, const Enlarging& from,
                                         Precision precision)
    : m_shape(shape), m_from(from) {
    const size_t each = checkedProduct<size_t>(from.rows, from.columns, shape.taps());
    const int most = static_cast<int>(std::clamp<size_t>(kPartProducts / std::max<size_t>(1, each), 1,
                                                         static_cast<size_t>(std::max(1, shape.outs))));
    const int taps = shape.taps(), channels = shape.channels;
    std::vector<float> rows;
    for (int first = 0; first < shape.outs; first += most) {
        const int outs = std::min(most, shape.outs - first);
        rows.resize(checkedProduct<size_t>(outs, taps, channels));
        for (int out = 0; out < outs; ++out) {
            const float* const own = weights + static_cast<size_t>(first + out) * shape.depth();
            float* const to = rows.data() + static_cast<size_t>(out) * taps * channels;
            for (int c = 0; c < channels; ++c) {
                for (int tap = 0; tap < taps; ++tap)
                    to[static_cast<size_t>(tap) * channels + c] = own[static_cast<size_t>(c) * taps + tap];
            }
        }
        m_parts.push_back({outs, ConvWeights(rows.data(), smallShape(outs), precision)});
    }
}

Precision EnlargedConvolution::precision() const {
    for (const Part& part : m_parts)
        if (part.weights.precision() == Precision::F32) return Precision::F32;
    return m_parts.empty() ? Precision::F32 : m_parts.front().weights.precision();
}

bool EnlargedConvolution::fits(const ConvShape& shape, const Enlarging& from) const {
    return keyOf(shape) == keyOf(m_shape) && from.rows == m_from.rows && from.columns == m_from.columns;
}

// Returns the shape of the convolution of the small image with 1x1 kernels. This convolution has an output
// channel for each element of the original kernels.
ConvShape EnlargedConvolution::smallShape(int outs) const {
    return {1, m_shape.channels, checkedProduct<int>(outs, m_shape.taps()),
            1, {m_from.rows, 1}, {m_from.columns, 1}};
}

void EnlargedConvolution::run(const float* images, int count, const ConvEnd& end, float* output) const {
    const size_t small = static_cast<size_t>(m_from.rows) * m_from.columns,
                 pixels = static_cast<size_t>(m_shape.pixels());
    const Channel channel(m_shape, m_from, end);
    kernels::Buffer products;
    for (int image = 0; image < count; ++image) {
        int first = 0;
        for (const Part& part : m_parts) {
            const ConvShape shape = smallShape(part.outs);
            float* const to = products.reserve(checkedProduct<size_t>(shape.outs, small));
            convolve(images + image * m_shape.channels * small, false, shape, part.weights, {}, to);
            parallelFor(part.outs, [&](int out) {
                const int number = first + out;
                const size_t at = (static_cast<size_t>(image) * m_shape.outs + number) * pixels;
                channel.run(to + static_cast<size_t>(out) * m_shape.taps() * small, number,
                            end.residual ? end.residual + at : nullptr, output + at);
            });
            first += part.outs;
        }
    }
}

}  // namespace mpm::cpu
