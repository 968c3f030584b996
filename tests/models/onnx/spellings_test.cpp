// Tests forms that current exporters and optimisers write: norms with a shared quotient, skip norms with a
// bias, inputs besides the image, gathered elements.
#include <algorithm>
#include <functional>

#include "converted_export.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;

constexpr int kDim = SmallExport::kDim;

int reduced(GraphBuilder& g, const char* op, int x, int64_t axis) {
    const int y = g.node(op, {x});
    g.with("axes", Attribute::of(List<int64_t>{axis}));
    return y;
}

// Returns the quotient that several norms of x share: x / rms(x), or (x - mean) / deviation.
int quotient(GraphBuilder& g, int x, bool rms, bool inverse) {
    const int centred = rms ? x : g.node("Sub", {x, reduced(g, "ReduceMean", x, -1)});
    const int squares = g.node("Pow", {centred, g.number(2)});
    const int sum = g.node("Add", {reduced(g, "ReduceMean", squares, -1), g.number(1e-6f)});
    const int root = g.node("Sqrt", {sum});
    if (!inverse) return g.node("Div", {centred, root});
    return g.node("Mul", {centred, g.node("Reciprocal", {root})});
}

int scaled(SmallExport& m, int normalised, bool biased) {
    GraphBuilder& g = m.builder();
    const int y = g.node("Mul", {normalised, g.constant(m.random({kDim}, 1.5f))});
    return biased ? g.node("Add", {y, g.constant(m.random({kDim}, 0.1f))}) : y;
}

// Every block has a tap. The norm of the tap and the first norm of the next block share the quotient.
TEST(Spellings, NormsOfATapAndABlockShareTheirQuotient) {
    for (const bool rms : {false, true}) {
        for (const bool inverse : {false, true}) {
            SmallExport m(1);
            GraphBuilder& g = m.builder();
            int x = m.embed();
            int shared = quotient(g, x, rms, inverse);
            const Tensor weight = m.random({kDim}, 1.5f), bias = m.random({kDim}, 0.1f);
            for (int k = 0; k < 4; ++k) {
                const int middle = g.node("Add", {x, m.attention(scaled(m, shared, !rms))});
                x = g.node("Add", {middle, m.mlp(scaled(m, quotient(g, middle, rms, inverse), !rms))});
                shared = quotient(g, x, rms, inverse);
                int tap = g.node("Mul", {g.constant(weight), shared});
                if (!rms) tap = g.node("Add", {tap, g.constant(bias)});
                g.output(tap, "tap" + std::to_string(k), {1, m.tokens(), kDim});
            }
            const models::Conversion found = converted(m.graph());
            EXPECT_EQ(found.blocks, 4) << rms << inverse;
            EXPECT_EQ(found.taps, (std::vector<int>{0, 1, 2, 3}));
            EXPECT_TRUE(found.notes.empty());
        }
    }
}

// ONNX Runtime's optimiser writes LayerNorms as RMSNorms of a centred tensor, which a tap and a block share.
TEST(Spellings, RmsNormsOfACentredTensorAreLayerNorms) {
    SmallExport m(1);
    GraphBuilder& g = m.builder();
    int x = m.embed();
    const Tensor weight = m.random({kDim}, 1.5f), bias = m.random({kDim}, 0.1f);
    const auto rms = [&](int centred, const Tensor& scale, const Tensor& shift) {
        const int y = g.node("SimplifiedLayerNormalization", {centred, g.constant(scale)});
        g.with("epsilon", Attribute::of(1e-6f)).with("axis", Attribute::of(int64_t{-1}));
        return g.node("Add", {g.constant(shift), y});
    };
    for (int k = 0; k < 4; ++k) {
        const int centred = g.node("Sub", {x, reduced(g, "ReduceMean", x, -1)});
        if (k > 0) g.output(rms(centred, weight, bias), "tap" + std::to_string(k), {1, m.tokens(), kDim});
        const int normed = rms(centred, m.random({kDim}, 1.5f), m.random({kDim}, 0.1f));
        const int middle = g.node("Add", {x, m.attention(normed)});
        x = g.node("Add", {middle, m.mlp(m.norm(middle))});
    }
    g.output(x, "tokens", {1, m.tokens(), kDim});
    const models::Conversion found = converted(m.graph());
    EXPECT_EQ(found.blocks, 4);
    EXPECT_EQ(found.taps, (std::vector<int>{0, 1, 2, 3}));
}

