#include "models/onnx/eval/functions.hpp"

#include <initializer_list>
#include <type_traits>

#include "models/onnx/eval/vectors.hpp"

namespace mpm::models {
namespace {

template <typename Floats>
constexpr int kLanes = sizeof(Floats) / sizeof(float);

// Vectors of integers and doubles with as many elements as the vectors of floats. Each size is written out,
// because GCC 12 makes a vector of 1 element if the size depends on a template parameter.
typedef uint32_t Bits4 __attribute__((vector_size(16)));
typedef uint32_t Bits8 __attribute__((vector_size(32)));
typedef uint32_t Bits16 __attribute__((vector_size(64)));
typedef double Doubles4 __attribute__((vector_size(32)));
typedef double Doubles8 __attribute__((vector_size(64)));
typedef double Doubles16 __attribute__((vector_size(128)));
template <typename Floats, typename Four, typename Eight, typename Sixteen>
using AsMany =
    std::conditional_t<kLanes<Floats> == 4, Four, std::conditional_t<kLanes<Floats> == 8, Eight, Sixteen>>;
template <typename Floats>
using Bits = AsMany<Floats, Bits4, Bits8, Bits16>;
template <typename Floats>
using Doubles = AsMany<Floats, Doubles4, Doubles8, Doubles16>;

// Replaces x with exp(x). No value may be above 0.
template <typename Floats>
[[gnu::always_inline]] inline void exponential(Floats& x) {
    constexpr float kRound = 12582912;  // 1.5 * 2^23: the low bits of v + kRound are v rounded to an integer
    const Floats rounded = x * 1.44269504f + kRound, power = rounded - kRound;
    const Floats rest = (x - power * 0.693359375f) + power * 2.12194440e-4f;
    Floats y = rest * 1.9875691500e-4f + 1.3981999507e-3f;
    for (const float next : {8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
        y = y * rest + next;
    y = y * rest * rest + rest + 1;
    Bits<Floats> bits;
    std::memcpy(&bits, &rounded, sizeof(bits));
    bits = (bits << 23) + 0x3f800000;  // 2^rounded
    Floats scale;
    std::memcpy(&scale, &bits, sizeof(scale));
    const Floats zero{};
    x = x < -87.f ? zero : y * scale;
}

// Replaces x with erf(x). If |x| < 1, erf(x) is x + x * p(x^2), else 1 - exp(-q(|x|)) with the sign of x.
// Both polynomials have the smallest maximum error of their degree. If |x| >= 4, |erf(x)| is 1 in f32.
template <typename Floats>
[[gnu::always_inline]] inline void errorFunction(Floats& x) {
    const Floats zero{}, four = zero + 4, one = zero + 1;
    Floats size = x < 0 ? -x : x;
    size = size > four ? four : size;
    const Floats square = size * size;
    Floats small = zero + 7.8891230066e-5f;
    for (const float next : {-8.0208423197e-4f, 5.1895354560e-3f, -2.6854444652e-2f, 1.1283600178e-1f,
                             -3.7612627136e-1f, 1.2837916591e-1f})
        small = small * square + next;
    small = small * size + size;
    Floats large = zero - 1.9150408498e-4f;
    for (const float next : {2.9995402138e-3f, -2.2051995571e-2f, 1.0356688831e-1f, 6.3760004285e-1f,
                             1.1274260838f, 2.5644621015e-4f})
        large = large * size + next;
    large = -large;
    exponential(large);
    large = 1 - large;
    const Floats result = size < one ? small : large;
    x = x < 0 ? -result : result;
}

// Replaces x with 1 / (1 + exp(-x)).
template <typename Floats>
[[gnu::always_inline]] inline void sigmoid(Floats& x) {
    Floats small = x < 0 ? x : -x;
    exponential(small);
    x = (x < 0 ? small : small * 0 + 1) / (1 + small);
}

// Calls visit(vector, number of valid values in it, position) for each vector of a row.
template <typename Floats, typename Visit>
[[gnu::always_inline]] inline void overVectors(const float* x, int64_t count, const Visit& visit) {
    Floats values{};
    int64_t k = 0;
    for (; k + kLanes<Floats> <= count; k += kLanes<Floats>) {
        load(x + k, values);
        visit(values, kLanes<Floats>, k);
    }
    if (k == count) return;
    std::memcpy(&values, x + k, static_cast<size_t>(count - k) * sizeof(float));
    visit(values, static_cast<int>(count - k), k);
}

template <typename Floats>
[[gnu::always_inline]] inline double exponentialsIn(const float* x, float* y, int64_t count, float top) {
    double sum = 0;
    Doubles<Floats> sums{};
    overVectors<Floats>(
        x, count, [&](Floats & values, int used, int64_t at) __attribute__((always_inline)) {
            values = values - top;
            exponential(values);
            std::memcpy(y + at, &values, static_cast<size_t>(used) * sizeof(float));
            if (used == kLanes<Floats>) {
                sums += __builtin_convertvector(values, Doubles<Floats>);
            } else {
                for (int lane = 0; lane < used; ++lane)
                    sum += values[lane];
            }
        });
    for (int lane = 0; lane < kLanes<Floats>; ++lane)
        sum += sums[lane];
    return sum;
}

template <typename Floats, void (*function)(Floats&)>
[[gnu::always_inline]] inline void mapped(const float* x, float* y, int64_t count) {
    overVectors<Floats>(
        x, count, [&](Floats & values, int used, int64_t at) __attribute__((always_inline)) {
            function(values);
            std::memcpy(y + at, &values, static_cast<size_t>(used) * sizeof(float));
        });
}

// The functions for a vector width.
struct Functions {
    double (*exponentials)(const float* x, float* y, int64_t count, float top);
    void (*errorFunctions)(const float* x, float* y, int64_t count);
    void (*sigmoids)(const float* x, float* y, int64_t count);
};

#if defined(__x86_64__)
__attribute__((target("avx512f"))) double exponentials16(const float* x, float* y, int64_t count, float top) {
    return exponentialsIn<Floats16>(x, y, count, top);
}
__attribute__((target("avx512f"))) void errorFunctions16(const float* x, float* y, int64_t count) {
    mapped<Floats16, errorFunction<Floats16>>(x, y, count);
}
__attribute__((target("avx512f"))) void sigmoids16(const float* x, float* y, int64_t count) {
    mapped<Floats16, sigmoid<Floats16>>(x, y, count);
}
__attribute__((target("avx2,fma"))) double exponentials8(const float* x, float* y, int64_t count, float top) {
    return exponentialsIn<Floats8>(x, y, count, top);
}
__attribute__((target("avx2,fma"))) void errorFunctions8(const float* x, float* y, int64_t count) {
    mapped<Floats8, errorFunction<Floats8>>(x, y, count);
}
__attribute__((target("avx2,fma"))) void sigmoids8(const float* x, float* y, int64_t count) {
    mapped<Floats8, sigmoid<Floats8>>(x, y, count);
}
#endif

Functions fastest() {
#if defined(__x86_64__)
    if (vectorWidth() == Width::Sixteen) return {exponentials16, errorFunctions16, sigmoids16};
    if (vectorWidth() == Width::Eight) return {exponentials8, errorFunctions8, sigmoids8};
#endif
    return {exponentialsIn<Floats4>, mapped<Floats4, errorFunction<Floats4>>,
            mapped<Floats4, sigmoid<Floats4>>};
}

const Functions& functions() {
    static const Functions functions = fastest();
    return functions;
}

}  // namespace

double exponentials(const float* x, float* y, int64_t count, float top) {
    return functions().exponentials(x, y, count, top);
}

void errorFunctions(const float* x, float* y, int64_t count) {
    functions().errorFunctions(x, y, count);
}

void sigmoids(const float* x, float* y, int64_t count) {
    functions().sigmoids(x, y, count);
}

}  // namespace mpm::models
