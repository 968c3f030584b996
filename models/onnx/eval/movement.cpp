// Operators that only move elements: every output element is an input element or a constant.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/printable.hpp"
#include "models/onnx/eval/call.hpp"

namespace mpm::models {
namespace {

/// Sets each element of y to x[start + the sum of index * step over y's axes].
void copyStrided(const Tensor& x, Tensor& y, int64_t start, const List<int64_t>& steps) {
    const Shape& shape = y.shape();
    const int rank = static_cast<int>(shape.size());
    const int64_t inner = rank ? shape[rank - 1] : 1;
    const int64_t step = rank ? steps[rank - 1] : 0;
    if (y.size() == 0) return;
    const auto run = [&](const auto* from, auto* to) {
        parallel(y.size() / inner, std::max<int64_t>(1, (1 << 15) / inner), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const int64_t position = start + offsetsAt(row, shape, rank - 1, steps)[0];
                for (int64_t k = 0; k < inner; ++k)
                    to[row * inner + k] = from[position + k * step];
            }
        });
    };
    x.isFloat() ? run(x.f().data(), y.writeF().data()) : run(x.i().data(), y.writeI().data());
}

void viewAs(Call& c, Shape shape) {
    const Tensor x = c.input(0);
    if (elementCount(shape) != x.size()) {
        throw Refusal(toString(x.shape()) + " cannot become " + toString(shape));
    }
    c.out.assign(1, x.known() ? x.reshaped(shape) : Tensor(x.type(), shape));
}

void reshape(Call& c) {
    const Tensor& x = c.input(0);
    const Shape target = c.has(1) ? c.knownInput(1).toInts() : c.node.getInts("shape");
    Shape shape = target;
    int64_t known = 1;
    int free = -1;
    for (size_t k = 0; k < shape.size(); ++k) {
        if (shape[k] == 0 && !c.node.getInt("allowzero", 0)) {
            if (k >= x.shape().size())
                throw Refusal("its target " + toString(target) + " copies a missing axis");
            shape[k] = x.shape()[k];
        }
        if (shape[k] == -1) {
            if (free >= 0) throw Refusal("its target " + toString(target) + " leaves two axes open");
            free = static_cast<int>(k);
        } else {
            known = elementCount({known, shape[k]});
        }
    }
    if (free >= 0) {
        if (known == 0 || x.size() % known != 0)
            throw Refusal(toString(x.shape()) + " cannot become " + toString(target));
        shape[free] = x.size() / known;
    }
    viewAs(c, shape);
}

void squeeze(Call& c) {
    const Tensor& x = c.input(0);
    std::vector<char> drop(x.rank(), 0);
    const List<int64_t> axes = c.axes(1);
    for (int64_t axis : axes) {
        const int k = c.axis(axis, x.rank());
        if (x.shape()[k] != 1)
            throw Refusal("axis " + std::to_string(k) + " of " + toString(x.shape()) + " cannot be squeezed");
        drop[k] = 1;
    }
    Shape shape;
    for (int k = 0; k < x.rank(); ++k) {
        if (axes.empty() ? x.shape()[k] != 1 : !drop[k]) shape.push_back(x.shape()[k]);
    }
    viewAs(c, shape);
}

void unsqueeze(Call& c) {
    const Tensor& x = c.input(0);
    const List<int64_t> axes = c.axes(1);
    const int rank = checkedSum<int>(x.rank(), axes.size());
    std::vector<char> added(rank, 0);
    for (int64_t axis : axes)
        added[c.axis(axis, rank)] = 1;
    if (std::accumulate(added.begin(), added.end(), size_t{0}) != axes.size())
        throw Refusal("an axis is given twice");
    Shape shape;
    for (int k = 0, next = 0; k < rank; ++k)
        shape.push_back(added[k] ? 1 : x.shape()[next++]);
    viewAs(c, shape);
}

void flatten(Call& c) {
    const Tensor& x = c.input(0);
    const int64_t given = c.node.getInt("axis", 1);
    const int64_t axis = given < 0 ? given + x.rank() : given;
    if (axis < 0 || axis > x.rank()) throw Refusal("its axis is outside the tensor");
    const int64_t rows = extentOf(x.shape(), 0, static_cast<size_t>(axis));
    viewAs(c, {rows, rows ? x.size() / rows : 0});
}