// If the quotient itself is an output, it becomes a norm without weight.
TEST(Spellings, ASharedQuotientMayBeAnOutput) {
    SmallExport m(1);
    GraphBuilder& g = m.builder();
    int x = m.embed();
    for (int k = 0; k < 3; ++k) {
        const int shared = quotient(g, x, false, false);
        if (k == 2) g.output(shared, "plain", {1, m.tokens(), kDim});
        const int middle = g.node("Add", {x, m.attention(scaled(m, shared, true))});
        x = g.node("Add", {middle, m.mlp(m.norm(middle))});
    }
    m.finish(x);
    EXPECT_EQ(converted(m.graph()).blocks, 3);
}

// ONNX Runtime's SkipLayerNormalization can also add the bias of the previous product (fifth input).
TEST(Spellings, SkipNormsHoldTheBiasOfTheProduct) {
    for (const bool productFirst : {true, false}) {
        SmallExport m(1);
        GraphBuilder& g = m.builder();
        const int depth = 3;
        int x = m.embed(), normed = m.norm(x);
        for (int k = 0; k < depth; ++k) {
            const int middle = g.node("Add", {x, m.attention(normed)});
            const int hidden = g.node("Relu", {m.linear(m.norm(middle), kDim, SmallExport::kHidden)});
            const int product =
                g.node("MatMul", {hidden, g.constant(m.random({SmallExport::kHidden, kDim}, 0.2f))});
            const List<int> sum = productFirst ? List<int>{product, middle} : List<int>{middle, product};
            const List<int> inputs{sum[0], sum[1], g.constant(m.random({kDim}, 1.5f)),
                                   g.constant(m.random({kDim}, 0.1f)), g.constant(m.random({kDim}, 0.5f))};
            normed = g.node("SkipLayerNormalization", inputs, "com.microsoft");
            g.with("epsilon", Attribute::of(1e-6f));
            x = g.outputOf(3);
        }
        g.output(normed, "tokens", {1, m.tokens(), kDim});
        const TempFolder folder;
        models::writeModel(m.graph(), folder / "export.onnx");
        const models::Graph read = models::readModel(folder / "export.onnx");
        const models::Conversion found =
            test::convertedLike(m.graph(), read, test::unmerged(), SmallExport::image(1));
        EXPECT_EQ(found.blocks, depth);
        EXPECT_EQ(found.segments, 1);
    }
}

models::ConvertOptions merged() {
    return {};
}

TEST(Spellings, AModelThatNeverMergesIsReported) {
    SmallExport m(1);
    m.finish(m.block(m.embed()));
    const models::Conversion found = converted(m.graph(), merged());
    EXPECT_TRUE(found.schedule.empty());
    EXPECT_NE(test::notesOf(found).find("nothing merges"), std::string::npos) << test::notesOf(found);
    EXPECT_TRUE(converted(m.graph()).notes.empty()) << "--blocks none was asked for";
}

TEST(Spellings, AttentionOutsideOfTheEncoderIsReported) {
    SmallExport m(1);
    GraphBuilder& g = m.builder();
    int x = m.embed();
    for (int k = 0; k < 3; ++k)
        x = m.block(x);
    // This attention has no norm before it, so it is not a block.
    g.output(m.attention(x), "mixed", {1, m.tokens(), kDim});
    const models::Conversion found = converted(m.graph(), merged());
    EXPECT_EQ(found.blocks, 3);
    EXPECT_NE(test::notesOf(found).find("attention at 1 place outside of the encoder never merges"),
              std::string::npos)
        << test::notesOf(found);
    EXPECT_NE(test::notesOf(found).find("is not the result of a norm"), std::string::npos)
        << test::notesOf(found);
    EXPECT_EQ(found.decoder, "attention in no block (1)");
}

