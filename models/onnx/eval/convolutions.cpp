// Convolutions and pooling over two spatial axes.
#include <algorithm>
#include <cmath>

#include "models/onnx/eval/call.hpp"

namespace mpm::models {
namespace {

int64_t reachOf(int64_t kernel, int64_t dilation) {
    return checkedSum<int64_t>(checkedProduct<int64_t>(kernel - 1, dilation), 1);
}

// The sizes and steps of the windows of input pixels from which output pixels are computed.
struct Window {
    int64_t kernel[2], stride[2] = {1, 1}, dilation[2] = {1, 1}, before[2] = {0, 0}, after[2] = {0, 0};
    int64_t in[2], out[2];
};

void readPair(const List<int64_t>& values, int64_t* pair) {
    if (values.size() >= 2) std::copy_n(values.begin(), 2, pair);
}

constexpr int64_t kLargestWindow = 1 << 24;  // elements

Window windowOf(Call& c, const Shape& image, const List<int64_t>& kernel) {
    if (image.size() != 4 || kernel.size() != 2)
        throw Refusal("only images of two dimensions are supported, not " + toString(image));
    Window w;
    readPair(kernel, w.kernel);
    readPair(c.node.getInts("strides"), w.stride);
    readPair(c.node.getInts("dilations"), w.dilation);
    const List<int64_t> pads = c.node.getInts("pads");
    if (pads.size() >= 4) {
        readPair(pads, w.before);
        readPair(List<int64_t>{pads[2], pads[3]}, w.after);
    }
    const std::string automatic = c.node.getString("auto_pad", "NOTSET");
    for (int d = 0; d < 2; ++d) {
        w.in[d] = image[2 + d];
        if (w.stride[d] < 1 || w.dilation[d] < 1 || w.kernel[d] < 1) throw Refusal("its window is empty");
        const int64_t reach = reachOf(w.kernel[d], w.dilation[d]);
        if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
            const int64_t out = checkedSum<int64_t>(w.in[d], w.stride[d] - 1) / w.stride[d];
            const int64_t total = std::max<int64_t>(
                0, checkedSum<int64_t>(checkedProduct<int64_t>(out - 1, w.stride[d]), reach, -w.in[d]));
            w.before[d] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
            w.after[d] = total - w.before[d];
        }
        int64_t span = checkedSum<int64_t>(w.in[d], w.before[d], w.after[d], -reach);
        if (c.node.getInt("ceil_mode", 0)) span = checkedSum<int64_t>(span, w.stride[d] - 1);
        if (span < 0) throw Refusal("its window is larger than the image " + toString(image));
        w.out[d] = span / w.stride[d] + 1;
    }
    if (checkedProduct<int64_t>(w.kernel[0], w.kernel[1]) > kLargestWindow)
        throw Refusal("its window is unreasonably large");
    return w;
}

// Calls visit(element, source) for each element of the matrix [channels * kernel, output pixels], whose
// columns are windows. `source` is the index of a pixel, or -1 for padding.
template <typename Visit>
void overWindows(const Window& w, int64_t channels, const Visit& visit) {
    const int64_t area = checkedProduct<int64_t>(w.kernel[0], w.kernel[1]);
    parallel(checkedProduct<int64_t>(channels, area), 4, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const int64_t kx = row % w.kernel[1], ky = row / w.kernel[1] % w.kernel[0], ch = row / area;
            for (int64_t oy = 0; oy < w.out[0]; ++oy) {
                const int64_t y = oy * w.stride[0] + ky * w.dilation[0] - w.before[0];
                for (int64_t ox = 0; ox < w.out[1]; ++ox) {
                    const int64_t x = ox * w.stride[1] + kx * w.dilation[1] - w.before[1];
                    const bool inside = y >= 0 && y < w.in[0] && x >= 0 && x < w.in[1];
                    visit((row * w.out[0] + oy) * w.out[1] + ox,
                          inside ? (ch * w.in[0] + y) * w.in[1] + x : -1);
                }
            }
        }
    });
}

