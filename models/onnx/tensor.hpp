// A tensor of the converter: three element types are enough, for every float type computes as f32 and every
// integer as int64. Data is shared and, where it came from a file, not copied; a tensor without data is a
// known shape.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mpm::models {

enum class Type { None, Float, Int, Bool };

using Shape = std::vector<int64_t>;

/// A model that cannot be read, understood or converted. The message is one line: what, where, what to do.
class Refusal : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Product of the extents; throws Refusal where it is negative or beyond what a program should ask memory
/// for.
int64_t elementCount(const Shape& shape);
std::string toString(const Shape& shape);

class Tensor {
public:
    Tensor() = default;
    Tensor(Type type, Shape shape) : m_type(type), m_shape(std::move(shape)) {}  ///< shape only
    Tensor(Type type, Shape shape, std::shared_ptr<const void> data)
        : m_type(type), m_shape(std::move(shape)), m_data(std::move(data)) {}

    static Tensor floats(const Shape& shape, float value = 0);
    static Tensor floats(const Shape& shape, const std::vector<float>& values);
    static Tensor ints(const Shape& shape, int64_t value = 0, Type type = Type::Int);
    static Tensor vector(const std::vector<int64_t>& values);
    static Tensor scalar(float value) { return floats({}, value); }

    Type type() const { return m_type; }
    bool isFloat() const { return m_type == Type::Float; }
    const Shape& shape() const { return m_shape; }
    int rank() const { return static_cast<int>(m_shape.size()); }
    int64_t dim(int axis) const { return m_shape[axis < 0 ? axis + rank() : axis]; }
    int64_t size() const { return elementCount(m_shape); }
    bool known() const { return m_data != nullptr; }

    const float* f() const { return static_cast<const float*>(m_data.get()); }
    const int64_t* i() const { return static_cast<const int64_t*>(m_data.get()); }
    /// Only on tensors nobody else has seen yet.
    float* writeF() { return static_cast<float*>(const_cast<void*>(m_data.get())); }
    int64_t* writeI() { return static_cast<int64_t*>(const_cast<void*>(m_data.get())); }

    void allocate();                     ///< zeroed data for the shape
    Tensor reshaped(Shape shape) const;  ///< the same data seen as another shape of equal size
    Tensor withoutData() const { return {m_type, m_shape}; }
    std::vector<int64_t> toInts() const;  ///< values, whatever the type
    std::vector<float> toFloats() const;
    double at(int64_t index) const { return isFloat() ? f()[index] : static_cast<double>(i()[index]); }
    bool equals(const Tensor& other) const;  ///< same type, shape and bits
    const void* identity() const { return m_data.get(); }

private:
    Type m_type = Type::None;
    Shape m_shape;
    std::shared_ptr<const void> m_data;
};

}  // namespace mpm::models
