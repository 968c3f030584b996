// make_model OUT.onnx: the smallest complete model: an image of 32x32, patches of
// 8x8, an MpmEncoder of three blocks, a linear head. Random weights; the metadata `mpm::modelInfo` reads.
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

void writeModel(const std::string& path) {
    mpm::test::EncoderOptions options;
    options.heads = 2;
    options.special = 0;
    options.imageTokens = kGrid * kGrid;
    OnnxModel model;
    addEmbedding(model, options.dim());
    addEncoder(model, mpm::test::makeEncoder(options));
    model.constant("head", randomWeights({options.dim(), kClasses}, 0.3));
    model.node("MatMul", {"features", "head"}, {"logits"});
    model.output("logits", {1, kGrid * kGrid, kClasses});
    model.metadata("mpm.size", "[32, 32]");
    model.write(path);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 2) throw std::invalid_argument("one argument wanted, the file to write");
        writeModel(argv[1]);
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        std::cerr << "make_model: " << error.what() << "\n";
        return EXIT_FAILURE;
    }
}