void transpose(Call& c) {
    const Tensor x = c.input(0);
    List<int64_t> order = c.node.getInts("perm");
    if (order.empty()) {
        for (int k = x.rank(); k-- > 0;)
            order.push_back(k);
    }
    if (static_cast<int>(order.size()) != x.rank())
        throw Refusal("its permutation does not fit " + toString(x.shape()));
    const List<int64_t> from = stridesOf(x.shape());
    Shape shape;
    List<int64_t> steps;
    std::vector<char> used(x.rank(), 0);
    for (int64_t k : order) {
        const int axis = c.axis(k, x.rank());
        if (used[axis]++) throw Refusal("its permutation names an axis twice");
        shape.push_back(x.shape()[axis]);
        steps.push_back(from[axis]);
    }
    if (!x.known()) return c.shape(0, x.type(), shape);
    copyStrided(x, c.make(0, x.type(), shape), 0, steps);
}

struct Cut {
    int64_t first = 0, count = 0;

    Cut(int64_t start, int64_t end, int64_t step, int64_t extent) {
        constexpr int64_t kHuge = int64_t{1} << 40;
        if (step == 0 || step > kHuge || step < -kHuge) throw Refusal("its step is zero or huge");
        const auto clamp = [&](int64_t at, int64_t low, int64_t high) {
            if (at < 0) at = at < -extent ? -1 : at + extent;
            return std::min(std::max(at, low), high);
        };
        first = step > 0 ? clamp(start, 0, extent) : clamp(start, 0, extent - 1);
        const int64_t last = step > 0 ? clamp(end, 0, extent) : clamp(end, -1, extent - 1);
        const int64_t span = step > 0 ? last - first : first - last;
        count = span <= 0 ? 0 : (span + std::abs(step) - 1) / std::abs(step);
    }
};

void slice(Call& c) {
    const Tensor x = c.input(0);
    const bool asInputs = c.has(1);
    const List<int64_t> starts = asInputs ? c.knownInput(1).toInts() : c.node.getInts("starts");
    const List<int64_t> ends = asInputs ? c.knownInput(2).toInts() : c.node.getInts("ends");
    List<int64_t> axes = asInputs && c.has(3) ? c.knownInput(3).toInts() : c.node.getInts("axes");
    List<int64_t> by = asInputs && c.has(4) ? c.knownInput(4).toInts() : List<int64_t>{};
    if (axes.empty()) axes = counted(starts.size());
    if (by.empty()) by.assign(starts.size(), 1);
    if (ends.size() != starts.size() || axes.size() != starts.size() || by.size() != starts.size()) {
        throw Refusal("its starts, ends, axes and steps differ in number");
    }
    Shape shape = x.shape();
    List<int64_t> steps = stridesOf(x.shape());
    int64_t position = 0;
    std::vector<char> cut(x.rank(), 0);
    for (size_t k = 0; k < starts.size(); ++k) {
        const int axis = c.axis(axes[k], x.rank());
        if (cut[axis]++) throw Refusal("it slices an axis twice");
        const Cut part(starts[k], ends[k], by[k], x.shape()[axis]);
        shape[axis] = part.count;
        if (part.count == 0) continue;  // nothing is read
        position += part.first * steps[axis];
        steps[axis] = part.count == 1 ? 0 : checkedProduct<int64_t>(steps[axis], by[k]);
    }
    if (!x.known()) return c.shape(0, x.type(), shape);
    copyStrided(x, c.make(0, x.type(), shape), position, steps);
}

void split(Call& c) {
    const Tensor x = c.input(0);
    const int axis = c.axis(c.node.getInt("axis", 0), x.rank());
    const size_t parts = c.node.outputs.size();
    if (parts == 0) throw Refusal("it has no outputs");
    List<int64_t> sizes = c.has(1) ? c.knownInput(1).toInts() : c.node.getInts("split");
    if (sizes.empty()) {
        const int64_t each = (x.shape()[axis] + parts - 1) / parts;
        for (size_t k = 0; k < parts; ++k) {
            sizes.push_back(
                std::max<int64_t>(0, std::min(each, x.shape()[axis] - static_cast<int64_t>(k) * each)));
        }
    }
    int64_t total = 0;
    for (int64_t size : sizes)
        total = checkedSum<int64_t>(total, size);
    if (sizes.size() != parts || total != x.shape()[axis]) {
        throw Refusal("its parts do not add up to " + toString(x.shape()));
    }
    int64_t position = 0;
    for (size_t k = 0; k < parts; ++k) {
        Shape shape = x.shape();
        shape[axis] = sizes[k];
        if (x.known()) {
            copyStrided(x, c.make(k, x.type(), shape), position, stridesOf(x.shape()));
        } else {
            c.shape(k, x.type(), shape);
        }
        position += sizes[k] * stridesOf(x.shape())[axis];
        checkTime();
    }
}

