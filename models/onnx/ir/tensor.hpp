// A tensor of the converter. Three element types are enough (f32, int64, bool), because every float type is
// computed as f32 and every integer type as int64. Copies of a tensor share its data. The data may be part of
// the parsed protobuf message. A tensor without data is only a type and a shape.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/onnx/ir/list.hpp"

namespace mpm::models {

enum class Type { None, Float, Int, Bool };

using Shape = List<int64_t>;

/// Returns the product of the extents. Throws Refusal if an extent is negative or the product is too large.
int64_t elementCount(const Shape& shape);
std::string toString(const Shape& shape);

class Tensor {
public:
    Tensor() = default;
    /// Creates a tensor without data. Throws Refusal as elementCount() does.
    Tensor(Type type, Shape shape) : Tensor(type, std::move(shape), nullptr) {}
    /// `data` must have as many elements as the shape.
    Tensor(Type type, Shape shape, std::shared_ptr<const void> data)
        : m_type(type), m_shape(std::move(shape)), m_count(elementCount(m_shape)), m_data(std::move(data)) {}

    static Tensor floats(const Shape& shape, float value = 0);
    static Tensor floats(const Shape& shape, std::vector<float> values);  ///< as many `values` as elements
    static Tensor ints(const Shape& shape, int64_t value = 0, Type type = Type::Int);
    static Tensor vector(std::vector<int64_t> values);
    static Tensor zeros(Type type, const Shape& shape);
    static Tensor scalar(float value) { return floats({}, value); }

    Type type() const { return m_type; }
    bool isFloat() const { return m_type == Type::Float; }
    const Shape& shape() const { return m_shape; }
    int rank() const { return static_cast<int>(m_shape.size()); }
    int64_t dim(int axis) const { return m_shape[axis < 0 ? axis + rank() : axis]; }
    int64_t size() const { return m_count; }
    bool known() const { return m_data != nullptr; }

    /// Return the elements. Throw Refusal if the data is absent or of another type.
    Elements<const float> f() const { return {static_cast<const float*>(typed(true)), m_count}; }
    Elements<const int64_t> i() const { return {static_cast<const int64_t*>(typed(false)), m_count}; }
    /// Return the elements for writing. The data must not be shared yet.
    Elements<float> writeF() { return {static_cast<float*>(const_cast<void*>(typed(true))), m_count}; }
    Elements<int64_t> writeI() { return {static_cast<int64_t*>(const_cast<void*>(typed(false))), m_count}; }

    void allocate();                     ///< adds zeros as data, charged to the current job
    Tensor reshaped(Shape shape) const;  ///< the same data with another shape of equal size
    Tensor transposed() const;           ///< an f32 tensor [a, ...] as a matrix [size / a, a]
    Tensor withoutData() const { return {m_type, m_shape}; }
    List<int64_t> toInts() const;  ///< the values of any type, as integers
    std::vector<float> toFloats() const;
    double at(int64_t index) const {
        return isFloat() ? double{f()[index]} : static_cast<double>(i()[index]);
    }
    bool equals(const Tensor& other) const;  ///< same type, shape and bits
    const void* identity() const { return m_data.get(); }

private:
    const void* typed(bool asFloat) const {
        if (m_data == nullptr || m_type == Type::None || isFloat() != asFloat) throwWrongType(asFloat);
        return m_data.get();
    }
    [[noreturn]] void throwWrongType(bool asFloat) const;

    Type m_type = Type::None;
    Shape m_shape;
    int64_t m_count = 1;
    std::shared_ptr<const void> m_data;
};

/// Rounds towards zero. NaN becomes 0; a number out of range becomes the nearest limit.
int64_t toInteger(double value);

}  // namespace mpm::models