// Returns a model of images and texts like CLIP: an output for each, and an output that depends on both.
models::Graph twoTowers() {
    SmallExport m(1);
    GraphBuilder& g = m.builder();
    const int ids = g.input("ids", {2, 4}), unread = g.input("unread", {2, 4});
    static_cast<void>(unread);
    int x = m.embed();
    for (int k = 0; k < 3; ++k)
        x = m.block(x);
    const int first = g.node("Gather", {m.norm(x), g.constant(Tensor::ints({}, 0))});
    g.with("axis", Attribute::of(int64_t{1}));
    const int text = g.node("MatMul", {ids, g.constant(m.random({4, kDim}, 1))});
    const int turned = g.node("Transpose", {text});
    // Here, the graph reads only the shape of the input "ids".
    const int rows = g.node("Slice", {g.node("Shape", {ids}), g.ints({0}), g.ints({1})});
    const int shape = g.node("Concat", {rows, g.ints({-1})});
    g.with("axis", Attribute::of(int64_t{0}));
    g.output(g.node("MatMul", {first, turned}), "scores", {1, 2});
    g.output(first, "image_embeds", {1, kDim});
    g.output(text, "text_embeds", {2, kDim});
    g.output(g.node("Reshape", {first, shape}), "halves", {2, kDim / 2});
    return g.graph();
}

TEST(Spellings, InputsThatOnlyDroppedOutputsNeedGoToo) {
    models::ConvertOptions options = test::unmerged();
    options.outputs = {"image_embeds", "halves"};
    const TempFolder folder;
    models::writeModel(twoTowers(), folder / "export.onnx");
    models::convertModel(folder / "export.onnx", folder / "converted.onnx", options);
    const models::Graph graph = models::readModel(folder / "converted.onnx");
    ASSERT_EQ(graph.inputs.size(), 1u);
    EXPECT_EQ(graph.inputs[0].name, "image");
    EXPECT_EQ(graph.outputs.size(), 2u);
}

TEST(Spellings, SeveralInputsAreNamedWithTheOutputsThatNeedTheImageAlone) {
    const TempFolder folder;
    models::writeModel(twoTowers(), folder / "export.onnx");
    try {
        models::convertModel(folder / "export.onnx", folder / "converted.onnx", {});
        FAIL() << "was converted";
    } catch (const models::Refusal& refusal) {
        const std::string text = refusal.what();
        EXPECT_NE(text.find("beside the image 'image' it has ids; "), std::string::npos) << text;
        EXPECT_NE(text.find("--outputs image_embeds,halves"), std::string::npos) << text;
        EXPECT_EQ(text.find("text_embeds"), std::string::npos) << text;
    }
}

TEST(Spellings, InputsThatNoOutputNeedsAreReported) {
    SmallExport m(1);
    m.builder().input("unread", {2, 4});
    int x = m.embed();
    for (int k = 0; k < 3; ++k)
        x = m.block(x);
    m.finish(x);
    const TempFolder folder;
    models::writeModel(m.graph(), folder / "export.onnx");
    const models::Conversion found =
        models::convertModel(folder / "export.onnx", folder / "converted.onnx", test::unmerged());
    EXPECT_EQ(test::notesOf(found), "no output needs these inputs, which are left out: unread\n");
    EXPECT_EQ(models::readModel(folder / "converted.onnx").inputs.size(), 1u);
}

// Converts a model with a head after three blocks, and compares the outputs with the export.
void convertHead(const std::function<void(SmallExport& m, int tokens)>& head) {
    SmallExport m(1);
    int x = m.embed();
    for (int k = 0; k < 3; ++k)
        x = m.block(x);
    head(m, m.norm(x));
    EXPECT_EQ(converted(m.graph()).blocks, 3);
}

Tensor indices(const Shape& shape, const std::vector<int64_t>& values) {
    return Tensor::vector(values).reshaped(shape);
}

