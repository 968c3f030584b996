// The converter must recognise deformable attention and masked softmax however an exporter writes them, and
// the converted model must give the results of the export. Similar graphs that compute other values must
// stay unchanged.
#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "models/onnx/decoder/axes.hpp"
#include "models/onnx/ir/graph_builder.hpp"

namespace {

using namespace mpm::models;

Tensor noise(const Shape& shape, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    List<float> values(elementCount(shape));
    std::generate(values.begin(), values.end(), [&] { return normal(random); });
    return Tensor::floats(shape, values);
}

class Builder : public GraphBuilder {
public:
    Builder() : GraphBuilder(16) {}

    int reshape(int x, const Shape& shape) { return node("Reshape", {x, ints(shape)}); }
    int transpose(int x, const List<int64_t>& order) {
        const int y = node("Transpose", {x});
        with("perm", Attribute::of(order));
        return y;
    }
    int along(const char* op, const List<int>& inputs, int64_t axis) {
        const int y = node(op, inputs);
        with("axis", Attribute::of(axis));
        return y;
    }
    int sum(int x, bool keep) {
        const int y = node("ReduceSum", {x, ints({-1})});
        with("keepdims", Attribute::of(int64_t{keep}));
        return y;
    }
};

bool contains(const Graph& graph, const std::string& op) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.op == op; });
}

void expectEqual(const Graph& before, const Graph& after, const List<Tensor>& inputs) {
    const Tensor a = evaluate(before, inputs)[0], b = evaluate(after, inputs)[0];
    ASSERT_EQ(a.shape(), b.shape());
    double largest = 0;
    for (int64_t k = 0; k < a.size(); ++k)
        largest = std::max(largest, std::abs(a.at(k)));
    for (int64_t k = 0; k < a.size(); ++k)
        ASSERT_NEAR(a.at(k), b.at(k), 1e-5 * largest) << k;
}

// The differences of an export from the usual export.
struct Spelling {
    bool slices = false;  ///< slices and permutations instead of split and flatten
    int64_t alignCorners = 0;
    std::string padding = "zeros";
    float normaliser = 1;          ///< offsets are divided by normaliser * size of the level
    bool swapsLevels = false;      ///< samples of level 1 are joined before those of level 0
    bool pointsFirst = false;      ///< weights are in the order point, level
    bool softmaxOfPoints = false;  ///< a separate softmax for each level
};

constexpr int64_t kImages = 2, kHeads = 3, kWidth = 4, kPoints = 2, kQueries = 5;
constexpr int64_t kSizes[2][2] = {{4, 3}, {2, 2}};

class DeformableExport {
public:
    explicit DeformableExport(const Spelling& spelling) : m_spelling(spelling) {
        m_value = m_build.input("value", {kImages, 16, kHeads * kWidth});
        m_offsets = m_build.input("offsets", {kImages, kQueries, kHeads * 2 * kPoints * 2});
        m_logits = m_build.input("logits", {kImages, kQueries, kHeads * 2 * kPoints});
        const int grids = this->grids();
        List<int> samples;
        for (int level : {0, 1})
            samples.push_back(m_build.node("Unsqueeze", {sampled(level, grids), m_build.ints({-2})}));
        if (spelling.swapsLevels) std::swap(samples[0], samples[1]);
        const int joined = m_build.reshape(m_build.along("Concat", samples, -2),
                                           {kImages * kHeads, kWidth, kQueries, 2 * kPoints});
        const int sums = m_build.sum(m_build.node("Mul", {joined, weights()}), false);
        const int rows = m_build.reshape(sums, {kImages, kHeads * kWidth, kQueries});
        m_build.output(m_build.transpose(rows, {0, 2, 1}), "out", {kImages, kQueries, kHeads * kWidth});
    }

    Graph graph() const { return m_build.graph(); }
    static List<Tensor> inputs() {
        return {noise({kImages, 16, kHeads * kWidth}, 1), noise({kImages, kQueries, kHeads * 8}, 2),
                noise({kImages, kQueries, kHeads * 4}, 3)};
    }

private:
    int grids() {
        const float s = m_spelling.normaliser;
        const Tensor extents = Tensor::floats({1, 1, 1, 2, 1, 2}, List<float>{3 * s, 4 * s, 2 * s, 2 * s});
        const int offsets = m_build.reshape(m_offsets, {kImages, kQueries, kHeads, 2, kPoints, 2});
        const int shares = m_build.node("Div", {offsets, m_build.constant(extents)});
        const Tensor reference = noise({1, kQueries, 1, 1, 1, 2}, 4);
        const int places = m_build.node("Add", {m_build.constant(reference), shares});
        return m_build.node("Sub", {m_build.node("Mul", {places, m_build.number(2)}), m_build.number(1)});
    }

