// Fuzzes all operators of mpm. The bytes choose attributes, shapes, constants and values. Layers are called
// directly, also with blobs that a network would not pass, and inside a small network that cv::dnn reads from
// memory.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <opencv2/dnn/layer.details.hpp>

#include <mpm/mpm.hpp>

#include "base/checked.hpp"
#include "fuzz/choices.hpp"
#include "support/encoder_case.hpp"
#include "support/onnx_model.hpp"

namespace {

using cv::dnn::DictValue;
using mpm::fuzz::Choices;
using mpm::test::Dims;
#ifdef MPM_OPENCV_MAT_SHAPE
using Shape = cv::MatShape;
#else
using Shape = cv::dnn::MatShape;
#endif

/// The largest number of elements of a blob. Larger valid blobs would only take time.
constexpr std::int64_t kMost = 1 << 18;

enum class Kind { Whole, List, Real, Text };
struct Attribute {
    const char* name;
    Kind kind;
};
struct Operator {
    const char* type;
    std::vector<Attribute> attributes;
};

const std::vector<Operator>& operators() {
    static const std::vector<Operator> all = {
        {"MpmMerge", {{"special_tokens", Kind::Whole}}},
        {"MpmRestore", {{"special_tokens", Kind::Whole}}},
        {"MpmEmbed",
         {{"first", Kind::Whole}, {"patches", Kind::Whole}, {"patch", Kind::List}, {"zeros", Kind::Whole}}},
        {"MpmConv",
         {{"stride", Kind::List},
          {"padding", Kind::List},
          {"dilation", Kind::List},
          {"groups", Kind::Whole},
          {"activation", Kind::Text},
          {"input_activation", Kind::Text},
          {"residual", Kind::Text},
          {"precision", Kind::Text},
          {"size", Kind::List},
          {"align_corners", Kind::Whole}}},
        {"MpmConvTranspose",
         {{"window", Kind::List},
          {"kernel", Kind::List},
          {"padding", Kind::List},
          {"activation", Kind::Text}}},
        {"MpmLayerNorm", {{"epsilon", Kind::Real}, {"norm", Kind::Text}, {"axis", Kind::Whole}}},
        {"MpmMatMul", {{"reversed", Kind::Whole}}},
        {"MpmLinear", {{"activation", Kind::Text}, {"precision", Kind::Text}}},
        {"MpmArithmetic", {{"operation", Kind::Text}, {"reversed", Kind::Whole}}},
        {"MpmFunction", {{"function", Kind::Text}}},
        {"MpmMaskedSoftmax", {}},
        {"MpmTranspose", {{"perm", Kind::List}}},
        {"MpmGridSample",
         {{"mode", Kind::Text}, {"padding_mode", Kind::Text}, {"align_corners", Kind::Whole}}},
        {"MpmShare", {{"shared", Kind::Whole}, {"grid", Kind::List}, {"special_tokens", Kind::Whole}}},
        {"MpmTopK", {{"k", Kind::Whole}, {"flatten", Kind::Whole}}},
        {"MpmGatherRows", {}},
        {"MpmDeformable", {{"heads", Kind::Whole}, {"points", Kind::Whole}, {"levels", Kind::List}}},
        {"MpmResize",
         {{"size", Kind::List},
          {"crop", Kind::List},
          {"argmax", Kind::Whole},
          {"align_corners", Kind::Whole}}},
    };
    return all;
}

constexpr int kEdges[] = {-1,    0x7FFFFFFF, 0x7FFFFFF0, -0x7FFFFFFF - 1, 1 << 16, 1 << 29,
                          46341, 65535,      255,        1 << 24};
constexpr const char* kWords[] = {"add",  "sub",     "mul",  "div",      "pow",    "min",
                                  "max",  "abs",     "cos",  "erf",      "gelu",   "log",
                                  "relu", "sigmoid", "tanh", "softplus", "encoder"};

int whole(Choices& c) {
    return c.once(4) ? c.of(kEdges) : c.below(12);
}

float real(Choices& c) {
    switch (c.below(6)) {
        case 0:
            return std::numeric_limits<float>::quiet_NaN();
        case 1:
            return std::numeric_limits<float>::infinity();
        case 2:
            return c.number<float>();
        default:
            return static_cast<float>(c.below(64)) / 16 - 1;
    }
}

std::vector<int> list(Choices& c) {
    std::vector<int> values(static_cast<size_t>(c.once(4) ? c.below(5) : 2));
    for (int& value : values)
        value = whole(c);
    return values;
}

/// Returns a shape. There are only few sizes, so that shapes often fit each other.
Dims shape(Choices& c, const std::vector<int>& sizes, bool mayBeHuge) {
    Dims dims(static_cast<size_t>(c.below(5)));
    for (int& dim : dims)
        dim = mayBeHuge && c.once(8) ? c.of(kEdges)
                                     : sizes[static_cast<size_t>(c.below(static_cast<int>(sizes.size())))];
    return dims;
}

bool isSmall(const Dims& dims) {
    std::int64_t total = 1;
    for (const int dim : dims)
        if (dim < 0 || !mpm::productFits(total, total, dim > 0 ? dim : 1) || total > kMost) return false;
    return true;
}

cv::Mat blob(Choices& c, const Dims& dims) {
    constexpr int kTypes[] = {CV_8U, CV_32S, CV_64F, CV_32FC3, CV_16S};
    const int type = c.once(16) ? c.of(kTypes) : CV_32F;
    cv::Mat m(static_cast<int>(dims.size()), dims.data(), type);
    if (m.dims == 0) m.create(1, 1, type);  // OpenCV 4.x has no matrix without axes
    cv::RNG random(c.number<std::uint32_t>());
    random.fill(m, cv::RNG::UNIFORM, c.once(2) ? 0 : -2, 4);
    if (type != CV_32F || m.empty()) return m;
    for (int i = c.below(8); i > 0; --i)
        m.ptr<float>()[random.uniform(0, static_cast<int>(m.total()))] = real(c);
    for (int i = c.once(2) ? static_cast<int>(m.total()) : 0; i > 0; --i)
        m.ptr<float>()[i - 1] = std::floor(m.ptr<float>()[i - 1]);  // whole numbers, like the ids of a map
    return m;
}

Shape toShape(const Dims& dims) {
    return Shape(dims.data(), dims.data() + dims.size());
}

Dims sizesOf(const Shape& shape) {
    Dims dims;
    for (size_t i = 0; i < shape.size(); ++i)
        dims.push_back(shape[static_cast<int>(i)]);
    return dims;
}

void setAttributes(Choices& c, const Operator& op, cv::dnn::LayerParams& params) {
    for (const Attribute& attribute : op.attributes) {
        // The attribute sometimes has a wrong type.
        const Kind kind =
            c.once(16) ? c.of({Kind::Whole, Kind::List, Kind::Real, Kind::Text}) : attribute.kind;
        if (c.once(5)) continue;
        const std::vector<int> values = list(c);
        if (kind == Kind::Whole) params.set(attribute.name, c.once(8) ? c.number<int64>() : whole(c));
        if (kind == Kind::List)
            params.set(attribute.name, DictValue::arrayInt(values.data(), static_cast<int>(values.size())));
        if (kind == Kind::Real) params.set(attribute.name, real(c));
        if (kind == Kind::Text) params.set(attribute.name, cv::String(c.once(8) ? c.text() : c.of(kWords)));
    }
}

/// Calls a layer directly, without a network.
void alone(Choices& c, const std::string& type, cv::dnn::LayerParams params,
           const std::vector<Dims>& inputs) {
    params.type = "mpm." + type;
    const cv::Ptr<cv::dnn::Layer> layer = cv::dnn::LayerFactory::createLayerInstance(params.type, params);
    if (!layer) std::abort();
    layer->type = params.type;
    layer->blobs = params.blobs;
    std::vector<Shape> in, out, internals;
    bool small = true;
    for (const Dims& dims : inputs) {
        in.push_back(toShape(dims));
        small = small && isSmall(dims);
    }
    layer->getMemoryShapes(in, 0, out, internals);
    layer->getFLOPS(in, out);
    for (const Shape& one : out)
        small = small && isSmall(sizesOf(one));
    if (!small) return;
    std::vector<cv::Mat> from, to, none;
    for (const Dims& dims : inputs)
        from.push_back(blob(c, dims));
    for (const Shape& one : out) {
        const Dims dims = sizesOf(one);
        to.emplace_back(static_cast<int>(dims.size()), dims.data(), CV_32F);
    }
    if (c.once(16) && !to.empty()) to.pop_back();
    layer->forward(from, to, none);
    for (cv::Mat& m : from)
        if (c.once(8)) m = blob(c, inputs[0]);
    layer->forward(from, to, none);
}

void run(cv::dnn::Net& net, const cv::Mat& input) {
    net.setInput(input);
    std::vector<cv::Mat> outputs;
    net.forward(outputs, net.getUnconnectedOutLayersNames());
}

/// Runs the operator inside a network. The first input is an input of the network, the others are constants.
void inNetwork(Choices& c, const Operator& op, const std::vector<Dims>& inputs,
               const cv::dnn::LayerParams& params) {
    for (const Dims& dims : inputs)
        if (!isSmall(dims) || dims.empty()) return;
    mpm::test::OnnxModel model;
    model.input("x", inputs[0]);
    std::vector<std::string> names = {"x"};
    for (size_t i = 1; i < inputs.size(); ++i) {
        const cv::Mat value = blob(c, inputs[i]);
        if (value.type() != CV_32F || value.empty()) return;
        names.push_back("c" + std::to_string(i));
        model.constant(names.back(), value, inputs[i]);
    }
    model.node(op.type, names, {"y"}, "mpm");
    for (const Attribute& attribute : op.attributes) {
        if (!params.has(attribute.name)) continue;
        const DictValue& value = params.get(attribute.name);
        if (value.isString())
            model.attribute(attribute.name, std::string(value.get<cv::String>(0)));
        else if (value.isReal())
            model.attribute(attribute.name, value.get<float>(0));
        else if (value.size() == 1)
            model.attribute(attribute.name, value.get<int>(0));
        else {
            std::vector<int> values;
            for (int i = 0; i < value.size(); ++i)
                values.push_back(value.get<int>(i));
            model.ints(attribute.name, values);
        }
    }
    model.output("y", {1});
    const std::string bytes = model.bytes();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    std::vector<Shape> in, out;
    const int last = net.getLayerId(net.getLayerNames().back());
#ifdef MPM_OPENCV_TYPES
    net.getLayerShapes(toShape(inputs[0]), CV_32F, last, in, out);
#else
    net.getLayerShapes(toShape(inputs[0]), last, in, out);
#endif
    for (const Shape& one : out)
        if (!isSmall(sizesOf(one))) return;
    run(net, blob(c, inputs[0]));
}

void small(Choices& c) {
    const Operator& op = operators()[static_cast<size_t>(c.below(static_cast<int>(operators().size())))];
    const bool direct = !c.once(3);
    const std::vector<int> sizes = {c.below(9), 1 + c.below(8), 1 + c.below(20), 1, 1 + c.below(40)};
    cv::dnn::LayerParams params;
    setAttributes(c, op, params);
    std::vector<Dims> inputs(static_cast<size_t>(1 + c.below(4)));
    for (Dims& dims : inputs)
        dims = shape(c, sizes, direct);
    if (!direct) return inNetwork(c, op, inputs, params);
    for (int constants = c.below(static_cast<int>(inputs.size())); constants > 0; --constants) {
        if (!isSmall(inputs.back())) return;
        params.blobs.insert(params.blobs.begin(), blob(c, inputs.back()));
        inputs.pop_back();
    }
    alone(c, op.type, params, inputs);
}

mpm::test::EncoderOptions encoderOptions(Choices& c) {
    mpm::test::EncoderOptions o;
    o.blocks = 1 + c.below(3);
    o.heads = 1 + c.below(4);
    o.headSize = 1 + c.below(20);
    o.hidden = 1 + c.below(40);
    o.special = c.below(4);
    o.imageTokens = c.below(40);
    if (c.once(2)) o.schedule = {c.below(o.blocks)};
    if (o.imageTokens > 0)
        o.rope = c.of({std::string(), std::string(), std::string("half"), std::string("interleaved")});
    o.ropePerHead = c.once(2);
    o.qkvBias = c.once(2);
    o.layerScale = c.once(2);
    o.qkNorm = c.once(2);
    o.attentionNorm = c.once(3);
    o.mlpNorm = c.once(3);
    o.gated = c.once(3);
    o.seed = c.byte();
    return o;
}

/// Runs a valid encoder with a few changes.
void encoder(Choices& c) {
    constexpr const char* kMethods[] = {"mpm",
                                        "none",
                                        "tome:r=3",
                                        "algm",
                                        "local:window=1",
                                        "grid:size=2",
                                        "random:keep=.6",
                                        "mpm:mean=weighted,attention=proportional",
                                        "mpm:pairs=.4,by=keys,mean=scaled,before=mlp"};
    mpm::test::EncoderCase one = makeEncoder(encoderOptions(c));
    const int images = 1 + c.below(3), tokens = c.once(3) ? c.below(40) : one.options.imageTokens;
    for (auto& [name, value] : one.ordered) {
        if (!c.once(40)) continue;
        const Dims dims = shape(c, {one.options.dim(), 3 * one.options.dim(), one.options.hidden, 0}, false);
        if (isSmall(dims) && !dims.empty())
            value = cv::Mat(static_cast<int>(dims.size()), dims.data(), CV_32F, cv::Scalar(1));
    }
    mpm::test::OnnxModel model = encoderModel(one, images, tokens);
    constexpr const char* kNames[] = {"blocks", "heads", "dim", "special_tokens", "first_block"};
    const bool asMade = !c.once(3);
    if (!asMade) model.attribute(c.of(kNames), whole(c));
    if (c.once(4)) model.ints("grid", list(c));
    if (c.once(8)) model.ints("taps", list(c));
    if (c.once(8)) model.attribute("epsilon", real(c));
    if (c.once(8)) model.attribute("scale", real(c));
    const std::string bytes = model.bytes();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    mpm::Encoder handle = mpm::encoder(net);
    handle.setDevice(mpm::Device::Cpu);
    handle.setMethod(c.of(kMethods));
    if (c.once(3)) handle.setPrecision(mpm::Precision::Auto);
    if (c.once(3)) handle.setSchedule(list(c));
    if (c.once(4)) {
        cv::Mat map(1, tokens, CV_32S);
        for (int i = 0; i < tokens; ++i)
            map.at<int>(i) = c.once(20) ? whole(c) : i / 2;
        handle.setMaps(c.below(3), std::vector<cv::Mat>(static_cast<size_t>(1 + c.below(3)), map));
    }
    const Dims dims = {images, one.options.special + tokens, one.options.dim()};
    for (int times = 0; times < 2; ++times)
        run(net, blob(c, dims));
    for (const mpm::ImageReport& image : handle.report().images)
        if (asMade && image.map.total() != static_cast<size_t>(tokens)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    mpm::registerLayers();
    Choices c(data, size);
    try {
        if (c.once(4))
            encoder(c);
        else
            small(c);
    } catch (const cv::Exception& e) {
        if (e.err.size() > 100000) std::abort();
    }
    return 0;
}
