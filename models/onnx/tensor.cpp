#include "models/onnx/tensor.hpp"

#include <cstring>

namespace mpm::models {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;  // of a shape that is only spoken of
constexpr int64_t kMostBytes = int64_t{1} << 31;     // that one tensor asks memory for

template <typename T>
std::shared_ptr<const void> copyOf(const std::vector<T>& values) {
    auto data = std::make_shared<std::vector<T>>(values);
    return {data, data->data()};
}

// Memory is only asked for after this.
int64_t affordable(const Shape& shape, int64_t bytes) {
    const int64_t count = elementCount(shape);
    if (count > kMostBytes / bytes)
        throw Refusal("a tensor of shape " + toString(shape) + " takes more memory than any model needs");
    return count;
}

}  // namespace

int64_t elementCount(const Shape& shape) {
    int64_t count = 1;
    for (int64_t extent : shape) {
        if (extent < 0) throw Refusal("a tensor of shape " + toString(shape) + " has a negative extent");
        if (extent != 0 && count > kMostElements / extent) {
            throw Refusal("a tensor of shape " + toString(shape) + " is larger than any model needs");
        }
        count *= extent;
    }
    return count;
}

std::string toString(const Shape& shape) {
    std::string text = "[";
    for (size_t k = 0; k < shape.size(); ++k)
        text += (k ? ", " : "") + std::to_string(shape[k]);
    return text + "]";
}

Tensor Tensor::floats(const Shape& shape, float value) {
    return floats(shape, std::vector<float>(affordable(shape, 4), value));
}

Tensor Tensor::floats(const Shape& shape, const std::vector<float>& values) {
    return {Type::Float, shape, copyOf(values)};
}

Tensor Tensor::ints(const Shape& shape, int64_t value, Type type) {
    return {type, shape, copyOf(std::vector<int64_t>(affordable(shape, 8), value))};
}

Tensor Tensor::vector(const std::vector<int64_t>& values) {
    return {Type::Int, {static_cast<int64_t>(values.size())}, copyOf(values)};
}

void Tensor::allocate() {
    const int64_t count = affordable(m_shape, isFloat() ? 4 : 8);
    // One spare element: the data of an empty tensor must not look absent.
    if (isFloat()) {
        m_data = std::shared_ptr<float[]>(new float[count + 1]());
    } else {
        m_data = std::shared_ptr<int64_t[]>(new int64_t[count + 1]());
    }
}

Tensor Tensor::reshaped(Shape shape) const {
    if (elementCount(shape) != size()) {
        throw Refusal("a tensor of shape " + toString(m_shape) + " cannot be seen as " + toString(shape));
    }
    return {m_type, std::move(shape), m_data};
}

std::vector<int64_t> Tensor::toInts() const {
    std::vector<int64_t> values(known() ? size() : 0);
    for (size_t k = 0; k < values.size(); ++k)
        values[k] = isFloat() ? static_cast<int64_t>(f()[k]) : i()[k];
    return values;
}

std::vector<float> Tensor::toFloats() const {
    std::vector<float> values(known() ? size() : 0);
    for (size_t k = 0; k < values.size(); ++k)
        values[k] = static_cast<float>(at(k));
    return values;
}

bool Tensor::equals(const Tensor& other) const {
    if (m_type != other.m_type || m_shape != other.m_shape || known() != other.known()) return false;
    if (!known() || m_data == other.m_data) return true;
    return std::memcmp(m_data.get(), other.m_data.get(), size() * (isFloat() ? 4 : 8)) == 0;
}

}  // namespace mpm::models