    int sampled(int level, int grids) {
        const int64_t rows = kSizes[level][0], columns = kSizes[level][1];
        int map = m_build.reshape(m_value, {kImages, 16, kHeads, kWidth});
        map = m_build.node("Slice", {map, m_build.ints({level == 0 ? 0 : 12}),
                                     m_build.ints({level == 0 ? 12 : 16}), m_build.ints({1})});
        if (m_spelling.slices) {
            map = m_build.transpose(map, {0, 2, 3, 1});
        } else {
            map = m_build.transpose(m_build.reshape(map, {kImages, rows * columns, -1}), {0, 2, 1});
        }
        map = m_build.reshape(map, {kImages * kHeads, kWidth, rows, columns});
        int grid = m_build.along("Gather", {grids, m_build.constant(Tensor::ints({}, level))}, 3);
        grid = m_build.transpose(grid, {0, 2, 1, 3, 4});
        grid = m_build.reshape(grid, {kImages * kHeads, kQueries, kPoints, 2});
        const int out = m_build.node("GridSample", {map, grid});
        m_build.with("align_corners", Attribute::of(m_spelling.alignCorners));
        m_build.with("padding_mode", Attribute::of(m_spelling.padding));
        return out;
    }

    int weights() {
        const bool apart = m_spelling.softmaxOfPoints;
        const Shape split = apart ? Shape{kImages, kQueries, kHeads, 2, kPoints}
                                  : Shape{kImages, kQueries, kHeads, 2 * kPoints};
        int weights = m_build.along("Softmax", {m_build.reshape(m_logits, split)}, -1);
        weights = m_build.reshape(weights, {kImages, kQueries, kHeads, 2, kPoints});
        if (m_spelling.pointsFirst) weights = m_build.transpose(weights, {0, 1, 2, 4, 3});
        weights = m_build.transpose(weights, {0, 2, 1, 3, 4});
        return m_build.reshape(weights, {kImages * kHeads, 1, kQueries, 2 * kPoints});
    }

    const Spelling m_spelling;
    Builder m_build;
    int m_value, m_offsets, m_logits;
};

int fused(const Spelling& spelling, Graph* result = nullptr) {
    const Graph before = DeformableExport(spelling).graph();
    Graph after = before;
    const List<Tensor> inputs = DeformableExport::inputs();
    List<Tensor> shapes;
    for (const Tensor& input : inputs)
        shapes.push_back(input.withoutData());
    const int count = fuseDeformables(after, infer(after, shapes));
    expectEqual(before, after, inputs);
    EXPECT_EQ(contains(after, "MpmDeformable"), count == 1);
    EXPECT_EQ(contains(after, "GridSample"), count == 0);
    if (result) *result = after;
    return count;
}

TEST(DeformableExports, AreRecognised) {
    Graph graph;
    EXPECT_EQ(fused({}, &graph), 1);
    const Node& node = graph.nodes.back();
    EXPECT_EQ(node.getInt("heads", 0), kHeads);
    EXPECT_EQ(node.getInt("points", 0), kPoints);
    EXPECT_EQ(node.getInts("levels"), (List<int64_t>{4, 3, 2, 2}));
    Spelling slices;
    slices.slices = true;
    EXPECT_EQ(fused(slices), 1);
}

TEST(DeformableExports, OthersStay) {
    std::vector<Spelling> others(6);
    others[0].alignCorners = 1;
    others[1].padding = "border";
    others[2].normaliser = 2;
    others[3].swapsLevels = true;
    others[4].pointsFirst = true;
    others[5].softmaxOfPoints = true;
    for (size_t k = 0; k < others.size(); ++k)
        EXPECT_EQ(fused(others[k]), 0) << k;
}

