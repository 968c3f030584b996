#include "models/onnx/ir/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;  // of any tensor, even without data
constexpr int64_t kMostBytes = int64_t{1} << 31;     // of the data of a tensor
constexpr size_t kMostAxes = 32;

// Charges the bytes to the job until the result is destroyed. Must be called before the bytes are allocated.
std::shared_ptr<Held> charge(const Shape& shape, int64_t bytesEach) {
    const int64_t count = elementCount(shape);
    if (count > kMostBytes / bytesEach)
        throw Refusal("a tensor of shape " + toString(shape) + " needs more memory than any model does");
    return std::make_shared<Held>(count * bytesEach, "a tensor of shape " + toString(shape));
}

template <typename T>
std::shared_ptr<const void> keep(std::vector<T> values, const std::shared_ptr<Held>& held) {
    if (values.empty()) values.reserve(1);  // the data of an empty tensor must not be null
    auto data = std::make_shared<std::pair<std::vector<T>, std::shared_ptr<Held>>>(std::move(values), held);
    return {data, data->first.data()};
}

template <typename T>
std::shared_ptr<const void> cleared(int64_t count, const std::shared_ptr<Held>& held) {
    // Allocates a spare element, so that empty data is not null. Uses calloc(), because calloc() does not
    // write to new pages, which are already zero.
    T* data = static_cast<T*>(std::calloc(static_cast<size_t>(count) + 1, sizeof(T)));
    if (!data) throw std::bad_alloc();
    return {data, [held](T* values) { std::free(values); }};
}

}  // namespace

int64_t elementCount(const Shape& shape) {
    if (shape.size() > kMostAxes)
        throw Refusal("a tensor of " + std::to_string(shape.size()) + " axes is not supported");
    int64_t count = 1;
    for (int64_t extent : shape) {
        if (extent < 0) throw Refusal("a tensor of shape " + toString(shape) + " has a negative extent");
        if (extent == 0) continue;  // the loop must also check the other extents
        if (count > kMostElements / extent) {
            throw Refusal("a tensor of shape " + toString(shape) + " is larger than any model needs");
        }
        count *= extent;  // fits: compared above
    }
    return std::count(shape.begin(), shape.end(), 0) > 0 ? 0 : count;
}

std::string toString(const Shape& shape) {
    constexpr size_t kMostShown = 12;
    std::string text = "[";
    for (size_t k = 0; k < std::min(shape.size(), kMostShown); ++k)
        text += (k ? ", " : "") + std::to_string(shape[k]);
    return text + (shape.size() > kMostShown ? ", ...]" : "]");
}

Tensor Tensor::floats(const Shape& shape, float value) {
    const auto held = charge(shape, 4);
    return {Type::Float, shape, keep(std::vector<float>(elementCount(shape), value), held)};
}

Tensor Tensor::floats(const Shape& shape, std::vector<float> values) {
    const auto held = charge(shape, 4);
    if (static_cast<int64_t>(values.size()) != elementCount(shape))
        throw Refusal(std::to_string(values.size()) + " values do not fill a tensor of shape " +
                      toString(shape));
    return {Type::Float, shape, keep(std::move(values), held)};
}

Tensor Tensor::ints(const Shape& shape, int64_t value, Type type) {
    const auto held = charge(shape, 8);
    return {type, shape, keep(std::vector<int64_t>(elementCount(shape), value), held)};
}

Tensor Tensor::zeros(Type type, const Shape& shape) {
    Tensor tensor(type, shape);
    tensor.allocate();
    return tensor;
}

Tensor Tensor::vector(std::vector<int64_t> values) {
    const Shape shape{static_cast<int64_t>(values.size())};
    const auto held = charge(shape, 8);
    return {Type::Int, shape, keep(std::move(values), held)};
}

void Tensor::allocate() {
    const auto held = charge(m_shape, isFloat() ? 4 : 8);
    m_data = isFloat() ? cleared<float>(m_count, held) : cleared<int64_t>(m_count, held);
}

Tensor Tensor::reshaped(Shape shape) const {
    if (elementCount(shape) != size()) {
        throw Refusal("a tensor of shape " + toString(m_shape) + " cannot be seen as " + toString(shape));
    }
    return {m_type, std::move(shape), m_data};
}

Tensor Tensor::transposed() const {
    const int64_t rows = dim(0), columns = m_count / std::max<int64_t>(1, rows);
    Tensor turned = Tensor::zeros(Type::Float, {columns, rows});
    const float* from = f();
    float* to = turned.writeF();
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c)
            to[c * rows + r] = from[r * columns + c];
    }
    return turned;
}

List<int64_t> Tensor::toInts() const {
    if (!known()) return {};
    checkRoom(8 * m_count, "a tensor of shape " + toString(m_shape) + " as integers");
    List<int64_t> values(static_cast<size_t>(m_count));
    if (!isFloat()) {
        std::copy_n(i().data(), m_count, values.begin());
        return values;
    }
    for (int64_t k = 0; k < m_count; ++k)
        values[k] = toInteger(f()[k]);
    return values;
}

std::vector<float> Tensor::toFloats() const {
    if (!known()) return {};
    checkRoom(4 * m_count, "a tensor of shape " + toString(m_shape) + " as floats");
    std::vector<float> values(static_cast<size_t>(m_count));
    for (size_t k = 0; k < values.size(); ++k)
        values[k] = static_cast<float>(at(static_cast<int64_t>(k)));
    return values;
}

bool Tensor::equals(const Tensor& other) const {
    if (m_type != other.m_type || m_shape != other.m_shape || known() != other.known()) return false;
    if (!known() || m_data == other.m_data) return true;
    return std::memcmp(m_data.get(), other.m_data.get(), size() * (isFloat() ? 4 : 8)) == 0;
}

void Tensor::throwWrongType(bool asFloat) const {
    if (m_data == nullptr) throw Refusal("it needs a value that is not known");
    throw Refusal(asFloat ? "it needs floats, but has integers" : "it needs integers, but has floats");
}

int64_t toInteger(double value) {
    constexpr double kEdge = 9223372036854775808.0;  // 2^63, the first number that does not fit
    if (std::isnan(value)) return 0;
    if (value >= kEdge) return std::numeric_limits<int64_t>::max();
    if (value <= -kEdge) return std::numeric_limits<int64_t>::min();
    return static_cast<int64_t>(value);
}

}  // namespace mpm::models
