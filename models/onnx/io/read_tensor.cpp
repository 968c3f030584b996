#include "models/onnx/io/read_tensor.hpp"

#include <cmath>
#include <cstring>
#include <map>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "models/onnx/io/external_data.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

using Proto = onnx::TensorProto;

float fromHalf(uint16_t bits) {
    const int exponent = (bits >> 10) & 31;
    const int mantissa = bits & 1023;
    float value;
    if (exponent == 0) {
        value = std::ldexp(static_cast<float>(mantissa), -24);
    } else if (exponent == 31) {
        value = mantissa ? NAN : INFINITY;
    } else {
        value = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
    }
    return bits & 0x8000 ? -value : value;
}

// If `rounded` is a constant of an activation, rounded to f16, returns the exact constant; else returns
// `rounded`. OpenCV computes activations with the exact constants, so the evaluation must do the same.
float exactConstant(float rounded) {
    for (const float exact : {1.41421356f, 0.70710678f, 0.79788456f, 0.044715f, 1.702f}) {
        if (std::abs(rounded - exact) <= exact / 2048) return exact;  // half a unit in the last place of f16
    }
    return rounded;
}

float fromBfloat(uint16_t bits) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
}

std::string nameOf(const Proto& proto) {
    return printable(proto.name(), 200);
}

struct Element {
    Type type;
    int64_t bytes;
};

const Element& elementOf(int type) {
    static const std::map<int, Element> all{
        {Proto::UNDEFINED, {Type::None, 1}}, {Proto::BOOL, {Type::Bool, 1}},
        {Proto::FLOAT, {Type::Float, 4}},    {Proto::DOUBLE, {Type::Float, 8}},
        {Proto::FLOAT16, {Type::Float, 2}},  {Proto::BFLOAT16, {Type::Float, 2}},
        {Proto::INT8, {Type::Int, 1}},       {Proto::UINT8, {Type::Int, 1}},
        {Proto::INT16, {Type::Int, 2}},      {Proto::UINT16, {Type::Int, 2}},
        {Proto::INT32, {Type::Int, 4}},      {Proto::UINT32, {Type::Int, 4}},
        {Proto::INT64, {Type::Int, 8}},      {Proto::UINT64, {Type::Int, 8}}};
    const auto found = all.find(type);
    if (found == all.end()) throw Refusal("element type " + std::to_string(type) + " is not supported");
    return found->second;
}

template <typename From>
From load(const char* bytes, int64_t k) {
    From value;
    std::memcpy(&value, bytes + k * sizeof(From), sizeof(From));
    return value;
}

template <typename From, typename To>
void convert(const char* bytes, int64_t count, const Elements<To>& to) {
    for (int64_t k = 0; k < count; ++k)
        to[k] = static_cast<To>(load<From>(bytes, k));
}

void fillFromBytes(int type, const char* bytes, Tensor& tensor) {
    const int64_t count = tensor.size();
    switch (type) {
        case Proto::FLOAT:
            return convert<float>(bytes, count, tensor.writeF());
        case Proto::DOUBLE:
            return convert<double>(bytes, count, tensor.writeF());
        case Proto::FLOAT16:
            for (int64_t k = 0; k < count; ++k)
                tensor.writeF()[k] = fromHalf(load<uint16_t>(bytes, k));
            if (count == 1) tensor.writeF()[0] = exactConstant(tensor.f()[0]);
            return;
        case Proto::BFLOAT16:
            for (int64_t k = 0; k < count; ++k)
                tensor.writeF()[k] = fromBfloat(load<uint16_t>(bytes, k));
            return;
        case Proto::INT64:
            return convert<int64_t>(bytes, count, tensor.writeI());
        case Proto::UINT64:
            return convert<uint64_t>(bytes, count, tensor.writeI());
        case Proto::INT32:
            return convert<int32_t>(bytes, count, tensor.writeI());
        case Proto::UINT32:
            return convert<uint32_t>(bytes, count, tensor.writeI());
        case Proto::INT16:
            return convert<int16_t>(bytes, count, tensor.writeI());
        case Proto::UINT16:
            return convert<uint16_t>(bytes, count, tensor.writeI());
        case Proto::INT8:
            return convert<int8_t>(bytes, count, tensor.writeI());
        default:
            return convert<uint8_t>(bytes, count, tensor.writeI());
    }
}

template <class Field, class To>
bool fill(const Field& field, int64_t count, const Elements<To>& to) {
    if (field.size() != count) return false;
    for (int64_t k = 0; k < count; ++k)
        to[k] = static_cast<To>(field[static_cast<int>(k)]);
    return true;
}

