// Like hostile_layers_test.cpp, but for the operators of mask decoders and of token sharing: input that the
// converter never writes.
#include "mpm_layer/hostile_fixture.hpp"

namespace mpm::test {
namespace {

TEST(HostileDecoder, MasksAndClassesFitEachOther) {
    const auto labels = [](const Sizes& masks, const Sizes& classes) {
        shapesFor(make("MpmMaskLabels", with("size", listOf({64, 48}))), {masks, classes});
    };
    EXPECT_NO_THROW(labels({2, 5, 8, 6}, {2, 5, 4}));
    for (const Sizes& masks : {Sizes{2, 5, 8}, {1, 5, 8, 6}, {2, 4, 8, 6}, {2, 5, 0, 6}, {2, 5, 8, 0}})
        expectRefusal([&] { labels(masks, {2, 5, 4}); }, "MpmMaskLabels takes masks");
    for (const Sizes& classes : {Sizes{2, 5}, {2, 5, 1}, {2, 5, 0}, {2, 5, 4, 1}})
        expectRefusal([&] { labels({2, 5, 8, 6}, classes); }, "MpmMaskLabels takes masks");
    expectRefusal([&] { labels({1, 0, 8, 6}, {1, 0, 4}); }, "MpmMaskLabels takes masks");
    expectRefusal([&] { labels({1, 65536, 1, 1}, {1, 65536, 2}); }, "65535 queries");
    expectRefusal([&] { labels({1, 1, 8, 6}, {1, 1, 65537}); }, "65535 classes");
    expectRefusal([&] { labels({1, 65536, 65536, 1}, {1, 65536, 2}); }, "sizes must");
    expectRefusal([&] { labels({32, 5, 8, 6}, {32, 5, kLargest}); }, "sizes must");
    expectRefusal([&] { make("MpmMaskLabels"); }, "attribute size must be");
    for (const Sizes& size : {Sizes{8}, {8, 8, 8}, {0, 8}, {-8, 8}, {65536, 1}})
        expectRefusal([&] { make("MpmMaskLabels", with("size", listOf(size))); }, "attribute size must be");
    expectRefusal([&] { make("MpmMaskLabels", with("size", listOf({65535, 2049}))); }, "MpmMaskLabels gives");
    LayerParams params = with("size", listOf({64, 48}));
    params.set("sigmoid_first", DictValue(2));
    expectRefusal([&] { make("MpmMaskLabels", params); }, "attribute sigmoid_first must be");
    const cv::Ptr<Layer> layer = make("MpmMaskLabels", with("size", listOf({64, 48})));
    std::vector<cv::Mat> out = {mat({2, 1, 64, 47})};
    expectRefusal([&] { runLayer(layer, {mat({2, 5, 8, 6}), mat({2, 5, 4})}, out); }, "another shape");
}

TEST(HostileDecoder, ConvolutionsFitTheirImages) {
    const auto shapes = [](const LayerParams& params, const std::vector<Sizes>& in, const Sizes& weight) {
        const cv::Ptr<Layer> layer = make("MpmConv", params);
        layer->blobs = {mat(weight)};
        return shapesFor(layer, in);
    };
    const Sizes x = {2, 6, 9, 8}, weight = {4, 3, 3, 2};
    LayerParams params = with("groups", DictValue(2));
    EXPECT_EQ(shapes(params, {x}, weight)[0], toShape({2, 4, 7, 7}));
    for (const Sizes& bad : {Sizes{2, 6, 9}, {2, 5, 9, 8}, {2, 4, 9, 8}, {2, 0, 9, 8}})
        expectRefusal([&] { shapes(params, {bad}, weight); }, "MpmConv takes images");
    for (const Sizes& bad : {Sizes{4, 3, 3}, {5, 3, 3, 2}, {4, 6, 3, 2}, {0, 3, 3, 2}, {4, 3, 0, 2}})
        expectRefusal([&] { shapes(params, {x}, bad); }, "MpmConv takes images");
    for (const Sizes& bad : {Sizes{2, 6, 2, 8}, {2, 6, 9, 1}, {2, 6, 0, 8}})
        expectRefusal([&] { shapes(params, {bad}, weight); }, "windows of");
    EXPECT_EQ(shapes(params, {{0, 6, 9, 8}}, weight)[0], toShape({0, 4, 7, 7}));
    params.set("padding", listOf({3, 0, 0, 0}));
    expectRefusal([&] { shapes(params, {x}, weight); }, "padding must be smaller");
    params.set("padding", listOf({0, 0, 0, 0}));
    params.set("dilation", listOf({65535, 1}));
    expectRefusal([&] { shapes(params, {x}, weight); }, "windows of");
    // The dilated kernel fits into the padded image, but a band of rows would have too many pixels.
    params.set("padding", listOf({65535, 30000, 65535, 30000}));
    params.set("dilation", listOf({65535, 30001}));
    expectRefusal([&] { shapes(params, {{1, 6, 1, 1}}, weight); }, "cover too many pixels");
    for (const char* name : {"stride", "dilation"}) {
        for (const Sizes& bad : {Sizes{1}, {1, 1, 1}, {0, 1}, {1, -1}, {65536, 1}})
            expectRefusal([&] { make("MpmConv", with(name, listOf(bad))); }, name);
    }
    for (const Sizes& bad : {Sizes{1, 1}, {0, 0, 0, -1}, {0, 0, 0, 65536}})
        expectRefusal([&] { make("MpmConv", with("padding", listOf(bad))); }, "attribute padding must be");
    for (const int bad : {0, -1})
        expectRefusal([&] { make("MpmConv", with("groups", DictValue(bad))); }, "attribute groups must be");
    for (const char* name : {"input_activation", "residual", "precision"})
        expectRefusal([&] { make("MpmConv", with(name, DictValue(cv::String("both")))); }, name);
    for (const char* name : {"activation", "precision"}) {
        LayerParams linear;
        linear.set(name, DictValue(cv::String("both")));
        expectRefusal([&] { make("MpmLinear", linear); }, name);
    }
    LayerParams added = with("residual", DictValue(cv::String("first")));
    added.set("groups", DictValue(2));
    EXPECT_NO_THROW(shapes(added, {x, {2, 4, 7, 7}}, weight));
    expectRefusal([&] { shapes(added, {x, {1, 4, 7, 7}}, weight); }, "residual must be");
    expectRefusal([&] { shapes(added, {x}, weight); }, "takes 3 to 4 inputs");
}

LayerParams deformable(const Sizes& levels = {4, 3, 2, 2}) {
    LayerParams params = with("levels", listOf(levels));
    params.set("heads", DictValue(2));
    params.set("points", DictValue(4));
    return params;
}

TEST(HostileDecoder, DeformableShapesFitEachOther) {
    const Sizes value = {2, 16, 6}, offsets = {2, 5, 32}, logits = {2, 5, 16}, reference = {1, 5, 2, 2};
    const auto run = [](const Sizes& v, const Sizes& o, const Sizes& l, const Sizes& r) {
        return shapesFor(make("MpmDeformable", deformable()), {v, o, l, r});
    };
    EXPECT_EQ(run(value, offsets, logits, reference)[0], toShape({2, 5, 6}));
    EXPECT_NO_THROW(run(value, offsets, logits, {2, 5, 1, 2}));
    for (const Sizes& bad : {Sizes{2, 16}, {2, 15, 6}, {2, 16, 5}, {2, 16, 0}, {3, 16, 6}})
        expectRefusal([&] { run(bad, offsets, logits, reference); }, "MpmDeformable takes");
    for (const Sizes& bad : {Sizes{2, 5, 2, 16}, {2, 5, 31}, {2, 4, 32}, {1, 5, 32}})
        expectRefusal([&] { run(value, bad, logits, reference); }, "MpmDeformable takes");
    for (const Sizes& bad : {Sizes{2, 5}, {2, 5, 17}, {2, 4, 16}, {1, 5, 16}})
        expectRefusal([&] { run(value, offsets, bad, reference); }, "MpmDeformable takes");
    for (const Sizes& bad : {Sizes{5, 2, 2}, {3, 5, 2, 2}, {1, 4, 2, 2}, {1, 5, 3, 2}, {1, 5, 2, 3}})
        expectRefusal([&] { run(value, offsets, logits, bad); }, "MpmDeformable takes");
    expectRefusal([&] { run({65536, 16, 65536}, offsets, logits, reference); }, "sizes must");
    const cv::Ptr<Layer> layer = make("MpmDeformable", deformable());
    std::vector<cv::Mat> out = {mat({2, 5, 7})};
    expectRefusal(
        [&] {
            runLayer(layer, {mat(value), mat(offsets), mat(logits), mat(reference)}, out);
        },
        "another shape");
    expectRefusal([&] { runLayer(layer, {mat(value), mat(offsets), mat(logits)}, out); }, "inputs");
}

TEST(HostileDecoder, DeformableAttributesAreInRange) {
    for (const Sizes& levels : {Sizes{4}, {4, 3, 2}, {0, 3}, {-1, 3}, {65536, 1}, Sizes(130, 1)})
        expectRefusal([&] { make("MpmDeformable", deformable(levels)); }, "attribute levels must be");
    // Neither 65535 * 65535 nor 2 * 46000 * 40000 fits into an int.
    for (const Sizes& levels : {Sizes{65535, 65535}, {46000, 40000, 46000, 40000}})
        expectRefusal([&] { make("MpmDeformable", deformable(levels)); }, "out of range");
    for (const char* name : {"heads", "points"}) {
        for (int value : {0, -1, 65536, kLargest}) {
            LayerParams params = deformable();
            params.set(name, DictValue(value));
            expectRefusal([&] { make("MpmDeformable", params); },
                          std::string("attribute ") + name + " must be");
        }
        LayerParams params = deformable();
        params.erase(name);
        expectRefusal([&] { make("MpmDeformable", params); }, std::string("attribute ") + name + " must be");
    }
}

TEST(HostileDecoder, MaskedSoftmaxShapesFitEachOther) {
    const auto run = [](const Sizes& scores, const Sizes& masks) {
        return shapesFor(make("MpmMaskedSoftmax"), {scores, masks});
    };
    EXPECT_EQ(run({6, 5, 7}, {2, 5, 7})[0], toShape({6, 5, 7}));
    for (const Sizes& masks : {Sizes{5, 7}, {4, 5, 7}, {0, 5, 7}, {2, 4, 7}, {2, 5, 8}, {2, 5, 7, 1}})
        expectRefusal([&] { run({6, 5, 7}, masks); }, "MpmMaskedSoftmax takes scores");
    expectRefusal([&] { run({6, 35}, {2, 5, 7}); }, "MpmMaskedSoftmax takes scores");
    expectRefusal([&] { run({6, 5, 0}, {2, 5, 0}); }, "MpmMaskedSoftmax takes scores");
    expectRefusal([&] { run({65536, 65536, 1}, {1, 65536, 1}); }, "sizes must");
    std::vector<cv::Mat> out = {mat({6, 5, 7})};
    expectRefusal(
        [&] {
            runLayer(make("MpmMaskedSoftmax"), {mat({6, 5, 7}), mat({2, 5, 7}, CV_8U)}, out);
        },
        "f32");
    expectRefusal([&] { shapesFor(make("MpmMaskedSoftmax"), {{6, 5, 7}, {2, 5, 7}, {2, 5, 7}}); }, "inputs");
    EXPECT_EQ(shapesFor(make("MpmMaskedSoftmax"), {{2, 3, 5, 7}})[0], toShape({2, 3, 5, 7}));
    expectRefusal([&] { shapesFor(make("MpmMaskedSoftmax"), {{2, 3, 0}}); }, "scores with keys");
}

TEST(HostileDecoder, GridsFitTheirMaps) {
    const auto run = [](const Sizes& map, const Sizes& grid) {
        return shapesFor(make("MpmGridSample"), {map, grid});
    };
    EXPECT_EQ(run({2, 3, 4, 5}, {2, 6, 7, 2})[0], toShape({2, 3, 6, 7}));
    for (const Sizes& grid : {Sizes{6, 7, 2}, {1, 6, 7, 2}, {2, 6, 7, 3}, {2, 6, 7, 2, 1}})
        expectRefusal([&] { run({2, 3, 4, 5}, grid); }, "MpmGridSample takes a map");
    for (const Sizes& map : {Sizes{3, 4, 5}, {2, 3, 0, 5}, {2, 3, 4, 0}, {2, 3, 4, 5, 6}})
        expectRefusal([&] { run(map, {2, 6, 7, 2}); }, "MpmGridSample takes a map");
    expectRefusal([&] { run({1, 65535, 1, 1}, {1, 65535, 1, 2}); }, "sizes must");
    for (const char* mode : {"bicubic", "cubic", ""}) {
        expectRefusal([&] { make("MpmGridSample", with("mode", DictValue(cv::String(mode)))); },
                      "attribute mode must be");
    }
    expectRefusal([&] { make("MpmGridSample", with("padding_mode", DictValue(cv::String("reflection")))); },
                  "attribute padding_mode must be");
    expectRefusal([&] { make("MpmGridSample", with("align_corners", DictValue(2))); },
                  "attribute align_corners must be");
    expectRefusal([&] { make("MpmGridSample", with("mode", DictValue(1))); }, "attribute mode must be");
}

LayerParams share(int shared, const Sizes& grid = {4, 6}) {
    LayerParams params = with("grid", listOf(grid));
    params.set("shared", DictValue(shared));
    return params;
}

TEST(HostileDecoder, SharedTokensFitTheirGrid) {
    const auto run = [](const Sizes& policy, const Sizes& fine, const Sizes& coarse) {
        return shapesFor(make("MpmShare", share(2)), {policy, fine, coarse});
    };
    const Sizes policy = {2, 2, 2, 3}, fine = {2, 25, 8}, coarse = {2, 6, 8};
    EXPECT_EQ(run(policy, fine, coarse)[1], toShape({2, 24}));
    for (const Sizes& bad : {Sizes{2, 2, 6}, {1, 2, 2, 3}, {2, 1, 2, 3}, {2, 2, 3, 2}})
        expectRefusal([&] { run(bad, fine, coarse); }, "MpmShare takes a policy");
    for (const Sizes& bad : {Sizes{2, 25}, {2, 24, 8}, {2, 25, 0}, {1, 25, 8}})
        expectRefusal([&] { run(policy, bad, coarse); }, "MpmShare takes a policy");
    for (const Sizes& bad : {Sizes{2, 6}, {2, 5, 8}, {2, 6, 7}, {1, 6, 8}})
        expectRefusal([&] { run(policy, fine, bad); }, "MpmShare takes a policy");
    for (const Sizes& grid : {Sizes{4}, {4, 5}, {3, 6}, {0, 6}, {4, 6, 2}, {-2, 6}, {65536, 2}})
        expectRefusal([&] { make("MpmShare", share(0, grid)); }, "attribute grid must be");
    expectRefusal([&] { make("MpmShare", share(0, {65534, 65534})); }, "out of range");
    for (int shared : {-1, 7, kLargest})
        expectRefusal([&] { make("MpmShare", share(shared)); }, "attribute shared must be");
    expectRefusal([&] { make("MpmShare", with("grid", listOf({4, 6}))); }, "attribute shared must be");
    expectRefusal([&] { make("MpmShare", with("shared", DictValue(1))); }, "attribute grid must be");
    LayerParams params = share(1);
    params.set("special_tokens", DictValue(65536));
    expectRefusal([&] { make("MpmShare", params); }, "attribute special_tokens must be");
}

}  // namespace
}  // namespace mpm::test
