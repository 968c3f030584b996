// Tests parts of a conversion other than the graph: metadata of exporters, the proof, limits, the report.
#include <sys/resource.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/verify/prove.hpp"
#include "small_export.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class Conversions : public testing::Test {
protected:
    static int blocks(SmallExport& m, int x) {
        for (int k = 0; k < 4; ++k)
            x = m.block(x);
        return x;
    }

    static void finishPlain(SmallExport& m) { m.finish(blocks(m, m.embed())); }

    // Finishes the model with scores of four classes for each patch.
    static void finishSegmenter(SmallExport& m) {
        GraphBuilder& g = m.builder();
        const int x = m.norm(blocks(m, m.embed()));
        const int scores = m.linear(m.withoutFirst(x), SmallExport::kDim, 4);
        const int moved = g.node("Transpose", {scores});
        g.with("perm", Attribute::of(List<int64_t>{0, 2, 1}));
        const int map = g.node("Reshape", {moved, g.ints({1, 4, SmallExport::kRows, SmallExport::kColumns})});
        g.output(map, "scores", {1, 4, SmallExport::kRows, SmallExport::kColumns});
    }

    models::Conversion convert(const Graph& graph, models::ConvertOptions options = {}) {
        models::writeModel(graph, in);
        return models::convertModel(in, out, options);
    }

    std::string reasonFor(const Graph& graph, const models::ConvertOptions& options = {}) {
        try {
            convert(graph, options);
        } catch (const models::Refusal& refusal) {
            return refusal.what();
        } catch (const BudgetError& error) {
            return error.err;
        }
        return "converted";
    }

    TempFolder folder;
    const std::string in = folder / "in.onnx", out = folder / "out.onnx";
};

TEST_F(Conversions, AssumedPixelsAreReported) {
    SmallExport m(1);
    finishPlain(m);
    const std::string report = describe(convert(m.graph()));
    EXPECT_TRUE(has(report, "mean, std  0.5 0.5 0.5, 0.5 0.5 0.5: assumed")) << report;
    EXPECT_TRUE(has(report, "--mean and --std")) << report;
    EXPECT_TRUE(has(describe(models::inspectModel(in).found), ": assumed"));
}

TEST_F(Conversions, NotedPixelsAreUsed) {
    const std::vector<std::pair<std::map<std::string, std::string>, std::string>> notes{
        {{{"image_normalize", R"({"mean": [0.1, 0.2, 0.3], "std": [0.4, 0.5, 0.6]})"}}, "image_normalize"},
        {{{"norm_mean", "[0.1, 0.2, 0.3]"}, {"norm_std", "[0.4, 0.5, 0.6]"}}, "norm_mean"},
        {{{"mpm.mean", "[0.1, 0.2, 0.3]"}, {"mpm.std", "[0.4, 0.5, 0.6]"}}, "from the model"}};
    for (const auto& [metadata, origin] : notes) {
        SCOPED_TRACE(origin);
        SmallExport m(1);
        finishPlain(m);
        for (const auto& [key, value] : metadata)
            m.builder().metadata(key, value);
        const std::string report = describe(convert(m.graph()));
        EXPECT_TRUE(has(report, "mean, std  0.1 0.2 0.3, 0.4 0.5 0.6: from")) << report;
        EXPECT_TRUE(has(report, origin)) << report;
        EXPECT_EQ(modelInfo(out).mean, cv::Scalar(0.1, 0.2, 0.3));
        EXPECT_EQ(modelInfo(out).std, cv::Scalar(0.4, 0.5, 0.6));
        models::ConvertOptions options;
        options.mean = cv::Scalar(0.7, 0.8, 0.9);
        convert(m.graph(), options);
        EXPECT_EQ(modelInfo(out).mean, cv::Scalar(0.7, 0.8, 0.9));
        EXPECT_EQ(modelInfo(out).std, cv::Scalar(0.4, 0.5, 0.6));
    }
}

TEST_F(Conversions, NotesThatCannotBeUsedAreLeftOut) {
    for (const std::string text :
         {"", "nothing", "[1, 2]", R"({"mean": [1, 2, "3"], "std": [1, 2, 3]})", "[[[[[[[[1]]]]]]]]"}) {
        SCOPED_TRACE(text);
        SmallExport m(1);
        finishSegmenter(m);
        for (const char* key : {"image_normalize", "classes", "names", "imgsz_h", "imgsz_w"})
            m.builder().metadata(key, text);
        const models::Conversion found = convert(m.graph());
        EXPECT_TRUE(has(describe(found), "assumed"));
        EXPECT_FALSE(found.notes.empty());
        EXPECT_TRUE(modelInfo(out).labels.empty());
    }
}