// Fills the tensor from typed fields (float_data, int64_data ...). Returns false if the shape does not fit.
bool fillFromFields(const Proto& proto, Tensor& tensor) {
    const int64_t count = tensor.size();
    switch (proto.data_type()) {
        case Proto::FLOAT:
            return fill(proto.float_data(), count, tensor.writeF());
        case Proto::DOUBLE:
            return fill(proto.double_data(), count, tensor.writeF());
        case Proto::INT64:
            return fill(proto.int64_data(), count, tensor.writeI());
        case Proto::UINT32:
        case Proto::UINT64:
            return fill(proto.uint64_data(), count, tensor.writeI());
        default:
            break;
    }
    if (proto.int32_data_size() != count) return false;
    for (int64_t k = 0; k < count; ++k) {
        const int32_t value = proto.int32_data(static_cast<int>(k));
        if (proto.data_type() == Proto::FLOAT16) {
            const float wide = fromHalf(static_cast<uint16_t>(value));
            tensor.writeF()[k] = count == 1 ? exactConstant(wide) : wide;
        } else if (proto.data_type() == Proto::BFLOAT16) {
            tensor.writeF()[k] = fromBfloat(static_cast<uint16_t>(value));
        } else {
            tensor.writeI()[k] = value;
        }
    }
    return true;
}

bool aligned(const char* bytes) {
    return reinterpret_cast<uintptr_t>(bytes) % 8 == 0;
}

}  // namespace

Type typeOf(int elementType) {
    return elementOf(elementType).type;
}

Tensor readTensor(const Proto& proto, const std::shared_ptr<const onnx::ModelProto>& owner,
                  const std::string& model) {
    const Shape shape(proto.dims().begin(), proto.dims().end());
    Tensor tensor(typeOf(proto.data_type()), shape);
    if (tensor.type() == Type::None) throw Refusal("tensor '" + nameOf(proto) + "' has no element type");
    const auto expected =
        static_cast<size_t>(checkedProduct<int64_t>(tensor.size(), elementOf(proto.data_type()).bytes));
    const bool plain = proto.data_type() == Proto::FLOAT || proto.data_type() == Proto::INT64;
    if (proto.data_location() == Proto::EXTERNAL) {
        const ExternalData data(proto, model, static_cast<int64_t>(expected));
        tensor.allocate();
        if (plain) {
            data.read(static_cast<char*>(const_cast<void*>(tensor.identity())));
            return tensor;
        }
        const Held held(static_cast<int64_t>(expected), "external data of '" + nameOf(proto) + "'");
        std::string bytes(expected, '\0');
        data.read(bytes.data());
        fillFromBytes(proto.data_type(), bytes.data(), tensor);
        return tensor;
    }
    if (proto.has_raw_data()) {
        if (proto.raw_data().size() != expected) {
            throw Refusal("tensor '" + nameOf(proto) + "' of shape " + toString(shape) + " holds " +
                          std::to_string(proto.raw_data().size()) + " bytes instead of " +
                          std::to_string(expected));
        }
        const char* bytes = proto.raw_data().data();
        if (owner && plain && expected > 0 && aligned(bytes)) {
            return {tensor.type(), shape, std::shared_ptr<const void>(owner, bytes)};
        }
        tensor.allocate();
        fillFromBytes(proto.data_type(), bytes, tensor);
        return tensor;
    }
    const int64_t held = int64_t{proto.float_data_size()} + proto.int32_data_size() +
                         proto.int64_data_size() + proto.double_data_size() + proto.uint64_data_size();
    if (held < tensor.size())
        throw Refusal("tensor '" + nameOf(proto) + "' lacks values for its shape " + toString(shape));
    tensor.allocate();
    if (!fillFromFields(proto, tensor)) {
        throw Refusal("tensor '" + nameOf(proto) + "' has another number of values than its shape " +
                      toString(shape));
    }
    return tensor;
}

bool readAttribute(const onnx::AttributeProto& proto, const std::shared_ptr<const onnx::ModelProto>& owner,
                   const std::string& model, Attribute& a) {
    using P = onnx::AttributeProto;
    switch (proto.type()) {
        case P::FLOAT:
            a.value = proto.f();
            return true;
        case P::INT:
            a.value = int64_t{proto.i()};
            return true;
        case P::STRING:
            a.value = proto.s();
            return true;
        case P::TENSOR:
            a.value = readTensor(proto.t(), owner, model);
            return true;
        case P::FLOATS:
            a.value = List<float>(proto.floats().begin(), proto.floats().end());
            return true;
        case P::INTS:
            a.value = List<int64_t>(proto.ints().begin(), proto.ints().end());
            return true;
        case P::STRINGS:
            a.value = List<std::string>(proto.strings().begin(), proto.strings().end());
            return true;
        default:
            return false;
    }
}

}  // namespace mpm::models