void addBias(Call& c, Tensor& y) {
    if (!c.has(2)) return;
    const int64_t channels = y.shape()[1], pixels = extentOf(y.shape(), 2, 4);
    if (c.input(2).size() != channels) throw Refusal("its bias does not fit");
    const float* from = c.in[2].f();
    float* to = y.writeF();
    for (int64_t k = 0; pixels > 0 && k < y.size(); k += pixels) {
        const float bias = from[k / pixels % channels];
        for (int64_t pixel = k; pixel < k + pixels; ++pixel)
            to[pixel] += bias;
    }
}

// Returns how many windows along an axis have their kernel element k in front of the pixel.
int64_t windowsBefore(const Window& w, int axis, int64_t k, int64_t pixel) {
    const int64_t reach = pixel + w.before[axis] - k * w.dilation[axis];
    return reach <= 0 ? 0 : std::min(w.out[axis], (reach - 1) / w.stride[axis] + 1);
}

// Computes a channel of the result: convolves the input channels of its group, and adds the result to `to`.
void addWeighted(const Window& w, int64_t channels, const float* from, const float* weight, float* to,
                 const Deadline& deadline) {
    for (int64_t row = 0; row < channels * w.kernel[0] * w.kernel[1] && !deadline.isOver(); ++row) {
        const int64_t kx = row % w.kernel[1], ky = row / w.kernel[1] % w.kernel[0],
                      ch = row / w.kernel[1] / w.kernel[0];
        const int64_t top = windowsBefore(w, 0, ky, 0), bottom = windowsBefore(w, 0, ky, w.in[0]),
                      left = windowsBefore(w, 1, kx, 0), right = windowsBefore(w, 1, kx, w.in[1]);
        for (int64_t oy = top; oy < bottom && left < right; ++oy) {
            const int64_t y = oy * w.stride[0] + ky * w.dilation[0] - w.before[0],
                          x = left * w.stride[1] + kx * w.dilation[1] - w.before[1];
            const float* line = from + (ch * w.in[0] + y) * w.in[1] + x;
            float* out = to + oy * w.out[1] + left;
            for (int64_t k = 0; k < right - left; ++k)
                out[k] += weight[row] * line[k * w.stride[1]];
        }
    }
}

void conv(Call& c) {
    const Tensor x = c.input(0), weight = c.input(1);
    if (weight.rank() != 4) throw Refusal("only convolutions over two dimensions are supported");
    const Window w = windowOf(c, x.shape(), {weight.shape()[2], weight.shape()[3]});
    const int64_t groups = c.node.getInt("group", 1), outs = weight.shape()[0], ins = weight.shape()[1];
    if (groups < 1 || outs % groups || checkedProduct<int64_t>(ins, groups) != x.shape()[1])
        throw Refusal("its weight " + toString(weight.shape()) + " does not fit " + toString(x.shape()));
    const Shape shape{x.shape()[0], outs, w.out[0], w.out[1]};
    if (!c.known()) return c.shape(0, Type::Float, shape);
    Tensor& y = c.make(0, Type::Float, shape);
    const int64_t depth = checkedProduct<int64_t>(ins, w.kernel[0], w.kernel[1]),
                  pixels = checkedProduct<int64_t>(w.out[0], w.out[1]),
                  size = checkedProduct<int64_t>(ins, w.in[0], w.in[1]), rows = outs / groups;
    constexpr int64_t kFewRows = 4;  // with fewer rows, addWeighted() is faster than gemm()
    if (rows < kFewRows) {
        const Deadline deadline;
        parallel(y.size() > 0 ? x.shape()[0] * outs : 0, 1, [&](int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; ++k)
                addWeighted(w, ins, x.f() + k / rows * size, weight.f() + k % outs * depth,
                            y.writeF() + k * pixels, deadline);
        });
        checkTime();
        return addBias(c, y);
    }
    const Held held(checkedProduct<int64_t>(depth, pixels, 4), "its columns");
    std::vector<float> columns(static_cast<size_t>(depth * pixels));
    for (int64_t b = 0; b < checkedProduct<int64_t>(x.shape()[0], groups) && y.size() > 0; ++b) {
        checkTime();
        const float* from = x.f() + b * size;
        overWindows(w, ins, [&](int64_t at, int64_t source) { columns[at] = source < 0 ? 0 : from[source]; });
        gemm(rows, pixels, depth, weight.f() + b % groups * rows * depth, columns.data(),
             y.writeF() + b * rows * pixels);
    }
    addBias(c, y);
}

