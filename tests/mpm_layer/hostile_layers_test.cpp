// Tests layers with input that the converter never writes: sizes that overflow, attributes that are not
// numbers, empty weights, blobs of another type or shape than declared. Layers must reject such input, and
// must not write outside of an output.
#include <cmath>
#include <functional>
#include <limits>

#include "mpm_layer/hostile_fixture.hpp"
#include "support/encoder_case.hpp"

namespace mpm::test {
namespace {

TEST(HostileLayers, ProductsOfShapesCannotOverflow) {
    LayerParams table, projected, size;
    table.blobs = {mat({15, 5})};
    projected.set("patch", listOf({1, 1}));
    projected.blobs = {mat({15, 5}), mat({3, 5})};
    size.set("size", listOf({64, 64}));
    // In 32 bits, 65536 * 65536 overflows to 0, and 46341 * 46341 to a negative number.
    for (int side : {65536, 46341, kLargest}) {
        SCOPED_TRACE(side);
        const Sizes huge = {1, 5, side, side};
        expectRefusal([&] { shapesFor(make("MpmEmbed", table), {huge}); }, "sizes must");
        expectRefusal([&] { shapesFor(make("MpmEmbed", projected), {huge}); }, "sizes must");
        expectRefusal([&] { shapesFor(make("MpmResize", size), {huge}); }, "sizes must");
        expectRefusal([&] { shapesFor(make("MpmMerge"), {{1, side, side}}); }, "sizes must");
        expectRefusal([&] { shapesFor(make("MpmRestore"), {{1, 3, 5}, {1, kLargest}}); }, "");
        expectRefusal([&] { shapesFor(make("MpmMatMul"), {{side, 1, 1}, {1, side}}); }, "sizes must");
        expectRefusal([&] { shapesFor(make("MpmArithmetic"), {{side, 1}, {1, side}}); }, "sizes must");
        expectRefusal([&] { shapesFor(make("MpmArithmetic"), {{side, side, 0}, {1}}); }, "sizes must");
        expectRefusal([&] { shapesFor(make("MpmArithmetic"), {{1, -1}, {1, 1}}); }, "sizes must");
    }
}

TEST(HostileLayers, AnEnlargedMapHasALimit) {
    for (const Sizes& size :
         {Sizes{1 << 29, 1}, {1, 1 << 29}, {65536, 1}, {0, 8}, {-8, 8}, {kLargest, kLargest}})
        expectRefusal([&] { make("MpmResize", with("size", listOf(size))); }, "attribute size must be");
    for (const Sizes& size : {Sizes{65535, 65535}, {32768, 32768}, {65535, 2049}})
        expectRefusal([&] { make("MpmResize", with("size", listOf(size))); }, "MpmResize gives");
    for (const Sizes& size : {Sizes{8}, {8, 8, 8}})
        expectRefusal([&] { make("MpmResize", with("size", listOf(size))); }, "attribute size must be");
    for (const Sizes& crop : {Sizes{8}, {9, 8}, {0, 8}}) {
        LayerParams params = with("size", listOf({8, 8}));
        params.set("crop", listOf(crop));
        expectRefusal([&] { make("MpmResize", params); }, "crop");
    }
    // Labels for an image of 100 megapixels are accepted, but the scores of 150 classes are too large.
    LayerParams honest = with("size", listOf({8736, 11648}));
    honest.set("argmax", DictValue(1));
    EXPECT_EQ(shapesFor(make("MpmResize", honest), {{1, 150, 546, 728}})[0], toShape({1, 1, 8736, 11648}));
    expectRefusal(
        [&] {
            shapesFor(make("MpmResize", with("size", listOf({8736, 11648}))), {{1, 150, 546, 728}});
        },
        "sizes must");
}

TEST(HostileLayers, WholeAttributesAreNothingElse) {
    const std::vector<std::pair<const char*, const char*>> attributes = {
        {"MpmEmbed", "first"},     {"MpmEmbed", "patches"},        {"MpmEmbed", "patch"},
        {"MpmEmbed", "zeros"},     {"MpmMerge", "special_tokens"}, {"MpmRestore", "special_tokens"},
        {"MpmResize", "size"},     {"MpmResize", "argmax"},        {"MpmResize", "align_corners"},
        {"MpmMatMul", "reversed"}, {"MpmArithmetic", "reversed"}};
    for (const auto& [type, name] : attributes) {
        const std::vector<DictValue> values = {DictValue(std::numeric_limits<double>::quiet_NaN()),
                                               DictValue(std::numeric_limits<double>::infinity()),
                                               DictValue(1e30),
                                               DictValue(1.5),
                                               DictValue(-2),
                                               DictValue(cv::String("1")),
                                               DictValue((int64{1} << 32) + 1)};
        for (const DictValue& value : values) {
            SCOPED_TRACE(std::string(type) + " " + name);
            expectRefusal([&] { make(type, with(name, value)); },
                          std::string("attribute ") + name + " must be");
        }
    }
}

TEST(HostileLayers, AnEpsilonIsFiniteAndNotNegative) {
    for (double value : {-1e-6, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300}) {
        expectRefusal([&] { make("MpmLayerNorm", with("epsilon", DictValue(value))); },
                      "attribute epsilon must be");
    }
    expectRefusal([&] { make("MpmLayerNorm", with("epsilon", DictValue(cv::String("small")))); }, "epsilon");
    EXPECT_NO_THROW(make("MpmLayerNorm", with("epsilon", DictValue(0.0))));
    for (const DictValue& kind : {DictValue(cv::String("batch")), DictValue(cv::String(""))})
        expectRefusal([&] { make("MpmLayerNorm", with("norm", kind)); },
                      "attribute norm must be layer or rms");
    expectRefusal([&] { make("MpmLayerNorm", with("norm", DictValue(1))); }, "attribute norm must be");
    EXPECT_NO_THROW(make("MpmLayerNorm", with("epsilon", DictValue(1))));
    for (const int axis : {-2, 0, 2, 1 << 30})
        expectRefusal([&] { make("MpmLayerNorm", with("axis", DictValue(axis))); }, "attribute axis must be");
}

TEST(HostileLayers, TextsAreTextsAndLongOnesAreCut) {
    expectRefusal([&] { make("MpmArithmetic", with("operation", DictValue(1))); },
                  "attribute operation must be");
    expectRefusal([&] { make("MpmFunction", with("function", DictValue(1.0))); },
                  "attribute function must be");
    const cv::String text = cv::String(1 << 20, 'x') + "\x1b[31m\n";
    for (const auto& [type, name] : std::vector<std::pair<const char*, const char*>>{
             {"MpmArithmetic", "operation"}, {"MpmFunction", "function"}}) {
        try {
            make(type, with(name, DictValue(text)));
            FAIL() << type;
        } catch (const cv::Exception& e) {
            EXPECT_LT(e.err.size(), 400u);
            EXPECT_EQ(e.err.find('\x1b'), std::string::npos);
            EXPECT_EQ(e.err.find('\n'), std::string::npos);
        }
    }
}

TEST(HostileLayers, RowsWithoutElements) {
    LayerParams norm, linear;
    norm.blobs = {mat({1, 0})};
    linear.blobs = {mat({0, 4})};
    expectRefusal([&] { shapesFor(make("MpmLayerNorm", norm), {{3, 0}}); }, "at least one element");
    expectRefusal([&] { shapesFor(make("MpmLinear", linear), {{3, 0}}); }, "MpmLinear's weight");
    norm.set("axis", 1);
    for (const Sizes& sizes : {Sizes{3, 0}, Sizes{1, 0, 2, 2}, Sizes{2, 3, 4}})
        expectRefusal([&] { shapesFor(make("MpmLayerNorm", norm), {sizes}); }, "images [B, C, rows");
}

TEST(HostileLayers, AnOrderNamesEveryAxisOnce) {
    for (const Sizes& order : {Sizes{0, 0}, Sizes{0, 2}, Sizes{1}, Sizes{1, 0, 2}, Sizes{}}) {
        expectRefusal(
            [&] {
                shapesFor(make("MpmTranspose", with("perm", listOf(order))), {{2, 3}});
            },
            "perm must name each of 2 axes once");
    }
    expectRefusal([&] { shapesFor(make("MpmTranspose"), {{2, 3}}); }, "perm must name");
    for (const int axis : {-1, 32, kLargest})
        expectRefusal(
            [&] {
                make("MpmTranspose", with("perm", listOf({axis, 0})));
            },
            "attribute perm must be");
    expectRefusal([&] { make("MpmTranspose", with("perm", DictValue(cv::String("0 1")))); }, "perm");
    const cv::Ptr<Layer> layer = make("MpmTranspose", with("perm", listOf({1, 0})));
    expectRefusal([&] { shapesFor(layer, {}); }, "MpmTranspose");
    expectRefusal([&] { shapesFor(layer, {{2, 3}, {2, 3}}); }, "MpmTranspose");
    EXPECT_EQ(shapesFor(layer, {{0, 3}})[0], toShape({3, 0}));
}

// OpenCV 4.x allocates the output for a vector [3], but passes the vector as a column [3, 1], so the result
// has more elements. The operator must not write beyond the output.
TEST(HostileLayers, OutputsAreNeverOverrun) {
    const cv::Ptr<Layer> layer = make("MpmArithmetic");
    const Sizes vector = {3}, row = {1, 3};
    std::vector<float> memory(16, 7.f);
    std::vector<cv::Mat> out = {cv::Mat(2, row.data(), CV_32F, memory.data())};
    try {
        runLayer(layer, {mat(vector), mat(row)}, out);
    } catch (const cv::Exception& e) {
        EXPECT_NE(e.err.find("another shape"), std::string::npos) << e.err;
    }
    for (size_t i = 3; i < memory.size(); ++i)
        EXPECT_EQ(memory[i], 7.f) << i;
    out = {mat({4, 4}).colRange(0, 3)};
    expectRefusal(
        [&] {
            runLayer(make("MpmFunction", with("function", DictValue(cv::String("abs")))), {mat({4, 3})}, out);
        },
        "another shape");
}

TEST(HostileLayers, NothingIsConnected) {
    std::vector<cv::Mat> none;
    expectRefusal(
        [&] {
            runLayer(make("MpmArithmetic"), {mat({2, 3}), mat({2, 3})}, none);
        },
        "has no output");
    expectRefusal([&] { runLayer(make("MpmMerge"), {mat({1, 6, 4})}, none); }, "has no output");
    EXPECT_THROW(runLayer(make("MpmArithmetic"), {}, none), cv::Exception);
}

TEST(HostileLayers, BlobsOfAnotherType) {
    std::vector<cv::Mat> merged = {mat({1, 6, 4})}, restored = {mat({1, 6, 4})};
    for (int type : {CV_8U, CV_64F, CV_32FC3, CV_32S}) {
        expectRefusal([&] { runLayer(make("MpmMerge"), {mat({1, 6, 4}, type)}, merged); }, "f32");
        expectRefusal(
            [&] {
                runLayer(make("MpmRestore"), {mat({1, 6, 4}, type), mat({1, 5})}, restored);
            },
            "f32");
        expectRefusal(
            [&] {
                runLayer(make("MpmArithmetic"), {mat({6, 4}, type), mat({6, 4})}, merged = {mat({6, 4})});
            },
            "f32");
    }
    expectRefusal(
        [&] {
            runLayer(make("MpmRestore"), {mat({1, 6, 4}), mat({1, 5}, CV_8U)}, restored);
        },
        "integers");
    const std::function<void(float)> restoreAt = [&](float id) {
        cv::Mat map(1, 5, CV_32F, cv::Scalar(id));
        runLayer(make("MpmRestore"), {mat({1, 6, 4}), map}, restored);
    };
    for (float id : {-1.f, 5.f, 3e9f, std::nanf(""), HUGE_VALF})
        expectRefusal([&] { restoreAt(id); }, "id outside");
    EXPECT_NO_THROW(restoreAt(4));
}

TEST(HostileLayers, NaNIsNotLost) {
    const float nan = std::nanf("");
    const auto first = [](const char* type, const LayerParams& params, const std::vector<cv::Mat>& in) {
        std::vector<cv::Mat> out = {mat({1, 3})};
        runLayer(make(type, params), in, out);
        return out[0].at<float>(0, 0);
    };
    const cv::Mat bad(1, 3, CV_32F, cv::Scalar(nan)), good(1, 3, CV_32F, cv::Scalar(1));
    EXPECT_TRUE(std::isnan(first("MpmFunction", with("function", DictValue(cv::String("relu"))), {bad})));
    for (const char* operation : {"min", "max"}) {
        const LayerParams params = with("operation", DictValue(cv::String(operation)));
        EXPECT_TRUE(std::isnan(first("MpmArithmetic", params, {bad, good}))) << operation;
        EXPECT_TRUE(std::isnan(first("MpmArithmetic", params, {good, bad}))) << operation;
        EXPECT_EQ(first("MpmArithmetic", params, {good, good}), 1) << operation;
    }
}

TEST(HostileLayers, ProductsWithoutDepth) {
    std::vector<cv::Mat> out = {mat({1, 4, 8})};
    out[0].setTo(5);
    runLayer(make("MpmMatMul"), {mat({1, 4, 0}), mat({1, 0, 8})}, out);
    EXPECT_EQ(cv::norm(out[0].reshape(1, 1), cv::NORM_INF), 0);
    const int sizes[] = {2, 2};
    const LayerParams window = with("window", DictValue::arrayInt(sizes, 2));
    expectRefusal([&] { shapesFor(make("MpmConvTranspose", window), {{1, 0, 3, 3}, {12, 0}}); }, "takes");
    LayerParams overlapping = window;
    const int kernel[] = {4, 4}, padding[] = {1, 1};
    overlapping.set("kernel", DictValue::arrayInt(kernel, 2));
    overlapping.set("padding", DictValue::arrayInt(padding, 2));
    EXPECT_NO_THROW(shapesFor(make("MpmConvTranspose", overlapping), {{1, 3, 0, 3}, {32, 3}}));
}

// A computed weight may have another shape and other values in the next forward.
TEST(HostileLayers, ComputedWeightsAreNotRemembered) {
    const cv::Ptr<Layer> layer = make("MpmLinear");
    for (const auto& [depth, columns, value] :
         std::vector<std::tuple<int, int, double>>{{4, 3, 1}, {4, 3, 2}, {9, 40, 1}, {2, 2, 1}}) {
        std::vector<cv::Mat> out = {mat({5, columns})};
        runLayer(layer, {mat({5, depth}), cv::Mat(depth, columns, CV_32F, cv::Scalar(value))}, out);
        EXPECT_FLOAT_EQ(out[0].at<float>(4, columns - 1), static_cast<float>(depth * 0.5 * value));
    }
}

EncoderOptions options() {
    EncoderOptions o;
    o.schedule = {1};
    o.imageTokens = 6;
    return o;
}

LayerParams encoderParams(const EncoderCase& encoder) {
    LayerParams params;
    std::string names = "tokens";
    for (const auto& [name, value] : encoder.ordered) {
        names += " " + name;
        params.blobs.push_back(value);
    }
    params.set("inputs", cv::String(names));
    params.set("blocks", encoder.options.blocks);
    params.set("heads", encoder.options.heads);
    params.set("special_tokens", encoder.options.special);
    return params;
}

void forwardEncoder(const LayerParams& params, int rows, int dim) {
    std::vector<cv::Mat> out = {mat({1, rows, dim})};
    runLayer(make("MpmEncoder", params), {mat({1, rows, dim})}, out);
}

TEST(HostileLayers, EncodersWithEmptyWeights) {
    const EncoderCase good = makeEncoder(options());
    const int dim = good.options.dim(), rows = good.options.special + 6;
    EXPECT_NO_THROW(forwardEncoder(encoderParams(good), rows, dim));
    for (const char* name :
         {"0.qkv.weight", "1.fc1.weight", "1.proj.weight", "2.fc2.weight", "0.norm1.weight"}) {
        EncoderCase bad = makeEncoder(options());
        for (auto& [own, value] : bad.ordered)
            if (own == name) value = mat({value.size[0], 0});
        expectRefusal([&] { forwardEncoder(encoderParams(bad), rows, dim); }, name);
    }
    EncoderOptions rotary = options();
    rotary.rope = "half";
    EncoderCase bad = makeEncoder(rotary);
    for (auto& [own, value] : bad.ordered)
        if (own.rfind("rope.", 0) == 0) value = mat({0, value.size[1]});
    expectRefusal([&] { forwardEncoder(encoderParams(bad), rows, dim); }, "rope.");
}

TEST(HostileLayers, EncodersWithImpossibleNumbers) {
    const EncoderCase good = makeEncoder(options());
    const int dim = good.options.dim(), rows = good.options.special + 6;
    for (const char* name : {"blocks", "heads", "dim", "special_tokens", "first_block", "schedule", "taps",
                             "tap_norm", "grid"}) {
        for (const DictValue& value : {DictValue(-1), DictValue(1e30), DictValue(0.5),
                                       DictValue(std::nan("")), DictValue(cv::String("2"))}) {
            LayerParams params = encoderParams(good);
            params.set(name, value);
            expectRefusal([&] { make("MpmEncoder", params); }, std::string("attribute ") + name + " must be");
        }
    }
    for (const char* name : {"inputs", "activation", "rope", "role"}) {
        LayerParams params = encoderParams(good);
        params.set(name, 3);
        expectRefusal([&] { make("MpmEncoder", params); }, std::string("attribute ") + name + " must be");
    }
    for (const Sizes& grid : {Sizes{65536, 65536}, {kLargest, 2}, {kLargest, kLargest}}) {
        LayerParams params = encoderParams(good);
        params.set("grid", listOf(grid));
        expectRefusal([&] { make("MpmEncoder", params); }, "attribute grid cannot be");
    }
    LayerParams huge = encoderParams(good);
    huge.set("first_block", 9999);
    expectRefusal([&] { make("MpmEncoder", huge); }, "");
    expectRefusal(
        [&] {
            shapesFor(make("MpmEncoder", encoderParams(good)), {{1 << 16, 1 << 16, dim}});
        },
        "sizes must");
    LayerParams twoTaps = encoderParams(good);
    twoTaps.set("taps", listOf({0, 1}));
    expectRefusal([&] { forwardEncoder(twoTaps, rows, dim); }, "one for each of taps");
}

TEST(HostileLayers, CountsOfOperationsCannotOverflow) {
    LayerParams linear;
    linear.blobs = {mat({1, 2})};
    const cv::Ptr<Layer> layer = make("MpmLinear", linear);
    const std::vector<Shape> in = {toShape({kLargest, kLargest, kLargest, 1})},
                             out = {toShape({kLargest, kLargest, kLargest, 2})};
    EXPECT_THROW(layer->getFLOPS(in, out), cv::Exception);
    EXPECT_EQ(layer->getFLOPS({toShape({3, 1})}, {toShape({3, 2})}), 12);
}

TEST(HostileLayers, EncodersWithImpossibleWindows) {
    const EncoderCase good = makeEncoder(options());
    const auto reject = [&](const std::vector<std::pair<std::string, Sizes>>& lists, const std::string& why,
                            int special = 1, int trailing = 0) {
        LayerParams params = encoderParams(good);
        for (const auto& [name, values] : lists)
            params.set(name, listOf(values));
        params.set("special_tokens", special);
        if (trailing > 0) params.set("trailing_tokens", trailing);
        expectRefusal([&] { make("MpmEncoder", params); }, why);
    };
    for (const Sizes& window : {Sizes{2}, {2, 2, 2}, {0, 2}, {-2, 2}, {2, -kLargest - 1}})
        reject({{"grid", {4, 4}}, {"window", window}}, "attribute window must be");
    reject({{"grid", {4, 4}}, {"window", {1 << 16, 1 << 16}}}, "attribute window cannot be");
    reject({{"window", {2, 2}}}, "window needs the attribute grid");
    reject({{"grid", {4, 4}}, {"window", {3, 2}}}, "windows of 3x2 do not divide the grid of 4x4");
    reject({{"grid", {4, 4}}, {"window", {8, 8}}}, "do not divide");
    reject({{"grid", {4, 4}}, {"window", {kLargest, 1}}}, "window");
    reject({{"grid", {4, 4}}, {"window", {1 << 14, 2}}, {"padding", {1}}}, "at most 16384 tokens");
    reject({{"grid", {1 << 12, 1}}, {"window", {1, 1 << 12}}, {"padding", {1}}},
           "makes 16777216 tokens of 4096");
    reject({{"grid", {4, 4}}, {"window", {2, 2}}, {"padding", {2}}}, "attribute padding must be");
    reject({{"grid", {4, 4}}, {"padding", {1}}}, "need the attribute window");
    reject({{"grid", {4, 4}}, {"global_blocks", {1}}}, "need the attribute window");
    reject({{"grid", {4, 4}}, {"window", {2, 2}}, {"global_blocks", {3}}}, "global_blocks names block 3");
    reject({{"grid", {4, 4}}, {"window", {2, 2}}, {"global_blocks", {1, 1}}}, "strictly increasing");
    reject({{"grid", {4, 4}}, {"window", {2, 2}}, {"global_blocks", {-1}}},
           "attribute global_blocks must be");
    reject({{"grid", {4, 4}}, {"window", {2, 2}}}, "exclude each other", 1, 1);
    reject({{"grid", {1 << 15, 1 << 15}}, {"window", {1, 1}}}, "out of range", 65535);
    LayerParams params = encoderParams(good);
    params.set("grid", listOf({2, 4}));
    params.set("window", listOf({2, 2}));
    EXPECT_NO_THROW(forwardEncoder(params, 2 + 8, good.options.dim()));
    for (const int rows : {0, 1, 8, 9, 11, 18})
        expectRefusal([&] { forwardEncoder(params, rows, good.options.dim()); }, "MpmEncoder got");
}

}  // namespace
}  // namespace mpm::test