// Writes deformable attention with mmdeploy's operator. Offsets are in pixels of a level, places are relative
// to the level's size.
Graph customExport(float normaliser) {
    Builder b;
    const int value = b.input("value", {kImages, 16, kHeads * kWidth}),
              offsets = b.input("offsets", {kImages, kQueries, kHeads * 2 * kPoints * 2}),
              logits = b.input("logits", {kImages, kQueries, kHeads * 2 * kPoints});
    const Tensor extents = Tensor::floats({2, 1, 2}, List<float>{3, 4 * normaliser, 2, 2});
    const int pixels = b.reshape(offsets, {kImages, kQueries, kHeads, 2, kPoints, 2});
    const int shares = b.node("Div", {pixels, b.constant(extents)});
    const int places = b.node("Add", {b.constant(noise({1, kQueries, 1, 2, 1, 2}, 4)), shares});
    const int flat = b.reshape(logits, {kImages, kQueries, kHeads, 2 * kPoints});
    const int weights = b.reshape(b.along("Softmax", {flat}, -1), {kImages, kQueries, kHeads, 2, kPoints});
    const int rows = b.reshape(value, {kImages, 16, kHeads, kWidth});
    const int sizes = b.constant(Tensor::vector({4, 3, 2, 2}).reshaped({2, 2})), starts = b.ints({0, 12});
    const int out =
        b.node("MMCVMultiScaleDeformableAttention", {rows, sizes, starts, places, weights}, "mmdeploy");
    b.output(out, "out", {kImages, kQueries, kHeads * kWidth});
    return b.graph();
}

TEST(DeformableExports, CustomOperator) {
    const List<Tensor> inputs = DeformableExport::inputs();
    for (const float normaliser : {1.0f, 1.5f}) {
        const Graph before = customExport(normaliser);
        Graph after = before;
        const int count = fuseDeformables(
            after, infer(after, {inputs[0].withoutData(), inputs[1].withoutData(), inputs[2].withoutData()}));
        EXPECT_EQ(count, normaliser == 1 ? 1 : 0);
        EXPECT_EQ(contains(after, "MpmDeformable"), count == 1);
        expectEqual(before, after, inputs);
    }
}

// The ways in which an export unmasks rows whose keys are all masked. In `Shown`, the mask marks visible
// keys. From `None` on, the export leaves such rows masked or unmasks other rows, so the nodes must stay.
enum class Guard {
    Index,
    Arithmetic,
    Unsqueezed,
    Product,
    Where,
    Less,
    Visible,
    Extreme,
    AnyVisible,
    Shown,
    ShownWhere,
    None,
    OtherRows,
    NextRows,
    Misplaced,
    OtherMask
};

int cast(Builder& b, int x, int64_t type) {
    const int y = b.node("Cast", {x});
    b.with("to", Attribute::of(type));
    return y;
}

int extreme(Builder& b, const char* op, int x) {
    const int y = b.node(op, {x});
    b.with("axes", Attribute::of(List<int64_t>{-1}));
    return cast(b, y, 9);
}

constexpr int64_t kInt = 7, kFloat = 1, kBool = 9;

// Returns which rows of a mask [6, 5, 12] are masked completely, as [6, 5, 1] or [6, 5].
int fullRows(Builder& b, int hidden, Guard guard) {
    const bool keep = guard != Guard::Unsqueezed && guard != Guard::Index && guard != Guard::OtherRows &&
                      guard != Guard::NextRows;
    const int shown = b.node("Not", {hidden});
    const int64_t keys = guard == Guard::OtherRows || guard == Guard::NextRows ? 11 : 12;
    switch (guard) {
        case Guard::Less:
            return b.node("Not", {b.node("Less", {b.sum(cast(b, hidden, kFloat), true), b.number(11.5f)})});
        case Guard::Visible:
            return b.node("Not", {cast(b, b.sum(cast(b, shown, kInt), true), kBool)});
        case Guard::Extreme:
            return extreme(b, "ReduceMin", cast(b, hidden, kInt));
        case Guard::AnyVisible:
            return b.node("Not", {extreme(b, "ReduceMax", cast(b, shown, kInt))});
        case Guard::OtherMask:
            return b.node("Equal", {b.sum(cast(b, shown, kInt), true), b.constant(Tensor::ints({}, 12))});
        default:
            break;
    }
    return b.node("Equal", {b.sum(cast(b, hidden, kInt), keep), b.constant(Tensor::ints({}, keys))});
}

int byIndex(Builder& b, int hidden, int full) {
    const int index = b.transpose(b.node("NonZero", {full}), {1, 0});
    const int rows = b.along("Gather", {b.node("Shape", {index}), b.ints({0})}, 0);
    const int sizes = b.along("Concat", {rows, b.ints({12})}, 0);
    const int shown = b.node("Expand", {b.constant(Tensor::ints({}, 0, Type::Bool)), sizes});
    return b.node("ScatterND", {hidden, index, shown});
}

