// Tests detectors that select the places with the best scores, in the forms that exporters write.
#include <algorithm>
#include <cmath>
#include <functional>

#include "converted_export.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;

constexpr int64_t kDim = SmallExport::kDim;

// Models that select the 7 best of 49 places, and return their boxes, features and classes.
class Selection : public ConvertedExport {
protected:
    // Repeats indices [1, count] for each of `width` columns.
    int spread(int indices, int64_t count, int64_t width) {
        return g.node("Expand", {reshaped(indices, {1, count, 1}), g.ints({1, count, width})});
    }
    int picked(int data, int indices, int64_t count, int64_t width) {
        const int y = g.node("GatherElements", {data, spread(indices, count, width)});
        g.with("axis", Attribute::of(int64_t{1}));
        return y;
    }

    int tokens() {
        const int x = m.block(m.embed());
        return m.block(x);
    }

    using Change = std::function<int(int)>;

    // Finishes a model that selects places by their best score. Returns the indices of the places.
    int finishBestPlaces(const Change& change = [](int most) { return most; }) {
        m_tokens = tokens();
        const int scores = m.linear(m_tokens, kDim, 5), boxes = m.linear(m_tokens, kDim, 4);
        const int most = g.node("ReduceMax", {scores});
        g.with("axes", Attribute::of(List<int64_t>{-1})).with("keepdims", Attribute::of(int64_t{0}));
        g.node("TopK", {change(most), g.ints({7})});
        const int best = g.outputOf(1);
        g.output(picked(boxes, best, 7, 4), "dets", {1, 7, 4});
        g.output(picked(scores, best, 7, 5), "labels", {1, 7, 5});
        return best;
    }

    void finishPlacesAndClasses() {
        const int x = tokens();
        const int scores = g.node("Sigmoid", {m.linear(x, kDim, 5)}), boxes = m.linear(x, kDim, 4);
        const int values = g.node("TopK", {reshaped(scores, {1, 49 * 5}), g.ints({9})});
        const int best = g.outputOf(1);
        const int five = g.constant(Tensor::ints({}, 5));
        const int place = g.node("Div", {best, five});
        const int label = g.node("Sub", {best, g.node("Mul", {place, five})});
        g.output(values, "scores", {1, 9});
        g.integers(label, "labels", {1, 9});
        g.output(picked(boxes, place, 9, 4), "boxes", {1, 9, 4});
    }

    // Converts with the metadata "names", and returns the names of the classes by id.
    std::vector<std::string> namesFrom(const std::string& note, const std::string& detections = {}) {
        g.metadata("names", note);
        models::ConvertOptions options;
        options.detections = detections;
        convert(options);
        return modelInfo(m_folder / "out.onnx").labels;
    }

    // Runs the converted model with OpenCV, and returns all outputs.
    std::vector<cv::Mat> forward() const {
        std::vector<cv::String> names;
        for (const models::Port& port : m_converted.outputs)
            names.push_back(port.name);
        cv::dnn::Net net = readNet(m_folder / "out.onnx");
        net.setInput(SmallExport::image(1));
        std::vector<cv::Mat> found;
        net.forward(found, names);
        return found;
    }

    int m_tokens = 0;  // the tokens from which places are selected
};

TEST_F(Selection, OfTheBestPlaces) {
    finishBestPlaces();
    const models::Conversion found = convert();
    EXPECT_EQ(count("MpmTopK"), 1);
    EXPECT_EQ(count("MpmGatherRows"), 2);
    EXPECT_NE(m_converted.metadata.at("mpm.detections").find(R"("boxes":"dets")"), std::string::npos);
    EXPECT_NE(found.detections.find("sigmoid"), std::string::npos) << found.detections;
    EXPECT_NEAR(found.pixels.mean[0], 0.485, 1e-9);
}

// The converter must take the boxes and scores of the decoder (the first outputs), not of the proposals.
TEST_F(Selection, TheFirstBoxesAreTheResults) {
    const int x = tokens();
    const int most = g.node("ReduceMax", {m.linear(x, kDim, 5)});
    g.with("axes", Attribute::of(List<int64_t>{-1})).with("keepdims", Attribute::of(int64_t{0}));
    g.node("TopK", {most, g.ints({7})});
    const int best = g.outputOf(1);
    for (const std::string part : {"pred", "enc"}) {
        g.output(picked(m.linear(x, kDim, 5), best, 7, 5), part + "_logits", {1, 7, 5});
        g.output(picked(m.linear(x, kDim, 4), best, 7, 4), part + "_boxes", {1, 7, 4});
    }
    convert();
    const std::string& text = m_converted.metadata.at("mpm.detections");
    EXPECT_NE(text.find(R"("boxes":"pred_boxes")"), std::string::npos) << text;
    EXPECT_NE(text.find(R"("scores":"pred_logits")"), std::string::npos) << text;
}

