#include "python/src/arrays.hpp"

#include "base/checked.hpp"

namespace mpm::python {

namespace {

std::string textOf(const py::handle& value) {
    return py::str(value);
}

std::string shapeText(const py::array& array) {
    return textOf(py::tuple(array.attr("shape")));
}

[[noreturn]] void rejectType(const std::string& name, const std::string& expected, const std::string& got) {
    throw py::type_error(name + ": expected " + expected + ", got " + got);
}

[[noreturn]] void rejectShape(const std::string& name, const std::string& expected, const py::array& got) {
    throw py::value_error(name + ": expected the shape " + expected + ", got " + shapeText(got));
}

std::vector<int> sizesOf(const py::array& array, const std::string& name) {
    std::vector<int> sizes;
    std::int64_t elements = 1;
    for (py::ssize_t k = 0; k < array.ndim(); ++k) {
        if (array.shape(k) > INT_MAX || !productFits(elements, elements, array.shape(k)) ||
            elements > INT_MAX)
            throw py::value_error(name + ": the array has too many elements");
        sizes.push_back(static_cast<int>(array.shape(k)));
    }
    return sizes;
}

py::dtype dtypeOf(int depth) {
    switch (depth) {
        case CV_8U:
            return py::dtype::of<std::uint8_t>();
        case CV_8S:
            return py::dtype::of<std::int8_t>();
        case CV_16U:
            return py::dtype::of<std::uint16_t>();
        case CV_16S:
            return py::dtype::of<std::int16_t>();
        case CV_32S:
            return py::dtype::of<std::int32_t>();
        case CV_32F:
            return py::dtype::of<float>();
        case CV_64F:
            return py::dtype::of<double>();
        default:
            break;
    }
#ifdef MPM_OPENCV_INT64
    if (depth == CV_64S) return py::dtype::of<std::int64_t>();
#endif
    throw py::value_error("the network's output has a type that NumPy does not have");
}

}  // namespace

py::array checkedArray(const py::handle& value, const std::string& name, const py::dtype& type, int dims) {
    const std::string expected = "a NumPy array of " + textOf(type);
    if (!py::isinstance<py::array>(value)) rejectType(name, expected, textOf(py::type::of(value)));
    auto array = py::reinterpret_borrow<py::array>(value);
    if (!array.dtype().equal(type)) rejectType(name, expected, "one of " + textOf(array.dtype()));
    if (dims > 0 && array.ndim() != dims)
        rejectShape(name, "of " + std::to_string(dims) + " dimensions", array);
    constexpr int kPlain = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
    if ((array.flags() & kPlain) != kPlain) array = array.attr("copy")("C");
    return array;
}

HeldMat imageFrom(const py::handle& value, const std::string& name) {
    const py::array array = checkedArray(value, name, py::dtype::of<std::uint8_t>(), 0);
    if (array.ndim() != 3 || array.shape(2) != 3 || array.size() == 0)
        rejectShape(name, "(rows, columns, 3), not empty", array);
    const std::vector<int> sizes = sizesOf(array, name);
    return {{sizes[0], sizes[1], CV_8UC3, const_cast<void*>(array.data())}, array};
}

HeldMat tokensFrom(const py::handle& value, const std::string& name) {
    const py::array array = checkedArray(value, name, py::dtype::of<float>(), 2);
    if (array.shape(1) == 0) rejectShape(name, "(tokens, values), with at least one value", array);
    const std::vector<int> sizes = sizesOf(array, name);
    return {{sizes[0], sizes[1], CV_32F, const_cast<void*>(array.data())}, array};
}

HeldMat mapFrom(const py::handle& value, const std::string& name) {
    const py::array array = checkedArray(value, name, py::dtype::of<std::int32_t>(), 1);
    return {{1, sizesOf(array, name)[0], CV_32S, const_cast<void*>(array.data())}, array};
}

py::object arrayFrom(const cv::Mat& matrix, bool flat) {
    if (matrix.empty() && matrix.dims < 2) return py::none();
    const cv::Mat whole = matrix.isContinuous() ? matrix : matrix.clone();
    std::vector<py::ssize_t> shape(whole.size.p, whole.size.p + whole.dims);
    if (flat) shape = {static_cast<py::ssize_t>(whole.total())};
    if (whole.channels() > 1) shape.push_back(whole.channels());
    auto owner = std::make_unique<cv::Mat>(whole);
    const py::capsule keep(owner.get(), [](void* held) { delete static_cast<cv::Mat*>(held); });
    const cv::Mat* held = owner.release();
    return py::array(dtypeOf(whole.depth()), shape, held->data, keep);
}

py::tuple sizeTuple(cv::Size size) {
    return py::make_tuple(size.height, size.width);
}

}  // namespace mpm::python
