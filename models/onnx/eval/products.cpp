#include <algorithm>
#include <cmath>
#include <optional>

#include "base/printable.hpp"
#include "models/onnx/eval/call.hpp"

namespace mpm::models {
namespace {

/// Multiplies many pairs of matrices; the leading axes are broadcast against each other.
Tensor batched(const Tensor& a, const Tensor& b, const Shape& shape) {
    Tensor y = Tensor::zeros(Type::Float, shape);
    const int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(-1);
    const Shape lead(shape.begin(), shape.end() - 2);
    const int64_t count = elementCount(lead);
    const int64_t rows = checkedProduct<int64_t>(count, m);
    if (b.size() == checkedProduct<int64_t>(k, n) && count > 1 &&
        a.size() == checkedProduct<int64_t>(rows, k)) {
        gemm(rows, n, k, a.f(), b.f(), y.writeF());  // a single product is enough, because all b are equal
        return y;
    }
    const auto sa = broadcastStrides(Shape(a.shape().begin(), a.shape().end() - 2), lead);
    const auto sb = broadcastStrides(Shape(b.shape().begin(), b.shape().end() - 2), lead);
    const Deadline deadline;
    const Held held(
        count > 1 ? checkedProduct<int64_t>(std::max(cv::getNumThreads(), 1), packedBytes(n, k)) : 0,
        "a matrix product");
    parallel(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t g = begin; g < end && !deadline.isOver(); ++g) {
            const auto [pa, pb] = offsetsAt(g, lead, static_cast<int64_t>(lead.size()), sa, sb);
            gemm(m, n, k, a.f() + pa * m * k, b.f() + pb * k * n, y.writeF() + g * m * n, deadline,
                 count == 1);
        }
    });
    return y;
}

void matMul(Call& c) {
    const Tensor a = c.input(0), b = c.input(1);
    if (a.rank() == 0 || b.rank() == 0) throw Refusal("a scalar cannot take part in a matrix product");
    Shape sa = a.shape(), sb = b.shape();
    if (a.rank() == 1) sa.insert(sa.begin(), 1);
    if (b.rank() == 1) sb.push_back(1);
    if (sa.back() != sb[sb.size() - 2])
        throw Refusal("matrices " + toString(sa) + " and " + toString(sb) + " do not fit");
    Shape shape = broadcast(Shape(sa.begin(), sa.end() - 2), Shape(sb.begin(), sb.end() - 2));
    shape.insert(shape.end(), {sa[sa.size() - 2], sb.back()});
    Shape outside = shape;
    if (b.rank() == 1) outside.pop_back();
    if (a.rank() == 1) outside.erase(outside.end() - (b.rank() == 1 ? 1 : 2));
    if (!c.known()) return c.shape(0, a.type(), outside);
    if (!a.isFloat()) throw Refusal("a matrix product of integers is not supported");
    c.out.assign(1, batched(a.reshaped(sa), b.reshaped(sb), shape).reshaped(outside));
}

Tensor withLastAxesSwapped(const Tensor& x) {
    if (x.rank() < 2) throw Refusal("it needs two matrices");
    Shape shape = x.shape();
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    Tensor y(x.type(), shape);
    if (!x.known()) return y;
    y.allocate();
    const int64_t rows = x.dim(-2), columns = x.dim(-1);
    for (int64_t k = 0; k < x.size(); ++k) {
        const int64_t matrix = k / columns / rows, row = k / columns % rows, column = k % columns;
        y.writeF()[(matrix * columns + column) * rows + row] = x.f()[k];
    }
    return y;
}

// Returns x, [rows, batch..., columns], as [batch..., rows, columns].
Tensor withBatchInFront(const Tensor& x) {
    if (x.rank() < 3) return x;
    Shape shape = x.shape();
    std::rotate(shape.begin(), shape.begin() + 1, shape.end() - 1);
    Tensor y(x.type(), shape);
    if (!x.known()) return y;
    y.allocate();
    const int64_t rows = x.dim(0), width = x.dim(-1);
    const int64_t batch = extentOf(x.shape(), 1, x.shape().size() - 1);
    for (int64_t from = 0; from < rows * batch; ++from) {
        const int64_t to = from % batch * rows + from / batch;
        std::copy_n(x.f().data() + from * width, width, y.writeF().data() + to * width);
    }
    return y;
}

