#include "models/torch/train/evaluate.hpp"

#include <opencv2/imgproc.hpp>

#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

cv::Mat predict(Segmenter& model, const cv::Mat& image) {
    torch::NoGradGuard noGrad;
    const auto& vit = model->options().vit;
    const cv::Size size(static_cast<int>(vit.width), static_cast<int>(vit.height));
    cv::Mat stretched;
    cv::resize(image, stretched, size, 0, 0, cv::INTER_LINEAR);
    const auto device = model->parameters().front().device();
    const auto logits =
        model->forward(toTensor(stretched, model->options().normalisation).unsqueeze(0).to(device));
    const auto ids = logits.argmax(1)[0].to(torch::kUInt8).to(torch::kCPU).contiguous();
    cv::Mat labels;
    cv::resize(cv::Mat(size, CV_8U, ids.data_ptr()), labels, image.size(), 0, 0, cv::INTER_NEAREST);
    return labels;
}

static void addTokens(std::vector<double>& sum, const VisionTransformer& encoder) {
    for (const auto& trace : encoder->traces()) {
        sum.resize(trace.tokens.size());
        for (size_t i = 0; i < sum.size(); ++i)
            sum[i] += static_cast<double>(trace.tokens[i]);
    }
}

Evaluation evaluate(Segmenter& model, size_t count, const std::function<pipeline::Sample(size_t)>& sampleAt,
                    int ignored) {
    const bool wasTraining = model->is_training();
    model->eval();
    Evaluation result{pipeline::Confusion(static_cast<int>(model->options().classes), ignored), {}};
    for (size_t i = 0; i < count; ++i) {
        const pipeline::Sample sample = sampleAt(i);
        result.confusion.add(sample.labels, predict(model, sample.image));
        addTokens(result.tokens, model->encoder);
    }
    for (double& value : result.tokens)
        value /= static_cast<double>(count);
    model->train(wasTraining);
    return result;
}

}  // namespace mpm::models
