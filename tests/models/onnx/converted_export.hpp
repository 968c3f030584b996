// Writes a small export, converts it, runs it with OpenCV, and compares with the evaluated export.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>
#include <mpm/read_net.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "small_export.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {

inline models::ConvertOptions unmerged() {
    models::ConvertOptions options;
    options.blocks = std::vector<int>{};
    return options;
}

/// Converts `given`, and compares the result for `image` with an evaluation of `expected`. The image's size
/// may differ from the size in `given`.
inline models::Conversion convertedLike(const Graph& given, const Graph& expected,
                                        const models::ConvertOptions& options, const cv::Mat& image,
                                        Graph* made = nullptr) {
    const TempFolder folder;
    const std::string in = folder / "export.onnx", out = folder / "converted.onnx";
    models::writeModel(given, in);
    const models::Conversion conversion = models::convertModel(in, out, options);
    Tensor blob = Tensor::floats(Shape(image.size.p, image.size.p + image.dims));
    std::copy_n(image.ptr<float>(), image.total(), blob.writeF().data());
    const List<Tensor> wanted = models::evaluate(expected, {blob});
    std::vector<cv::String> names;
    const Graph graph = models::readModel(out);
    for (const models::Port& port : graph.outputs)
        names.push_back(port.name);
    if (made) *made = graph;
    cv::dnn::Net net = readNet(out);
    encoder(net).setSchedule({});
    net.setInput(image);
    std::vector<cv::Mat> found;
    net.forward(found, names);
    EXPECT_EQ(found.size(), wanted.size());
    for (size_t k = 0; k < std::min(found.size(), wanted.size()); ++k) {
        cv::Mat values;
        found[k].reshape(1, 1).convertTo(values, CV_32F);
        std::vector<float> floats = wanted[k].toFloats();
        const cv::Mat right(1, static_cast<int>(floats.size()), CV_32F, floats.data());
        EXPECT_EQ(values.total(), right.total()) << "output " << k;
        if (values.total() != right.total()) continue;
        EXPECT_LT(cv::norm(values, right, cv::NORM_INF), 1e-5 * cv::norm(right, cv::NORM_INF) + 1e-12)
            << "output " << k;
    }
    return conversion;
}

inline models::Conversion converted(const Graph& graph, const models::ConvertOptions& options = unmerged()) {
    return convertedLike(graph, graph, options, SmallExport::image(1));
}

inline std::string notesOf(const models::Conversion& conversion) {
    std::string all;
    for (const std::string& note : conversion.notes)
        all += note + "\n";
    return all;
}

/// A fixture that writes a model, converts it without merging and reads it back.
class ConvertedExport : public testing::Test {
protected:
    int reshaped(int x, const List<int64_t>& shape) { return g.node("Reshape", {x, g.ints(shape)}); }

    models::Conversion convert(models::ConvertOptions options = {}) {
        const std::string in = m_folder / "in.onnx", out = m_folder / "out.onnx";
        models::writeModel(m.graph(), in);
        options.blocks = std::vector<int>{};
        const models::Conversion conversion = models::convertModel(in, out, options);
        EXPECT_LT(conversion.error, 1e-5);
        m_converted = models::readModel(out);
        return conversion;
    }

    int64_t count(const std::string& op) const {
        return std::count_if(m_converted.nodes.begin(), m_converted.nodes.end(),
                             [&](const Node& node) { return node.op == op; });
    }

    SmallExport m{1};
    GraphBuilder& g = m.builder();
    const TempFolder m_folder;
    Graph m_converted;
};

inline int transposed(GraphBuilder& g, int x, const List<int64_t>& order) {
    const int y = g.node("Transpose", {x});
    g.with("perm", Attribute::of(order));
    return y;
}

}  // namespace mpm::test