TEST_F(Conversions, NotedClassesAreUsedIfTheyAreAsMany) {
    const std::vector<std::string> names{"sky", "road", "tree", "car"};
    const std::vector<std::pair<std::string, std::string>> notes{
        {"names", R"({"0": "sky", "1": "road", "2": "tree", "3": "car"})"},
        {"names", R"({"3": "car", "2": "tree", "1": "road", "0": "sky"})"},
        {"names", R"(["sky", "road", "tree", "car"])"},
        {"classes", R"({"7": "sky", "4": "road", "11": "tree", "2": "car"})"}};
    for (const bool labels : {false, true}) {
        for (const auto& [key, value] : notes) {
            SCOPED_TRACE(value);
            SmallExport m(1);
            finishSegmenter(m);
            m.builder().metadata(key, value);
            models::ConvertOptions options;
            options.labels = labels;
            convert(m.graph(), options);
            EXPECT_EQ(modelInfo(out).labels, names);
            options.classes = {"a", "b", "c", "d"};
            convert(m.graph(), options);
            EXPECT_EQ(modelInfo(out).labels, options.classes);
        }
    }
    SmallExport m(1);
    finishSegmenter(m);
    m.builder().metadata("names", R"({"0": "one", "1": "two"})");
    convert(m.graph());
    EXPECT_TRUE(modelInfo(out).labels.empty());
}

// Finishes a model whose graph resizes positions [1, D, 5, 7] to the patches of an image of any size.
void finishResizable(SmallExport& m) {
    GraphBuilder& g = m.builder();
    constexpr int kDim = SmallExport::kDim, kPatch = SmallExport::kPatch;
    const int weight = g.constant(m.random({kDim, 3, kPatch, kPatch}, 0.1f));
    const int map = g.node("Conv", {g.graph().inputs[0].value, weight});
    g.with("strides", Attribute::of(List<int64_t>{kPatch, kPatch}));
    const int places = g.constant(m.random({1, kDim, 5, 7}, 1)), none = g.constant(Tensor::floats({0}));
    const int resized = g.node("Resize", {places, none, none, g.node("Shape", {map})});
    g.with("mode", Attribute::of(std::string("linear")));
    const int rows = g.node("Reshape", {g.node("Add", {map, resized}), g.ints({1, kDim, -1})});
    int x = g.node("Transpose", {rows});
    g.with("perm", Attribute::of(List<int64_t>{0, 2, 1}));
    for (int k = 0; k < 2; ++k)
        x = m.block(x);
    m.finish(x);
}

TEST_F(Conversions, TheFirstSizeIsThatOfThePositions) {
    SmallExport m(1, {});
    finishResizable(m);
    EXPECT_EQ(convert(m.graph()).size, cv::Size(56, 40));
    m.builder().metadata("imgsz_h", "48");
    m.builder().metadata("imgsz_w", "64");
    EXPECT_EQ(convert(m.graph()).size, cv::Size(64, 48));
    models::ConvertOptions options;
    options.size = {32, 40};
    EXPECT_EQ(convert(m.graph(), options).size, cv::Size(32, 40));
}

// Returns the first input that the proof uses.
Tensor firstInput(const Shape& shape) {
    const std::vector<int> sizes(shape.begin(), shape.end());
    cv::Mat x(static_cast<int>(sizes.size()), sizes.data(), CV_32F);
    cv::RNG(20260405).fill(x, cv::RNG::UNIFORM, -1.5, 1.5);
    return Tensor::floats(shape, std::vector<float>(x.ptr<float>(), x.ptr<float>() + x.total()));
}

// Returns a model that multiplies each token with a gate: 1 if a value computed from the token is positive,
// else 0. If `atTheFirstInput`, this value is about 0 for the proof's first input, so rounding decides.
Graph gated(bool atTheFirstInput) {
    Tensor shift = Tensor::floats({1, 49, 1});
    for (const bool last : {false, true}) {
        SmallExport m(1);
        GraphBuilder& g = m.builder();
        int x = m.embed();
        for (int k = 0; k < 4; ++k)
            x = m.block(x);
        const int tokens = m.norm(x), value = m.linear(tokens, SmallExport::kDim, 1);
        if (!last && atTheFirstInput) {
            g.output(value, "value", {1, 49, 1});
            const Tensor at = models::evaluate(g.graph(), {firstInput({1, 3, 48, 64})})[0];
            for (int64_t k = 0; k < at.size(); ++k)
                shift.writeF()[k] = -at.f()[k];
        } else if (last) {
            const int near = g.node("Add", {value, g.constant(shift)});
            const int gate = g.node("Sigmoid", {g.node("Mul", {near, g.number(1e8f)})});
            g.output(g.node("Mul", {tokens, gate}), "y", {1, 49, SmallExport::kDim});
            return g.graph();
        }
    }
    return {};
}

