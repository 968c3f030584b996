// A small model with a head: what OpenCV computes, and the nodes of the converted file.
#pragma once

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "small_export.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {

using models::Attribute;
using models::GraphBuilder;
using models::List;
using models::Node;
using models::Shape;
using models::Tensor;

inline int withInts(GraphBuilder& g, const std::string& op, int x, const char* name,
                    const List<int64_t>& values) {
    const int y = g.node(op, {x});
    g.with(name, Attribute::of(values));
    return y;
}

class HeadsInOpenCV : public testing::Test {
protected:
    using Head = std::function<int(SmallExport& model, int map)>;

    /// What OpenCV computes equals the evaluation of the export; the nodes of the converted model.
    List<Node> convert(const Head& head, const Shape& output) {
        SmallExport model(1);
        GraphBuilder& g = model.builder();
        int x = model.embed();
        for (int k = 0; k < 2; ++k)
            x = model.block(x);
        const int tokens = withInts(g, "Transpose", model.withoutFirst(model.norm(x)), "perm", {0, 2, 1});
        const Shape map{1, SmallExport::kDim, SmallExport::kRows, SmallExport::kColumns};
        g.output(head(model, g.node("Reshape", {tokens, g.ints({1, map[1], map[2], map[3]})})), "y", output);
        const std::string in = folder / "export.onnx", out = folder / "converted.onnx";
        models::writeModel(model.graph(), in);
        models::ConvertOptions options;
        options.blocks = std::vector<int>{};
        models::convertModel(in, out, options);
        const cv::Mat image = SmallExport::image(1);
        Tensor blob = Tensor::floats({1, image.size[1], image.size[2], image.size[3]});
        std::copy_n(image.ptr<float>(), image.total(), blob.writeF().data());
        const Tensor expected = models::evaluate(models::readModel(in), {blob})[0];
        registerLayers();
        cv::dnn::Net net = cv::dnn::readNetFromONNX(out);
        net.setInput(image);
        const cv::Mat found = net.forward();
        EXPECT_EQ(static_cast<int64_t>(found.total()), expected.size());
        const cv::Mat wanted(1, static_cast<int>(expected.size()), CV_32F,
                             const_cast<float*>(expected.f().data()));
        EXPECT_LT(cv::norm(found.reshape(1, 1), wanted, cv::NORM_INF), 1e-4 * cv::norm(wanted, cv::NORM_INF));
        const models::Graph graph = models::readModel(out);
        return graph.nodes;
    }

    static int64_t count(const List<Node>& nodes, const std::string& op) {
        return std::count_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.op == op; });
    }

    TempFolder folder;
};

}  // namespace mpm::test
