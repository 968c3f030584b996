#include <mpm/read_net.hpp>
#include <opencv2/dnn.hpp>

#include "base/pending_file.hpp"
#include "models/onnx/convert.hpp"
#include "models/torch/export/onnx.hpp"

namespace mpm::models {
namespace {

constexpr double kTolerance = 1e-4;

cv::Mat blobOf(const torch::Tensor& tensor) {
    std::vector<int> shape;
    for (int64_t dim : tensor.sizes())
        shape.push_back(static_cast<int>(dim));
    return cv::Mat(shape, CV_32F, tensor.data_ptr()).clone();
}

torch::Tensor randomImage(const VitOptions& vit, uint64_t seed) {
    torch::manual_seed(seed);
    return torch::rand({1, 3, vit.height, vit.width}) * 2 - 1;
}

double difference(Segmenter& model, cv::dnn::Net& net, const torch::Tensor& image) {
    const auto expected = model->forward(image).contiguous();
    TORCH_CHECK(expected.isfinite().all().item<bool>(), "the model's logits are not finite");
    net.setInput(blobOf(image));
    const cv::Mat logits = net.forward();
    TORCH_CHECK(logits.total() == static_cast<size_t>(expected.numel()),
                "the file gives logits of another size");
    TORCH_CHECK(cv::checkRange(logits), "the file gives logits that are not finite");
    return cv::norm(logits, blobOf(expected), cv::NORM_INF);
}

void demandClose(double difference, const std::string& what) {
    TORCH_CHECK(difference <= kTolerance, what, " would differ from LibTorch by ", difference, ", more than ",
                kTolerance, ": not written");
}

/// Compared with all tokens and with the schedule: merging must give the same in both.
double fusedDifference(Segmenter& model, const std::vector<int>& blocks, const std::string& draft,
                       const std::string& name) {
    torch::NoGradGuard noGrad;
    cv::dnn::Net net = readNet(draft);
    Encoder encoder = mpm::encoder(net);
    const auto image = randomImage(model->options().vit, 1);
    double largest = 0;
    for (const auto& schedule : {std::vector<int>{}, blocks}) {
        model->encoder->setReducer({"mpm", {schedule.begin(), schedule.end()}});
        encoder.setSchedule(schedule);
        const double error = difference(model, net, image);
        demandClose(error, name + " with " + std::to_string(schedule.size()) + " merges");
        largest = std::max(largest, error);
    }
    model->encoder->setReducer({});
    return largest;
}

}  // namespace

double exportDifference(Segmenter& model, const std::string& path, uint64_t seed) {
    torch::NoGradGuard noGrad;
    model->eval();
    cv::dnn::Net net = readNet(path);
    return difference(model, net, randomImage(model->options().vit, seed));
}

double exportStandard(Segmenter& model, const pipeline::Classes& classes, const std::string& path) {
    PendingFile draft(path);
    exportOnnx(model, classes, draft.path());
    const double error = exportDifference(model, draft.path(), 1);
    demandClose(error, path);
    draft.keep();
    return error;
}

double exportFused(Segmenter& model, const pipeline::Classes& classes, const std::vector<int>& blocks,
                   const std::string& path) {
    model->eval();
    const PendingFile plain(path);  // never kept
    PendingFile fused(path);
    exportOnnx(model, classes, plain.path(), Norms::Written);
    ConvertOptions options;
    options.blocks = blocks;
    convertModel(plain.path(), fused.path(), options);
    const double error = fusedDifference(model, blocks, fused.path(), path);
    fused.keep();
    return error;
}

}  // namespace mpm::models