// An output counts as masks only if it has the aspect ratio of the image. Keypoints have another ratio.
TEST_F(Selection, KeypointsAreNoMasks) {
    const int best = finishBestPlaces(), rows = picked(m_tokens, best, 7, kDim);
    g.output(reshaped(m.linear(rows, kDim, 12 * 16), {1, 7, 12, 16}), "masks", {1, 7, 12, 16});
    g.output(reshaped(m.linear(rows, kDim, 17 * 3), {1, 7, 17, 3}), "keypoints", {1, 7, 17, 3});
    convert();
    const std::string& text = m_converted.metadata.at("mpm.detections");
    EXPECT_NE(text.find(R"("masks":"masks")"), std::string::npos) << text;
}

// For a detector, the converter assumes ImageNet's mean and deviation, even if the graph does not select by
// score. If the file needs only version 1 of the domain, the converter does not search for detections.
TEST_F(Selection, DetectorsExpectTheValuesOfImageNet) {
    const int x = tokens();
    g.output(m.linear(x, kDim, 4), "boxes", {1, 49, 4});
    g.output(m.linear(x, kDim, 5), "logits", {1, 49, 5});
    EXPECT_EQ(convert().pixels.mean, cv::Scalar(0.5, 0.5, 0.5));
    models::ConvertOptions options;
    options.detections = R"({"boxes":"boxes","scores":"logits"})";
    EXPECT_EQ(convert(options).pixels.mean, cv::Scalar(0.485, 0.456, 0.406));
    const std::string out = m_folder / "gentle.onnx";
    EXPECT_FALSE(models::convertModel(m_folder / "in.onnx", out, {}).detections.empty());
    EXPECT_EQ(modelInfo(out).std, cv::Scalar(0.229, 0.224, 0.225));
}

// Exporters write memory[batch, places] as GatherND, with pairs (image, place) or with `batch_dims` = 1.
TEST_F(Selection, OfTheBestPlacesByGatherND) {
    const int x = tokens();
    const int most = g.node("ReduceMax", {m.linear(x, kDim, 5)});
    g.with("axes", Attribute::of(List<int64_t>{-1})).with("keepdims", Attribute::of(int64_t{0}));
    g.node("TopK", {most, g.ints({7})});
    const int places = g.node("Unsqueeze", {g.outputOf(1), g.ints({-1})});
    const int image = g.constant(Tensor::vector(std::vector<int64_t>(7, 0)).reshaped({1, 7, 1}));
    const int pairs = g.node("Concat", {image, places});
    g.with("axis", Attribute::of(int64_t{-1}));
    g.output(g.node("GatherND", {m.linear(x, kDim, 4), pairs}), "dets", {1, 7, 4});
    const int labels = g.node("GatherND", {m.linear(x, kDim, 5), places});
    g.with("batch_dims", Attribute::of(int64_t{1}));
    g.output(labels, "labels", {1, 7, 5});
    convert();
    EXPECT_EQ(count("MpmGatherRows"), 2);
    EXPECT_EQ(count("GatherND"), 0);
}

// RT-DETR selects from a single row with the scores of all places and classes. An index divided by the number
// of classes gives the place.
TEST_F(Selection, OfPlacesAndClassesAtOnce) {
    finishPlacesAndClasses();
    convert();
    EXPECT_NE(m_converted.metadata.at("mpm.detections").find(R"("activation":"none")"), std::string::npos);
}

// Nodes without effect between the scores and TopK (such as Identity) are removed.
TEST_F(Selection, OfScoresUnderAnotherName) {
    const auto cast = [this](int x, int64_t type) {
        const int y = g.node("Cast", {x});
        g.with("to", Attribute::of(type));
        return y;
    };
    const Change changes[] = {[this](int x) { return g.node("Identity", {x}); },
                              [this](int x) { return g.node("Dropout", {x}); },
                              [this](int x) {
                                  return reshaped(x, {1, 49});
                              },
                              [&](int x) { return cast(g.node("Identity", {cast(x, 10)}), 1); }};
    for (const Change& change : changes) {
        m = SmallExport(1);
        finishBestPlaces(change);
        convert();
        EXPECT_EQ(count("MpmTopK"), 1);
    }
}

TEST_F(Selection, OfPlacesThatAreAnOutputToo) {
    g.integers(finishBestPlaces(), "places", {1, 7});
    convert();
    ASSERT_EQ(m_converted.outputs.size(), 3u);
    EXPECT_EQ(m_converted.outputs[2].type, models::Type::Int);
    EXPECT_EQ(count("MpmGatherRows"), 2);
}