TEST(Spellings, GatherNDThatIsAGather) {
    convertHead([](SmallExport& m, int x) {  // x[:, [0, 3]], as PyTorch's default exporter writes it
        GraphBuilder& g = m.builder();
        const int picked =
            g.node("GatherND", {test::transposed(g, x, {1, 0, 2}), g.constant(indices({2, 1}, {0, 3}))});
        g.output(test::transposed(g, picked, {1, 0, 2}), "y", {1, 2, kDim});
    });
    convertHead([](SmallExport& m, int x) {  // the indices have an axis for images (batch_dims)
        GraphBuilder& g = m.builder();
        const int picked = g.node("GatherND", {x, g.constant(indices({1, 3, 1}, {-1, 2, 2}))});
        g.with("batch_dims", Attribute::of(int64_t{1}));
        g.output(picked, "y", {1, 3, kDim});
    });
    convertHead([](SmallExport& m, int x) {  // an index for each of two axes
        GraphBuilder& g = m.builder();
        const int picked = g.node("GatherND", {x, g.constant(indices({2, 2}, {0, 5, 0, -2}))});
        g.output(picked, "y", {2, kDim});
    });
}

TEST(Spellings, ClassesByATable) {
    for (const bool nd : {true, false}) {
        convertHead([&](SmallExport& m, int x) {
            GraphBuilder& g = m.builder();
            const int best = g.node("ArgMax", {m.linear(x, kDim, 5)});
            g.with("axis", Attribute::of(int64_t{-1})).with("keepdims", Attribute::of(int64_t{0}));
            const int table = g.constant(indices({5}, {7, 11, 3, 90, 0}));
            const int ids = nd ? g.node("GatherND", {table, g.node("Unsqueeze", {best, g.ints({-1})})})
                               : g.node("Gather", {table, best});
            g.integers(ids, "ids", {1, m.tokens()});
        });
    }
}

TEST(Spellings, TheBestScoreAndItsClass) {
    for (const int64_t largest : {1, 0}) {
        convertHead([&](SmallExport& m, int x) {
            GraphBuilder& g = m.builder();
            const int first = g.node("Gather", {x, g.constant(Tensor::ints({}, 0))});
            g.with("axis", Attribute::of(int64_t{1}));
            const int scores = m.linear(first, kDim, 9);
            const int best = g.node("TopK", {scores, g.ints({1})});
            g.with("largest", Attribute::of(largest));
            const int index = g.outputOf(1);
            g.output(best, "score", {1, 1});
            g.integers(index, "class", {1, 1});
            const int label = g.node("ArgMax", {scores});
            g.with("axis", Attribute::of(int64_t{1})).with("keepdims", Attribute::of(int64_t{0}));
            g.integers(label, "label", {1});
        });
    }
}

// TopK returns the largest or the smallest values first. NaN comes after all numbers, and equal values keep
// their order.
TEST(Spellings, SeveralBestScores) {
    const float nan = NAN;
    for (const int64_t largest : {1, 0}) {
        GraphBuilder g(17);
        const int x = g.input("x", {1, 5});
        const int best = g.node("TopK", {x, g.ints({4})});
        g.with("largest", Attribute::of(largest));
        const int index = g.outputOf(1);
        g.output(best, "best", {1, 4});
        g.integers(index, "index", {1, 4});
        const List<Tensor> found = models::evaluate(g.graph(), {Tensor::floats({1, 5}, {2, nan, 7, 2, 3})});
        EXPECT_EQ(found[0].toFloats(),
                  largest ? (std::vector<float>{7, 3, 2, 2}) : (std::vector<float>{2, 2, 3, 7}));
        EXPECT_EQ(found[1].toInts(), largest ? (List<int64_t>{2, 4, 0, 3}) : (List<int64_t>{0, 3, 4, 2}));
    }
}

TEST(Spellings, MoreScoresThanThereAre) {
    for (const int64_t count : {0, 4}) {
        GraphBuilder g(17);
        const int x = g.input("x", {2, 3});
        g.output(g.node("TopK", {x, g.ints({count})}), "best", {2, count});
        EXPECT_THROW(models::evaluate(g.graph(), {Tensor::floats({2, 3})}), models::Refusal) << count;
    }
}

}  // namespace