// Returns the window of the convolution that the node transposes. `in` is the size of the node's result,
// `out` is the size of its operand.
Window transposedWindow(Call& c, const Shape& x, const Shape& weight) {
    Window w;
    int64_t extra[2] = {0, 0};
    readPair(c.node.getInts("strides"), w.stride);
    readPair(c.node.getInts("dilations"), w.dilation);
    readPair(c.node.getInts("output_padding"), extra);
    List<int64_t> pads = c.node.getInts("pads");
    pads.resize(4, 0);
    if (c.node.has("output_shape") || c.node.getString("auto_pad", "NOTSET") != "NOTSET")
        throw Refusal("its automatic padding is not supported");
    for (int d = 0; d < 2; ++d) {
        w.kernel[d] = weight[2 + d];
        w.before[d] = pads[d];
        w.out[d] = x[2 + d];
        if (w.stride[d] < 1 || w.dilation[d] < 1 || w.kernel[d] < 1) throw Refusal("its window is empty");
        const int64_t reach = reachOf(w.kernel[d], w.dilation[d]);
        w.in[d] = checkedDifference<int64_t>(
            checkedSum<int64_t>(checkedProduct<int64_t>(w.out[d] - 1, w.stride[d]), reach, extra[d]),
            checkedSum<int64_t>(pads[d], pads[2 + d]));
    }
    return w;
}

// Adds each column to the pixels of its window. Windows overlap, so each thread adds to different channels.
void addColumns(const Window& w, int64_t channels, const float* columns, float* to) {
    const int64_t area = checkedProduct<int64_t>(w.kernel[0], w.kernel[1]),
                  pixels = checkedProduct<int64_t>(w.out[0], w.out[1]);
    parallel(channels, 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin * area; row < end * area; ++row) {
            const int64_t kx = row % w.kernel[1], ky = row / w.kernel[1] % w.kernel[0], ch = row / area;
            for (int64_t at = 0; at < pixels; ++at) {
                const int64_t py = at / w.out[1] * w.stride[0] + ky * w.dilation[0] - w.before[0];
                const int64_t px = at % w.out[1] * w.stride[1] + kx * w.dilation[1] - w.before[1];
                if (py < 0 || py >= w.in[0] || px < 0 || px >= w.in[1]) continue;
                to[(ch * w.in[0] + py) * w.in[1] + px] += columns[row * pixels + at];
            }
        }
    });
}

void convTranspose(Call& c) {
    const Tensor x = c.input(0), weight = c.input(1);
    if (x.rank() != 4 || weight.rank() != 4)
        throw Refusal("only convolutions over two dimensions are supported");
    const int64_t groups = c.node.getInt("group", 1), ins = weight.shape()[0], each = weight.shape()[1];
    if (groups < 1 || ins != x.shape()[1] || ins % groups)
        throw Refusal("its weight does not fit " + toString(x.shape()));
    const Window w = transposedWindow(c, x.shape(), weight.shape());
    const Shape shape{x.shape()[0], checkedProduct<int64_t>(each, groups), w.in[0], w.in[1]};
    elementCount(shape);
    if (!c.known()) return c.shape(0, Type::Float, shape);
    Tensor& y = c.make(0, Type::Float, shape);
    const int64_t depth = checkedProduct<int64_t>(each, w.kernel[0], w.kernel[1]),
                  pixels = checkedProduct<int64_t>(w.out[0], w.out[1]), rows = ins / groups;
    const Held held(checkedSum<int64_t>(checkedProduct<int64_t>(depth, pixels, 4),
                                        checkedProduct<int64_t>(rows, depth, 4)),
                    "its columns");
    std::vector<float> columns(static_cast<size_t>(depth * pixels)),
        turned(static_cast<size_t>(rows * depth));
    for (int64_t b = 0; b < checkedProduct<int64_t>(x.shape()[0], groups) && y.size() > 0; ++b) {
        checkTime();
        const float* part = weight.f() + b % groups * rows * depth;
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t k = 0; k < depth; ++k)
                turned[k * rows + r] = part[r * depth + k];
        }
        gemm(depth, pixels, rows, turned.data(), x.f() + b * rows * pixels, columns.data());
        addColumns(w, each, columns.data(), y.writeF() + b * each * w.in[0] * w.in[1]);
    }
    addBias(c, y);
}

