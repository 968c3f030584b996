// Gathers, scatters and other operators that pick elements by index.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/onnx/eval/call.hpp"
#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {
namespace {

int64_t wrapped(int64_t index, int64_t extent) {
    const int64_t at = index < 0 ? index + extent : index;
    if (at < 0 || at >= extent)
        throw Refusal("index " + std::to_string(index) + " is outside " + std::to_string(extent));
    return at;
}

template <typename Body>
void withData(const Tensor& x, Tensor& y, const Body& body) {
    x.isFloat() ? body(x.f().data(), y.writeF().data()) : body(x.i().data(), y.writeI().data());
}

void gather(Call& c) {
    const Tensor x = c.input(0), at = c.input(1);
    const int axis = c.axis(c.node.getInt("axis", 0), x.rank());
    Shape shape(x.shape().begin(), x.shape().begin() + axis);
    shape.insert(shape.end(), at.shape().begin(), at.shape().end());
    shape.insert(shape.end(), x.shape().begin() + axis + 1, x.shape().end());
    for (int64_t index : at.toInts())
        wrapped(index, x.shape()[axis]);
    if (!c.known()) return c.shape(0, x.type(), shape);
    Tensor& y = c.make(0, x.type(), shape);
    const int64_t outer = extentOf(x.shape(), 0, axis), inner = extentOf(x.shape(), axis + 1, x.rank());
    const int64_t extent = x.shape()[axis];
    withData(x, y, [&](const auto* from, auto* to) {
        for (int64_t o = 0; o < outer; ++o) {
            for (int64_t k = 0; k < at.size(); ++k) {
                const auto* row = from + (o * extent + wrapped(at.i()[k], extent)) * inner;
                to = std::copy(row, row + inner, to);
            }
        }
    });
}

// Entry k of `indices` picks an element of a tensor of this shape. Returns the flat index of this element.
int64_t elementAt(const Tensor& indices, int64_t k, int axis, const Shape& shape,
                  const List<int64_t>& steps) {
    int64_t rest = k, position = 0;
    for (int d = indices.rank() - 1; d >= 0; --d) {
        const int64_t index = d == axis ? indices.i()[k] : rest % indices.shape()[d];
        position += wrapped(index, shape[d]) * steps[d];
        rest /= indices.shape()[d];
    }
    return position;
}

void gatherElements(Call& c) {
    const Tensor x = c.input(0), at = c.input(1);
    const int axis = c.axis(c.node.getInt("axis", 0), x.rank());
    if (x.rank() != at.rank()) throw Refusal("its indices have another rank than its data");
    for (int d = 0; d < x.rank(); ++d)
        if (d != axis && at.dim(d) > x.dim(d)) throw Refusal("its indices have more rows than its data");
    if (!c.known()) return c.shape(0, x.type(), at.shape());
    Tensor& y = c.make(0, x.type(), at.shape());
    const List<int64_t> steps = stridesOf(x.shape());
    withData(x, y, [&](const auto* from, auto* to) {
        for (int64_t k = 0; k < at.size(); ++k)
            to[k] = from[elementAt(at, k, axis, x.shape(), steps)];
    });
}

// The rows that a GatherND or ScatterND selects: the offset of each row, and the length that all rows have.
struct Rows {
    std::vector<int64_t> starts;
    int64_t length = 1;
};

Rows rowsOf(const Tensor& x, const Tensor& at, int64_t batchDims) {
    const int64_t depth = at.shape().back();
    if (batchDims + depth > x.rank()) throw Refusal("its indices are longer than the data has axes");
    Rows rows;
    const List<int64_t> steps = stridesOf(x.shape());
    rows.length = extentOf(x.shape(), static_cast<size_t>(batchDims + depth), x.shape().size());
    for (int64_t d = 0; d < batchDims; ++d) {
        if (at.shape()[d] != x.shape()[d]) throw Refusal("its indices do not fit the batch");
    }
    const int64_t batches = extentOf(x.shape(), 0, static_cast<size_t>(batchDims));
    const int64_t count = depth ? at.size() / depth : 0;
    for (int64_t k = 0; k < count; ++k) {
        int64_t position = batchDims ? k / (count / batches) * steps[batchDims - 1] : 0;
        for (int64_t d = 0; d < depth; ++d) {
            const int64_t extent = x.shape()[batchDims + d];
            position += wrapped(at.i()[k * depth + d], extent) * steps[batchDims + d];
        }
        rows.starts.push_back(position);
    }
    return rows;
}

void gatherND(Call& c) {
    const Tensor x = c.input(0), at = c.input(1);
    const int64_t batchDims = c.node.getInt("batch_dims", 0);
    if (at.rank() < 1 || batchDims < 0 || batchDims >= at.rank() || batchDims >= x.rank())
        throw Refusal("its indices do not fit");
    Shape shape(at.shape().begin(), at.shape().end() - 1);
    if (batchDims + at.shape().back() > x.rank())
        throw Refusal("its indices are longer than the data has axes");
    shape.insert(shape.end(), x.shape().begin() + batchDims + at.shape().back(), x.shape().end());
    if (!c.known()) return c.shape(0, x.type(), shape);
    Tensor& y = c.make(0, x.type(), shape);
    const Rows rows = rowsOf(x, at, batchDims);
    withData(x, y, [&](const auto* from, auto* to) {
        for (int64_t start : rows.starts)
            to = std::copy(from + start, from + start + rows.length, to);
    });
}

Tensor copyOf(const Tensor& x) {
    Tensor y = Tensor::zeros(x.type(), x.shape());
    withData(x, y, [&](const auto* from, auto* to) { std::copy(from, from + x.size(), to); });
    return y;
}

void scatterND(Call& c) {
    const Tensor x = c.input(0);
    if (!c.known() || !c.has(1) || !c.has(2)) return c.shape(0, x.type(), x.shape());
    const Tensor at = c.input(1), updates = c.input(2);
    if (c.node.getString("reduction", "none") != "none" || at.rank() < 1)
        throw Refusal("this way of scattering is not supported");
    Tensor y = copyOf(x);
    const Rows rows = rowsOf(x, at, 0);
    if (updates.size() != static_cast<int64_t>(rows.starts.size()) * rows.length)
        throw Refusal("its updates do not fit");
    withData(updates, y, [&](const auto* from, auto* to) {
        for (int64_t start : rows.starts) {
            std::copy(from, from + rows.length, to + start);
            from += rows.length;
        }
    });
    c.out.assign(1, y);
}

void scatterElements(Call& c) {
    const Tensor x = c.input(0);
    if (!c.known() || !c.has(1) || !c.has(2)) return c.shape(0, x.type(), x.shape());
    const Tensor at = c.input(1), updates = c.input(2);
    const int axis = c.axis(c.node.getInt("axis", 0), x.rank());
    const std::string reduction = c.node.getString("reduction", "none");
    if (reduction != "none" && reduction != "add") throw Refusal("this way of scattering is not supported");
    if (at.rank() != x.rank() || updates.shape() != at.shape() || updates.isFloat() != x.isFloat())
        throw Refusal("its updates do not fit");
    Tensor y = copyOf(x);
    const List<int64_t> steps = stridesOf(x.shape());
    withData(updates, y, [&](const auto* from, auto* to) {
        for (int64_t k = 0; k < at.size(); ++k) {
            const int64_t position = elementAt(at, k, axis, x.shape(), steps);
            to[position] = reduction == "none" ? from[k] : Plus()(to[position], from[k]);
        }
    });
    c.out.assign(1, y);
}

void cumSum(Call& c) {
    const Tensor x = c.input(0);
    const int axis = c.axis(c.knownInput(1).toInts()[0], x.rank());
    if (c.node.getInt("exclusive", 0) || c.node.getInt("reverse", 0))
        throw Refusal("this way of summing is not supported");
    if (!c.known()) return c.shape(0, x.type(), x.shape());
    Tensor y = copyOf(x);
    const int64_t step = stridesOf(x.shape())[axis];
    withData(x, y, [&](const auto*, auto* to) {
        for (int64_t k = 0; k < x.size(); ++k) {
            if (k / step % x.shape()[axis] != 0) to[k] = Plus()(to[k], to[k - step]);
        }
    });
    c.out.assign(1, y);
}

void argMax(Call& c) {
    const Tensor x = c.input(0);
    const int axis = c.axis(c.node.getInt("axis", 0), x.rank());
    if (c.node.getInt("select_last_index", 0)) throw Refusal("the last of equal values is not supported");
    const double sign = c.node.is("ArgMin") ? -1 : 1;
    Shape shape = x.shape();
    if (c.node.getInt("keepdims", 1)) {
        shape[axis] = 1;
    } else {
        shape.erase(shape.begin() + axis);
    }
    if (!c.known()) return c.shape(0, Type::Int, shape);
    Tensor& y = c.make(0, Type::Int, shape);
    const int64_t inner = stridesOf(x.shape())[axis], extent = x.shape()[axis];
    for (int64_t k = 0; k < y.size(); ++k) {
        const int64_t start = k / inner * inner * extent + k % inner;
        int64_t best = 0;
        for (int64_t a = 1; a < extent; ++a) {
            if (sign * x.at(start + a * inner) > sign * x.at(start + best * inner)) best = a;
        }
        y.writeI()[k] = best;
    }
}

// Returns whether `a` comes before `b`: better values come first, NaN last, equal values by position.
bool comesBefore(double a, double b, int64_t atA, int64_t atB, bool largest) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b) ? atA < atB : std::isnan(b);
    return a == b ? atA < atB : (a > b) == largest;
}

