#include "models/torch/files/file_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.hpp"
#include "models/torch/files/file_error.hpp"

namespace mpm::models {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{16} << 30;  // more than any model has
constexpr std::size_t kMaxDimensions = 8;

struct ElementKind {
    std::size_t bytes;
    bool floating;
    ElementNames names;
};

const std::map<Element, ElementKind>& kinds() {
    static const std::map<Element, ElementKind> all{
        {Element::F32, {4, true, {"F32", "'<f4'", "torch FloatStorage"}}},
        {Element::F64, {8, true, {"F64", "'<f8'", "torch DoubleStorage"}}},
        {Element::F16, {2, true, {"F16", "'<f2'", "torch HalfStorage"}}},
        {Element::BF16, {2, true, {"BF16", nullptr, "torch BFloat16Storage"}}},
        {Element::I64, {8, false, {"I64", "'<i8'", "torch LongStorage"}}},
        {Element::I32, {4, false, {"I32", "'<i4'", "torch IntStorage"}}},
        {Element::I16, {2, false, {"I16", nullptr, "torch ShortStorage"}}},
        {Element::I8, {1, false, {"I8", "'|i1'", "torch CharStorage"}}},
        {Element::U8, {1, false, {"U8", "'|u1'", "torch ByteStorage"}}},
        {Element::Bool, {1, false, {"BOOL", "'|b1'", "torch BoolStorage"}}}};
    return all;
}

template <class Value>
Value valueAt(const char* bytes) {
    Value value{};
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

float fromHalf(std::uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double sign = (half & 0x8000) != 0 ? -1 : 1;
    if (exponent == 31)
        return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                             : static_cast<float>(sign * std::numeric_limits<double>::infinity());
    const int leading = exponent == 0 ? 0 : 1024;  // subnormal numbers have no leading 1
    return static_cast<float>(sign * std::ldexp(leading + fraction, std::max(exponent, 1) - 25));
}

float fromBrain(std::uint16_t brain) {
    const std::uint32_t bits = static_cast<std::uint32_t>(brain) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/// Converts a double. Returns an infinity for a value outside the range of float, because a cast would be
/// undefined.
float fromDouble(double value) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    if (value > kLargest) return std::numeric_limits<float>::infinity();
    if (value < -kLargest) return -std::numeric_limits<float>::infinity();
    return static_cast<float>(value);
}

bool isRowMajor(const FileTensor& tensor) {
    std::int64_t expected = 1;
    for (std::size_t i = tensor.shape.size(); i > 0; --i) {
        if (tensor.shape[i - 1] != 1 && tensor.stride[i - 1] != expected) return false;
        if (!productFits(expected, expected, tensor.shape[i - 1])) return false;
    }
    return true;
}

/// Writes convert(address) of each element, in row-major order.
template <class Out, class Convert>
void forEach(const FileTensor& tensor, Out* out, const Convert& convert) {
    const auto size = static_cast<std::int64_t>(bytesOf(tensor.element));
    const std::int64_t count = tensor.count();
    if (count == 0) return;
    const std::size_t dimensions = tensor.shape.size();
    const bool scalar = dimensions == 0;
    const std::int64_t rowLength = scalar ? 1 : tensor.shape.back(),
                       step = scalar ? 0 : tensor.stride.back() * size;
    std::vector<std::int64_t> index(dimensions, 0);
    for (std::int64_t done = 0; done < count; done += rowLength) {
        std::int64_t from = 0;
        for (std::size_t i = 0; i + 1 < dimensions; ++i)
            from += index[i] * tensor.stride[i] * size;
        for (std::int64_t i = 0; i < rowLength; ++i)
            *out++ = convert(tensor.bytes.data() + from + i * step);
        for (std::size_t i = dimensions; i > 1 && ++index[i - 2] == tensor.shape[i - 2]; --i)
            index[i - 2] = 0;
    }
}

}  // namespace

std::size_t bytesOf(Element element) {
    return kinds().at(element).bytes;
}

bool isFloating(Element element) {
    return kinds().at(element).floating;
}

std::optional<Element> elementNamed(const char* ElementNames::*format, const std::string& name) {
    for (const auto& [element, kind] : kinds())
        if (const char* known = kind.names.*format; known != nullptr && name == known) return element;
    return std::nullopt;
}

std::int64_t FileTensor::count() const {
    return checkedTotal<std::int64_t>(shape);
}

void FileTensor::copyTo(float* out) const {
    if (count() == 0) return;
    if (element == Element::F32 && isRowMajor(*this)) {
        std::memcpy(out, bytes.data(), static_cast<std::size_t>(count()) * sizeof(float));
        return;
    }
    switch (element) {
        case Element::F32:
            return forEach(*this, out, valueAt<float>);
        case Element::F64:
            return forEach(*this, out, [](const char* at) { return fromDouble(valueAt<double>(at)); });
        case Element::F16:
            return forEach(*this, out, [](const char* at) { return fromHalf(valueAt<std::uint16_t>(at)); });
        case Element::BF16:
            return forEach(*this, out, [](const char* at) { return fromBrain(valueAt<std::uint16_t>(at)); });
        default:
            throw FileError("integers where floating-point numbers were expected");
    }
}

void FileTensor::copyTo(std::int64_t* out) const {
    const auto wide = [](auto value) { return static_cast<std::int64_t>(value); };
    switch (element) {
        case Element::I64:
            return forEach(*this, out, valueAt<std::int64_t>);
        case Element::I32:
            return forEach(*this, out, [&](const char* at) { return wide(valueAt<std::int32_t>(at)); });
        case Element::I16:
            return forEach(*this, out, [&](const char* at) { return wide(valueAt<std::int16_t>(at)); });
        case Element::I8:
            return forEach(*this, out, [&](const char* at) { return wide(valueAt<std::int8_t>(at)); });
        case Element::U8:
            return forEach(*this, out, [&](const char* at) { return wide(valueAt<std::uint8_t>(at)); });
        case Element::Bool:
            return forEach(*this, out, [&](const char* at) { return wide(*at != 0); });
        default:
            throw FileError("floating-point numbers where integers were expected");
    }
}

std::int64_t elementsOf(const std::vector<std::int64_t>& shape, const std::string& name) {
    demand(shape.size() <= kMaxDimensions, nameOf(name), ": too many dimensions");
    std::int64_t count = 1, extent = 1;  // `extent` counts each 0 as 1, so that strides also fit in 64 bits
    for (const std::int64_t size : shape) {
        demand(size >= 0 && productFits(extent, extent, std::max<std::int64_t>(size, 1)) &&
                   extent <= kMaxElements,
               nameOf(name), ": impossible shape");
        count = size == 0 ? 0 : count == 0 ? 0 : extent;
    }
    return count;
}

FileTensor denseTensor(std::string_view data, Element element, const std::vector<std::int64_t>& shape,
                       const std::string& name, bool columnMajor) {
    const std::int64_t count = elementsOf(shape, name);
    demand(data.size() == checkedProduct<std::uint64_t>(count, bytesOf(element)), nameOf(name),
           ": its data does not fit its shape");
    FileTensor tensor{element, shape, std::vector<std::int64_t>(shape.size()), data, nullptr};
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const std::size_t at = columnMajor ? i : shape.size() - 1 - i;
        tensor.stride[at] = stride;
        stride *= std::max<std::int64_t>(shape[at], 1);
    }
    return tensor;
}

std::uint64_t littleEndian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i > 0; --i)
        value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
    return value;
}

void Allowance::spend(std::uint64_t bytes, const std::string& name) {
    demand(bytes <= m_left, nameOf(name), ": the file's tensors are far larger than the file");
    m_left -= bytes;
}

}  // namespace mpm::models
