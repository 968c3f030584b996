#include "pipeline/segment/network.hpp"

#include <cmath>

namespace mpm::pipeline {

namespace {

constexpr int kPatch = 16;

/// Normally distributed random values; a seed gives the same values on every machine.
class Weights {
public:
    explicit Weights(std::uint64_t seed) : m_random(seed * 2 + 1) {}

    cv::Mat normal(const std::vector<int>& shape, double deviation) {
        cv::Mat values(static_cast<int>(shape.size()), shape.data(), CV_32F);
        m_random.fill(values, cv::RNG::NORMAL, 0, deviation);
        return values;
    }

private:
    cv::RNG m_random;
};

cv::Mat filled(int size, float value) {
    return cv::Mat(1, &size, CV_32F, cv::Scalar(value));
}

cv::dnn::LayerParams patchEmbedding(const RandomModel& model, Weights& weights) {
    cv::dnn::LayerParams params;
    params.set("kernel_h", kPatch);
    params.set("kernel_w", kPatch);
    params.set("stride_h", kPatch);
    params.set("stride_w", kPatch);
    params.set("num_output", model.dim);
    params.set("bias_term", true);
    params.blobs = {weights.normal({model.dim, 3, kPatch, kPatch}, 1.0 / kPatch), filled(model.dim, 0)};
    return params;
}

/// Parameters of the encoder: random weights, with the names in docs/reference/operators.md.
class EncoderParams {
public:
    EncoderParams(const RandomModel& model, Weights& weights) : m_model(model), m_weights(weights) {
        m_params.set("blocks", model.depth);
        m_params.set("heads", model.heads);
        m_params.set("dim", model.dim);
        m_params.set("special_tokens", 0);
        const int schedule[] = {2, 5};
        if (model.depth > 5) m_params.set("schedule", cv::dnn::DictValue::arrayInt(schedule, 2));
        const int grid[] = {model.size.height / kPatch, model.size.width / kPatch};
        m_params.set("grid", cv::dnn::DictValue::arrayInt(grid, 2));
        for (int block = 0; block < model.depth; ++block)
            addBlock(std::to_string(block) + ".");
        addNorm("norm");
        m_params.set("inputs", m_names);
    }

    cv::dnn::LayerParams take() { return std::move(m_params); }

private:
    void add(const std::string& name, const cv::Mat& value) {
        m_names += " " + name;
        m_params.blobs.push_back(value);
    }

    void addNorm(const std::string& name) {
        add(name + ".weight", filled(m_model.dim, 1));
        add(name + ".bias", filled(m_model.dim, 0));
    }

    void addProduct(const std::string& name, int from, int to) {
        add(name + ".weight", m_weights.normal({from, to}, 1 / std::sqrt(double(from))));
        add(name + ".bias", filled(to, 0));
    }

    void addBlock(const std::string& block) {
        const int dim = m_model.dim;
        addNorm(block + "norm1");
        addProduct(block + "qkv", dim, 3 * dim);
        addProduct(block + "proj", dim, dim);
        addNorm(block + "norm2");
        addProduct(block + "fc1", dim, 4 * dim);
        addProduct(block + "fc2", 4 * dim, dim);
    }

    const RandomModel& m_model;
    Weights& m_weights;
    cv::dnn::LayerParams m_params;
    std::string m_names = "tokens";
};

/// Returns a Scale layer with factors of 1 and a bias for each patch. A Shift layer is not used, because
/// Shift fails on batches in OpenCV 4.6.
cv::dnn::LayerParams positions(const RandomModel& model, Weights& weights) {
    cv::dnn::LayerParams params;
    params.set("axis", 1);
    params.set("bias_term", true);
    const cv::Mat bias = weights.normal({model.size.area() / kPatch / kPatch, model.dim}, 0.1);
    params.blobs = {cv::Mat(bias.size(), CV_32F, cv::Scalar(1)), bias};
    return params;
}

cv::dnn::LayerParams head(const RandomModel& model, Weights& weights) {
    cv::dnn::LayerParams params;
    params.set("axis", 2);
    params.set("num_output", model.classes);
    params.set("bias_term", false);
    params.blobs = {weights.normal({model.classes, model.dim}, 1 / std::sqrt(double(model.dim)))};
    return params;
}

cv::dnn::LayerParams swapLastTwo() {
    cv::dnn::LayerParams params;
    const int order[] = {0, 2, 1};
    params.set("order", cv::dnn::DictValue::arrayInt(order, 3));
    return params;
}

void checkModel(const RandomModel& model) {
    CV_Check(model.size.width,
             model.size.width > 0 && model.size.width % kPatch == 0 && model.size.height > 0 &&
                 model.size.height % kPatch == 0,
             "size: expected multiples of 16");
    CV_CheckGT(model.depth, 0, "depth: expected at least one block");
    CV_CheckGT(model.heads, 0, "heads: expected at least one");
    CV_CheckEQ(model.dim % model.heads, 0, "dim: expected a multiple of heads");
    CV_CheckGT(model.classes, 1, "classes: expected at least two");
}

}  // namespace

cv::dnn::Net makeRandomNet(const RandomModel& model) {
    checkModel(model);
    mpm::registerLayers();
    Weights weights(model.seed);
    cv::dnn::Net net;
    const auto add = [&net](const std::string& name, const std::string& type, cv::dnn::LayerParams params) {
        params.name = name;
        params.type = type;
        net.addLayerToPrev(name, type, params);
    };
    add("patches", "Convolution", patchEmbedding(model, weights));
    cv::dnn::LayerParams flat, planes;
    flat.set("axis", 2);
    add("flat", "Flatten", flat);
    add("tokens", "Permute", swapLastTwo());
    add("positions", "Scale", positions(model, weights));
    add("encoder", "mpm.MpmEncoder", EncoderParams(model, weights).take());
    add("head", "InnerProduct", head(model, weights));
    add("classes", "Permute", swapLastTwo());
    const int shape[] = {0, model.classes, model.size.height / kPatch, model.size.width / kPatch};
    planes.set("dim", cv::dnn::DictValue::arrayInt(shape, 4));
    add("logits", "Reshape", planes);
    return net;
}

mpm::ModelInfo randomModelInfo(const RandomModel& model) {
    mpm::ModelInfo info;
    for (int id = 0; id < model.classes; ++id)
        info.labels.push_back("class " + std::to_string(id));
    info.size = model.size;
    if (model.depth > 5) info.schedule = {2, 5};
    return info;
}

}  // namespace mpm::pipeline