void topK(Call& c) {
    const Tensor x = c.input(0);
    const int axis = c.axis(c.node.getInt("axis", -1), x.rank());
    // k was an attribute before opset 10.
    const List<int64_t> picked = c.has(1) ? c.knownInput(1).toInts() : List<int64_t>{c.node.getInt("k", 0)};
    Shape shape = x.shape();
    if (x.rank() < 1 || picked.size() != 1) throw Refusal("it has no values to choose from");
    const int64_t extent = shape[axis], count = picked[0];
    if (count < 1 || count > extent) {
        throw Refusal("it picks " + std::to_string(count) + " of " + std::to_string(extent) + " values" +
                      (count > extent ? "" : ": at least one is needed"));
    }
    shape[axis] = count;
    if (!x.known()) {
        c.shape(0, x.type(), shape);
        return c.shape(1, Type::Int, shape);
    }
    const bool largest = c.node.getInt("largest", 1) != 0;
    c.make(0, x.type(), shape);
    c.make(1, Type::Int, shape);
    Tensor &values = c.out[0], &indices = c.out[1];
    const int64_t inner = stridesOf(x.shape())[axis], columns = values.size() / count;
    const Held held(checkedProduct<int64_t>(extent, 8), "the order of its values");
    List<int64_t> order(static_cast<size_t>(extent));
    withData(x, values, [&](const auto* from, auto* to) {
        for (int64_t k = 0; k < columns; ++k) {
            const auto* column = from + k / inner * inner * extent + k % inner;
            const auto before = [&](int64_t a, int64_t b) {
                return comesBefore(static_cast<double>(column[a * inner]),
                                   static_cast<double>(column[b * inner]), a, b, largest);
            };
            std::iota(order.begin(), order.end(), int64_t{0});
            std::partial_sort(order.begin(), order.begin() + count, order.end(), before);
            for (int64_t n = 0; n < count; ++n) {
                const int64_t at = k / inner * inner * count + n * inner + k % inner;
                to[at] = column[order[n] * inner];
                indices.writeI()[at] = order[n];
            }
        }
    });
}

