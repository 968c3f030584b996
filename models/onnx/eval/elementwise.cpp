// Operators that work on one element at a time, with numpy's broadcasting.
#include <algorithm>
#include <cmath>

#include "models/onnx/eval/call.hpp"
#include "models/onnx/eval/functions.hpp"

namespace mpm::models {
namespace {

constexpr int64_t kGrain = 1 << 15;

// Returns the unary operator that calls f(inputs, outputs, count) for many values at once.
template <typename F>
Operator unaryRows(F f) {
    return [f](Call& c) {
        const Tensor& x = c.input(0);
        if (!x.known()) return c.shape(0, x.type(), x.shape());
        Tensor& y = c.make(0, x.type(), x.shape());
        for (int64_t k = 0; k < x.size() && !x.isFloat(); ++k) {
            float value = static_cast<float>(x.i()[k]);
            f(&value, &value, 1);
            y.writeI()[k] = toInteger(value);
        }
        if (!x.isFloat()) return;
        const float* from = x.f();
        float* to = y.writeF();
        parallel(x.size(), kGrain,
                 [&](int64_t begin, int64_t end) { f(from + begin, to + begin, end - begin); });
    };
}

template <typename F>
Operator unary(F f) {
    return unaryRows([f](const float* from, float* to, int64_t count) {
        for (int64_t k = 0; k < count; ++k)
            to[k] = f(from[k]);
    });
}

// Returns a unary operator with parameters, which prepare() reads from the attributes.
template <typename F>
Operator unaryWith(F prepare) {
    return [prepare](Call& c) { unary(prepare(c))(c); };
}

// Applies f to pairs of elements. The inner loop needs no modulo, because each operand has a constant step
// along the last axis.
template <typename X, typename Y, typename F>
void mapPairs(const Shape& shape, const Tensor& a, const Tensor& b, const Elements<const X>& x,
              const Elements<const X>& y, const Elements<Y>& out, F f) {
    const int64_t count = elementCount(shape);
    if (count == 0) return;
    const List<int64_t> sa = broadcastStrides(a.shape(), shape);
    const List<int64_t> sb = broadcastStrides(b.shape(), shape);
    const int rank = static_cast<int>(shape.size());
    const int64_t inner = rank ? shape[rank - 1] : 1;
    const int64_t ia = rank ? sa[rank - 1] : 0;
    const int64_t ib = rank ? sb[rank - 1] : 0;
    parallel(count / inner, std::max<int64_t>(1, kGrain / inner), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const auto [pa, pb] = offsetsAt(row, shape, rank - 1, sa, sb);
            Y* to = out + row * inner;
            const X *left = x + pa, *right = y + pb;
            for (int64_t k = 0; k < inner; ++k)
                to[k] = static_cast<Y>(f(left[k * ia], right[k * ib]));
        }
    });
}

template <typename F>
void binaryOn(Call& c, size_t first, size_t second, F f, bool toBool) {
    const Tensor a = c.input(first);
    const Tensor b = c.input(second);
    if (a.isFloat() != b.isFloat()) throw Refusal("the operands have different types");
    const Shape shape = broadcast(a.shape(), b.shape());
    const Type type = toBool ? Type::Bool : a.type();
    if (!a.known() || !b.known()) return c.shape(0, type, shape);
    Tensor& y = c.make(0, type, shape);
    if (a.isFloat() && toBool) {
        mapPairs(shape, a, b, a.f(), b.f(), y.writeI(), f);
    } else if (a.isFloat()) {
        mapPairs(shape, a, b, a.f(), b.f(), y.writeF(), f);
    } else {
        mapPairs(shape, a, b, a.i(), b.i(), y.writeI(), f);
    }
}

template <typename F>
Operator binary(F f) {
    return [f](Call& c) { binaryOn(c, 0, 1, f, false); };
}

template <typename F>
Operator compare(F f) {
    return [f](Call& c) { binaryOn(c, 0, 1, f, true); };
}

// Returns an operator with any number of operands: Max, Min or Sum.
template <typename F>
Operator variadic(F f) {
    return [f](Call& c) {
        const List<Tensor> all = c.in;
        c.out.assign(1, c.input(0));
        for (size_t k = 1; k < all.size(); ++k) {
            c.in = {c.out[0], all[k]};
            binaryOn(c, 0, 1, f, false);
        }
        c.in = all;
    };
}

using Minus = Wrapping<std::minus<>>;
using Times = Wrapping<std::multiplies<>>;

struct Power {
    float operator()(float a, float b) const {
        return b == 2 ? a * a : static_cast<float>(std::pow(double{a}, double{b}));
    }
    int64_t operator()(int64_t a, int64_t b) const {
        return b == 2 ? Times()(a, a) : toInteger(std::pow(static_cast<double>(a), static_cast<double>(b)));
    }
};