TEST_F(Conversions, AnInputAtWhichRoundingDecidesProvesNothing) {
    const models::Conversion found = convert(gated(true));
    EXPECT_LT(found.error, 1e-5);
    ASSERT_EQ(found.notes.size(), 1u);
    EXPECT_TRUE(has(found.notes[0], "rounding decides")) << found.notes[0];
    EXPECT_TRUE(convert(gated(false)).notes.empty());
}

// The proof must find weights that are 0.1 % too large, even if rounding decides gates at the first input.
TEST_F(Conversions, AWrongConversionIsCaught) {
    for (const bool unstable : {true, false}) {
        const Graph original = gated(unstable);
        convert(original);
        const Graph converted = models::readModel(out);
        int mutants = 0;
        for (size_t v = 0; v < converted.values.size() && mutants < 12; ++v) {
            const Tensor& weight = converted.values[v].constant;
            if (!weight.known() || !weight.isFloat() || weight.size() < 1000) continue;
            Graph mutant = converted;
            std::vector<float> values = weight.toFloats();
            for (float& value : values)
                value *= 1.001f;
            mutant.values[v].constant = Tensor::floats(weight.shape(), values);
            models::writeModel(mutant, folder / "mutant.onnx");
            models::Prover prover(original, "", {{1, 3, 48, 64}}, converted);
            prover.setReread([&] { return original; });
            EXPECT_THROW(prover.check(folder / "mutant.onnx", {}), models::Refusal)
                << converted.values[v].name;
            EXPECT_NO_THROW(prover.check(out, {}));
            ++mutants;
        }
        EXPECT_GT(mutants, 3);
    }
}

int64_t mostMemory() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_maxrss} << 10;
}

// Many nodes read a sequence of 4000 elements. The file has only 80 kB, but each node needs much memory.
TEST_F(Conversions, SequencesCountAgainstTheLimit) {
    for (const bool stacks : {false, true}) {
        GraphBuilder g(17);
        const int x = g.input("image", {1, 3, 32, 32});
        const int list = g.node("SequenceConstruct", List<int>(4000, x));
        int last = x;
        for (int k = 0; k < 1000; ++k) {
            last = g.node("ConcatFromSequence", {list});
            g.with("axis", Attribute::of(int64_t{0})).with("new_axis", Attribute::of(int64_t{stacks}));
        }
        g.output(last, "y", {1});
        models::ConvertOptions options;
        options.maxMemory = 20 << 20;
        const int64_t before = mostMemory();
        const std::string reason = reasonFor(g.graph(), options);
        EXPECT_TRUE(has(reason, "--max-memory")) << reason;
        EXPECT_LT(mostMemory() - before, 200 << 20);
    }
}

// The input has a dynamic batch, but a Reshape has the constant batch of the exporter's example, as in
// Perception Encoder.
TEST_F(Conversions, ABatchThatIsDynamicByNameOnlyIsExplained) {
    SmallExport m(1);
    finishPlain(m);
    Graph graph = m.graph();
    graph.inputs[0].dims[0] = -1;
    const std::string reason = reasonFor(graph);
    EXPECT_TRUE(has(reason, "works for one image only") && has(reason, "--batch 1")) << reason;
    EXPECT_TRUE(has(models::inspectModel(in).reason, "--batch 1"));
    models::ConvertOptions options;
    options.batch = 1;
    EXPECT_EQ(reasonFor(graph, options), "converted");
}

// Returns tokens after four blocks and a norm, for a dynamic batch.
int tokensOfAnyBatch(SmallExport& m) {
    GraphBuilder& g = m.builder();
    constexpr int64_t kDim = SmallExport::kDim, kPatch = SmallExport::kPatch;
    const int map =
        g.node("Conv", {g.graph().inputs[0].value, g.constant(m.random({kDim, 3, kPatch, kPatch}, 1))});
    g.with("strides", Attribute::of(List<int64_t>{kPatch, kPatch}));
    int x = g.node("Transpose", {g.node("Reshape", {map, g.ints({-1, kDim, 48})})});
    g.with("perm", Attribute::of(List<int64_t>{0, 2, 1}));
    m.withoutFirst(x);
    for (int k = 0; k < 4; ++k)
        x = m.block(x);
    return m.norm(x);
}