void triangle(Call& c) {
    const Tensor x = c.input(0);
    constexpr int64_t kFar = int64_t{1} << 40;
    const int64_t given = c.has(1) ? c.knownInput(1).toInts()[0] : 0;
    const int64_t shift = std::min(std::max(given, -kFar), kFar);
    const bool upper = c.node.getInt("upper", 1) != 0;
    if (x.rank() < 2) throw Refusal("it needs a matrix");
    if (!c.known()) return c.shape(0, x.type(), x.shape());
    Tensor y = copyOf(x);
    const int64_t rows = x.dim(-2), columns = x.dim(-1);
    withData(x, y, [&](const auto*, auto* to) {
        for (int64_t k = 0; k < x.size(); ++k) {
            const int64_t row = k / columns % rows, column = k % columns;
            if (upper ? column < row + shift : column > row + shift) to[k] = 0;
        }
    });
    c.out.assign(1, y);
}

void nonZero(Call& c) {
    const Tensor x = c.input(0);
    if (!x.known()) {
        throw Refusal(
            "the image decides how many elements it finds; export the model without what selects tokens by "
            "the "
            "image (the policy of CTS, for example)");
    }
    const Held held(checkedProduct<int64_t>(x.size(), 8), "its result");
    std::vector<int64_t> found;
    for (int64_t k = 0; k < x.size(); ++k) {
        if (x.at(k) != 0) found.push_back(k);
    }
    const List<int64_t> steps = stridesOf(x.shape());
    const int64_t count = static_cast<int64_t>(found.size());
    Tensor& y = c.make(0, Type::Int, {x.rank(), count});
    for (int d = 0; d < x.rank(); ++d) {
        for (int64_t k = 0; k < count; ++k)
            y.writeI()[d * count + k] = found[k] / steps[d] % x.shape()[d];
    }
}

}  // namespace

void addIndexing(OperatorTable& table) {
    table["Gather"] = gather;
    table["GatherElements"] = gatherElements;
    table["GatherND"] = gatherND;
    table["ScatterND"] = scatterND;
    table["ScatterElements"] = scatterElements;
    table["Scatter"] = scatterElements;  // its name before opset 11
    table["CumSum"] = cumSum;
    table["ArgMax"] = argMax;
    table["ArgMin"] = argMax;
    table["TopK"] = topK;
    table["Trilu"] = triangle;
    table["NonZero"] = nonZero;
}

}  // namespace mpm::models
