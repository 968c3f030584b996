// The Attention operator of opset 23, computed row by row as in its definition.
#include <algorithm>
#include <cmath>

#include "models/onnx/eval/call.hpp"

namespace mpm::models {
namespace {

// Offsets of the rows of an operand [batch, heads, tokens, size] or [batch, tokens, heads * size].
struct Heads {
    int64_t batch, heads, tokens, size;
    bool flat;

    Heads(const Tensor& x, int64_t count) : flat(x.rank() == 3) {
        if (x.rank() != 4 && (x.rank() != 3 || count < 1 || x.dim(2) % count))
            throw Refusal("its operand " + toString(x.shape()) + " does not fit");
        batch = x.dim(0);
        heads = flat ? count : x.dim(1);
        tokens = flat ? x.dim(1) : x.dim(2);
        size = flat ? x.dim(2) / count : x.dim(3);
    }
    int64_t at(int64_t b, int64_t h, int64_t t) const {
        return flat ? ((b * tokens + t) * heads + h) * size : ((b * heads + h) * tokens + t) * size;
    }
};

struct Position {
    int64_t batch = 0, head = 0, keyHead = 0, token = 0;
};

struct Mask {
    Tensor values;
    List<int64_t> strides;

    Mask(Call& c, const Shape& scores) {
        if (!c.has(3)) return;
        values = c.input(3);
        if (broadcast(values.shape(), scores) != scores) throw Refusal("its mask does not fit");
        strides = broadcastStrides(values.shape(), scores);
    }
    double at(int64_t b, int64_t h, int64_t q, int64_t k) const {
        if (strides.empty()) return 0;
        const int64_t position = b * strides[0] + h * strides[1] + q * strides[2] + k * strides[3];
        if (values.type() == Type::Bool) return values.i()[position] ? 0 : -INFINITY;
        return values.at(position);
    }
};

// Computes a row of the result: the softmax of a query's scores, times the values. `row` is memory for the
// scores and must have an element for each key.
void attendRow(const float* query, const Tensor& keys, const Tensor& values, const Heads& k, const Heads& v,
               const Position& at, double scale, const Mask& mask, std::vector<double>& row, float* to) {
    double top = -INFINITY, sum = 0;
    for (int64_t s = 0; s < k.tokens; ++s) {
        const float* key = keys.f() + k.at(at.batch, at.keyHead, s);
        double dot = 0;
        for (int64_t i = 0; i < k.size; ++i)
            dot += double{query[i]} * key[i];
        row[s] = dot * scale + mask.at(at.batch, at.head, at.token, s);
        top = std::max(top, row[s]);
    }
    for (double& value : row)
        sum += value = std::exp(value - top);
    for (int64_t i = 0; i < v.size; ++i) {
        double mixed = 0;
        for (int64_t s = 0; s < k.tokens; ++s)
            mixed += row[s] * values.f()[v.at(at.batch, at.keyHead, s) + i];
        to[i] = static_cast<float>(mixed / sum);
    }
}

void attend(Call& c) {
    const Tensor tq = c.input(0), tk = c.input(1), tv = c.input(2);
    const Heads q(tq, c.node.getInt("q_num_heads", 0)), k(tk, c.node.getInt("kv_num_heads", 0)),
        v(tv, c.node.getInt("kv_num_heads", 0));
    if (c.has(4) || c.has(5) || c.node.getInt("is_causal", 0) || c.node.getFloat("softcap", 0) != 0)
        throw Refusal("causal, cached or capped attention is not supported");
    const bool fits = k.batch == q.batch && v.batch == q.batch && k.size == q.size && k.tokens == v.tokens &&
                      k.heads == v.heads && k.heads > 0 && q.heads % k.heads == 0;
    if (!fits) throw Refusal("its operands do not fit one another");
    const Shape shape = q.flat ? Shape{q.batch, q.tokens, checkedProduct<int64_t>(q.heads, v.size)}
                               : Shape{q.batch, q.heads, q.tokens, v.size};
    if (!c.known()) return c.shape(0, Type::Float, shape);
    Tensor& y = c.make(0, Type::Float, shape);
    Heads o = v;
    o.heads = q.heads;
    o.tokens = q.tokens;
    o.flat = q.flat;
    const double scale = c.node.getFloat("scale", 1 / std::sqrt(static_cast<float>(q.size)));
    const Mask mask(c, {q.batch, q.heads, q.tokens, k.tokens});
    parallel(checkedProduct<int64_t>(q.batch, q.heads, q.tokens), 8, [&](int64_t begin, int64_t end) {
        std::vector<double> row(k.tokens);
        for (int64_t n = begin; n < end; ++n) {
            Position at;
            at.token = n % q.tokens;
            at.head = n / q.tokens % q.heads;
            at.batch = n / q.tokens / q.heads;
            at.keyHead = at.head / (q.heads / k.heads);
            attendRow(tq.f() + q.at(at.batch, at.head, at.token), tk, tv, k, v, at, scale, mask, row,
                      y.writeF() + o.at(at.batch, at.head, at.token));
        }
    });
}

}  // namespace

void addAttention(OperatorTable& table) {
    table["Attention"] = attend;
}

}  // namespace mpm::models