struct Divide {
    float operator()(float a, float b) const { return a / b; }
    int64_t operator()(int64_t a, int64_t b) const {
        if (b == 0) throw Refusal("an integer is divided by zero");
        return b == -1 ? Minus()(0, a) : a / b;
    }
};

struct Modulo {
    float operator()(float a, float b) const { return std::fmod(a, b); }
    int64_t operator()(int64_t a, int64_t b) const {
        if (b == 0) throw Refusal("an integer is divided by zero");
        if (b == -1) return 0;
        const int64_t rest = a % b;
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
};

void power(Call& c) {
    Tensor& exponent = c.in[1];
    if (c.input(0).isFloat() && !exponent.isFloat() && exponent.known()) {
        exponent = Tensor::floats(exponent.shape(), exponent.toFloats());
    }
    binaryOn(c, 0, 1, Power(), false);
}

void cast(Call& c) {
    const Tensor x = c.input(0);
    Type to = Type::Float;
    if (c.node.is("CastLike")) {
        to = c.input(1).type();
    } else {
        const int64_t code = c.node.getInt("to", 1);
        const bool isFloat = code == 1 || code == 10 || code == 11 || code == 16;
        to = isFloat ? Type::Float : code == 9 ? Type::Bool : Type::Int;
    }
    if (to == x.type()) {
        c.out.assign(1, x);
        return;
    }
    if (!x.known()) return c.shape(0, to, x.shape());
    Tensor& y = c.make(0, to, x.shape());
    for (int64_t k = 0; k < x.size(); ++k) {
        if (to == Type::Float) {
            y.writeF()[k] = static_cast<float>(x.i()[k]);
        } else if (to == Type::Bool) {
            y.writeI()[k] = x.at(k) != 0;
        } else {
            y.writeI()[k] = toInteger(x.at(k));
        }
    }
}

void clip(Call& c) {
    const Tensor x = c.input(0);
    const double low = c.has(1) ? c.knownInput(1).at(0) : c.node.getFloat("min", -INFINITY);
    const double high = c.has(2) ? c.knownInput(2).at(0) : c.node.getFloat("max", INFINITY);
    if (!x.known()) return c.shape(0, x.type(), x.shape());
    Tensor& y = c.make(0, x.type(), x.shape());
    for (int64_t k = 0; k < x.size(); ++k) {
        const double value = std::min(std::max(x.at(k), low), high);
        if (x.isFloat()) {
            y.writeF()[k] = static_cast<float>(value);
        } else {
            y.writeI()[k] = toInteger(value);
        }
    }
}

void where(Call& c) {
    const Tensor condition = c.input(0);
    const Tensor a = c.input(1), b = c.input(2);
    const Shape shape = broadcast(condition.shape(), broadcast(a.shape(), b.shape()));
    if (!c.known()) return c.shape(0, a.type(), shape);
    Tensor& y = c.make(0, a.type(), shape);
    const auto sc = broadcastStrides(condition.shape(), shape), sa = broadcastStrides(a.shape(), shape),
               sb = broadcastStrides(b.shape(), shape);
    for (int64_t k = 0; k < y.size(); ++k) {
        const auto [pc, pa, pb] = offsetsAt(k, shape, static_cast<int64_t>(shape.size()), sc, sa, sb);
        const bool first = condition.i()[pc] != 0;
        if (a.isFloat()) {
            y.writeF()[k] = first ? a.f()[pa] : b.f()[pb];
        } else {
            y.writeI()[k] = first ? a.i()[pa] : b.i()[pb];
        }
    }
}

template <typename F>
Operator test(F f) {
    return [f](Call& c) {
        const Tensor x = c.input(0);
        if (!x.known()) return c.shape(0, Type::Bool, x.shape());
        Tensor& y = c.make(0, Type::Bool, x.shape());
        for (int64_t k = 0; k < x.size(); ++k)
            y.writeI()[k] = f(x.at(k));
    };
}

void same(Call& c) {
    c.out.assign(std::max<size_t>(1, c.node.outputs.size()), Tensor());
    c.out[0] = c.input(0);
}

void geluErf(const float* x, float* y, int64_t count) {
    constexpr int64_t kPart = 1024;  // stays in the first-level cache
    for (int64_t first = 0; first < count; first += kPart) {
        const int64_t end = std::min(count, first + kPart);
        float scaled[kPart];
        for (int64_t k = first; k < end; ++k)
            scaled[k - first] = x[k] * 0.70710678f;
        errorFunctions(scaled, scaled, end - first);
        for (int64_t k = first; k < end; ++k)
            y[k] = 0.5f * x[k] * (1 + scaled[k - first]);
    }
}
float geluTanh(float x) {
    return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}

void addParameterised(OperatorTable& table) {
    table["Gelu"] = [](Call& c) {
        c.node.getString("approximate", "none") == "tanh" ? unary(geluTanh)(c) : unaryRows(geluErf)(c);
    };
    table["LeakyRelu"] = unaryWith([](Call& c) {
        const float a = c.node.getFloat("alpha", 0.01f);
        return [a](float x) { return x < 0 ? a * x : x; };
    });
    table["Elu"] = unaryWith([](Call& c) {
        const float a = c.node.getFloat("alpha", 1);
        return [a](float x) { return x < 0 ? a * (std::exp(x) - 1) : x; };
    });
    table["Celu"] = unaryWith([](Call& c) {
        const float a = c.node.getFloat("alpha", 1);
        return [a](float x) { return x < 0 ? a * (std::exp(x / a) - 1) : x; };
    });
    table["Selu"] = unaryWith([](Call& c) {
        const float a = c.node.getFloat("alpha", 1.67326319f), g = c.node.getFloat("gamma", 1.05070102f);
        return [a, g](float x) { return g * (x < 0 ? a * (std::exp(x) - 1) : x); };
    });
    table["HardSigmoid"] = unaryWith([](Call& c) {
        const float a = c.node.getFloat("alpha", 0.2f), b = c.node.getFloat("beta", 0.5f);
        return [a, b](float x) { return std::min(1.f, std::max(0.f, a * x + b)); };
    });
    table["Swish"] = unaryWith([](Call& c) {
        const float a = c.node.getFloat("alpha", 1);
        return [a](float x) { return x * (1 / (1 + std::exp(-a * x))); };
    });
    table["PRelu"] = binary([](auto x, auto slope) { return x < 0 ? Times()(x, slope) : x; });
}

void addUnary(OperatorTable& table) {
    table["Neg"] = unary([](float x) { return -x; });
    table["Abs"] = unary([](float x) { return std::abs(x); });
    table["Sqrt"] = unary([](float x) { return std::sqrt(x); });
    table["Exp"] = unary([](float x) { return std::exp(x); });
    table["Log"] = unary([](float x) { return std::log(x); });
    table["Erf"] = unaryRows(errorFunctions);
    table["Tanh"] = unary([](float x) { return std::tanh(x); });
    table["Sigmoid"] = unaryRows(sigmoids);
    table["Relu"] = unary([](float x) { return x < 0 ? 0 : x; });
    table["Reciprocal"] = unary([](float x) { return 1 / x; });
    table["Sin"] = unary([](float x) { return std::sin(x); });
    table["Cos"] = unary([](float x) { return std::cos(x); });
    table["Floor"] = unary([](float x) { return std::floor(x); });
    table["Ceil"] = unary([](float x) { return std::ceil(x); });
    table["Round"] = unary([](float x) { return std::nearbyint(x); });
    table["Sign"] = unary([](float x) { return static_cast<float>((x > 0) - (x < 0)); });
    table["Softplus"] = unary([](float x) { return x > 20 ? x : std::log1p(std::exp(x)); });
    table["Softsign"] = unary([](float x) { return x / (1 + std::abs(x)); });
    table["HardSwish"] = unary([](float x) { return x * std::min(1.f, std::max(0.f, x / 6 + 0.5f)); });
    table["Mish"] = unary([](float x) { return x * std::tanh(x > 20 ? x : std::log1p(std::exp(x))); });
}

}  // namespace

