// make_model OUT.onnx [detector|masks]: writes a small complete model with an image of 32x32, patches of 8x8,
// an MpmEncoder of three blocks, and a linear head, or fixed boxes and scores. The weights are random. The
// file has the metadata that `mpm::modelInfo` reads.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>

#include "support/onnx_model.hpp"

namespace {

using mpm::test::OnnxModel;

constexpr int kPatch = 8, kGrid = 4, kClasses = 3;

cv::Mat randomWeights(const std::vector<int>& sizes, double deviation) {
    static cv::RNG random(7);
    cv::Mat weights(sizes, CV_32F);
    random.fill(weights, cv::RNG::NORMAL, 0, deviation);
    return weights;
}

void addEmbedding(OnnxModel& model, int dim) {
    model.input("picture", {1, 3, kGrid * kPatch, kGrid * kPatch});
    model.constant("embed", randomWeights({dim, 3, kPatch, kPatch}, 0.2));
    model.node("Conv", {"picture", "embed"}, {"patches"});
    model.ints("kernel_shape", {kPatch, kPatch}).ints("strides", {kPatch, kPatch});
    model.constant("shape", std::vector<long long>{1, dim, kGrid * kGrid});
    model.node("Reshape", {"patches", "shape"}, {"columns"});
    model.node("Transpose", {"columns"}, {"tokens"}).ints("perm", {0, 2, 1});
}

void addEncoder(OnnxModel& model, const mpm::test::EncoderCase& encoder) {
    std::string names = "tokens";
    std::vector<std::string> inputs = {"tokens"};
    for (const auto& [name, value] : encoder.ordered) {
        model.constant(name, value, value.rows == 1 ? mpm::test::Dims{value.cols} : mpm::test::Dims{});
        inputs.push_back(name);
        names += " " + name;
    }
    model.node("MpmEncoder", inputs, {"features"}, "mpm");
    model.attribute("inputs", names).attribute("blocks", encoder.options.blocks);
    model.attribute("heads", encoder.options.heads).attribute("special_tokens", encoder.options.special);
}

/// Adds an output with fixed values, which do not depend on the image.
void addRows(OnnxModel& model, int dim, const std::string& name, const cv::Mat& values) {
    model.constant(name + "/zero", cv::Mat(cv::Mat::zeros(dim, values.cols, CV_32F)));
    model.node("MatMul", {"features", name + "/zero"}, {name + "/none"});
    model.constant(name + "/values", values, {1, values.rows, values.cols});
    model.node("Add", {name + "/none", name + "/values"}, {name});
}

/// Adds a mask for each box: the left quarter of the image.
void addMasks(OnnxModel& model, int dim) {
    cv::Mat logits(kGrid * kGrid, kGrid * kGrid, CV_32F, cv::Scalar(-1));
    for (int column = 0; column < logits.cols; column += kGrid)
        logits.col(column).setTo(1);
    addRows(model, dim, "masks/rows", logits);
    model.constant("masks/shape", std::vector<long long>{1, kGrid * kGrid, kGrid, kGrid});
    model.node("Reshape", {"masks/rows", "masks/shape"}, {"masks"});
    model.output("masks", {1, kGrid * kGrid, kGrid, kGrid});
}

/// Adds two boxes side by side, of classes 0 and 1, and a copy of the first box with a score below 0.5.
void addBoxes(OnnxModel& model, int dim, bool masks) {
    cv::Mat boxes(kGrid * kGrid, 4, CV_32F, cv::Scalar(0)), scores(kGrid * kGrid, 2, CV_32F, cv::Scalar(-9));
    for (int i = 0; i < 3; ++i) {
        const float box[] = {i == 1 ? .75F : .25F, .5F, .25F, .5F};
        std::copy(box, box + 4, boxes.ptr<float>(i));
        scores.at<float>(i, i % 2) = i == 2 ? -.5F : 3 - float(i);
    }
    addRows(model, dim, "dets", boxes);
    addRows(model, dim, "scores", scores);
    model.output("dets", {1, kGrid * kGrid, 4});
    model.output("scores", {1, kGrid * kGrid, 2});
    if (masks) addMasks(model, dim);
    model.metadata("mpm.detections", masks ? R"({"boxes": "dets", "scores": "scores", "masks": "masks"})"
                                           : R"({"boxes": "dets", "scores": "scores"})");
    model.metadata("mpm.labels", R"(["left", "right"])");
}

void writeModel(const std::string& path, const std::string& kind) {
    mpm::test::EncoderOptions options;
    options.heads = 2;
    options.special = 0;
    options.imageTokens = kGrid * kGrid;
    OnnxModel model;
    addEmbedding(model, options.dim());
    addEncoder(model, mpm::test::makeEncoder(options));
    if (!kind.empty()) {
        addBoxes(model, options.dim(), kind == "masks");
    } else {
        model.constant("head", randomWeights({options.dim(), kClasses}, 0.3));
        model.node("MatMul", {"features", "head"}, {"logits"});
        model.output("logits", {1, kGrid * kGrid, kClasses});
    }
    model.metadata("mpm.size", "[32, 32]");
    model.write(path);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::string kind = argc == 3 ? argv[2] : "";
        if (argc < 2 || argc > 3 || (argc == 3 && kind != "detector" && kind != "masks"))
            throw std::invalid_argument("wanted: the file to write, then nothing, detector or masks");
        writeModel(argv[1], kind);
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        std::cerr << "make_model: " << error.what() << "\n";
        return EXIT_FAILURE;
    }
}