// The names of classes come from metadata: a list, or an object with ids as keys. Scores may have an
// additional column for the background.
TEST_F(Selection, NamesTheClassesOfItsScores) {
    using Names = std::vector<std::string>;
    finishBestPlaces();
    EXPECT_EQ(namesFrom(R"(["a", "b", "c", "d", "e"])"), (Names{"a", "b", "c", "d", "e"}));
    EXPECT_EQ(namesFrom(R"({"1": "a", "2": "b", "4": "c", "5": "d", "7": "e"})"),
              (Names{"a", "b", "c", "d", "e"}));
    const std::string four = R"({"0": "a", "1": "b", "2": "c", "3": "d"})";
    EXPECT_EQ(namesFrom(four), Names());
    const std::string outputs = R"({"boxes":"dets","scores":"labels","activation":"softmax","background":)";
    EXPECT_EQ(namesFrom(four, outputs + "4}"), (Names{"a", "b", "c", "d"}));
    EXPECT_EQ(namesFrom(four, outputs + "0}"), Names());
}

TEST_F(Selection, NamesTheClassesOfItsLabels) {
    using Names = std::vector<std::string>;
    finishPlacesAndClasses();
    EXPECT_EQ(namesFrom(R"(["a", "b"])"), (Names{"a", "b"}));
    EXPECT_EQ(namesFrom(R"({"3": "c", "1": "a"})"), (Names{"", "a", "", "c"}));
    EXPECT_EQ(namesFrom(R"({"x": "c", "1": "a"})"), (Names{"c", "a"}));
}

// Boxes are in pixels of the original image. A second input has the size of that image, as integers.
TEST_F(Selection, WithTheSizeOfTheOriginalImage) {
    const int x = tokens();
    const int size = g.input("orig_target_sizes", {1, 2});
    const int scores = g.node("Sigmoid", {m.linear(x, kDim, 5)}),
              half = g.node("Sigmoid", {m.linear(x, kDim, 4)});
    const int twice = g.node("Tile", {size, g.ints({1, 2})});
    const int boxes = g.node("Mul", {half, reshaped(twice, {1, 1, 4})});
    const int values = g.node("TopK", {reshaped(scores, {1, 49 * 5}), g.ints({9})});
    const int best = g.outputOf(1);
    const int five = g.constant(Tensor::ints({}, 5));
    g.integers(g.node("Mod", {best, five}), "labels", {1, 9});
    g.output(picked(boxes, g.node("Div", {best, five}), 9, 4), "boxes", {1, 9, 4});
    g.output(values, "scores", {1, 9});
    convert();
    ASSERT_EQ(m_converted.inputs.size(), 2u);
    EXPECT_EQ(m_converted.inputs[1].name, "orig_target_sizes");
    const std::string& text = m_converted.metadata.at("mpm.detections");
    EXPECT_NE(text.find(R"("size_input":{"name":"orig_target_sizes","order":"wh"})"), std::string::npos)
        << text;
    EXPECT_NE(text.find(R"("scale":"pixels")"), std::string::npos) << text;
}

// The option --detections replaces the description that the converter would find.
TEST_F(Selection, DescribedByTheOptions) {
    const int x = tokens();
    const int most = g.node("ReduceMax", {m.linear(x, kDim, 5)});
    g.with("axes", Attribute::of(List<int64_t>{-1})).with("keepdims", Attribute::of(int64_t{0}));
    g.node("TopK", {most, g.ints({7})});
    const int best = g.outputOf(1);
    g.output(picked(m.linear(x, kDim, 4), best, 7, 4), "a", {1, 7, 4});
    g.output(picked(m.linear(x, kDim, 4), best, 7, 4), "b", {1, 7, 4});
    models::ConvertOptions options;
    options.detections = R"({"boxes":"b","scores":"a","format":"xyxy"})";
    EXPECT_EQ(convert(options).detections, "boxes 'b' (xyxy, ), scores 'a' ()");
    EXPECT_EQ(m_converted.metadata.at("mpm.detections"), options.detections);
    options.detections = "none";
    convert(options);
    EXPECT_EQ(m_converted.metadata.count("mpm.detections"), 0u);
    for (const char* wrong :
         {"[]", "{", R"({"boxes":"b"})", R"({"boxes":"b","scores":"c"})", R"({"boxes":"b","scores":"b"})",
          R"({"boxes":"b","scores":"a","format":"xywh"})",
          R"({"boxes":"b","scores":"a","activation":"relu"})"}) {
        options.detections = wrong;
        EXPECT_THROW(convert(options), cv::Exception) << wrong;
    }
}

