// Operators whose results follow from shapes and constants.
#include <algorithm>
#include <cmath>

#include "models/onnx/eval/call.hpp"

namespace mpm::models {
namespace {

void shapeOf(Call& c) {
    const Shape& shape = c.input(0).shape();
    const int64_t rank = static_cast<int64_t>(shape.size());
    const auto clamp = [rank](int64_t k) {
        return std::min(std::max<int64_t>(k < 0 ? k + rank : k, 0), rank);
    };
    const int64_t start = clamp(c.node.getInt("start", 0));
    const int64_t end = std::max(start, clamp(c.node.getInt("end", rank)));
    c.out.assign(1, Tensor::vector(std::vector<int64_t>(shape.begin() + start, shape.begin() + end)));
}

void constantOfShape(Call& c) {
    const Shape shape = c.knownInput(0).toInts();
    const Tensor value = c.node.has("value") ? c.node.attributes.at("value").as<Tensor>() : Tensor::scalar(0);
    if (value.size() != 1) throw Refusal("its value is not one number");
    if (value.isFloat()) {
        c.out.assign(1, Tensor::floats(shape, value.f()[0]));
    } else {
        c.out.assign(1, Tensor::ints(shape, value.i()[0], value.type()));
    }
}

void range(Call& c) {
    const Tensor start = c.knownInput(0), limit = c.knownInput(1), delta = c.knownInput(2);
    if (delta.at(0) == 0) throw Refusal("its step is zero");
    const double span = std::ceil((limit.at(0) - start.at(0)) / delta.at(0));
    if (!(span < 1e9)) throw Refusal("it is too long for a model");
    const int64_t count = std::max<int64_t>(0, toInteger(span));
    Tensor& y = c.make(0, start.type(), {count});
    for (int64_t k = 0; k < count; ++k) {
        if (start.isFloat()) {
            y.writeF()[k] = static_cast<float>(start.at(0) + static_cast<double>(k) * delta.at(0));
        } else {  // unsigned, because signed integers must not overflow
            y.writeI()[k] =
                static_cast<int64_t>(static_cast<uint64_t>(start.i()[0]) +
                                     static_cast<uint64_t>(k) * static_cast<uint64_t>(delta.i()[0]));
        }
    }
}

void eyeLike(Call& c) {
    const Shape shape = c.input(0).shape();
    if (shape.size() != 2) throw Refusal("it needs a matrix");
    Tensor& y = c.make(0, Type::Float, shape);
    for (int64_t k = 0; k < std::min(shape[0], shape[1]); ++k)
        y.writeF()[k * shape[1] + k] = 1;
}

// Computes an If whose branches are both in the graph. The condition, which must be known, picks the branch.
void select(Call& c) {
    const size_t count = (c.in.size() - 1) / 2;
    const bool first = c.knownInput(0).at(0) != 0;
    c.out.clear();
    for (size_t k = 0; k < count; ++k)
        c.out.push_back(c.input(1 + k + (first ? 0 : count)));
}

}  // namespace

void addShapes(OperatorTable& table) {
    table["Shape"] = shapeOf;
    table["Size"] = [](Call& c) { c.out.assign(1, Tensor::ints({}, c.input(0).size())); };
    table["ConstantOfShape"] = constantOfShape;
    table["Range"] = range;
    table["EyeLike"] = eyeLike;
    table["Select"] = select;
}

}  // namespace mpm::models
