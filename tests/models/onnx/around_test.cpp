// Converts models whose nodes around the blocks have unusual forms, such as patches by unfold and products
// with a vector. Also tests why models are rejected.
#include <functional>

#include "converted_export.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;

class Around : public testing::Test {
protected:
    std::string reasonFor(const Graph& graph) {
        models::writeModel(graph, folder / "in.onnx");
        try {
            models::convertModel(folder / "in.onnx", folder / "out.onnx", {});
        } catch (const models::Refusal& refusal) {
            return refusal.what();
        }
        return "converted";
    }

    TempFolder folder;
};

int blocks(SmallExport& m, int x) {
    for (int k = 0; k < 4; ++k)
        x = m.block(x);
    return x;
}

// Returns the pixel indices of `count` patches of 8 pixels along an axis: [8, count] if `sizeFirst`, else
// [count, 8].
int patchIndices(GraphBuilder& g, int64_t count, bool sizeFirst) {
    const int64_t rows = sizeFirst ? SmallExport::kPatch : count,
                  columns = sizeFirst ? count : SmallExport::kPatch;
    Tensor index = Tensor::ints({rows, columns});
    for (int64_t k = 0; k < rows * columns; ++k)
        index.writeI()[k] = sizeFirst ? k / columns + k % columns * SmallExport::kPatch : k;
    return g.constant(index);
}

// torch.nn.Unfold cuts the image into 90 patches, too many for a separate OpenCV layer for each patch.
TEST_F(Around, PatchesByUnfold) {
    const cv::Size grid(10, 9);
    for (int spelling = 0; spelling < 4; ++spelling) {
        SCOPED_TRACE(spelling);
        SmallExport m(1, grid);
        GraphBuilder& g = m.builder();
        int image = g.graph().inputs[0].value;
        const bool padded = spelling != 1, sizeFirst = spelling != 2;
        const int64_t pad = spelling == 3 ? 3 : 0;  // pixels beyond the last patch
        if (padded) image = g.node("Pad", {image, g.ints({0, 0, 0, 0, 0, 0, pad, pad})});
        const int rows = g.node("Gather", {image, patchIndices(g, grid.height, sizeFirst)});
        g.with("axis", Attribute::of(int64_t{2}));
        const int both = g.node("Gather", {rows, patchIndices(g, grid.width, sizeFirst)});
        g.with("axis", Attribute::of(int64_t{spelling == 1 ? -1 : 4}));
        const int moved = g.node("Transpose", {both});
        g.with("perm",
               Attribute::of(sizeFirst ? List<int64_t>{0, 1, 2, 4, 3, 5} : List<int64_t>{0, 1, 3, 5, 2, 4}));
        const int64_t depth = 3 * SmallExport::kPatch * SmallExport::kPatch;
        const int columns = g.node("Reshape", {moved, g.ints({1, depth, -1})});
        const int patches = g.node("Transpose", {columns});
        g.with("perm", Attribute::of(List<int64_t>{0, 2, 1}));
        const int embedded = m.linear(patches, static_cast<int>(depth), SmallExport::kDim);
        const int special = g.constant(m.random({1, 1, SmallExport::kDim}, 1));
        m.finish(blocks(m, m.joined({special, embedded})));
        const models::Conversion found =
            convertedLike(m.graph(), m.graph(), unmerged(), SmallExport::image(1, grid));
        EXPECT_EQ(found.blocks, 4);
        EXPECT_EQ(found.imageTokens, 90);
        EXPECT_EQ(found.grid, grid);
    }
}

// Two branches follow block 2. The backbone continues with the longer branch, even if the blocks of the
// shorter branch (a head) come first in the graph.
TEST_F(Around, AForkContinuesWithItsLongerBranch) {
    for (const bool sideFirst : {true, false}) {
        SmallExport m(1);
        const int fork = m.block(m.block(m.embed()));
        const int before = sideFirst ? m.block(fork) : models::kAbsent;
        m.finish(blocks(m, fork));
        const int side = m.norm(sideFirst ? before : m.block(fork));
        m.builder().output(side, "side", {1, m.tokens(), SmallExport::kDim});
        EXPECT_EQ(converted(m.graph()).blocks, 6);
    }
}

// Depth models multiply the probabilities of bins with a vector that has the centres of the bins.
TEST_F(Around, ProductsWithAVector) {
    for (const bool left : {false, true}) {
        SmallExport m(1);
        GraphBuilder& g = m.builder();
        const int x = m.norm(blocks(m, m.embed()));
        const int vector = g.constant(m.random({left ? m.tokens() : SmallExport::kDim}, 1));
        const int y = g.node("MatMul", left ? List<int>{vector, x} : List<int>{x, vector});
        g.output(y, "y", {1, left ? SmallExport::kDim : m.tokens()});
        EXPECT_EQ(converted(m.graph()).blocks, 4);
    }
}

Tensor evaluated(const GraphBuilder& g) {
    return models::evaluate(g.graph(), {})[0];
}

