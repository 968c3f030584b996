#include "models/onnx/eval/call.hpp"

#include <algorithm>

namespace mpm::models {

const Tensor& Call::input(size_t k) const {
    if (!has(k)) throw Refusal("input " + std::to_string(k) + " is missing");
    return in[k];
}

const Tensor& Call::knownInput(size_t k) const {
    if (!input(k).known())
        throw Refusal("input " + std::to_string(k) + " depends on the data, not on shapes alone");
    return in[k];
}

bool Call::known() const {
    return std::all_of(in.begin(), in.end(),
                       [](const Tensor& t) { return t.type() == Type::None || t.known(); });
}

List<int64_t> Call::axes(size_t inputIndex) const {
    if (has(inputIndex)) return knownInput(inputIndex).toInts();
    return node.getInts("axes");
}

int Call::axis(int64_t axis, int rank) const {
    const int64_t counted = axis < 0 ? axis + rank : axis;  // cannot overflow: `axis` is negative
    if (counted < 0 || counted >= std::max(rank, 1)) {
        throw Refusal("axis " + std::to_string(axis) + " is outside a tensor of rank " +
                      std::to_string(rank));
    }
    return static_cast<int>(counted);
}

Tensor& Call::make(size_t k, Type type, const Shape& shape) {
    if (k >= out.size()) out.resize(k + 1);
    return out[k] = Tensor::zeros(type, shape);
}

void Call::shape(size_t k, Type type, const Shape& shape) {
    if (k >= out.size()) out.resize(k + 1);
    out[k] = Tensor(type, shape);
}

const Operator* findOperator(const Node& node) {
    static const OperatorTable table = [] {
        OperatorTable all;
        addElementwise(all);
        addMovement(all);
        addIndexing(all);
        addShapes(all);
        addReductions(all);
        addNorms(all);
        addProducts(all);
        addConvolutions(all);
        addResize(all);
        addSampling(all);
        addAttention(all);
        addOwn(all);
        return all;
    }();
    const bool prefixed = node.domain == "mpm" || node.domain == "mmdeploy";
    if (!prefixed && !node.domain.empty() && node.domain != "mpm.internal") return nullptr;
    const auto found = table.find(prefixed ? node.domain + "." + node.op : node.op);
    return found == table.end() ? nullptr : &found->second;
}

Shape broadcast(const Shape& a, const Shape& b) {
    Shape result(std::max(a.size(), b.size()));
    for (size_t k = 0; k < result.size(); ++k) {
        const int64_t x = k < result.size() - a.size() ? 1 : a[k - (result.size() - a.size())];
        const int64_t y = k < result.size() - b.size() ? 1 : b[k - (result.size() - b.size())];
        if (x != y && x != 1 && y != 1)
            throw Refusal("shapes " + toString(a) + " and " + toString(b) + " do not fit");
        result[k] = x == 1 ? y : x;
    }
    return result;
}

int64_t extentOf(const Shape& shape, size_t begin, size_t end) {
    int64_t extent = 1;
    for (size_t k = begin; k < end; ++k)
        extent = checkedProduct<int64_t>(extent, shape[k]);
    return extent;
}

List<int64_t> stridesOf(const Shape& shape) {
    List<int64_t> strides(shape.size(), 1);
    for (size_t k = shape.size(); k-- > 1;)
        strides[k - 1] = checkedProduct<int64_t>(strides[k], shape[k]);
    return strides;
}

List<int64_t> broadcastStrides(const Shape& shape, const Shape& target) {
    if (shape.size() > target.size())
        throw Refusal("shapes " + toString(shape) + " and " + toString(target) + " do not fit");
    const List<int64_t> own = stridesOf(shape);
    List<int64_t> strides(target.size(), 0);
    const size_t skip = target.size() - shape.size();
    for (size_t k = 0; k < shape.size(); ++k)
        strides[skip + k] = shape[k] == 1 ? 0 : own[k];
    return strides;
}

}  // namespace mpm::models
