// Kinds of blocks: each is recognised, and the converted model computes what its export does.
#include <functional>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/domain_version.hpp"
#include "small_export.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
using models::Form;
using models::Node;
using models::Tensor;
using test::SmallExport;

using Block = std::function<int(SmallExport& model, int x)>;

cv::Mat matOf(const Tensor& t) {
    return cv::Mat(1, static_cast<int>(t.size()), CV_32F, const_cast<float*>(t.f().data())).clone();
}

class Blocks : public testing::Test {
protected:
    std::string write(const Block& before, const Block& block) {
        SmallExport model(1);
        int x = before(model, model.embed());
        for (int k = 0; k < 4; ++k)
            x = block(model, x);
        model.finish(x);
        const std::string path = folder / "export.onnx";
        models::writeModel(model.graph(), path);
        return path;
    }

    static cv::Mat evaluated(const std::string& path) {
        const cv::Mat image = SmallExport::image(1);
        Tensor x = Tensor::floats({1, image.size[1], image.size[2], image.size[3]});
        std::copy_n(image.ptr<float>(), image.total(), x.writeF().data());
        return matOf(models::evaluate(models::readModel(path), {x})[0]);
    }

    static cv::Mat forward(const std::string& path, const std::vector<int>& schedule) {
        registerLayers();
        cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
        encoder(net).setSchedule(schedule);
        net.setInput(SmallExport::image(1));
        cv::Mat out = net.forward().clone();
        EXPECT_EQ(encoder(net).report().images[0].tokens.back() < 48, !schedule.empty());
        return out.reshape(1, 1);
    }

    static void expectClose(const cv::Mat& a, const cv::Mat& b) {
        ASSERT_EQ(a.total(), b.total());
        EXPECT_LT(cv::norm(a, b, cv::NORM_INF), 1e-4 * cv::norm(b, cv::NORM_INF));
    }

    /// The encoder of the converted model, whose outputs are checked in both forms, and converted again.
    Node convert(const Block& before, const Block& block) {
        const std::string in = write(before, block), out = folder / "fused.onnx",
                          again = folder / "again.onnx", layers = folder / "layers.onnx";
        models::ConvertOptions options;
        options.blocks = std::vector<int>{};
        models::convertModel(in, out, options);
        const cv::Mat expected = evaluated(in);
        expectClose(forward(out, {}), expected);
        models::convertModel(out, again, options);
        EXPECT_EQ(cv::norm(forward(out, {2}), forward(again, {2}), cv::NORM_INF), 0);
        options.form = Form::Layers;
        models::convertModel(in, layers, options);
        expectClose(evaluated(layers), expected);
        const models::Graph graph = models::readModel(out);
        EXPECT_EQ(models::domainVersion(graph), 2);
        for (const Node& node : graph.nodes)
            if (node.op == "MpmEncoder") return node;
        ADD_FAILURE() << "no encoder";
        return {};
    }

    test::TempFolder folder;
};

int nothing(SmallExport&, int x) {
    return x;
}

TEST_F(Blocks, RmsNormInEverySpelling) {
    for (int spelling = 0; spelling < SmallExport::kRmsSpellings; ++spelling) {
        SCOPED_TRACE(spelling);
        const auto block = [&](SmallExport& m, int x) {
            const int middle = m.builder().node("Add", {x, m.attention(m.rmsNorm(x, spelling))});
            return m.builder().node("Add", {middle, m.swiGlu(m.rmsNorm(middle, spelling))});
        };
        const auto before = [&](SmallExport& m, int x) { return m.rmsNorm(x, spelling); };
        const Node encoder = convert(spelling % 2 ? Block(before) : Block(nothing), block);
        EXPECT_EQ(encoder.getInt("blocks", 0), 4);
        EXPECT_EQ(encoder.getString("norm", ""), "rms");
        EXPECT_EQ(encoder.getString("final_norm", ""), "layer");
        const models::Inspection found = models::inspectModel(folder / "fused.onnx");
        EXPECT_EQ(found.found.norm, "RMSNorm, epsilon 1e-06");
        EXPECT_EQ(found.found.activation, "silu, gated");
    }
}

TEST_F(Blocks, NormsOfTwoKindsAreRejected) {
    const std::string in = write(nothing, [](SmallExport& m, int x) {
        const int middle = m.builder().node("Add", {x, m.attention(m.rmsNorm(x))});
        return m.builder().node("Add", {middle, m.mlp(m.norm(middle))});
    });
    try {
        models::convertModel(in, folder / "out.onnx", {});
        ADD_FAILURE() << "converted";
    } catch (const models::Refusal& refusal) {
        EXPECT_NE(std::string(refusal.what()).find("RMSNorm, epsilon 1e-06; LayerNorm"), std::string::npos)
            << refusal.what();
    }
}

// x + attention + mlp in every order, with one norm and with two.
TEST_F(Blocks, ParallelInEveryOrder) {
    for (const bool twoNorms : {false, true}) {
        for (int order = 0; order < 4; ++order) {
            SCOPED_TRACE(order);
            const auto block = [&](SmallExport& m, int x) {
                const auto sum = [&](int a, int b) { return m.builder().node("Add", {a, b}); };
                const int first = m.norm(x), second = twoNorms ? m.norm(x) : first;
                const int attention = m.attention(first), mlp = m.mlp(second);
                if (order == 0) return sum(sum(x, attention), mlp);
                if (order == 1) return sum(sum(mlp, x), attention);
                if (order == 2) return sum(x, sum(attention, mlp));
                return sum(sum(mlp, attention), x);
            };
            const Node encoder = convert(nothing, block);
            EXPECT_EQ(encoder.getInt("blocks", 0), 4);
            EXPECT_EQ(encoder.getInt("parallel", 0), 1);
            EXPECT_EQ(encoder.outputs.size(), 1u);
        }
    }
}

// As timm's ParallelScalingBlock has it: x + g * (attention + mlp).
TEST_F(Blocks, ParallelWithOneScaleForBoth) {
    for (const bool scaleFirst : {false, true}) {
        const auto block = [&](SmallExport& m, int x) {
            const int y = m.norm(x), sum = m.builder().node("Add", {m.attention(y), m.mlp(y)});
            const int scale = m.builder().constant(m.random({SmallExport::kDim}, 1.5f));
            const int scaled = m.builder().node(
                "Mul", scaleFirst ? models::List<int>{scale, sum} : models::List<int>{sum, scale});
            return m.builder().node("Add", {x, scaled});
        };
        const Node encoder = convert(nothing, block);
        EXPECT_EQ(encoder.getInt("blocks", 0), 4);
        EXPECT_EQ(encoder.getInt("parallel", 0), 1);
    }
}

// An output after every block: the tokens of the block before must not be mistaken for its inner values.
TEST_F(Blocks, ParallelWithTaps) {
    SmallExport model(1);
    int x = model.embed();
    for (int k = 0; k < 4; ++k) {
        const int y = model.norm(x);
        x = model.builder().node("Add", {x, model.builder().node("Add", {model.attention(y), model.mlp(y)})});
        model.builder().output(x, "tap" + std::to_string(k), {1, model.tokens(), SmallExport::kDim});
    }
    const std::string in = folder / "taps.onnx", out = folder / "converted.onnx";
    models::writeModel(model.graph(), in);
    models::convertModel(in, out, {});
    models::List<int64_t> taps;
    for (const Node& node : models::readModel(out).nodes)
        if (node.op == "MpmEncoder") taps = node.getInts("taps");
    EXPECT_EQ(taps, (models::List<int64_t>{0, 1, 2, 3}));
}

}  // namespace