void addElementwise(OperatorTable& table) {
    addUnary(table);
    addParameterised(table);
    table["Add"] = binary(Plus());
    table["Sub"] = binary(Minus());
    table["Mul"] = binary(Times());
    table["Div"] = binary(Divide());
    table["Mod"] = binary(Modulo());
    table["Pow"] = power;
    table["Max"] = variadic([](auto a, auto b) { return a > b ? a : b; });
    table["Min"] = variadic([](auto a, auto b) { return a < b ? a : b; });
    table["Sum"] = variadic(Plus());
    table["And"] = compare([](auto a, auto b) { return a != 0 && b != 0; });
    table["Or"] = compare([](auto a, auto b) { return a != 0 || b != 0; });
    table["Xor"] = compare([](auto a, auto b) { return (a != 0) != (b != 0); });
    table["Equal"] = compare([](auto a, auto b) { return a == b; });
    table["Less"] = compare([](auto a, auto b) { return a < b; });
    table["LessOrEqual"] = compare([](auto a, auto b) { return a <= b; });
    table["Greater"] = compare([](auto a, auto b) { return a > b; });
    table["GreaterOrEqual"] = compare([](auto a, auto b) { return a >= b; });
    table["Not"] = test([](double x) { return x == 0; });
    table["IsNaN"] = test([](double x) { return std::isnan(x); });
    table["IsInf"] = test([](double x) { return std::isinf(x); });
    table["Where"] = where;
    table["Clip"] = clip;
    table["Cast"] = cast;
    table["CastLike"] = cast;
    table["Identity"] = same;
    table["Dropout"] = same;
}

}  // namespace mpm::models