void concat(Call& c) {
    const int axis = c.axis(c.node.getInt("axis", 1), c.input(0).rank());
    Shape shape = c.input(0).shape();
    for (size_t k = 1; k < c.in.size(); ++k) {
        Shape other = c.input(k).shape();
        if (other.size() != shape.size()) throw Refusal("its inputs differ in rank");
        if (c.input(k).isFloat() != c.input(0).isFloat()) throw Refusal("its inputs differ in type");
        shape[axis] = checkedSum<int64_t>(shape[axis], other[axis]);
        other[axis] = shape[axis];
        if (other != shape)
            throw Refusal("its inputs differ along another axis than the one they are joined along");
    }
    const Type type = c.input(0).type();
    if (!c.known()) return c.shape(0, type, shape);
    Tensor& y = c.make(0, type, shape);
    const size_t width = type == Type::Float ? 4 : 8;
    const int64_t outer = extentOf(shape, 0, axis), inner = extentOf(shape, axis + 1, shape.size());
    char* to = static_cast<char*>(const_cast<void*>(y.identity()));
    int64_t position = 0;
    for (const Tensor& x : c.in) {
        const int64_t run = x.shape()[axis] * inner;
        const char* from = static_cast<const char*>(x.identity());
        for (int64_t k = 0; k < outer && run > 0; ++k) {
            std::memcpy(to + (k * shape[axis] * inner + position) * width, from + k * run * width,
                        run * width);
        }
        position += run;
    }
}

void expandTo(Call& c, const Shape& target) {
    const Tensor x = c.input(0);
    const Shape shape = broadcast(x.shape(), target);
    elementCount(shape);
    if (!x.known()) return c.shape(0, x.type(), shape);
    copyStrided(x, c.make(0, x.type(), shape), 0, broadcastStrides(x.shape(), shape));
}

void repeat(Call& c) {
    const Tensor x = c.input(0);
    const List<int64_t> repeats = c.knownInput(1).toInts();
    if (static_cast<int>(repeats.size()) != x.rank())
        throw Refusal("its repeats do not fit " + toString(x.shape()));
    // Repeating [a, b] (ra, rb) times equals broadcasting [1, a, 1, b] to [ra, a, rb, b].
    Shape folded, wide, shape;
    for (int k = 0; k < x.rank(); ++k) {
        folded.insert(folded.end(), {1, x.shape()[k]});
        wide.insert(wide.end(), {repeats[k], x.shape()[k]});
        shape.push_back(elementCount({repeats[k], x.shape()[k]}));
    }
    elementCount(shape);
    if (!x.known()) return c.shape(0, x.type(), shape);
    Tensor y = Tensor::zeros(x.type(), wide);
    copyStrided(x.reshaped(folded), y, 0, broadcastStrides(folded, wide));
    c.out.assign(1, y.reshaped(shape));
}

constexpr int64_t kLargestPad = int64_t{1} << 31;

void fillPadded(const Tensor& x, const List<int64_t>& before, const std::string& mode, double fill,
                Tensor& y) {
    const Shape& shape = y.shape();
    const List<int64_t> from = stridesOf(x.shape());
    for (int64_t k = 0; k < y.size(); ++k) {
        int64_t rest = k, position = 0;
        bool inside = true;
        for (int d = x.rank() - 1; d >= 0; --d) {
            const int64_t extent = x.shape()[d];
            int64_t at = rest % shape[d] - before[d];
            rest /= shape[d];
            if (mode == "edge") at = std::min(std::max<int64_t>(at, 0), extent - 1);
            if (mode == "reflect" && extent > 1) {
                at = std::abs(at) % (2 * (extent - 1));
                if (at >= extent) at = 2 * (extent - 1) - at;
            }
            inside &= at >= 0 && at < extent;
            position += inside ? at * from[d] : 0;
        }
        if (x.isFloat()) {
            y.writeF()[k] = inside ? x.f()[position] : static_cast<float>(fill);
        } else {
            y.writeI()[k] = inside ? x.i()[position] : toInteger(fill);
        }
    }
}

