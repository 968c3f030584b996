// Some tokens and channels of the detectors are 100 to 1,000 times as large as all others. In bf16 and int8,
// scores and boxes must be close to those in f32. Linear layers after the encoder must stay in f32.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>
#include <mpm/read_net.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "small_export.hpp"
#include "support/npy.hpp"
#include "support/shared.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
using models::Attribute;
using models::Graph;
using models::List;
using models::Node;
using models::Port;
using models::Tensor;
using test::SmallExport;
namespace fs = std::filesystem;

// Writes a detector that selects the 100 best of 256 places. A convolution (the neck) reads the tokens
// without a norm, as in LW-DETR. If `norm` is false, no norm precedes scores and boxes, as in DEIMv2.
void writeSmallDetector(const std::string& path, bool norm) {
    constexpr int64_t kDim = SmallExport::kDim, kSide = 16, kPlaces = kSide * kSide, kBest = 100;
    SmallExport m(1, {kSide, kSide});
    models::GraphBuilder& g = m.builder();
    const auto reshaped = [&](int x, const List<int64_t>& shape) {
        return g.node("Reshape", {x, g.ints(shape)});
    };
    const auto turned = [&](int x) {
        const int y = g.node("Transpose", {x});
        g.with("perm", Attribute::of(List<int64_t>{0, 2, 1}));
        return y;
    };
    int x = m.embed();
    for (int k = 0; k < 4; ++k)
        x = m.block(x);
    const int map = reshaped(turned(m.withoutFirst(x)), {1, kDim, kSide, kSide});
    const int neck = g.node("Conv", {map, g.constant(m.random({kDim, kDim, 3, 3}, 0.1f))});
    g.with("pads", Attribute::of(List<int64_t>{1, 1, 1, 1}));
    const int active = g.node("Mul", {neck, g.node("Sigmoid", {neck})});
    const int places = turned(reshaped(active, {1, kDim, kPlaces}));
    const int memory = norm ? m.norm(places) : places;
    const float usual = 1 / std::sqrt(static_cast<float>(kDim));
    const int scores = g.node("MatMul", {memory, g.constant(m.random({kDim, 8}, usual))});
    const int boxes = g.node("Sigmoid", {m.linear(memory, kDim, 4)});
    const int most = g.node("ReduceMax", {scores});
    g.with("axes", Attribute::of(List<int64_t>{-1})).with("keepdims", Attribute::of(int64_t{0}));
    g.node("TopK", {most, g.ints({kBest})});
    const int best = reshaped(g.outputOf(1), {1, kBest, 1});
    const auto picked = [&](int from, int64_t width) {
        const int y = g.node("GatherElements", {from, g.node("Expand", {best, g.ints({1, kBest, width})})});
        g.with("axis", Attribute::of(int64_t{1}));
        return y;
    };
    g.output(picked(boxes, 4), "dets", {1, kBest, 4});
    g.output(picked(scores, 8), "labels", {1, kBest, 8});
    models::writeModel(m.graph(), path);
}

std::vector<std::string> detectors() {
    std::vector<std::string> names{"small", "small_without_norm"};
    const std::string folder = test::sharedDir() + "/fixtures/detect";
    if (fs::is_directory(folder)) {
        for (const auto& entry : fs::directory_iterator(folder))
            if (test::fileExists(entry.path().string() + "/none.topk.npy"))
                names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin() + 2, names.end());
    return names;
}

// Scales down the weights of class layers. In the fixtures, these weights are 5 to 14 times as large as in a
// new layer, so that no two scores are close. Errors would grow by the same factor.
void shrinkClassLayers(Graph& graph) {
    for (const Node& node : graph.nodes) {
        if (node.op != "MpmTopK") continue;
        const Node* layer = graph.nodeOf(node.inputs[0]);
        while (layer && layer->op != "MpmLinear")
            layer = graph.nodeOf(layer->inputs[0]);
        ASSERT_TRUE(layer);
        Tensor& weight = graph.values[layer->inputs[1]].constant;
        double squares = 0;
        for (int64_t k = 0; k < weight.size(); ++k)
            squares += static_cast<double>(weight.f()[k]) * weight.f()[k];
        const double usual = 1 / std::sqrt(3.0 * static_cast<double>(weight.dim(0))),
                     deviation = std::sqrt(squares / static_cast<double>(weight.size()));
        for (int64_t k = 0; k < weight.size() && deviation > usual; ++k)
            weight.writeF()[k] *= static_cast<float>(usual / deviation);
    }
}

struct Factors {
    const char* name;
    float token, channel;
};

struct Result {
    List<cv::Mat> scores, indices, boxes;
    std::vector<std::string> keptInF32;
};