// Sizes are computed in f32 as ONNX specifies: 14 * (18 / 14) is 18 in f32, but less than 18 in f64.
TEST(Resize, ASizeFromScalesIsThatOfOnnx) {
    GraphBuilder g(18);
    for (const auto& [from, to] : {std::pair(14, 18), {12, 14}, {24, 56}, {7, 9}}) {
        const float scale = static_cast<float>(to) / static_cast<float>(from);
        const int y = g.node("Resize", {g.constant(Tensor::floats({1, 1, from, 2})), models::kAbsent,
                                        g.constant(Tensor::floats({4}, std::vector<float>{1, 1, scale, 1}))});
        g.output(y, "y" + std::to_string(from), {1, 1, to, 2});
        EXPECT_EQ(models::evaluate(g.graph(), {}).back().shape(), (models::Shape{1, 1, to, 2}));
    }
}

TEST(Scatter, ElementsAtIndices) {
    for (const std::string op : {"ScatterElements", "Scatter"}) {
        GraphBuilder g(18);
        Tensor index = Tensor::ints({2, 2});
        const int64_t at[] = {0, 2, -1, 1};
        std::copy_n(at, 4, index.writeI().data());
        const int y = g.node(op, {g.constant(Tensor::floats({2, 3})), g.constant(index),
                                  g.constant(Tensor::floats({2, 2}, std::vector<float>{1, 2, 3, 4}))});
        g.with("axis", Attribute::of(int64_t{1}));
        g.output(y, "y", {2, 3});
        EXPECT_EQ(evaluated(g).toFloats(), (std::vector<float>{1, 0, 2, 0, 4, 3}));
    }
}

TEST(Scatter, ElementsAreAdded) {
    GraphBuilder g(18);
    Tensor index = Tensor::ints({3, 1});
    const int y = g.node("ScatterElements", {g.constant(Tensor::ints({2, 2}, 5)), g.constant(index),
                                             g.constant(Tensor::ints({3, 1}, 7))});
    g.with("reduction", Attribute::of(std::string("add")));
    g.output(y, "y", {2, 2});
    EXPECT_EQ(evaluated(g).toInts(), (List<int64_t>{26, 5, 5, 5}));
}

TEST(Scatter, IndicesOutOfRangeAreRejected) {
    GraphBuilder g(18);
    const int y = g.node(
        "ScatterElements",
        {g.constant(Tensor::floats({2})), g.constant(Tensor::ints({1}, 2)), g.constant(Tensor::floats({1}))});
    g.output(y, "y", {2});
    EXPECT_THROW(evaluated(g), models::Refusal);
}

// In BEiT exports of PyTorch's default exporter, ScatterElements builds the indices of the position bias.
TEST_F(Around, ARelativePositionBiasIsNamed) {
    SmallExport m(1);
    m.changeScores([&](int scores) {
        GraphBuilder& g = m.builder();
        const int64_t count = m.tokens() * m.tokens();
        Tensor places = Tensor::ints({count}), first = Tensor::ints({1});
        for (int64_t k = 0; k < count; ++k)
            places.writeI()[k] = k * 7 % 50;
        const int index = g.node("ScatterElements", {g.constant(places), g.constant(first), g.ints({3})});
        const int table = g.constant(m.random({50, SmallExport::kHeads}, 1));
        const int bias = g.node("Reshape", {g.node("Gather", {table, index}),
                                            g.ints({m.tokens(), m.tokens(), SmallExport::kHeads})});
        const int moved = g.node("Transpose", {bias});
        g.with("perm", Attribute::of(List<int64_t>{2, 0, 1}));
        return g.node("Add", {scores, moved});
    });
    m.finish(blocks(m, m.embed()));
    const std::string reason = reasonFor(m.graph());
    EXPECT_NE(reason.find("relative position bias"), std::string::npos) << reason;
}

int reshaped(SmallExport& m, int x, const List<int64_t>& shape) {
    return m.builder().node("Reshape", {x, m.builder().ints(shape)});
}

// Tokens [1, 49, D] are reshaped to [1, 7, 7, D] or [49, D] for the MLP, as in SAM's blocks without windows.
TEST_F(Around, TokensReshapedBetweenTheSums) {
    for (int spelling = 0; spelling < 3; ++spelling) {
        SCOPED_TRACE(spelling);
        SmallExport m(1);
        GraphBuilder& g = m.builder();
        constexpr int64_t kDim = SmallExport::kDim;
        const List<int64_t> flat{1, 49, kDim}, square{1, 7, 7, kDim}, rows{49, kDim};
        const List<int64_t>&first = spelling == 1 ? square : flat, second = spelling == 0   ? square
                                                                            : spelling == 1 ? flat
                                                                                            : rows;
        int x = reshaped(m, m.embed(), first);
        for (int k = 0; k < 4; ++k) {
            const int attention = m.attention(reshaped(m, m.norm(x), flat));
            const int middle = g.node("Add", {x, reshaped(m, attention, first)});
            const int other = reshaped(m, middle, second);
            x = reshaped(m, g.node("Add", {other, m.mlp(m.norm(other))}), first);
        }
        m.finish(reshaped(m, x, flat));
        EXPECT_EQ(converted(m.graph()).blocks, 4);
    }
}

