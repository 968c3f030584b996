#include <algorithm>
#include <cmath>

#include "models/onnx/eval/call.hpp"

namespace mpm::models {
namespace {

struct Reduction {
    Shape shape;                // shape of the operator's result
    List<int64_t> keptStrides;  // step in the result along each axis of the input; 0 along reduced axes
    Shape kept;                 // shape of the input, with 1 for each reduced axis
    int64_t each = 1;           // number of input elements for each result
};

Reduction plan(Call& c) {
    const Tensor& x = c.input(0);
    List<int64_t> axes = c.axes(1);
    Reduction r;
    if (axes.empty() && !c.node.getInt("noop_with_empty_axes", 0)) axes = counted(x.shape().size());
    std::vector<char> gone(x.rank(), 0);
    for (int64_t axis : axes)
        gone[c.axis(axis, x.rank())] = 1;
    for (int k = 0; k < x.rank(); ++k) {
        r.kept.push_back(gone[k] ? 1 : x.shape()[k]);
        if (gone[k]) r.each = checkedProduct<int64_t>(r.each, x.shape()[k]);
        if (!gone[k] || c.node.getInt("keepdims", 1)) r.shape.push_back(r.kept.back());
    }
    r.keptStrides = broadcastStrides(r.kept, x.shape());
    return r;
}

/// Returns an operator that reduces in f64: calls add(accumulator, element) for each element, then
/// finish(accumulator, number of elements).
template <typename Add, typename Finish>
Operator reduce(double start, Add add, Finish finish) {
    return [=](Call& c) {
        const Reduction r = plan(c);
        const Tensor x = c.input(0);
        if (!x.known()) return c.shape(0, x.type(), r.shape);
        const int64_t results = elementCount(r.kept);
        const Held held(checkedProduct<int64_t>(results, 8), "its sums");
        std::vector<double> sums(static_cast<size_t>(results), start);
        const int64_t width = x.rank() > 0 ? x.dim(-1) : 1, step = x.rank() > 0 ? r.keptStrides.back() : 0;
        for (int64_t first = 0; first < x.size(); first += width) {
            const int64_t position = offsetsAt(first / width, x.shape(), x.rank() - 1, r.keptStrides)[0];
            double* sum = &sums[static_cast<size_t>(position)];
            for (int64_t k = first; k < first + width; ++k, sum += step)
                *sum = add(*sum, x.at(k));
        }
        Tensor& y = c.make(0, x.type(), r.shape);
        for (size_t k = 0; k < sums.size(); ++k) {
            const double value = finish(sums[k], static_cast<double>(r.each));
            if (x.isFloat()) {
                y.writeF()[k] = static_cast<float>(value);
            } else {
                y.writeI()[k] = toInteger(value);
            }
        }
    };
}

}  // namespace

void addReductions(OperatorTable& table) {
    const auto sum = [](double a, double x) { return a + x; };
    const auto squares = [](double a, double x) { return a + x * x; };
    const auto asIs = [](double a, double) { return a; };
    table["ReduceSum"] = reduce(0, sum, asIs);
    table["ReduceMean"] = reduce(0, sum, [](double a, double n) { return a / n; });
    table["ReduceSumSquare"] = reduce(0, squares, asIs);
    table["ReduceL2"] = reduce(0, squares, [](double a, double) { return std::sqrt(a); });
    table["ReduceL1"] = reduce(
        0, [](double a, double x) { return a + std::abs(x); }, asIs);
    table["ReduceProd"] = reduce(
        1, [](double a, double x) { return a * x; }, asIs);
    table["ReduceMax"] = reduce(
        -INFINITY, [](double a, double x) { return std::max(a, x); }, asIs);
    table["ReduceMin"] = reduce(
        INFINITY, [](double a, double x) { return std::min(a, x); }, asIs);
}

}  // namespace mpm::models
