#include "cli/small_model.hpp"

#include <opencv2/imgproc.hpp>

#include "support/onnx_model.hpp"

namespace mpm::test {

namespace {

constexpr int kPatch = 8;

cv::Mat randomWeights(const std::vector<int>& sizes, double deviation, int seed) {
    cv::RNG random(seed);
    cv::Mat weights(sizes, CV_32F);
    random.fill(weights, cv::RNG::NORMAL, 0, deviation);
    return weights;
}

void addEncoder(OnnxModel& model, const EncoderCase& encoder, const SmallModel& small) {
    std::string names = "tokens";
    std::vector<std::string> inputs = {"tokens"};
    for (const auto& [name, value] : encoder.ordered) {
        model.constant(name, value, value.rows == 1 ? Dims{value.cols} : Dims{});
        inputs.push_back(name);
        names += " " + name;
    }
    model.node("MpmEncoder", inputs, {"features"}, "mpm");
    model.attribute("inputs", names).attribute("blocks", encoder.options.blocks);
    model.attribute("heads", encoder.options.heads).attribute("special_tokens", encoder.options.special);
    model.ints("schedule", {2, 5}).ints("grid", {small.rows, small.cols});
    if (small.windows) model.ints("window", {2, 3}).ints("global_blocks", {3});
}

// Adds two segments of a chain. In the second segment, queries are before the image tokens.
void addJoinedEncoder(OnnxModel& model, EncoderOptions options, const SmallModel& small) {
    options.schedule = {2, 5};
    std::vector<EncoderCase> segments = cutEncoder(makeEncoder(options), {4});
    segments[1].options.special = small.queries;
    addEncoder(model, segments[0], {"tokens"}, {"front", "map"});
    model.ints("grid", {small.rows, small.cols});
    model.constant("queries", randomWeights({1, small.queries, options.dim()}, 1, 9));
    model.node("Concat", {"queries", "front"}, {"joined"}).attribute("axis", 1);
    addEncoder(model, segments[1], {"joined", "map"}, {"features"});
    model.ints("grid", {small.rows, small.cols});
}

// Adds a node that selects the rows [first, end) of the features.
void addRows(OnnxModel& model, int first, int end, const std::string& name) {
    model.constant(name + "/first", std::vector<long long>{first});
    model.constant(name + "/end", std::vector<long long>{end});
    model.constant(name + "/axis", std::vector<long long>{1});
    model.node("Slice", {"features", name + "/first", name + "/end", name + "/axis"}, {name});
}

void addMasks(OnnxModel& model, int dim, const SmallModel& small) {
    const int tokens = small.rows * small.cols;
    addRows(model, 0, small.queries, "query rows");
    addRows(model, small.queries, small.queries + tokens, "image rows");
    model.constant("class head", randomWeights({dim, small.classes + 1}, 0.5, 8));
    model.node("MatMul", {"query rows", "class head"}, {"classes"});
    model.constant("mask head", randomWeights({dim, small.queries}, 0.5, 10));
    model.node("MatMul", {"image rows", "mask head"}, {"mask rows"});
    model.node("Transpose", {"mask rows"}, {"mask planes"}).ints("perm", {0, 2, 1});
    model.constant("mask shape", std::vector<long long>{small.batch, small.queries, small.rows, small.cols});
    model.node("Reshape", {"mask planes", "mask shape"}, {"masks"});
    if (small.labels) {
        model.node("MpmMaskLabels", {"masks", "classes"}, {"labels"}, "mpm");
        model.ints("size", {small.rows * kPatch, small.cols * kPatch});
        model.output("labels", {small.batch, 1, small.rows * kPatch, small.cols * kPatch},
                     CV_VERSION_MAJOR >= 5);
    } else {
        model.output("classes", {small.batch, small.queries, small.classes + 1});
        model.output("masks", {small.batch, small.queries, small.rows, small.cols});
    }
}

// Adds an output [batch, boxes, columns] with fixed values. The model multiplies rows of the features by 0
// and adds the values, so the output still depends on the input.
void addFixed(OnnxModel& model, int dim, const SmallModel& small, const std::string& name,
              const cv::Mat& values) {
    model.constant(name + "/zero", cv::Mat(cv::Mat::zeros(dim, values.cols, CV_32F)));
    model.node("MatMul", {"box rows", name + "/zero"}, {name + "/none"});
    model.constant(name + "/values", values, {1, small.boxes, values.cols});
    model.node("Add", {name + "/none", name + "/values"}, {name});
    model.output(name, {small.batch, small.boxes, values.cols});
}

// Adds boxes in pixels. The image's size (width, height) is a second input of the model.
void addScaledBoxes(OnnxModel& model, const SmallModel& small, const cv::Mat& boxes) {
    cv::Mat scale = cv::Mat::zeros(2, 4 * small.boxes, CV_32F);
    for (int i = 0; i < 4 * small.boxes; ++i)
        scale.at<float>(i % 2, i) = boxes.at<float>(i / 4, i % 4);
    model.input("image size", {small.batch, 2});
    model.constant("scale", scale);
    model.node("MatMul", {"image size", "scale"}, {"scaled"});
    model.constant("box shape", std::vector<long long>{small.batch, small.boxes, 4});
    model.node("Reshape", {"scaled", "box shape"}, {"dets"});
    model.output("dets", {small.batch, small.boxes, 4});
}

// Adds boxes that move to the right in brighter images: if a channel goes from grey to white, the boxes move
// by a twentieth of the width.
void addMovingBoxes(OnnxModel& model, const SmallModel& small, const cv::Mat& boxes) {
    cv::Mat move = cv::Mat::zeros(3, 4 * small.boxes, CV_32F);
    for (int i = 0; i < small.boxes; ++i)
        move.col(4 * i).setTo(.05F);
    model.node("GlobalAveragePool", {"picture"}, {"mean"});
    model.node("Flatten", {"mean"}, {"brightness"});
    model.constant("move", move);
    model.node("MatMul", {"brightness", "move"}, {"moved"});
    model.constant("box shape", std::vector<long long>{small.batch, small.boxes, 4});
    model.node("Reshape", {"moved", "box shape"}, {"moved boxes"});
    model.constant("boxes", boxes, {1, small.boxes, 4});
    model.node("Add", {"moved boxes", "boxes"}, {"dets"});
    model.output("dets", {small.batch, small.boxes, 4});
}

void addBoxes(OnnxModel& model, int dim, const SmallModel& small) {
    addRows(model, 0, small.boxes, "box rows");
    cv::Mat boxes(small.boxes, 4, CV_32F), scores(small.boxes, small.classes, CV_32F, cv::Scalar(-9));
    for (int i = 0; i < small.boxes; ++i) {
        const float side = 1.F / float(small.boxes);
        const float values[] = {(float(i) + .5F) * side, .5F, .8F * side, .6F};
        std::copy(values, values + 4, boxes.ptr<float>(i));
        scores.at<float>(i, i % small.classes) = 3 - float(i);
    }
    if (small.sizeInput)
        addScaledBoxes(model, small, boxes);
    else if (small.moves)
        addMovingBoxes(model, small, boxes);
    else
        addFixed(model, dim, small, "dets", boxes);
    addFixed(model, dim, small, "scores", scores);
    std::string masks;
    if (small.masks) {
        cv::Mat halves(small.boxes, 4 * 6, CV_32F);
        for (int i = 0; i < halves.rows * halves.cols; ++i)
            halves.at<float>(i / halves.cols, i % halves.cols) = i % 6 < 3 ? 1.F : -1.F;
        model.constant("mask/zero", cv::Mat(cv::Mat::zeros(dim, halves.cols, CV_32F)));
        model.node("MatMul", {"box rows", "mask/zero"}, {"mask/none"});
        model.constant("mask/values", halves, {1, small.boxes, halves.cols});
        model.node("Add", {"mask/none", "mask/values"}, {"mask rows"});
        model.constant("mask shape", std::vector<long long>{small.batch, small.boxes, 4, 6});
        model.node("Reshape", {"mask rows", "mask shape"}, {"masks"});
        model.output("masks", {small.batch, small.boxes, 4, 6});
        masks = R"(, "masks": "masks")";
    }
    const std::string size = small.sizeInput ? R"(, "scale": "pixels", "size_input": "image size")" : "";
    if (small.metadata)
        model.metadata("mpm.detections", small.detections.empty()
                                             ? R"({"boxes": "dets", "scores": "scores")" + masks + size + "}"
                                             : small.detections);
}

void addMetadata(OnnxModel& model, const SmallModel& small) {
    std::string labels, palette;
    for (int id = 0; id < small.classes; ++id) {
        labels += (id > 0 ? "," : "") + std::string("\"thing ") + std::to_string(id) + "\"";
        palette += (id > 0 ? ",[" : "[") + std::to_string(60 * id % 256) + ",100,200]";
    }
    model.metadata("mpm.size", "[" + std::to_string(small.rows * kPatch) + "," +
                                   std::to_string(small.cols * kPatch) + "]");
    model.metadata("mpm.labels", "[" + labels + "]").metadata("mpm.palette", "[" + palette + "]");
    model.metadata("mpm.schedule", "[2,5]");
}

void addPixels(OnnxModel& model, const SmallModel& small) {
    const int rows = small.rows * kPatch, columns = small.cols * kPatch;
    model.node("MpmResize", {"logits"}, {"stretched"}, "mpm");
    model.ints("size", {rows, columns}).attribute("argmax", small.labels ? 1 : 0);
    model.constant("plain", std::vector<long long>{small.batch, rows, columns});
    model.node("Reshape", {"stretched", "plain"}, {"pixels"});
    model.output("pixels", {small.batch, rows, columns});
}

void addLogits(OnnxModel& model, int dim, const SmallModel& small) {
    const int classes = small.depth ? 1 : small.classes;
    model.constant("head", randomWeights({dim, classes}, 0.5, 8));
    model.node("MatMul", {"features", "head"}, {"scores"});
    model.node("Transpose", {"scores"}, {"planes"}).ints("perm", {0, 2, 1});
    model.constant("logits_shape", std::vector<long long>{small.batch, classes, small.rows, small.cols});
    model.node("Reshape", {"planes", "logits_shape"}, {"logits"});
    if (small.labels || small.depth) return addPixels(model, small);
    model.output("logits", {small.batch, classes, small.rows, small.cols});
}

}  // namespace

void writeSmallModel(const std::string& path, const SmallModel& small) {
    EncoderOptions options;
    options.blocks = 6, options.heads = 2, options.special = 0;
    options.imageTokens = small.rows * small.cols;
    const int dim = options.dim(), tokens = small.rows * small.cols;
    OnnxModel model;
    if (small.queries > 0) model.domainVersion(2);
    if (small.windows) model.domainVersion(3);
    model.input("picture", {small.batch, 3, small.rows * kPatch, small.cols * kPatch});
    model.constant("embed", randomWeights({dim, 3, kPatch, kPatch}, 0.2, 7));
    model.node("Conv", {"picture", "embed"}, {"patches"});
    model.ints("kernel_shape", {kPatch, kPatch}).ints("strides", {kPatch, kPatch});
    model.constant("columns_shape", std::vector<long long>{small.batch, dim, tokens});
    model.node("Reshape", {"patches", "columns_shape"}, {"columns"});
    model.node("Transpose", {"columns"}, {"tokens"}).ints("perm", {0, 2, 1});
    if (small.queries > 0)
        addJoinedEncoder(model, options, small);
    else
        addEncoder(model, makeEncoder(options), small);
    if (small.features)
        model.output("features", {small.batch, tokens, dim});
    else if (small.queries > 0)
        addMasks(model, dim, small);
    else if (small.boxes > 0)
        addBoxes(model, dim, small);
    else
        addLogits(model, dim, small);
    if (small.metadata) addMetadata(model, small);
    model.write(path);
}

cv::Mat testImage(int seed, cv::Size size) {
    cv::Mat small(5, 7, CV_8UC3), large;
    cv::RNG random(seed + 100);
    random.fill(small, cv::RNG::UNIFORM, 0, 256);
    cv::resize(small, large, size, 0, 0, cv::INTER_CUBIC);
    return large;
}

}  // namespace mpm::test