// The exporter folded the anchors of a single image to a constant, so they cannot be gathered for two images.
TEST_F(Selection, OfFewerImagesThanIndicesIsRejected) {
    g.node("TopK", {reshaped(m.linear(tokens(), kDim, 1), {1, 49}), g.ints({7})});
    const int twice = g.node("Expand", {reshaped(g.outputOf(1), {1, 7, 1}), g.ints({2, 7, 4})});
    const int y = g.node("GatherElements", {g.constant(m.random({1, 49, 4}, 1)), twice});
    g.with("axis", Attribute::of(int64_t{1}));
    g.output(y, "dets", {2, 7, 4});
    try {
        convert();
        FAIL() << "converted";
    } catch (const std::exception& e) {
        EXPECT_NE(std::string(e.what()).find("more rows than its data"), std::string::npos) << e.what();
    }
}

// Rows with infinite boxes can be selected: values stay infinite until a later node limits them.
TEST_F(Selection, OfRowsWithInfinity) {
    const int x = tokens();
    Tensor anchors = m.random({1, 49, 4}, 1);
    for (int64_t k = 0; k < anchors.size(); k += 3)
        anchors.writeF()[k] = INFINITY;
    const int most = g.node("ReduceMax", {m.linear(x, kDim, 5)});
    g.with("axes", Attribute::of(List<int64_t>{-1})).with("keepdims", Attribute::of(int64_t{0}));
    g.node("TopK", {most, g.ints({30})});
    const int best = g.outputOf(1);
    const int boxes =
        g.node("Add", {picked(g.constant(anchors), best, 30, 4), picked(m.linear(x, kDim, 4), best, 30, 4)});
    g.output(g.node("Sigmoid", {boxes}), "boxes", {1, 30, 4});
    g.output(picked(x, best, 30, kDim), "labels", {1, 30, kDim});
    convert();
}

// The operator Where masks scores with -inf. The converted graph must not multiply the infinite branch with
// 0, which would give NaN. This must hold even if a Where reads the output of another Where.
TEST_F(Selection, ChoosesBesideInfinity) {
    finishBestPlaces();
    const int scores = m.linear(m_tokens, kDim, 5);
    const auto hidden = [&](int where, int x) {
        const int condition = g.node("Greater", {where, g.number(0)});
        return g.node("Where", {condition, g.number(-INFINITY), x});
    };
    const int y = hidden(m.linear(m_tokens, kDim, 5), hidden(m.linear(m_tokens, kDim, 1), scores));
    const int all = g.node("Concat", {y, m.linear(m_tokens, kDim, 1)});
    g.with("axis", Attribute::of(int64_t{-1}));
    const int shares = g.node("Softmax", {all});
    g.output(y, "hidden", {1, 49, 5});
    g.output(shares, "shares", {1, 49, 6});
    convert();
    for (const cv::Mat& found : forward())
        EXPECT_EQ(cv::countNonZero(found.reshape(1, 1) != found.reshape(1, 1)), 0);
}

TEST_F(Selection, ChoosesByNumbersThatAreNotZero) {
    finishBestPlaces();
    const int number = g.node("Relu", {m.linear(m_tokens, kDim, 5)}), condition = g.node("Cast", {number});
    g.with("to", Attribute::of(int64_t{9}));
    g.output(g.node("Where", {condition, m.linear(m_tokens, kDim, 5), m.linear(m_tokens, kDim, 1)}), "y",
             {1, 49, 5});
    convert();
}

// The result of Where may be larger than the condition and than one of the branches (here a column).
TEST_F(Selection, ChoosesBetweenAColumnAndZeros) {
    finishBestPlaces();
    Tensor condition = Tensor::ints({1, 49, 1}, 0, models::Type::Bool);
    for (int64_t k = 0; k < 49; k += 3)
        condition.writeI()[k] = 1;
    const int zeros = g.constant(Tensor::floats({1, 49, 5}));
    g.output(g.node("Where", {g.constant(condition), m.linear(m_tokens, kDim, 1), zeros}), "y", {1, 49, 5});
    convert();
}

// Equal scores are in the order of their places, in the export and in the converted model. If rounding
// decides the order of scores, the proof accepts either order.
TEST_F(Selection, OfScoresThatAreNearlyEqual) {
    const int x = tokens();
    const int scores = g.node("Add", {g.node("Mul", {m.linear(x, kDim, 1), g.number(1e-9f)}), g.number(1)});
    g.node("TopK", {reshaped(scores, {1, 49}), g.ints({49})});
    const int best = g.outputOf(1);
    g.output(picked(m.linear(x, kDim, 4), best, 49, 4), "boxes", {1, 49, 4});
    g.output(picked(x, best, 49, kDim), "labels", {1, 49, kDim});
    EXPECT_LT(convert().error, 1e-5);
}

}  // namespace
