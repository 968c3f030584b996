// A layer must give the right result for any order of calls. The test calls each layer's functions in random
// order, with inputs of several sizes, and compares the results with those of a new layer. This file is also
// compiled against a copy of the interface of a future OpenCV (tests/support/coming).
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <opencv2/dnn/layer.details.hpp>

#include <mpm/mpm.hpp>

#include "mpm_layer/dnn/opencv.hpp"
#include "mpm_layer/interface/operators.hpp"
#include "mpm_layer/operator_cases.hpp"

namespace mpm::test {
namespace {

using dnn::Shape;
using Mats = std::vector<cv::Mat>;

// A single layer, and the calls that a network makes on it.
class Driven {
public:
    /// If `among`, passes constants as inputs (as engines with dynamic shapes do), else as blobs.
    Driven(const OperatorCase& one, bool among) : m_case(one), m_among(among) {
        cv::dnn::LayerParams params = one.params;
        params.name = "layer";
        params.type = one.type;
        if (!among) params.blobs = one.constants;
        m_layer = cv::dnn::LayerFactory::createLayerInstance(params.type, params);
        m_layer->type = params.type;
        m_layer->blobs = params.blobs;
#ifdef MPM_OPENCV_DYNAMIC
        if (among) m_layer->inputs.resize(one.inputs[0].size() + one.constants.size());
#endif
    }

    std::vector<Shape> shapes(size_t variant) {
        std::vector<Shape> in, out, internals;
        for (const cv::Mat& m : inputs(variant))
            in.emplace_back(m.size.p, m.size.p + m.dims);
        m_layer->getMemoryShapes(in, 0, out, internals);
        m_layer->getFLOPS(in, out);
        return out;
    }

    std::vector<int> types(size_t count) {
        std::vector<int> types(count, CV_32F);
#ifdef MPM_OPENCV_TYPES
        std::vector<cv::dnn::MatType> found, internals;
        m_layer->getTypes({}, static_cast<int>(count), 0, found, internals);
        types.assign(found.begin(), found.end());
#endif
        return types;
    }

    /// Calls finalize() with allocated or with empty outputs, or reshapeLayer().
    void prepare(size_t variant, unsigned how) {
        Mats in = inputs(variant), out = how % 2 ? outputs(variant) : Mats();
#ifdef MPM_OPENCV_RESHAPE
        if (how % 4 > 1) return m_layer->reshapeLayer(in, out);
#endif
        cv::dnn::Layer& layer = *m_layer;
        layer.finalize(cv::_InputArray(in), cv::_OutputArray(out));
    }

    Mats forward(size_t variant) {
        const Mats in = inputs(variant);
        Mats out = outputs(variant), internals;
        m_layer->forward(in, out, internals);
        return out;
    }

private:
    Mats inputs(size_t variant) const {
        Mats in = m_case.inputs[variant];
        if (m_among) in.insert(in.end(), m_case.constants.begin(), m_case.constants.end());
        return in;
    }

    Mats outputs(size_t variant) {
        Mats out;
        const std::vector<Shape> wanted = shapes(variant);
        const std::vector<int> kinds = types(wanted.size());
        for (size_t i = 0; i < wanted.size(); ++i) {
            std::vector<int> sizes;
            for (size_t k = 0; k < wanted[i].size(); ++k)
                sizes.push_back(wanted[i][static_cast<int>(k)]);
            out.emplace_back(static_cast<int>(sizes.size()), sizes.data(), kinds[i], cv::Scalar(77));
        }
        return out;
    }

    const OperatorCase& m_case;
    const bool m_among;
    cv::Ptr<cv::dnn::Layer> m_layer;
};

bool sameBits(const Mats& a, const Mats& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i].type() != b[i].type() || !(a[i].size == b[i].size)) return false;
        if (std::memcmp(a[i].data, b[i].data, a[i].total() * a[i].elemSize()) != 0) return false;
    }
    return true;
}

// Makes up to six random calls on a layer, then calls forward(). Every result must equal the expected result.
void anyOrder(const OperatorCase& one, bool among, const std::vector<Mats>& expected, std::mt19937& random) {
    const auto below = [&](size_t count) { return random() % count; };
    Driven layer(one, among);
    std::string calls;
    for (size_t left = below(7) + 1; left > 0; --left) {
        const size_t variant = below(one.inputs.size()), call = left == 1 ? 3 : below(4);
        calls += " " + std::to_string(call) + "/" + std::to_string(variant);
        if (call == 0) layer.shapes(variant);
        if (call == 1) layer.types(1);
        if (call == 2) layer.prepare(variant, random());
        if (call != 3) continue;
        const Mats seen = layer.forward(variant);
        ASSERT_TRUE(sameBits(seen, expected[variant])) << one.type << ", calls:" << calls;
    }
}

TEST(CallOrders, OfEveryOperatorGiveTheBitsOfAFreshLayer) {
    registerLayers();
    const char* text = std::getenv("MPM_CALL_ORDERS");
    const int orders = text ? std::atoi(text) : 300;
    std::mt19937 random(5);
    std::set<std::string> seen;
    for (const OperatorCase& one : operatorCases()) {
        seen.insert(one.type);
        for (const bool among : {false, true}) {
            std::vector<Mats> expected;
            for (size_t variant = 0; variant < one.inputs.size(); ++variant)
                expected.push_back(Driven(one, among).forward(variant));
            for (int order = 0; order < orders && !HasFatalFailure(); ++order)
                anyOrder(one, among, expected, random);
        }
    }
    for (const dnn::Operator& known : dnn::operators())
        EXPECT_EQ(seen.count(known.type), 1U) << "no case for " << known.type;
}

}  // namespace
}  // namespace mpm::test