// Adds relative positions to scores of side x side tokens, as SAM does. Returns the sum [groups, side, side,
// side, side].
int withDecomposed(SmallExport& m, int scores, int q, int64_t groups, int64_t side) {
    GraphBuilder& g = m.builder();
    constexpr int64_t kHead = SmallExport::kDim / SmallExport::kHeads;
    const auto part = [&](const std::string& equation, const List<int64_t>& shape) {
        const int product = g.node("Einsum", {reshaped(m, q, {groups, side, side, kHead}),
                                              g.constant(m.random({side, side, kHead}, 1))});
        g.with("equation", Attribute::of(equation));
        return reshaped(m, product, shape);
    };
    const int rows = part("bhwc,hkc->bhwk", {groups, side, side, side, 1});
    const int columns = part("bhwc,wkc->bhwk", {groups, side, side, 1, side});
    const int sum = g.node("Add", {reshaped(m, scores, {groups, side, side, side, side}), rows});
    return g.node("Add", {sum, columns});
}

// Attention in windows of 4x4 tokens, as in SAM. The grid of 6x8 tokens is padded to 8x8.
int windowed(SmallExport& m, int x, bool decomposed) {
    GraphBuilder& g = m.builder();
    constexpr int64_t kDim = SmallExport::kDim;
    const auto moved = [&](int value, const List<int64_t>& order) {
        const int y = g.node("Transpose", {value});
        g.with("perm", Attribute::of(order));
        return y;
    };
    const int padded =
        g.node("Pad", {reshaped(m, m.norm(x), {1, 6, 8, kDim}), g.ints({0, 0, 0, 0, 0, 2, 0, 0})});
    const int split = moved(reshaped(m, padded, {1, 2, 4, 2, 4, kDim}), {0, 1, 3, 2, 4, 5});
    const int windows = reshaped(m, split, {4, 16, kDim});
    const auto heads = [&](const List<int64_t>& order) {
        return moved(reshaped(m, m.linear(windows, kDim, kDim), {4, 16, 2, kDim / 2}), order);
    };
    const int q = heads({0, 2, 1, 3}), k = heads({0, 2, 3, 1}), v = heads({0, 2, 1, 3});
    int scores = g.node("Mul", {g.node("MatMul", {q, k}), g.number(0.2f)});
    if (decomposed)
        scores = reshaped(m, withDecomposed(m, scores, q, 8, 4), {4, 2, 16, 16});
    else
        scores = g.node("Add", {scores, g.node("MatMul", {q, g.constant(m.random({kDim / 2, 16}, 1))})});
    const int weights = g.node("Softmax", {scores});
    g.with("axis", Attribute::of(int64_t{-1}));
    const int mixed = moved(g.node("MatMul", {weights, v}), {0, 2, 1, 3});
    const int result = m.linear(reshaped(m, mixed, {4, 16, kDim}), kDim, kDim);
    const int joined = moved(reshaped(m, result, {1, 2, 2, 4, 4, kDim}), {0, 1, 3, 2, 4, 5});
    const int cropped =
        g.node("Slice", {reshaped(m, joined, {1, 8, 8, kDim}), g.ints({0}), g.ints({6}), g.ints({1})});
    const int middle = g.node("Add", {x, reshaped(m, cropped, {1, 48, kDim})});
    return g.node("Add", {middle, m.mlp(m.norm(middle))});
}

TEST_F(Around, RelativePositionsInWindowsAreNamed) {
    for (const bool decomposed : {false, true}) {
        SmallExport m(1);
        int x = m.withoutFirst(m.embed());
        for (int k = 0; k < 2; ++k)
            x = m.block(windowed(m, x, decomposed));
        m.finish(x);
        const std::string reason = reasonFor(m.graph());
        EXPECT_NE(reason.find("runs in windows (16 of 48 tokens) and adds relative positions"),
                  std::string::npos)
            << reason;
    }
}

TEST_F(Around, RelativePositionsAsSamAddsThemAreNamed) {
    SmallExport m(1);
    List<int> rotated;  // collects queries and keys, which this test does not rotate
    m.rotate([&](int heads) { return rotated.push_back(heads), heads; });
    m.changeScores([&](int scores) {
        const int sum = withDecomposed(m, scores, rotated[rotated.size() - 2], SmallExport::kHeads, 7);
        return reshaped(m, sum, {1, SmallExport::kHeads, 49, 49});
    });
    m.finish(blocks(m, m.embed()));
    const std::string reason = reasonFor(m.graph());
    EXPECT_NE(reason.find("relative positions are added to its scores (Add"), std::string::npos) << reason;
}

}  // namespace
