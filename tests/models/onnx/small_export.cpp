#include "small_export.hpp"

#include <cmath>

namespace mpm::test {

using models::Attribute;
using models::List;
using models::Shape;
using models::Tensor;

SmallExport::SmallExport(int batch, cv::Size grid, bool open)
    : m_batch(batch),
      m_image(m_builder.input("image", {batch, 3, grid.empty() ? -1 : grid.height * kPatch,
                                        grid.empty() ? -1 : grid.width * kPatch})),
      m_tokens(grid.empty() ? -1 : 1 + grid.area()),
      m_open(open) {}

cv::Mat SmallExport::image(int batch, cv::Size grid) {
    const int shape[] = {batch, 3, grid.height * kPatch, grid.width * kPatch};
    cv::Mat x(4, shape, CV_32F);
    cv::RNG rng(11);
    rng.fill(x, cv::RNG::UNIFORM, -1.5, 1.5);
    return x;
}

Tensor SmallExport::random(const Shape& shape, float scale, cv::RNG& rng) {
    Tensor t(models::Type::Float, shape);
    t.allocate();
    for (int64_t k = 0; k < t.size(); ++k)
        t.writeF()[k] = rng.uniform(-scale, scale);
    return t;
}

int SmallExport::linear(int x, int from, int to) {
    const float scale = 1.7f / std::sqrt(static_cast<float>(from));
    const int product = m_builder.node("MatMul", {x, m_builder.constant(random({from, to}, scale))});
    return m_builder.node("Add", {product, m_builder.constant(random({to}, 0.1f))});
}

int SmallExport::norm(int x) {
    const int y = m_builder.node("LayerNormalization", {x, m_builder.constant(random({kDim}, 1.5f)),
                                                        m_builder.constant(random({kDim}, 0.1f))});
    m_builder.with("epsilon", Attribute::of(1e-6f));
    return y;
}

int SmallExport::features() {
    const int weight = m_builder.constant(random({kDim, 3, kPatch, kPatch}, 0.1f, m_featureRng));
    const int map = m_builder.node("Conv", {m_image, weight});
    m_builder.with("strides", Attribute::of(List<int64_t>{kPatch, kPatch}));
    const int rows = m_builder.node("Reshape", {map, m_builder.ints({m_batch, kDim, -1})});
    const int patches = m_builder.node("Transpose", {rows});
    m_builder.with("perm", Attribute::of(List<int64_t>{0, 2, 1}));
    const int first = m_builder.constant(random({m_batch, 1, kDim}, 1, m_featureRng));
    const int all = m_builder.node("Concat", {first, patches});
    m_builder.with("axis", Attribute::of(int64_t{1}));
    return all;
}

int SmallExport::queries(int count) {
    m_tokens += count;
    return m_builder.node(
        "Expand", {m_builder.constant(random({1, count, kDim}, 1)), m_builder.ints({m_batch, count, kDim})});
}

int SmallExport::joined(const List<int>& parts) {
    const int all = m_builder.node("Concat", parts);
    m_builder.with("axis", Attribute::of(int64_t{1}));
    return all;
}

int SmallExport::embed() {
    const int patches = m_builder.node(
        "Slice", {features(), m_builder.ints({1}), m_builder.ints({m_tokens}), m_builder.ints({1})});
    const int special = m_builder.node(
        "Expand", {m_builder.constant(random({1, 1, kDim}, 1)), m_builder.ints({m_batch, 1, kDim})});
    return m_builder.node("Add",
                          {joined({special, patches}), m_builder.constant(random({1, m_tokens, kDim}, 1))});
}

int SmallExport::rows(int x, int64_t first, int64_t end) {
    return m_builder.node("Slice", {x, m_builder.ints({first}), m_builder.ints({end}), m_builder.ints({1})});
}

int SmallExport::withoutFirst(int x) {
    --m_tokens;
    return rows(x, 1, INT32_MAX);
}

int SmallExport::reversed(int x) {
    return m_builder.node("Slice", {x, m_builder.ints({-1}), m_builder.ints({INT32_MIN}), m_builder.ints({1}),
                                    m_builder.ints({-1})});
}

int SmallExport::heads(int x, const List<int64_t>& order) {
    const int64_t tokens = m_open ? -1 : m_tokens;
    const int split =
        m_builder.node("Reshape", {x, m_builder.ints({m_batch, tokens, kHeads, kDim / kHeads})});
    const int moved = m_builder.node("Transpose", {split});
    m_builder.with("perm", Attribute::of(order));
    return moved;
}

int SmallExport::attention(int x) {
    const int q = linear(x, kDim, kDim), k = linear(x, kDim, kDim), v = linear(x, kDim, kDim);
    return attend(q, k, v);
}

int SmallExport::attend(int queries, int keys, int values) {
    int q = heads(queries, {0, 2, 1, 3});
    int k = heads(keys, m_rotation ? List<int64_t>{0, 2, 1, 3} : List<int64_t>{0, 2, 3, 1});
    const int v = heads(values, {0, 2, 1, 3});
    if (m_rotation) {
        q = m_rotation(q);
        k = m_builder.node("Transpose", {m_rotation(k)});
        m_builder.with("perm", Attribute::of(List<int64_t>{0, 1, 3, 2}));
    }
    const float scale = 1 / std::sqrt(static_cast<float>(kDim / kHeads));
    int scores = m_builder.node("Mul", {m_builder.node("MatMul", {q, k}), m_builder.number(scale)});
    if (m_scores) scores = m_scores(scores);
    const int weights = m_builder.node("Softmax", {scores});
    m_builder.with("axis", Attribute::of(int64_t{-1}));
    const int mixed = m_builder.node("Transpose", {m_builder.node("MatMul", {weights, v})});
    m_builder.with("perm", Attribute::of(List<int64_t>{0, 2, 1, 3}));
    const int rows =
        m_builder.node("Reshape", {mixed, m_builder.ints({m_batch, m_open ? -1 : m_tokens, kDim})});
    return linear(rows, kDim, kDim);
}

int SmallExport::block(int x) {
    const int middle = m_builder.node("Add", {x, attention(norm(x))});
    return m_builder.node("Add", {middle, mlp(norm(middle))});
}

int SmallExport::mlp(int x) {
    return linear(m_builder.node("Relu", {linear(x, kDim, kHidden)}), kHidden, kDim);
}

int SmallExport::swiGlu(int x) {
    const auto product = [&](int from, int depth, int columns) {
        const float scale = 1.7f / std::sqrt(static_cast<float>(depth));
        return m_builder.node("MatMul", {from, m_builder.constant(random({depth, columns}, scale))});
    };
    const int gate = product(x, kDim, kHidden);
    const int active = m_builder.node("Mul", {gate, m_builder.node("Sigmoid", {gate})});
    return product(m_builder.node("Mul", {active, product(x, kDim, kHidden)}), kHidden, kDim);
}

// Returns op(mean(x^2) + epsilon). `op` is Sqrt, or Pow with the exponent -0.5.
int SmallExport::rootMeanSquare(int x, const char* op) {
    const bool power = std::string(op) == "Pow";
    const int square =
        power ? m_builder.node("Pow", {x, m_builder.number(2)}) : m_builder.node("Mul", {x, x});
    const int mean = m_builder.node("ReduceMean", {square});
    m_builder.with("axes", Attribute::of(List<int64_t>{power ? 2 : -1}));
    const int sum = m_builder.node("Add", {m_builder.number(1e-6f), mean});
    return power ? m_builder.node("Pow", {sum, m_builder.number(-0.5f)}) : m_builder.node(op, {sum});
}

int SmallExport::rmsNorm(int x, int spelling) {
    const int weight = m_builder.constant(random({kDim}, 1.5f));
    if (spelling < 2) {
        const int y =
            m_builder.node(spelling == 0 ? "RMSNormalization" : "SimplifiedLayerNormalization", {x, weight});
        m_builder.with("epsilon", Attribute::of(1e-6f)).with("axis", Attribute::of(int64_t{-1}));
        return y;
    }
    if (spelling == 2)
        return m_builder.node("Mul", {m_builder.node("Div", {x, rootMeanSquare(x, "Sqrt")}), weight});
    int inverse = rootMeanSquare(x, spelling == 3 ? "Pow" : "Sqrt");
    if (spelling == 4) inverse = m_builder.node("Reciprocal", {inverse});
    if (spelling == 5) inverse = m_builder.node("Div", {m_builder.number(1), inverse});
    return m_builder.node("Mul", {weight, m_builder.node("Mul", {x, inverse})});
}

void SmallExport::finish(int x) {
    m_builder.output(norm(x), "tokens", {m_batch, m_tokens, kDim});
}

}  // namespace mpm::test
