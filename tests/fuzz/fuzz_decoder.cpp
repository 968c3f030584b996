// Fuzzes the operators of mask decoders and of token sharing, with shapes that fit or nearly fit. The bytes
// choose the values.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "fuzz/choices.hpp"
#include "support/onnx_model.hpp"

namespace {

using mpm::fuzz::Choices;
using mpm::test::Dims;
using mpm::test::OnnxModel;

constexpr int kEdges[] = {-1, 0x7FFFFFFF, -0x7FFFFFFF - 1, 1 << 16, 1 << 29, 65535, 255};

int odd(Choices& c) {
    return c.once(2) ? c.of(kEdges) : c.below(12);
}

/// Returns `size`, or sometimes another size.
int nearly(Choices& c, int size) {
    return c.once(24) ? c.below(12) : size;
}

cv::Mat values(Choices& c, const Dims& dims) {
    cv::Mat m(static_cast<int>(dims.size()), dims.data(), CV_32F);
    cv::RNG random(c.number<std::uint32_t>());
    random.fill(m, cv::RNG::UNIFORM, -3, 3);
    for (int i = c.below(8); i > 0 && !m.empty(); --i)
        m.ptr<float>()[random.uniform(0, static_cast<int>(m.total()))] = c.number<float>();
    return m;
}

/// Runs the model twice.
void run(Choices& c, OnnxModel& model, const std::vector<std::pair<std::string, Dims>>& inputs) {
    const std::string bytes = model.bytes();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    std::vector<cv::Mat> outputs;
    for (int times = 0; times < 2; ++times) {
        for (const auto& [name, dims] : inputs)
            net.setInput(values(c, dims), name);
        net.forward(outputs, net.getUnconnectedOutLayersNames());
    }
}

std::vector<std::string> declare(OnnxModel& model, const std::vector<std::pair<std::string, Dims>>& inputs) {
    std::vector<std::string> names;
    for (const auto& [name, dims] : inputs) {
        model.input(name, dims);
        names.push_back(name);
    }
    return names;
}

void deformable(Choices& c) {
    const int images = 1 + c.below(2), queries = 1 + c.below(80), heads = 1 + c.below(4),
              points = 1 + c.below(8), width = heads * (1 + c.below(40));
    std::vector<int> levels;
    int positions = 0;
    for (int left = 1 + c.below(4); left > 0; --left) {
        const int rows = 1 + c.below(20), columns = 1 + c.below(20);
        levels.insert(levels.end(), {rows, columns});
        positions += rows * columns;
    }
    const int count = static_cast<int>(levels.size() / 2), samples = heads * count * points;
    const std::vector<std::pair<std::string, Dims>> inputs = {
        {"value", {images, nearly(c, positions), nearly(c, width)}},
        {"offsets", {images, queries, nearly(c, 2 * samples)}},
        {"logits", {images, queries, nearly(c, samples)}},
        {"reference", {c.once(2) ? images : 1, nearly(c, queries), c.once(2) ? count : 1, nearly(c, 2)}}};
    OnnxModel model;
    const std::vector<std::string> names = declare(model, inputs);
    model.node("MpmDeformable", names, {"out"}, "mpm");
    if (c.once(16)) levels.back() = odd(c);
    model.attribute("heads", c.once(16) ? odd(c) : heads).attribute("points", c.once(16) ? odd(c) : points);
    model.ints("levels", levels).output("out", {1});
    run(c, model, inputs);
}

void maskedSoftmax(Choices& c) {
    const int images = 1 + c.below(3), queries = 1 + c.below(20), keys = 1 + c.below(120);
    const std::vector<std::pair<std::string, Dims>> inputs = {
        {"scores", {images * (1 + c.below(4)), queries, keys}},
        {"masks", {nearly(c, images), nearly(c, queries), nearly(c, keys)}}};
    OnnxModel model;
    const std::vector<std::string> names = declare(model, inputs);
    model.node("MpmMaskedSoftmax", names, {"out"}, "mpm").output("out", {1});
    run(c, model, inputs);
}

void gridSample(Choices& c) {
    constexpr const char* kModes[] = {"bilinear", "linear", "nearest", "bicubic"};
    constexpr const char* kPaddings[] = {"zeros", "border", "zeros", "border", "reflection"};
    const int images = 1 + c.below(3);
    const std::vector<std::pair<std::string, Dims>> inputs = {
        {"map", {images, 1 + c.below(6), 1 + c.below(20), 1 + c.below(20)}},
        {"grid", {nearly(c, images), 1 + c.below(30), 1 + c.below(30), nearly(c, 2)}}};
    OnnxModel model;
    const std::vector<std::string> names = declare(model, inputs);
    model.node("MpmGridSample", names, {"out"}, "mpm");
    model.attribute("mode", std::string(c.of(kModes)));
    model.attribute("padding_mode", std::string(c.of(kPaddings)));
    model.attribute("align_corners", c.once(16) ? odd(c) : c.below(2)).output("out", {1});
    run(c, model, inputs);
}

void share(Choices& c) {
    const int images = 1 + c.below(2), rows = 2 * (1 + c.below(6)), columns = 2 * (1 + c.below(6)),
              special = c.below(3), dim = 1 + c.below(10), superpatches = rows * columns / 4;
    const std::vector<std::pair<std::string, Dims>> inputs = {
        {"policy", {images, nearly(c, 2), rows / 2, columns / 2}},
        {"fine", {images, nearly(c, special + rows * columns), dim}},
        {"coarse", {images, nearly(c, superpatches), nearly(c, dim)}}};
    OnnxModel model;
    const std::vector<std::string> names = declare(model, inputs);
    model.node("MpmShare", names, {"tokens", "map"}, "mpm");
    model.attribute("shared", c.once(16) ? odd(c) : c.below(superpatches + 1));
    model.attribute("special_tokens", c.once(16) ? odd(c) : special);
    model.ints("grid", {c.once(16) ? odd(c) : rows, c.once(16) ? odd(c) : columns});
    model.output("tokens", {1}).output("map", {1});
    run(c, model, inputs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    mpm::registerLayers();
    Choices c(data, size);
    try {
        switch (c.below(4)) {
            case 0:
                return deformable(c), 0;
            case 1:
                return maskedSoftmax(c), 0;
            case 2:
                return gridSample(c), 0;
            default:
                return share(c), 0;
        }
    } catch (const cv::Exception& e) {
        if (e.err.size() > 100000) std::abort();
    }
    return 0;
}