// Computes ONNX Runtime's FusedMatMul: MatMul with a factor, and operands that may be transposed.
void fusedMatMul(Call& c) {
    c.input(1);
    for (size_t k = 0; k < 2; ++k) {
        if (c.node.getInt(k == 0 ? "transBatchA" : "transBatchB", 0)) c.in[k] = withBatchInFront(c.in[k]);
        if (c.node.getInt(k == 0 ? "transA" : "transB", 0)) c.in[k] = withLastAxesSwapped(c.in[k]);
    }
    matMul(c);
    const float alpha = c.node.getFloat("alpha", 1);
    Tensor& y = c.out[0];
    for (int64_t k = 0; y.known() && alpha != 1 && k < y.size(); ++k)
        y.writeF()[k] *= alpha;
}

void gemmNode(Call& c) {
    const Tensor a = c.input(0), b = c.input(1);
    if (a.rank() != 2 || b.rank() != 2) throw Refusal("it needs two matrices");
    const bool ta = c.node.getInt("transA", 0) != 0, tb = c.node.getInt("transB", 0) != 0;
    const int64_t m = a.shape()[ta ? 1 : 0], k = a.shape()[ta ? 0 : 1], n = b.shape()[tb ? 0 : 1];
    if (b.shape()[tb ? 1 : 0] != k)
        throw Refusal("matrices " + toString(a.shape()) + " and " + toString(b.shape()) + " do not fit");
    if (!c.known()) return c.shape(0, a.type(), {m, n});
    const Tensor left = ta ? a.transposed() : a, right = tb ? b.transposed() : b;
    Tensor& y = c.make(0, Type::Float, {m, n});
    gemm(m, n, k, left.f(), right.f(), y.writeF());
    const float alpha = c.node.getFloat("alpha", 1), beta = c.node.getFloat("beta", 1);
    const Tensor bias = c.has(2) ? c.input(2) : Tensor::scalar(0);
    const auto steps = broadcastStrides(bias.shape(), broadcast({m, n}, bias.shape()));
    if (steps.size() != 2) throw Refusal("its bias does not fit");
    for (int64_t r = 0; r < m; ++r) {
        for (int64_t q = 0; q < n; ++q) {
            float& value = y.writeF()[r * n + q];
            value = alpha * value + beta * bias.f()[r * steps[0] + q * steps[1]];
        }
    }
}

// The equation of an Einsum of two operands, and the extent of each letter.
struct Equation {
    std::string names[3];  // letters of the operands and the result
    std::string summed;
    std::map<char, int64_t> extents;

    explicit Equation(Call& c) {
        std::string equation = c.node.getString("equation", "");
        equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
        const size_t arrow = equation.find("->"), comma = equation.find(',');
        if (arrow == std::string::npos || comma == std::string::npos ||
            equation.find('.') != std::string::npos || c.in.size() != 2) {
            throw Refusal("the equation '" + printable(equation, 100) + "' is not supported");
        }
        names[0] = equation.substr(0, comma);
        names[1] = equation.substr(comma + 1, arrow - comma - 1);
        names[2] = equation.substr(arrow + 2);
        for (int k = 0; k < 2; ++k) {
            if (static_cast<int>(names[k].size()) != c.input(k).rank())
                throw Refusal("the equation '" + printable(equation, 100) + "' does not fit its inputs");
            for (size_t d = 0; d < names[k].size(); ++d) {
                const int64_t extent = c.input(k).shape()[d];
                if (extents.emplace(names[k][d], extent).first->second != extent)
                    throw Refusal("the equation '" + printable(equation, 100) + "' does not fit its inputs");
            }
        }
        for (const std::string& letters : names) {
            for (size_t d = 0; d < letters.size(); ++d)
                if (extents.count(letters[d]) == 0 || letters.find(letters[d]) < d)
                    throw Refusal("the equation '" + printable(equation, 100) + "' is not supported");
        }
        for (const auto& entry : extents) {
            if (names[2].find(entry.first) == std::string::npos) summed += entry.first;
        }
    }

    Shape shapeOf(const std::string& letters) {
        Shape shape;
        for (char letter : letters)
            shape.push_back(extents[letter]);
        return shape;
    }
};

// A loop over letters of an Einsum equation: the extent of each letter, and its step in each operand.
struct Loop {
    List<int64_t> extents;
    List<int64_t> steps[2];

    // Returns the offset in each operand. `position` is a flat index over all letters.
    std::array<int64_t, 2> at(int64_t position) const {
        return offsetsAt(position, extents, static_cast<int64_t>(extents.size()), steps[0], steps[1]);
    }
};

Loop loopOver(Equation& equation, const std::string& letters, const Call& c) {
    Loop loop;
    loop.extents = equation.shapeOf(letters);
    for (int k = 0; k < 2; ++k) {
        const auto own = stridesOf(c.input(k).shape());
        for (char letter : letters) {
            const size_t at = equation.names[k].find(letter);
            loop.steps[k].push_back(at == std::string::npos ? 0 : own[at]);
        }
    }
    return loop;
}

