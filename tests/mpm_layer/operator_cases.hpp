// Lists every operator with attributes, constants and inputs of several sizes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <opencv2/dnn.hpp>

namespace mpm::test {

using Sizes = std::vector<int>;

struct OperatorCase {
    std::string type;
    cv::dnn::LayerParams params;
    std::vector<cv::Mat> constants;            ///< passed after the inputs
    std::vector<std::vector<cv::Mat>> inputs;  ///< a list for each forward
};

inline cv::Mat values(const Sizes& sizes, double low = -1, double high = 1) {
    cv::Mat m(static_cast<int>(sizes.size()), sizes.data(), CV_32F);
    cv::RNG random(static_cast<uint64_t>(m.total() + 7 * sizes[0]));
    random.fill(m, cv::RNG::UNIFORM, low, high);
    return m;
}

inline cv::Mat ids(const Sizes& sizes, int below) {
    cv::Mat m = values(sizes);
    for (size_t i = 0; i < m.total(); ++i)
        m.ptr<float>()[i] = static_cast<float>(i % below);
    return m;
}

inline cv::dnn::DictValue listOf(const Sizes& sizes) {
    return cv::dnn::DictValue::arrayInt(sizes.data(), static_cast<int>(sizes.size()));
}

/// Attributes with a text, and attributes with numbers. A list with a single element becomes a number.
struct Attributes {
    std::vector<std::pair<std::string, std::string>> words;
    std::vector<std::pair<std::string, Sizes>> numbers;
};

inline OperatorCase makeCase(const std::string& type, const Attributes& attributes,
                             std::vector<cv::Mat> constants, std::vector<std::vector<cv::Mat>> inputs) {
    OperatorCase one{type, {}, std::move(constants), std::move(inputs)};
    for (const auto& [name, text] : attributes.words)
        one.params.set(name, cv::String(text));
    for (const auto& [name, numbers] : attributes.numbers)
        one.params.set(name, listOf(numbers));
    return one;
}

inline OperatorCase encoderCase() {
    constexpr int kDim = 16, kHidden = 24;
    const std::vector<std::pair<std::string, Sizes>> weights = {
        {"0.norm1.weight", {1, kDim}}, {"0.norm1.bias", {1, kDim}},       {"0.qkv.weight", {kDim, 3 * kDim}},
        {"0.qkv.bias", {1, 3 * kDim}}, {"0.proj.weight", {kDim, kDim}},   {"0.proj.bias", {1, kDim}},
        {"0.norm2.weight", {1, kDim}}, {"0.norm2.bias", {1, kDim}},       {"0.fc1.weight", {kDim, kHidden}},
        {"0.fc1.bias", {1, kHidden}},  {"0.fc2.weight", {kHidden, kDim}}, {"0.fc2.bias", {1, kDim}}};
    std::string names = "tokens";
    std::vector<cv::Mat> constants;
    for (const auto& [name, sizes] : weights) {
        names += " " + name;
        constants.push_back(values(sizes));
    }
    return makeCase(
        "MpmEncoder",
        {{{"inputs", names}}, {{"blocks", {1}}, {"heads", {2}}, {"dim", {kDim}}, {"schedule", {0}}}},
        constants, {{values({1, 9, kDim})}, {values({2, 6, kDim})}, {values({1, 2, kDim})}});
}

inline std::vector<OperatorCase> decoderCases() {
    return {
        makeCase(
            "MpmConv",
            {{{"activation", "silu"}, {"residual", "last"}},
             {{"stride", {2, 1}}, {"padding", {1, 1, 1, 1}}, {"groups", {2}}}},
            {values({12, 4, 3, 3}), values({1, 12})},
            {{values({1, 8, 5, 4}), values({1, 12, 3, 4})}, {values({2, 8, 4, 6}), values({2, 12, 2, 6})}}),
        makeCase(
            "MpmConv", {{{"residual", "first"}}, {{"size", {7, 6}}, {"align_corners", {1}}}},
            {values({12, 8, 3, 3}), values({1, 12})},
            {{values({1, 8, 4, 3}), values({1, 12, 5, 4})}, {values({2, 8, 2, 5}), values({2, 12, 5, 4})}}),
        makeCase("MpmConvTranspose", {{{"activation", "gelu"}}, {{"window", {2, 2}}}},
                 {values({12, 8}), values({1, 3})}, {{values({1, 8, 3, 4})}, {values({2, 8, 5, 2})}}),
        makeCase("MpmDeformable", {{}, {{"heads", {2}}, {"points", {2}}, {"levels", {3, 4}}}}, {},
                 {{values({1, 12, 8}), values({1, 3, 8}), values({1, 3, 4}), values({1, 3, 1, 2}, 0, 1)},
                  {values({2, 12, 4}), values({2, 5, 8}), values({2, 5, 4}), values({2, 5, 1, 2}, 0, 1)}}),
        makeCase("MpmMaskLabels", {{}, {{"size", {8, 6}}}}, {},
                 {{values({1, 4, 3, 3}), values({1, 4, 6})}, {values({2, 2, 4, 5}), values({2, 2, 3})}}),
        makeCase("MpmMaskedSoftmax", {}, {},
                 {{values({2, 3, 4}), values({1, 3, 4})}, {values({4, 2, 7}), values({2, 2, 7})}}),
        makeCase("MpmMaskedSoftmax", {}, {}, {{values({2, 3, 4})}, {values({1, 2, 5, 7})}}),
        makeCase(
            "MpmGridSample", {{{"mode", "bilinear"}}, {}}, {},
            {{values({1, 3, 4, 4}), values({1, 2, 3, 2})}, {values({2, 1, 2, 5}), values({2, 4, 1, 2})}}),
        makeCase("MpmResize", {{}, {{"size", {8, 9}}}}, {}, {{values({1, 3, 4, 4})}, {values({2, 2, 5, 3})}}),
        makeCase("MpmResize", {{}, {{"size", {8, 9}}, {"argmax", {1}}}}, {},
                 {{values({1, 3, 4, 4})}, {values({2, 2, 5, 3})}}),
        makeCase("MpmTopK", {{}, {{"k", {2}}}}, {},
                 {{values({1, 9})}, {values({2, 5, 3})}, {values({3, 2})}}),
        makeCase("MpmTopK", {{}, {{"k", {4}}, {"flatten", {1}}}}, {},
                 {{values({1, 2, 3})}, {values({2, 4})}}),
        makeCase("MpmGatherRows", {}, {},
                 {{values({1, 9, 8}), ids({1, 4}, 9)}, {values({1, 3, 5}), ids({2, 7}, 3)}}),
        makeCase("MpmGatherRows", {}, {values({1, 6, 4})}, {{ids({1, 4}, 6)}, {ids({3, 2}, 5)}}),
        makeCase("MpmShare", {{}, {{"grid", {4, 4}}, {"shared", {2}}}}, {},
                 {{values({1, 2, 2, 2}), values({1, 17, 8}), values({1, 4, 8})},
                  {values({2, 2, 2, 2}), values({2, 17, 5}), values({2, 4, 5})}})};
}

inline std::vector<OperatorCase> operatorCases() {
    std::vector<OperatorCase> all = {
        makeCase("MpmMerge", {}, {}, {{values({1, 9, 8})}, {values({2, 6, 4})}, {values({1, 1, 3})}}),
        makeCase("MpmRestore", {}, {},
                 {{values({1, 9, 8}), ids({1, 12}, 8)}, {values({2, 5, 4}), ids({2, 7}, 4)}}),
        encoderCase(),
        makeCase("MpmEmbed", {{}, {{"first", {1}}}}, {values({5, 16})},
                 {{values({1, 16, 2, 2})}, {values({2, 4, 16})}, {values({3, 16, 1, 3})}}),
        makeCase("MpmEmbed", {{}, {{"first", {1}}, {"patch", {4, 4}}}}, {values({5, 16}), values({48, 16})},
                 {{values({1, 3, 8, 8})}, {values({2, 3, 4, 16})}, {values({1, 3, 4, 8})}}),
        makeCase("MpmLayerNorm", {}, {values({1, 16}), values({1, 16})},
                 {{values({2, 5, 16})}, {values({1, 3, 7, 16})}}),
        makeCase("MpmMatMul", {}, {},
                 {{values({1, 2, 3, 4}), values({1, 2, 4, 5})}, {values({6, 3}), values({3, 2})}}),
        makeCase("MpmMatMul", {{}, {{"reversed", {1}}}}, {values({7, 4})},
                 {{values({4, 5})}, {values({2, 4, 3})}}),
        makeCase("MpmLinear", {{{"activation", "relu"}, {"precision", "encoder"}}, {}},
                 {values({16, 12}), values({1, 12})},
                 {{values({2, 5, 16})}, {values({1, 16})}, {values({3, 1, 2, 16})}}),
        makeCase("MpmLinear", {}, {},
                 {{values({2, 5, 16}), values({16, 12}), values({1, 12})},
                  {values({1, 16}), values({16, 12}, 0, 2)},
                  {values({3, 8}), values({8, 4})}}),
        makeCase("MpmArithmetic", {{{"operation", "sub"}}, {{"reversed", {1}}}}, {values({1, 4})},
                 {{values({2, 3, 4})}, {values({5, 1, 4})}}),
        makeCase("MpmFunction", {{{"function", "gelu"}}, {}}, {}, {{values({2, 3, 4})}, {values({5, 1})}}),
        makeCase("MpmTranspose", {{}, {{"perm", {0, 2, 1}}}}, {},
                 {{values({2, 3, 4})}, {values({1, 5, 2})}})};
    for (OperatorCase& one : decoderCases())
        all.push_back(std::move(one));
    return all;
}

}  // namespace mpm::test