void pad(Call& c) {
    const Tensor x = c.input(0);
    const List<int64_t> pads = c.has(1) ? c.knownInput(1).toInts() : c.node.getInts("pads");
    List<int64_t> axes = c.has(3) ? c.knownInput(3).toInts() : List<int64_t>{};
    if (axes.empty()) axes = counted(x.shape().size());
    if (pads.size() != 2 * axes.size()) throw Refusal("its pads do not fit " + toString(x.shape()));
    const std::string mode = c.node.getString("mode", "constant");
    if (mode != "constant" && mode != "edge" && mode != "reflect")
        throw Refusal("the mode '" + printable(mode, 40) + "' is not supported");
    const double fill = c.has(2) ? c.knownInput(2).at(0) : c.node.getFloat("value", 0);
    Shape shape = x.shape();
    List<int64_t> before(x.rank(), 0);
    for (size_t k = 0; k < axes.size(); ++k) {
        const int axis = c.axis(axes[k], x.rank());
        const int64_t after = pads[axes.size() + k];
        if (std::max(pads[k], after) > kLargestPad || std::min(pads[k], after) < -kLargestPad)
            throw Refusal("its pads are unreasonably large");
        before[axis] = pads[k];
        shape[axis] = checkedSum<int64_t>(shape[axis], pads[k], after);
    }
    elementCount(shape);
    if (!x.known()) return c.shape(0, x.type(), shape);
    fillPadded(x, before, mode, fill, c.make(0, x.type(), shape));
}

// Computes DepthToSpace or SpaceToDepth with a reshape, a transpose and another reshape.
void permuteBlocks(Call& c, const Shape& folded, const std::vector<int>& order, const Shape& shape) {
    const Tensor x = c.input(0);
    if (!x.known()) return c.shape(0, x.type(), shape);
    const List<int64_t> from = stridesOf(folded);
    Shape wide;
    List<int64_t> steps;
    for (int k : order) {
        wide.push_back(folded[k]);
        steps.push_back(from[k]);
    }
    Tensor y = Tensor::zeros(x.type(), wide);
    copyStrided(x.reshaped(folded), y, 0, steps);
    c.out.assign(1, y.reshaped(shape));
}

constexpr int64_t kLargestBlock = 1 << 15;

void depthToSpace(Call& c) {
    const Shape s = c.input(0).shape();
    const int64_t b = c.node.getInt("blocksize", 1);
    if (s.size() != 4 || b < 1 || b > kLargestBlock || s[1] % (b * b))
        throw Refusal("its block size does not fit " + toString(s));
    const Shape shape{s[0], s[1] / (b * b), checkedProduct<int64_t>(s[2], b),
                      checkedProduct<int64_t>(s[3], b)};
    if (c.node.getString("mode", "DCR") == "DCR") {
        permuteBlocks(c, {s[0], b, b, s[1] / (b * b), s[2], s[3]}, {0, 3, 4, 1, 5, 2}, shape);
    } else {
        permuteBlocks(c, {s[0], s[1] / (b * b), b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, shape);
    }
}

void spaceToDepth(Call& c) {
    const Shape s = c.input(0).shape();
    const int64_t b = c.node.getInt("blocksize", 1);
    if (s.size() != 4 || b < 1 || b > kLargestBlock || s[2] % b || s[3] % b)
        throw Refusal("its block size does not fit " + toString(s));
    permuteBlocks(c, {s[0], s[1], s[2] / b, b, s[3] / b, b}, {0, 3, 5, 1, 2, 4},
                  {s[0], checkedProduct<int64_t>(s[1], b, b), s[2] / b, s[3] / b});
}

}  // namespace

void addMovement(OperatorTable& table) {
    table["Reshape"] = reshape;
    table["Squeeze"] = squeeze;
    table["Unsqueeze"] = unsqueeze;
    table["Flatten"] = flatten;
    table["Transpose"] = transpose;
    table["Slice"] = slice;
    table["Split"] = split;
    table["Concat"] = concat;
    table["Expand"] = [](Call& c) { expandTo(c, c.knownInput(1).toInts()); };
    table["Tile"] = repeat;
    table["Pad"] = pad;
    table["DepthToSpace"] = depthToSpace;
    table["SpaceToDepth"] = spaceToDepth;
}

}  // namespace mpm::models
