// Fuzzes encoders with maps, windows and trailing tokens (alone and as segments of a chain), and the operator
// MpmMaskLabels. The bytes choose attributes, shapes and ids.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "fuzz/choices.hpp"
#include "support/encoder_case.hpp"
#include "support/onnx_model.hpp"

namespace {

using mpm::fuzz::Choices;
using mpm::test::Dims;
using mpm::test::EncoderCase;
using mpm::test::EncoderOptions;
using mpm::test::OnnxModel;

constexpr int kEdges[] = {-1, 0x7FFFFFFF, -0x7FFFFFFF - 1, 1 << 16, 1 << 29, 65535, 255};

int odd(Choices& c) {
    return c.once(2) ? c.of(kEdges) : c.below(12);
}

cv::Mat values(Choices& c, const Dims& dims) {
    cv::Mat m(static_cast<int>(dims.size()), dims.data(), CV_32F);
    cv::RNG random(c.number<std::uint32_t>());
    random.fill(m, cv::RNG::UNIFORM, -3, 3);
    for (int i = c.below(4); i > 0 && !m.empty(); --i)
        m.ptr<float>()[random.uniform(0, static_cast<int>(m.total()))] = c.number<float>();
    return m;
}

/// Returns a map, which is valid in most cases.
cv::Mat ids(Choices& c, int images, int tokens) {
    cv::Mat m(images, tokens, CV_32F);
    const int size = 1 + c.below(5), turn = c.below(7);
    for (int i = 0; i < images * tokens; ++i)
        m.ptr<float>()[i] = static_cast<float>((i % tokens + turn) % tokens / size);
    if (m.empty() || c.once(2)) return m;
    m.ptr<float>()[c.below(256) % (images * tokens)] =
        c.once(2) ? c.number<float>() : static_cast<float>(odd(c));
    return m;
}

/// Adds windows, which in most cases fit the grid, to an encoder without windows.
void divide(EncoderOptions& o) {
    const int seed = static_cast<int>(o.seed);
    o.window = cv::Size(1 + seed % 3, 1 + seed / 3 % 4);
    o.grid = cv::Size(o.window.width * (1 + seed / 5 % 3), o.window.height * (1 + seed / 7 % 3));
    o.padding = seed % 8 == 3;
    if (seed % 5 < 2) o.grid.width += 1;
    o.imageTokens = o.grid.area();
    o.ropeOfWindow = seed % 3 != 0;
    o.globalBlocks = {seed % (o.blocks + (seed % 16 == 11 ? 1 : 0))};
    if (seed % 32 != 7) o.trailing = 0;
}

EncoderOptions options(Choices& c) {
    EncoderOptions o;
    o.blocks = 1 + c.below(4);
    o.heads = 1 + c.below(3);
    o.headSize = 1 + c.below(12);
    o.hidden = 1 + c.below(24);
    o.special = c.below(4);
    o.trailing = c.below(4);
    o.imageTokens = 1 + c.below(30);
    if (c.once(2)) o.schedule = {c.below(o.blocks)};
    if (c.once(2)) o.rope = "half";
    o.seed = c.byte();
    if (o.seed % 4 == 3) divide(o);
    return o;
}

void run(cv::dnn::Net& net) {
    std::vector<cv::Mat> outputs;
    for (int times = 0; times < 2; ++times)
        net.forward(outputs, net.getUnconnectedOutLayersNames());
}

void alone(Choices& c) {
    EncoderOptions o = options(c);
    o.map = true;
    const EncoderCase encoder = makeEncoder(o);
    const int images = 1 + c.below(3), given = c.once(4) ? c.below(30) : o.imageTokens;
    OnnxModel model = encoderModel(encoder, images, given);
    constexpr const char* kNames[] = {"trailing_tokens", "special_tokens", "map_output", "chain_blocks",
                                      "first_block"};
    if (c.once(4)) model.attribute(c.of(kNames), odd(c));
    const std::string bytes = model.bytes();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    net.setInput(values(c, {images, o.specialRows() + given + o.trailing, o.dim()}), "tokens");
    net.setInput(ids(c, images, std::max(given, 1)), "map");
    run(net);
}

void chain(Choices& c) {
    const EncoderCase whole = makeEncoder(options(c));
    std::vector<int> cuts;
    for (int block = 1; block < whole.options.blocks; ++block)
        if (c.once(2)) cuts.push_back(block);
    const int images = 1 + c.below(3);
    const EncoderOptions& o = whole.options;
    const Dims dims = {images, o.specialRows() + o.imageTokens + o.trailing, o.dim()};
    OnnxModel model;
    model.input("x", dims);
    std::string x = "x", map;
    int number = 0;
    for (EncoderCase& segment : cutEncoder(whole, cuts)) {
        const std::string suffix = std::to_string(number++);
        if (c.once(16)) segment.options.chainBlocks = odd(c);
        std::vector<std::string> inputs = {x}, outputs = {"x" + suffix};
        if (segment.options.map) inputs.push_back(map);
        if (segment.options.mapOutput) outputs.push_back(map = "map" + suffix);
        addEncoder(model, segment, inputs, outputs);
        if (c.once(16)) model.attribute("first_block", odd(c));
        x = outputs[0];
    }
    model.output(x, dims);
    const std::string bytes = model.bytes();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    mpm::Encoder handle = mpm::encoder(net);
    handle.setDevice(mpm::Device::Cpu);
    if (c.once(2)) handle.setSchedule({c.below(5)});
    net.setInput(values(c, dims), "x");
    run(net);
    for (const mpm::ImageReport& image : handle.report().images)
        if (static_cast<int>(image.map.total()) != o.imageTokens) std::abort();
}

void labels(Choices& c) {
    const int images = 1 + c.below(2), queries = c.below(12), classes = c.below(20);
    const int columns = 1 + c.below(40), outRows = c.once(8) ? odd(c) : 1 + c.below(80);
    const int outColumns = 1 + c.below(outRows > 1000 ? 2 : 200);
    const Dims masks = {images, queries, 1 + c.below(12), columns}, logits = {images, queries, classes};
    OnnxModel model;
    model.input("masks", masks).input("classes", logits);
    model.node("MpmMaskLabels", {"masks", "classes"}, {"labels", "scores"}, "mpm");
    model.ints("size", {outRows, outColumns});
    if (c.once(2)) model.attribute("sigmoid_first", c.once(8) ? odd(c) : 1);
    model.output("scores", {images, 1, 1, outColumns});
    const std::string bytes = model.bytes();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    net.setInput(values(c, masks), "masks");
    net.setInput(values(c, logits), "classes");
    run(net);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    mpm::registerLayers();
    Choices c(data, size);
    try {
        switch (c.below(3)) {
            case 0:
                return alone(c), 0;
            case 1:
                return chain(c), 0;
            default:
                return labels(c), 0;
        }
    } catch (const cv::Exception& e) {
        if (e.err.size() > 100000) std::abort();
    }
    return 0;
}
