// Tests attention in windows, in the forms that exports of detectors have.
#include <algorithm>

#include "converted_export.hpp"
#include "models/onnx/inspect.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;

constexpr int64_t kDim = SmallExport::kDim, kRows = SmallExport::kRows, kColumns = SmallExport::kColumns;

class WindowedExports : public ConvertedExport {
protected:
    int moved(int x, const List<int64_t>& order) {
        const int y = g.node("Transpose", {x});
        g.with("perm", Attribute::of(order));
        return y;
    }
    int joined(const List<int>& parts, int64_t axis) {
        const int y = g.node("Concat", parts);
        g.with("axis", Attribute::of(axis));
        return y;
    }
    int rows(int x, int64_t first, int64_t end) {
        return g.node("Slice", {x, g.ints({first}), g.ints({end}), g.ints({1})});
    }

    // Writes attention within `groups` groups of `tokens` rows each, and the projection.
    int attended(int x, int64_t groups, int64_t tokens) {
        const auto heads = [&](const List<int64_t>& order) {
            return moved(reshaped(m.linear(x, kDim, kDim), {groups, tokens, 2, kDim / 2}), order);
        };
        const int q = heads({0, 2, 1, 3}), k = heads({0, 2, 3, 1}), v = heads({0, 2, 1, 3});
        const int scores = g.node("Mul", {g.node("MatMul", {q, k}), g.number(0.25f)});
        const int weights = g.node("Softmax", {scores});
        g.with("axis", Attribute::of(int64_t{-1}));
        return m.linear(reshaped(moved(g.node("MatMul", {weights, v}), {0, 2, 1, 3}), {groups, tokens, kDim}),
                        kDim, kDim);
    }

    // Divides the embedding into windows of 3x4 tokens; each window has a special token.
    int windows() {
        const int all = m.embed();
        const int image = reshaped(rows(all, 1, 49), {2, 3, 2, 4, kDim});
        const int split = reshaped(moved(image, {0, 2, 1, 3, 4}), {4, 12, kDim});
        return joined({g.node("Tile", {rows(all, 0, 1), g.ints({4, 1, 1})}), split}, 1);
    }

    // Writes a block. A global block has a reshape before the norm and a reshape after the projection.
    int block(int x, bool global) {
        const int attention =
            global ? reshaped(attended(m.norm(reshaped(x, {1, 52, kDim})), 1, 52), {4, 13, kDim})
                   : attended(m.norm(x), 4, 13);
        const int middle = g.node("Add", {x, attention});
        return g.node("Add", {middle, m.mlp(m.norm(middle))});
    }

    // Returns the image tokens [1, 48, D] in raster order.
    int unwindowed(int x) {
        const int image = reshaped(rows(x, 1, 13), {2, 2, 3, 4, kDim});
        return reshaped(moved(image, {0, 2, 1, 3, 4}), {1, 48, kDim});
    }
};

TEST_F(WindowedExports, FromTheEmbeddingToTheTaps) {
    int x = windows();
    List<int> taps;
    for (int k = 0; k < 4; ++k) {
        x = block(x, k == 1 || k == 2);
        if (k % 2) taps.push_back(moved(reshaped(unwindowed(x), {1, kRows, kColumns, kDim}), {0, 3, 1, 2}));
    }
    g.output(joined(taps, 1), "features", {1, 2 * kDim, kRows, kColumns});
    const models::Conversion found = convert();
    EXPECT_EQ(found.blocks, 4);
    EXPECT_EQ(found.windows, "windows of 3x4, global blocks 1 2");
    EXPECT_EQ(found.specialTokens, 4);
    EXPECT_EQ(found.taps, (std::vector<int>{1, 3}));
    // The converter removed the division into windows and the inverse.
    EXPECT_EQ(count("MpmEmbed"), 1);
    EXPECT_EQ(count("Transpose") + count("MpmTranspose"), 2);
    for (const models::Node& node : m_converted.nodes)
        for (const int value : node.outputs)
            EXPECT_LT(m_converted.values[value].constant.rank(), 5);
}

// In blocks with windows, the report must count only attention within the windows. The export and the
// converted model must have the same counts.
TEST_F(WindowedExports, OperationsAreThoseOfTheWindows) {
    int x = windows();
    for (int k = 0; k < 3; ++k)
        x = block(x, k == 1);
    g.output(x, "tokens", {4, 13, kDim});
    const models::Conversion exported = convert();
    const models::Conversion converted = models::inspectModel(m_folder / "out.onnx").found;
    EXPECT_EQ(exported.windowCount, 4);
    EXPECT_EQ(converted.windowed, (std::vector<char>{1, 0, 1}));
    const double attention = 4e-9 * kDim * 52 * (2 * 13 + 52), rows = 52e-9 * 2 * kDim * kDim;
    EXPECT_GT(converted.gflops - converted.gflopsAround, attention + 3 * 4 * rows);
    EXPECT_NEAR(exported.gflops, converted.gflops, 0.01 * exported.gflops);
    EXPECT_NEAR(exported.gflopsAround, converted.gflopsAround, 0.01 * exported.gflops);
    EXPECT_GT(exported.gflopsAround, 0);
}

