#include "mpm_layer/dnn/small_layer.hpp"

#include "base/printable.hpp"

namespace mpm::dnn {

std::vector<int> sizesOf(const Shape& shape) {
    std::vector<int> sizes;
    for (size_t k = 0; k < shape.size(); ++k)
        sizes.push_back(shape[static_cast<int>(k)]);
    return sizes;
}

Shape toShape(const std::vector<int>& sizes) {
    return Shape(sizes.data(), sizes.data() + sizes.size());
}

cv::Mat SmallLayer::operand(const std::vector<cv::Mat>& in, size_t index) const {
    const cv::Mat& m = index < in.size() ? in[index] : blobs.at(index - in.size());
    if (m.type() != CV_32F)
        CV_Error(cv::Error::StsBadArg, "mpm: " + printable(type, 80) + " takes f32 of one channel only");
    return m.isContinuous() ? m : m.clone();
}

std::vector<int> SmallLayer::operandShape(const std::vector<Shape>& in, size_t index) const {
    return sizesOf(index < in.size() ? in[index] : shapeOf(blobs.at(index - in.size())));
}

bool SmallLayer::isConstant(const std::vector<cv::Mat>& in, size_t index) const {
    return index >= in.size() || isConstantInput(index);
}

void SmallLayer::checkOperands(size_t inputs, size_t least, size_t most) const {
    const size_t count = operands(inputs);
    if (inputs < 1 || count < least || count > most) {
        CV_Error(cv::Error::StsBadArg,
                 cv::format("mpm: %s takes %d to %d inputs, the first not a constant; got %d",
                            printable(type, 80).c_str(), static_cast<int>(least), static_cast<int>(most),
                            static_cast<int>(count)));
    }
}

}  // namespace mpm::dnn