void pool(Call& c) {
    const Tensor x = c.input(0);
    const Window w = windowOf(c, x.shape(), c.node.getInts("kernel_shape"));
    const Shape shape{x.shape()[0], x.shape()[1], w.out[0], w.out[1]};
    if (!x.known()) return c.shape(0, Type::Float, shape);
    const bool average = c.node.is("AveragePool"), countPads = c.node.getInt("count_include_pad", 0) != 0;
    Tensor& y = c.make(0, Type::Float, shape);
    const int64_t area = checkedProduct<int64_t>(w.kernel[0], w.kernel[1]),
                  pixels = checkedProduct<int64_t>(w.out[0], w.out[1]);
    const auto each = [&](int64_t k) {
        const int64_t ox = k % w.out[1], oy = k / w.out[1] % w.out[0];
        const float* from = x.f() + k / pixels * w.in[0] * w.in[1];
        double value = average ? 0 : -INFINITY;
        int64_t count = 0;
        for (int64_t at = 0; at < area; ++at) {
            const int64_t py = oy * w.stride[0] + at / w.kernel[1] * w.dilation[0] - w.before[0];
            const int64_t px = ox * w.stride[1] + at % w.kernel[1] * w.dilation[1] - w.before[1];
            if (py < 0 || py >= w.in[0] || px < 0 || px >= w.in[1]) continue;
            value =
                average ? value + from[py * w.in[1] + px] : std::max<double>(value, from[py * w.in[1] + px]);
            ++count;
        }
        if (average) value /= static_cast<double>(countPads ? area : std::max<int64_t>(1, count));
        y.writeF()[k] = static_cast<float>(value);
    };
    parallel(y.size(), std::max<int64_t>(1, (1 << 15) / area), [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k)
            each(k);
    });
}

void globalPool(Call& c) {
    const Tensor x = c.input(0);
    if (x.rank() < 3) throw Refusal("it needs an image");
    Shape shape = x.shape();
    std::fill(shape.begin() + 2, shape.end(), 1);
    if (!x.known()) return c.shape(0, Type::Float, shape);
    Tensor& y = c.make(0, Type::Float, shape);
    const bool average = c.node.is("GlobalAveragePool");
    const int64_t pixels = x.size() / std::max<int64_t>(1, y.size());
    for (int64_t k = 0; k < y.size(); ++k) {
        double value = average ? 0 : -INFINITY;
        for (int64_t p = 0; p < pixels; ++p) {
            const double one = x.f()[k * pixels + p];
            value = average ? value + one / static_cast<double>(pixels) : std::max(value, one);
        }
        y.writeF()[k] = static_cast<float>(value);
    }
}

}  // namespace

void addConvolutions(OperatorTable& table) {
    table["Conv"] = conv;
    table["ConvTranspose"] = convTranspose;
    table["AveragePool"] = pool;
    table["MaxPool"] = pool;
    table["GlobalAveragePool"] = globalPool;
    table["GlobalMaxPool"] = globalPool;
}

}  // namespace mpm::models