TEST_F(WindowedExports, LargeSoftmaxesBehindAreOurs) {
    const auto softmax = [this](int x) {
        const int y = g.node("Softmax", {x});
        g.with("axis", Attribute::of(int64_t{-1}));
        return y;
    };
    const int x = block(block(windows(), false), true);
    g.output(softmax(m.linear(x, kDim, 400)), "large", {4, 13, 400});
    g.output(softmax(m.linear(x, kDim, 20)), "small", {4, 13, 20});
    convert();
    EXPECT_EQ(count("MpmMaskedSoftmax"), 1);
    EXPECT_EQ(count("Softmax"), 1);
}

TEST_F(WindowedExports, TokensThatAreReadByWindow) {
    int x = windows();
    for (int k = 0; k < 3; ++k)
        x = block(x, k == 1);
    g.output(x, "tokens", {4, 13, kDim});
    EXPECT_EQ(convert().windows, "windows of 3x4, global blocks 1");
}

TEST_F(WindowedExports, GlobalBlocksBehindTheNorm) {
    int x = reshaped(moved(reshaped(rows(m.embed(), 1, 49), {1, 3, 2, 2, 4, kDim}), {0, 1, 3, 2, 4, 5}),
                     {6, 8, kDim});
    for (int k = 0; k < 3; ++k) {
        const bool global = k == 2;
        const int normed = m.norm(x);
        const int attention = global
                                  ? reshaped(attended(reshaped(normed, {1, 48, kDim}), 1, 48), {6, 8, kDim})
                                  : attended(normed, 6, 8);
        const int middle = g.node("Add", {x, attention});
        x = g.node("Add", {middle, m.mlp(m.norm(middle))});
    }
    const int map = moved(reshaped(x, {1, 3, 2, 2, 4, kDim}), {0, 5, 1, 3, 2, 4});
    g.output(reshaped(map, {1, kDim, kRows, kColumns}), "map", {1, kDim, kRows, kColumns});
    EXPECT_EQ(convert().windows, "windows of 2x4, global blocks 2");
}

TEST_F(WindowedExports, InsideOfEachBlockWithPadding) {
    int x = reshaped(rows(m.embed(), 1, 49), {1, kRows, kColumns, kDim});
    for (int k = 0; k < 3; ++k) {
        int attention = m.norm(x);
        if (k == 1) {
            attention =
                reshaped(attended(reshaped(attention, {1, 48, kDim}), 1, 48), {1, kRows, kColumns, kDim});
        } else {
            const int padded = g.node("Pad", {attention, g.ints({0, 0, 0, 0, 0, 2, 2, 0})});
            const int split = moved(reshaped(padded, {1, 2, 4, 2, 5, kDim}), {0, 1, 3, 2, 4, 5});
            const int result = attended(reshaped(split, {4, 20, kDim}), 4, 20);
            const int back = moved(reshaped(result, {1, 2, 2, 4, 5, kDim}), {0, 1, 3, 2, 4, 5});
            attention = g.node("Slice", {reshaped(back, {1, 8, 10, kDim}), g.ints({0, 0}),
                                         g.ints({kRows, kColumns}), g.ints({1, 2})});
        }
        const int middle = g.node("Add", {x, attention});
        x = g.node("Add", {middle, m.mlp(m.norm(middle))});
    }
    g.output(moved(x, {0, 3, 1, 2}), "map", {1, kDim, kRows, kColumns});
    EXPECT_EQ(convert().windows, "windows of 4x5 with padding, global blocks 1");
}

TEST_F(WindowedExports, WindowsThatDifferBetweenBlocksAreRejected) {
    int x = m.embed();
    x = rows(x, 1, 49);
    for (int k = 0; k < 2; ++k) {
        const List<int64_t> split =
            k == 0 ? List<int64_t>{1, 3, 2, 2, 4, kDim} : List<int64_t>{1, 2, 3, 4, 2, kDim};
        const int parts = moved(reshaped(m.norm(x), split), {0, 1, 3, 2, 4, 5});
        const int attention = attended(reshaped(parts, {split[1] * split[3], split[2] * split[4], kDim}),
                                       split[1] * split[3], split[2] * split[4]);
        const int back =
            moved(reshaped(attention, {1, split[1], split[3], split[2], split[4], kDim}), {0, 1, 3, 2, 4, 5});
        const int middle = g.node("Add", {x, reshaped(back, {1, 48, kDim})});
        x = g.node("Add", {middle, m.mlp(m.norm(middle))});
    }
    m.finish(x);
    try {
        convert();
        FAIL() << "was converted";
    } catch (const models::Refusal& refusal) {
        EXPECT_NE(std::string(refusal.what()).find("windows"), std::string::npos) << refusal.what();
    }
}

}  // namespace