// If the equation multiplies [batch, rows, summed] by [batch, summed, columns], returns the product; else
// returns nothing. Each of these four names may stand for several letters.
std::optional<Tensor> asMatrices(Equation& equation, const Call& c, int left) {
    const std::string &a = equation.names[left], &b = equation.names[1 - left], &y = equation.names[2];
    const size_t summed = equation.summed.size();
    size_t batch = 0;
    while (batch < y.size() && a.compare(batch, 1, y, batch, 1) == 0 && b.compare(batch, 1, y, batch, 1) == 0)
        ++batch;
    if (batch == y.size() || a.size() < batch + summed || b.size() < batch + summed) return std::nullopt;
    const size_t rows = a.size() - batch - summed;
    if (b.compare(batch, summed, a, batch + rows) != 0 ||
        y != a.substr(0, batch + rows) + b.substr(batch + summed))
        return std::nullopt;
    const auto count = [&](const std::string& letters) { return elementCount(equation.shapeOf(letters)); };
    const int64_t n = count(a.substr(0, batch)), m = count(a.substr(batch, rows)),
                  k = count(a.substr(batch + rows)), columns = count(b.substr(batch + summed));
    return batched(c.in[left].reshaped({n, m, k}), c.in[1 - left].reshaped({n, k, columns}), {n, m, columns})
        .reshaped(equation.shapeOf(y));
}

// Computes an Einsum, which sums over the letters that the result lacks. Each step of the loop computes a row
// of the result: all elements along the result's last letter.
void einsum(Call& c) {
    Equation equation(c);
    const Shape shape = equation.shapeOf(equation.names[2]);
    if (!c.known()) return c.shape(0, Type::Float, shape);
    for (int left = 0; left < 2 && c.in[0].size() > 0 && c.in[1].size() > 0; ++left) {
        if (const auto product = asMatrices(equation, c, left)) return c.out.assign(1, *product);
    }
    Tensor& y = c.make(0, Type::Float, shape);
    if (y.size() == 0) return;
    std::string rows = equation.names[2];
    const std::string last = rows.empty() ? "" : rows.substr(rows.size() - 1);
    rows.resize(rows.size() - last.size());
    const Loop outer = loopOver(equation, rows, c), inner = loopOver(equation, last, c),
               summed = loopOver(equation, equation.summed, c);
    const int64_t width = elementCount(inner.extents), depth = elementCount(summed.extents);
    const int64_t work = checkedProduct<int64_t>(std::max<int64_t>(depth, 1), width);
    static_cast<void>(checkedProduct<int64_t>(depth, y.size()));
    const int64_t steps[2] = {last.empty() ? 0 : inner.steps[0][0], last.empty() ? 0 : inner.steps[1][0]};
    const float *a = c.in[0].f(), *b = c.in[1].f();
    float* results = y.writeF();
    const Deadline deadline;
    constexpr int64_t kUnchecked = 1 << 22;  // products between two checks of the time limit
    parallel(y.size() / width, std::max<int64_t>(1, (1 << 15) / work), [&](int64_t begin, int64_t end) {
        int64_t left = 0;
        for (int64_t k = begin; k < end; ++k) {
            const auto row = outer.at(k);
            float* to = results + k * width;
            for (int64_t d = 0; d < depth; ++d) {
                if (left <= 0 && deadline.isOver()) return;
                if (left <= 0) left = kUnchecked;
                left -= width;
                const auto place = summed.at(d);
                const float* x = a + row[0] + place[0];
                const float* other = b + row[1] + place[1];
                for (int64_t e = 0; e < width; ++e, x += steps[0], other += steps[1])
                    to[e] += *x * *other;
            }
        }
    });
    checkTime();
}

// Computes Linear, which normalise() writes: a product with a weight matrix, and an optional bias.
void linear(Call& c) {
    const Tensor bias = c.has(2) ? c.input(2) : Tensor();
    c.in.resize(2);
    matMul(c);
    Tensor& y = c.out[0];
    if (!y.known() || bias.type() == Type::None || y.size() == 0) return;
    if (bias.size() == 0) throw Refusal("its bias is empty");
    const float* from = bias.f();
    float* to = y.writeF();
    for (int64_t first = 0; first < y.size(); first += bias.size()) {
        for (int64_t k = 0; k < std::min(bias.size(), y.size() - first); ++k)
            to[first + k] += from[k];
    }
}

}  // namespace

void addProducts(OperatorTable& table) {
    table["MatMul"] = matMul;
    table["FusedMatMul"] = fusedMatMul;
    table["Gemm"] = gemmNode;
    table["Einsum"] = einsum;
    table["Linear"] = linear;
}

}  // namespace mpm::models