class Outliers : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        std::string path = m_folder / "small.onnx";
        if (GetParam().rfind("small", 0) == 0) {
            writeSmallDetector(path, GetParam() == "small");
            m_image = SmallExport::image(1, {16, 16});
        } else {
            const std::string base = test::sharedDir() + "/fixtures/detect/" + GetParam();
            path = base + "/model.onnx";
            m_image = test::readNpy(base + "/input.npy").mat();
            if (test::fileExists(base + "/input2.npy")) m_size = test::readNpy(base + "/input2.npy").mat();
        }
        models::ConvertOptions options;
        options.blocks = std::vector<int>{};
        options.batch = m_image.size[0];  // fixed, because run() adds inputs with this batch
        m_conversion = models::convertModel(path, m_folder / "converted.onnx", options);
        m_graph = models::readModel(m_folder / "converted.onnx");
        for (const Node& node : m_graph.nodes)
            if (node.op == "MpmTopK") m_selections.push_back(node);
        shrinkClassLayers(m_graph);
    }

    // Returns the graph with some of the encoder's tokens and channels multiplied by `factors`.
    Graph planted(const Factors& factors) const {
        Graph graph = m_graph;
        const auto encoder = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                          [](const Node& node) { return node.op == "MpmEncoder"; });
        const int64_t rows = m_conversion.specialTokens + m_conversion.imageTokens, dim = m_conversion.dim;
        Tensor each = Tensor::floats({1, rows, dim}, 1);
        for (int64_t k = 0; k < rows * dim; ++k) {
            if (k / dim % 17 == 5) each.writeF()[k] *= factors.token;
            if (k % dim % 23 == 7) each.writeF()[k] *= factors.channel;
        }
        Node node;
        node.op = "MpmArithmetic";
        node.domain = "mpm";
        node.inputs = {encoder->inputs[0], graph.addConstant("factors", each)};
        node.outputs = {graph.addValue("planted")};
        node.attributes["operation"] = Attribute::of(std::string("mul"));
        encoder->inputs[0] = node.outputs[0];
        graph.nodes.insert(encoder, node);
        return graph;
    }

    // Runs the graph. If `given` is set, its selected places replace those that the graph would select.
    Result run(Graph graph, Precision precision, const Result* given = nullptr) const {
        std::vector<cv::String> names;
        for (const Port& port : graph.outputs)
            names.push_back(port.name);
        for (size_t k = 0; k < m_selections.size(); ++k) {
            const int indices = m_selections[k].outputs[1];
            Port port;
            if (given && isUsed(graph, indices)) {
                port.name = "given" + std::to_string(k);
                port.value = graph.addValue(port.name);
                port.hasShape = true;
                port.dims = {graph.inputs[0].dims[0], m_selections[k].getInt("k", 0)};
                for (Node& node : graph.nodes)
                    std::replace(node.inputs.begin(), node.inputs.end(), indices, port.value);
                graph.inputs.push_back(port);
            }
            addOutput(graph, m_selections[k].inputs[0], "scores" + std::to_string(k), names);
            addOutput(graph, indices, "indices" + std::to_string(k), names);
        }
        cv::dnn::Net net = network(graph, precision);
        for (size_t k = 0; given && k < m_selections.size(); ++k)
            if (isUsed(m_graph, m_selections[k].outputs[1]))
                net.setInput(given->indices[k], "given" + std::to_string(k));
        std::vector<cv::Mat> outputs;
        net.forward(outputs, names);
        Result result;
        for (size_t k = 0; k < names.size(); ++k) {
            cv::Mat floats;
            outputs[k].convertTo(floats, CV_32F);
            if (names[k] == "dets" || names[k] == "boxes") result.boxes.push_back(floats);
            if (names[k].rfind("scores", 0) == 0 && names[k] != "scores") result.scores.push_back(floats);
            if (names[k].rfind("indices", 0) == 0) result.indices.push_back(floats);
        }
        result.keptInF32 = encoder(net).report().keptInF32;
        return result;
    }

    cv::dnn::Net network(Graph& graph, Precision precision) const {
        const std::string path = m_folder / "run.onnx";
        graph.sort();
        models::writeModel(graph, path);
        cv::dnn::Net net = readNet(path);
        encoder(net).setDevice(Device::Cpu);
        encoder(net).setPrecision(precision);
        encoder(net).setSchedule({});
        net.setInput(m_image, graph.inputs[0].name);
        if (!m_size.empty()) net.setInput(inEngine(m_size), graph.inputs[1].name);
        return net;
    }

    // Returns the largest and the median difference between elements of `a` and `b`.
    static std::pair<double, double> apart(const cv::Mat& a, const cv::Mat& b) {
        std::vector<double> all;
        for (size_t k = 0; k < a.total(); ++k)
            all.push_back(std::abs(static_cast<double>(a.ptr<float>()[k]) - b.ptr<float>()[k]));
        std::sort(all.begin(), all.end());
        return {all.back(), all[all.size() / 2]};
    }

    // Adds an output with this name, if the value is not an output yet. Returns the output's name.
    static std::string addOutput(Graph& graph, int value, const std::string& name,
                                 std::vector<cv::String>& names) {
        for (const Port& port : graph.outputs)
            if (port.value == value) return port.name;
        Port port;
        port.value = value;
        port.name = name;
        graph.outputs.push_back(port);
        names.push_back(name);
        return name;
    }

    const test::TempFolder m_folder;
    models::Conversion m_conversion;
    Graph m_graph;
    List<Node> m_selections;
    cv::Mat m_image, m_size;

