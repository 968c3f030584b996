#include <filesystem>

#include <mpm/mpm.hpp>
#include <opencv2/dnn.hpp>

#include "models/onnx/convert.hpp"
#include "models/torch/export_onnx.hpp"

namespace mpm::models {
namespace {

constexpr double kTolerance = 1e-4;

cv::Mat blobOf(const torch::Tensor& tensor) {
    std::vector<int> shape;
    for (int64_t dim : tensor.sizes())
        shape.push_back(static_cast<int>(dim));
    return cv::Mat(shape, CV_32F, tensor.data_ptr()).clone();
}

/// Runs with all tokens and with the schedule: merging itself must be the same in both.
void check(Segmenter& model, const std::vector<int>& blocks, const std::string& path) {
    torch::NoGradGuard noGrad;
    registerLayers();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
    Encoder encoder = mpm::encoder(net);
    torch::manual_seed(1);
    const auto& vit = model->options().vit;
    const auto picture = torch::rand({1, 3, vit.height, vit.width}) * 2 - 1;
    for (const auto& schedule : {std::vector<int>{}, blocks}) {
        model->encoder->setReducer({"mpm", {schedule.begin(), schedule.end()}});
        const auto expected = model->forward(picture).contiguous();
        encoder.setSchedule(schedule);
        net.setInput(blobOf(picture));
        const cv::Mat logits = net.forward();
        const double error = cv::norm(logits, blobOf(expected), cv::NORM_INF);
        TORCH_CHECK(error <= kTolerance, path, " differs from LibTorch by ", error, " with ", schedule.size(),
                    " merges");
    }
    model->encoder->setReducer({});
}

}  // namespace

void exportFused(Segmenter& model, const pipeline::Classes& classes, const std::vector<int>& blocks,
                 const std::string& path) {
    model->eval();
    const std::string plain = path + ".plain.onnx", fused = path + ".fused.onnx";
    exportOnnx(model, classes, plain, Norms::Written);
    ConvertOptions options;
    options.blocks = blocks;
    convertModel(plain, fused, options);
    std::filesystem::remove(plain);
    check(model, blocks, fused);
    std::filesystem::rename(fused, path);
}

}  // namespace mpm::models
