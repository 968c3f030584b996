#include "models/torch/model/segmenter.hpp"

#include <opencv2/imgproc.hpp>

namespace mpm::models {

torch::Tensor toTensor(const cv::Mat& image, const Normalisation& normalisation) {
    CV_CheckTypeEQ(image.type(), CV_8UC3, "toTensor: image must be 8-bit BGR");
    cv::Mat rgb;
    cv::cvtColor(image, rgb, cv::COLOR_BGR2RGB);
    const auto bytes = torch::from_blob(rgb.data, {rgb.rows, rgb.cols, 3}, torch::kUInt8);
    const auto byChannel = [](const std::array<double, 3>& values) {
        return torch::tensor({values[0], values[1], values[2]}, torch::kFloat32).mul_(255).reshape({3, 1, 1});
    };
    return bytes.permute({2, 0, 1})
        .to(torch::kFloat32)
        .sub(byChannel(normalisation.mean))
        .div_(byChannel(normalisation.deviation))
        .contiguous();
}

}  // namespace mpm::models
