#include "mpm_layer/dnn/small_layer.hpp"

#include "base/printable.hpp"

namespace mpm::dnn {

Sizes sizesOf(const Shape& shape) {
    Sizes sizes;
    for (size_t k = 0; k < shape.size(); ++k)
        sizes.push_back(shape[static_cast<int>(k)]);
    return sizes;
}

Sizes sizesOf(const cv::Mat& m) {
    return Sizes(m.size.p, m.size.p + m.dims);
}

Shape toShape(const Sizes& sizes) {
    return Shape(sizes.data(), sizes.data() + sizes.size());
}

cv::Mat SmallLayer::operand(const std::vector<cv::Mat>& in, size_t index) const {
    if (index >= in.size() + blobs.size()) return {};
    const cv::Mat& m = index < in.size() ? in[index] : blobs[index - in.size()];
    if (m.type() != CV_32F)
        CV_Error(cv::Error::StsBadArg, "mpm: " + printable(type, 80) + " takes f32 of one channel only");
    return m.isContinuous() ? m : m.clone();
}

std::vector<Sizes> SmallLayer::operandSizes(const std::vector<Shape>& in) const {
    std::vector<Sizes> sizes;
    for (const Shape& shape : in)
        sizes.push_back(sizesOf(shape));
    for (const cv::Mat& constant : blobs)
        sizes.push_back(sizesOf(constant));
    return sizes;
}

std::vector<Sizes> SmallLayer::operandSizes(const std::vector<cv::Mat>& in) const {
    return operandSizes(shapesOf(in));
}

bool SmallLayer::isConstant(const std::vector<cv::Mat>& in, size_t index) const {
    return index >= in.size() || isConstantInput(index);
}

void SmallLayer::rejectSizes(const std::string& expected, const std::vector<Sizes>& operands) {
    std::string got;
    for (const Sizes& sizes : operands)
        got += (got.empty() ? "" : ", ") + textOf(toShape(sizes));
    CV_Error(cv::Error::StsUnmatchedSizes, "mpm: " + expected + "; got " + got);
}

std::vector<Shape> SmallLayer::outputShapes(const std::vector<Shape>& in) const {
    const size_t count = in.size() + blobs.size();
    if (in.empty() || count < m_least || count > m_most) {
        CV_Error(cv::Error::StsBadArg,
                 cv::format("mpm: %s takes %d to %d inputs, the first not a constant; got %d",
                            printable(type, 80).c_str(), static_cast<int>(m_least), static_cast<int>(m_most),
                            static_cast<int>(count)));
    }
    std::vector<Shape> shapes;
    for (const Sizes& sizes : outputSizes(operandSizes(in)))
        shapes.push_back(toShape(sizes));
    return shapes;
}

int64 SmallLayer::getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>& out) const {
    if (in.empty() || in.size() + blobs.size() < m_least || out.empty()) return 0;
    return operations(operandSizes(in), sizesOf(out[0]));
}

}  // namespace mpm::dnn