private:
    static bool isUsed(const Graph& graph, int value) {
        return std::any_of(graph.nodes.begin(), graph.nodes.end(), [value](const Node& node) {
            return std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end();
        });
    }

    static cv::Mat inEngine(const cv::Mat& integers) {
        cv::Mat given;
#ifdef CV_64S
        integers.convertTo(given, CV_64S);
#else
        integers.convertTo(given, CV_32F);
#endif
        return given;
    }
};

TEST_P(Outliers, KeepScoresAndBoxes) {
    for (const Factors& factors : {Factors{"none", 1, 1},
                                   {"tokens of 100", 100, 1},
                                   {"tokens of 1000", 1000, 1},
                                   {"channels of 100", 1, 100},
                                   {"channels of 1000", 1, 1000},
                                   {"both", 1000, 1000}}) {
        const Graph graph = planted(factors);
        const Result f32 = run(graph, Precision::F32);
        for (const Precision precision : {Precision::BF16, Precision::I8}) {
            const bool i8 = precision == Precision::I8;
            if (!i8 && !kernels::hasBf16()) continue;
            SCOPED_TRACE(std::string(factors.name) + (i8 ? ", int8" : ", bf16"));
            const Result found = run(graph, precision, &f32);
            for (size_t k = 0; k < f32.scores.size(); ++k) {
                const auto [largest, median] = apart(f32.scores[k], found.scores[k]);
                EXPECT_LT(largest, 0.05);
                EXPECT_LT(median, 0.01);
            }
            for (size_t k = 0; k < f32.boxes.size(); ++k) {
                const double pixels = m_size.empty() ? m_image.size[3] : 1;
                EXPECT_LT(pixels * apart(f32.boxes[k], found.boxes[k]).first, i8 ? 2 : 1);
            }
        }
    }
}

// The linear layers that give scores, boxes and queries must run in f32, so each output must equal the
// product that the test computes in double, except for the rounding of f32.
TEST_P(Outliers, RunNoLinearLayerBehindTheEncoderInInt8) {
    Graph graph = planted({"both", 100, 100});
    std::vector<cv::String> names;
    for (const Port& port : graph.outputs)
        names.push_back(port.name);
    List<std::pair<std::string, std::string>> layers;
    List<Node> linear;
    for (const Node& node : graph.nodes)
        if (node.op == "MpmLinear" && !graph.isConstant(node.inputs[0])) linear.push_back(node);
    for (size_t k = 0; k < linear.size(); ++k)
        layers.emplace_back(addOutput(graph, linear[k].inputs[0], "in" + std::to_string(k), names),
                            addOutput(graph, linear[k].outputs[0], "out" + std::to_string(k), names));
    cv::dnn::Net net = network(graph, Precision::I8);
    std::vector<cv::Mat> outputs;
    net.forward(outputs, names);
    const auto rowsOf = [&](const std::string& name, int width) {
        const auto at = std::find(names.begin(), names.end(), name) - names.begin();
        cv::Mat rows;
        outputs[at].reshape(1, static_cast<int>(outputs[at].total() / width)).convertTo(rows, CV_64F);
        return rows;
    };
    EXPECT_GE(linear.size(), 2u);
    for (size_t k = 0; k < linear.size(); ++k) {
        const auto operand = [&](size_t input) {
            const Tensor& values = graph.constant(linear[k].inputs[input]);
            cv::Mat matrix;
            cv::Mat(values.toFloats(), true)
                .reshape(1, values.rank() > 1 ? static_cast<int>(values.dim(0)) : 1)
                .convertTo(matrix, CV_64F);
            return matrix;
        };
        const cv::Mat w = operand(1);
        const int depth = w.rows, width = w.cols;
        const cv::Mat bias = linear[k].inputs.size() > 2 ? operand(2) : cv::Mat::zeros(1, width, CV_64F);
        const cv::Mat x = rowsOf(layers[k].first, depth), y = rowsOf(layers[k].second, width);
        cv::Mat product = x * w + cv::repeat(bias, x.rows, 1);
        const std::string activation = linear[k].getString("activation", "none");
        for (double* v = product.ptr<double>(); v != product.ptr<double>() + product.total(); ++v) {
            if (activation == "relu") *v = std::max(*v, 0.0);
            if (activation == "silu") *v /= 1 + std::exp(-*v);
            if (activation == "gelu") *v *= 0.5 * (1 + std::erf(*v / std::sqrt(2.0)));
        }
        EXPECT_EQ(linear[k].getString("precision", "f32"), "f32");
        const cv::Mat bound = cv::abs(x) * cv::abs(w) + cv::repeat(cv::abs(bias), x.rows, 1);
        EXPECT_EQ(cv::countNonZero(cv::abs(product - y) > 1e-5 * bound + 1e-30), 0) << layers[k].second;
    }
}

INSTANTIATE_TEST_SUITE_P(Of, Outliers, testing::ValuesIn(detectors()),
                         [](const auto& model) { return model.param; });

}  // namespace