// Returns the mask [6, 5, 12] after the guard has unmasked rows.
int guarded(Builder& b, int hidden, Guard guard) {
    const auto truth = [&](bool value) { return b.constant(Tensor::ints({}, value, Type::Bool)); };
    if (guard == Guard::None) return hidden;
    const int full = fullRows(b, hidden, guard);
    switch (guard) {
        case Guard::Index:
        case Guard::OtherRows:
            return byIndex(b, hidden, full);
        case Guard::Unsqueezed:
        case Guard::NextRows:
            return b.node("And", {hidden, b.node("Unsqueeze", {b.node("Not", {full}), b.ints({-1})})});
        case Guard::Product: {
            const int others = cast(b, b.node("Not", {full}), kInt);
            return cast(b, b.node("Mul", {others, cast(b, hidden, kInt)}), kBool);
        }
        case Guard::Where:
            return b.node("Where", {b.node("Not", {full}), hidden, truth(false)});
        case Guard::Shown:
            return b.node("Not", {b.node("Or", {b.node("Not", {hidden}), full})});
        case Guard::ShownWhere:
            return b.node("Not", {b.node("Where", {full, truth(true), b.node("Not", {hidden})})});
        case Guard::Misplaced: {  // unmasks rows of the next query
            const int first = b.node("Slice", {full, b.ints({0}), b.ints({1}), b.ints({1})}),
                      rest = b.node("Slice", {full, b.ints({1}), b.ints({5}), b.ints({1})});
            return b.node("And", {hidden, b.node("Not", {b.along("Concat", {rest, first}, 1)})});
        }
        default:
            return b.node("And", {hidden, b.node("Not", {full})});
    }
}

// Returns a softmax with masks [2, 5, 3, 4] for 3 heads. Keys with a sigmoid below the threshold are masked.
Graph maskedExport(Guard guard, bool fills, float threshold = 0.5f) {
    Builder b;
    const int masks = b.input("masks", {2, 5, 3, 4}), scores = b.input("scores", {6, 5, 12});
    int hidden = b.reshape(b.node("Sigmoid", {masks}), {2, 5, 12});
    hidden = b.node("Tile", {b.node("Unsqueeze", {hidden, b.ints({1})}), b.ints({1, 3, 1, 1})});
    hidden = b.node("Less", {b.reshape(hidden, {6, 5, 12}), b.number(threshold)});
    hidden = guarded(b, hidden, guard);
    const int lowest = b.number(-INFINITY);
    const int masked = fills ? b.node("Where", {hidden, lowest, scores})
                             : b.node("Add", {scores, b.node("Where", {hidden, lowest, b.number(0)})});
    b.output(b.along("Softmax", {masked}, -1), "weights", {6, 5, 12});
    return b.graph();
}

int fusedMask(Guard guard, bool fills, float threshold = 0.5f) {
    const Graph before = maskedExport(guard, fills, threshold);
    List<Tensor> inputs = {noise({2, 5, 3, 4}, 6), noise({6, 5, 12}, 5)};
    for (int64_t k = 24; k < 36; ++k)  // masks a row of the first image completely
        inputs[0].writeF()[k] = -1;
    Graph after = before;
    const int count =
        fuseMaskedSoftmaxes(after, infer(after, {inputs[0].withoutData(), inputs[1].withoutData()}));
    EXPECT_EQ(contains(after, "MpmMaskedSoftmax"), count == 1);
    EXPECT_EQ(contains(after, "Softmax"), count == 0);
    if (count > 0) expectEqual(before, after, inputs);
    return count;
}

TEST(MaskedExports, AreRecognised) {
    for (bool fills : {false, true})
        for (int guard = 0; guard < static_cast<int>(Guard::None); ++guard)
            EXPECT_EQ(fusedMask(static_cast<Guard>(guard), fills), 1) << guard;
}

TEST(MaskedExports, OthersStay) {
    for (const Guard guard :
         {Guard::None, Guard::OtherRows, Guard::NextRows, Guard::Misplaced, Guard::OtherMask})
        EXPECT_EQ(fusedMask(guard, false), 0) << static_cast<int>(guard);
    EXPECT_EQ(fusedMask(Guard::Index, false, 0.4f), 0);
}

}  // namespace