TEST_F(Conversions, AMeanOverADynamicBatchIsExplained) {
    SmallExport m(-1);
    GraphBuilder& g = m.builder();
    constexpr int64_t kDim = SmallExport::kDim;
    const int x = tokensOfAnyBatch(m);
    const int mean = g.node("ReduceMean", {x});
    g.with("axes", Attribute::of(List<int64_t>{0}));
    g.output(mean, "mean", {1, 48, kDim});
    const std::string reason = reasonFor(g.graph());
    EXPECT_TRUE(has(reason, "combines the images of a dynamic batch") && has(reason, "--batch B")) << reason;
    models::ConvertOptions options;
    options.batch = 2;
    EXPECT_EQ(reasonFor(g.graph(), options), "converted");
}

// Attention pooling repeats a learned query for each image of a dynamic batch.
TEST_F(Conversions, ProductsOfARepeatedConstant) {
    SmallExport m(-1);
    GraphBuilder& g = m.builder();
    constexpr int64_t kDim = SmallExport::kDim;
    const int x = tokensOfAnyBatch(m), image = g.graph().inputs[0].value;
    const int batch = g.node("Gather", {g.node("Shape", {image}), g.ints({0})});
    const int sizes = g.node("Concat", {batch, g.ints({1, kDim})});
    g.with("axis", Attribute::of(int64_t{0}));
    const int query = g.node("Expand", {g.constant(m.random({1, 1, kDim}, 1)), sizes});
    const int product = g.node("MatMul", {query, g.constant(m.random({kDim, kDim}, 0.2f))});
    g.output(g.node("Add", {x, product}), "y", {-1, 48, kDim});
    EXPECT_EQ(reasonFor(g.graph()), "converted");
}

// Tokens have the shape [B, rows, columns, D], as in SAM.
TEST_F(Conversions, TokensInRowsAndColumnsWithADynamicBatch) {
    SmallExport m(-1);
    GraphBuilder& g = m.builder();
    constexpr int64_t kDim = SmallExport::kDim, kPatch = SmallExport::kPatch;
    const int weight = g.constant(m.random({kDim, 3, kPatch, kPatch}, 0.1f));
    const int map = g.node("Conv", {g.graph().inputs[0].value, weight});
    g.with("strides", Attribute::of(List<int64_t>{kPatch, kPatch}));
    int x = g.node("Transpose", {map});
    g.with("perm", Attribute::of(List<int64_t>{0, 2, 3, 1}));
    m.withoutFirst(x);
    const List<int64_t> flat{-1, 48, kDim}, square{-1, SmallExport::kRows, SmallExport::kColumns, kDim};
    const auto shaped = [&](int value, const List<int64_t>& shape) {
        return g.node("Reshape", {value, g.ints(shape)});
    };
    for (int k = 0; k < 3; ++k) {
        const int attention = m.attention(shaped(m.norm(x), flat));
        const int middle = shaped(g.node("Add", {x, shaped(attention, square)}), flat);
        x = shaped(g.node("Add", {middle, m.mlp(m.norm(middle))}), square);
    }
    g.output(m.norm(x), "y", {-1, SmallExport::kRows, SmallExport::kColumns, kDim});
    const models::Conversion found = convert(g.graph());
    EXPECT_EQ(found.blocks, 3);
    EXPECT_EQ(found.provedBatches, (std::vector<int>{1, 3}));
}

TEST_F(Conversions, MergedDecodersThatAreNotThereAreNamed) {
    SmallExport m(1);
    finishSegmenter(m);
    models::ConvertOptions options;
    options.decoder = models::Decoder::Merged;
    const models::Conversion found = convert(m.graph(), options);
    ASSERT_EQ(found.notes.size(), 1u);
    EXPECT_TRUE(has(found.notes[0], "--decoder merged changes nothing")) << found.notes[0];
}

// A model calls the encoder for the image and for two crops. The later calls must not count as decoders.
TEST_F(Conversions, AnEncoderThatIsCalledAgainIsNoDecoder) {
    SmallExport m(1);
    GraphBuilder& g = m.builder();
    List<int> all;
    for (int call = 0; call < 3; ++call)
        all.push_back(m.norm(blocks(m, m.embed())));
    g.output(g.node("Add", {g.node("Add", {all[0], all[1]}), all[2]}), "sum", {1, 49, SmallExport::kDim});
    const models::Conversion found = convert(m.graph());
    EXPECT_EQ(found.blocks, 4);
    EXPECT_EQ(found.decoder, "none");
    EXPECT_TRUE(has(describe(found), "beside     8 blocks of further encoders")) << describe(found);
    EXPECT_EQ(models::inspectModel(out).found.besideBlocks, 8);
}

}  // namespace
