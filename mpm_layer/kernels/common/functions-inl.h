// Exponentials and the cumulative normal distribution of vectors, for softmax and activations.

#if defined(MPM_KERNELS_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_FUNCTIONS_INL_H_
#undef MPM_KERNELS_FUNCTIONS_INL_H_
#else
#define MPM_KERNELS_FUNCTIONS_INL_H_
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

/// Returns c[0] + x (c[1] + x (c[2] + ...)).
template <size_t N>
HWY_INLINE Float horner(Float x, const float (&c)[N]) {
    const FloatTag d;
    Float sum = hn::Set(d, c[N - 1]);
#pragma GCC unroll 16
    for (int i = static_cast<int>(N) - 2; i >= 0; --i)
        sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
    return sum;
}

/// Returns 2^x for x <= 127, with a relative error below 2e-7. 2^0 is exactly 1; 2^-infinity is 0.
HWY_INLINE Float exp2(Float x) {
    // The coefficients of a polynomial that approximates 2^y for y = x - floor(x).
    static constexpr float kTerms[] = {1.0f,          0.693151295f,   0.240164444f,
                                       0.0557999127f, 0.00901702978f, 0.00186713052f};
#if HWY_TARGET <= HWY_AVX3
    // scalef multiplies by 2^floor(x).
    const Float above{_mm512_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
    return Float{_mm512_scalef_ps(horner(above, kTerms).raw, x.raw)};
#else
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    // This order of arguments keeps a NaN in x: if an argument is NaN, Max on x86 returns the second one.
    const Float bounded = hn::Max(hn::Set(d, -127.0f), x), whole = hn::Floor(bounded);
    // `exponent` has the bits of the float 2^whole or, if `whole` is -127, the bits of 0.
    const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, whole), hn::Set(di, 127)));
    return hn::Mul(horner(hn::Sub(bounded, whole), kTerms), hn::BitCast(d, exponent));
#endif
}

#if HWY_TARGET <= HWY_AVX3

/// Returns 2^x with a relative error below 8e-5; 2^-infinity is 0. The error is small enough for results that
/// are then rounded to bf16, because this rounding has relative errors of up to 1/257.
HWY_INLINE Float exp2Coarse(Float x) {
    static constexpr float kTerms[] = {0.99992522f, 0.695833529f, 0.226067168f, 0.0780245231f};
    const Float part{_mm512_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
    return Float{_mm512_scalef_ps(horner(part, kTerms).raw, x.raw)};
}

// The functions below divide the range of x into pieces. A short polynomial for each piece takes fewer
// operations than a long polynomial or a quotient. For each power of x, a register with sixteen lanes holds
// the coefficients of all pieces.

/// Splits x into a whole number of pieces, each 2^-kBits long, and a rest from -1/2 to 1/2 of a piece.
template <int kBits>
struct Pieces {
    static constexpr float kLast = 1.5f * (1 << (23 - kBits));  // the low bits of x + kLast count pieces

    HWY_INLINE explicit Pieces(Float x)
        : sum(hn::Add(x, hn::Set(FloatTag(), kLast))),
          rest{_mm512_reduce_ps(x.raw, kBits << 4 | _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)} {}

    /// Evaluates the polynomial of each lane's piece at `rest`. terms[k][i modulo 16] is the coefficient of
    /// rest^k for piece i.
    template <size_t N>
    HWY_INLINE Float polynomial(const float (&terms)[N][16]) const {
        const auto term = [&](size_t k) HWY_ATTR {
            return Float{_mm512_permutexvar_ps(_mm512_castps_si512(sum.raw), _mm512_load_ps(terms[k]))};
        };
        Float value = term(N - 1);
#pragma GCC unroll 16
        for (int k = static_cast<int>(N) - 2; k >= 0; --k)
            value = hn::MulAdd(value, rest, term(k));
        return value;
    }

    Float sum, rest;
};

/// Returns 1/2 + p(|x|) if x is positive, else 1/2 - p(|x|). p is a piecewise polynomial with pieces of
/// length 1/2; `terms` has the coefficients.
template <size_t N>
HWY_INLINE Float normalOf(Float x, const float (&terms)[N][16]) {
    const FloatTag d;
    const Pieces<1> pieces(hn::Min(hn::Abs(x), hn::Set(d, 7.5f)));
    return hn::Add(hn::CopySign(pieces.polynomial(terms), x), hn::Set(d, 0.5f));
}

/// Returns the cumulative normal distribution at x, with an absolute error below 1e-7.
HWY_INLINE Float normal(Float x) {
    HWY_ALIGN static constexpr float kTerms[][16] = {
        {0.0f, 0.191462442f, 0.341344744f, 0.43319279f, 0.477249891f, 0.493790329f, 0.498650104f,
         0.499767363f, 0.49996832f, 0.499996603f, 0.499999702f, 0.49999997f, 0.5f, 0.5f, 0.5f, 0.5f},
        {0.398942262f, 0.352065325f, 0.241970733f, 0.1295176f, 0.0539909638f, 0.0175282992f, 0.00443184795f,
         0.000872682838f, 0.000133830414f, 1.59838146e-05f, 1.48673632e-06f, 1.07700146e-07f, 6.07615558e-09f,
         2.66974692e-10f, 9.13672436e-12f, 2.45641262e-13f},
        {0.0f, -0.0880096555f, -0.120980956f, -0.0971396044f, -0.0539939106f, -0.0219115093f, -0.00664753793f,
         -0.00152679998f, -0.000267478346f, -3.59139594e-05f, -3.70776684e-06f, -2.95000007e-07f,
         -1.8117623e-08f, -8.59924854e-10f, -3.15848077e-11f, -8.81072992e-13f},
        {-0.0664877966f, -0.0440074503f, -1.67049507e-06f, 0.0269816127f, 0.0269957352f, 0.0153378369f,
         0.0059093181f, 0.00163623423f, 0.000334519631f, 5.12598053e-05f, 5.94204721e-06f, 5.24293114e-07f,
         3.53642378e-08f, 1.82936555e-09f, 7.26994367e-11f, 2.13588045e-12f},
        {0.0f, 0.0198847558f, 0.019975977f, 0.00613165135f, -0.0043734638f, -0.00588574167f, -0.00333398744f,
         -0.0011940737f, -0.000297728082f, -5.38019631e-05f, -7.19774835e-06f, -7.2207871e-07f,
         -5.47799672e-08f, -3.16138071e-09f, -1.3911608e-10f, -4.85597586e-12f},
        {0.00986300223f, 0.00455367006f, -0.00396140758f, -0.00581664452f, -0.00226042815f, 0.000641927589f,
         0.00110000698f, 0.000580573571f, 0.000184173419f, 3.97458934e-05f, 6.12763915e-06f, 6.92177764e-07f,
         5.81617243e-08f, 3.66991104e-09f, 1.7572753e-10f, 7.3476043e-12f}};
    return normalOf(x, kTerms);
}

/// Like normal(), with an absolute error below 1.1e-5, for results that are then rounded to bf16.
HWY_INLINE Float normalCoarse(Float x) {
    HWY_ALIGN static constexpr float kTerms[][16] = {
        {0.0f, 0.191452712f, 0.341334969f, 0.433189809f, 0.477252036f, 0.493793219f, 0.498651743f,
         0.499767959f, 0.499968469f, 0.499996632f, 0.499999702f, 0.49999997f, 0.5f, 0.5f, 0.5f, 0.5f},
        {0.398937434f, 0.35206309f, 0.24197267f, 0.129520446f, 0.0539920703f, 0.0175279826f, 0.00443131011f,
         0.000872399542f, 0.000133740687f, 1.59644824e-05f, 1.48376114e-06f, 1.07364727e-07f, 6.04803541e-09f,
         2.65209799e-10f, 9.05645003e-12f, 2.45439872e-13f},
        {0.0f, -0.0867661163f, -0.11973197f, -0.0967565328f, -0.0542675778f, -0.0222794935f, -0.00685588643f,
         -0.00160138577f, -0.00028606609f, -3.92710608e-05f, -4.15661452e-06f, -3.3999865e-07f,
         -2.15289724e-08f, -1.05665487e-09f, -4.02380698e-11f, -1.19214155e-12f},
        {-0.0658710673f, -0.0437227674f, -0.000249443343f, 0.0266179368f, 0.0268544853f, 0.0153780207f,
         0.00597808929f, 0.00167251506f, 0.000346024288f, 5.37415472e-05f, 6.32448564e-06f, 5.67472057e-07f,
         3.89904251e-08f, 2.05793094e-09f, 8.35593192e-11f, 2.52622684e-12f}};
    return normalOf(x, kTerms);
}

#else

#if HWY_TARGET == HWY_NEON

/// Returns 2^x for x <= 127, with a relative error below 1.1e-4, for attention in int8. 2^0 is exactly 1;
/// 2^-infinity is 0.
HWY_INLINE Float exp2Coarse(Float x) {
    static constexpr float kTerms[] = {1.0f, 0.693282902f, 0.242210969f, 0.0550089329f};
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    // Adding 1.5 * 2^23 rounds x to a whole number, which is then in the low bits of the sum.
    const Float magic = hn::Set(d, 12582912.0f), sum = hn::Add(hn::Max(x, hn::Set(d, -127.0f)), magic);
    const Float rest = hn::Sub(hn::Max(x, hn::Set(d, -127.0f)), hn::Sub(sum, magic));
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, sum));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, horner(rest, kTerms)), exponent));
}

#endif

/// Returns the cumulative normal distribution at x, with an absolute error below 1e-7. Approximates the error
/// function by a quotient of polynomials of degrees 13 and 8. Clamps the argument, because the error function
/// is 1 or -1 in f32 beyond the limits.
HWY_INLINE Float normal(Float x) {
    static constexpr float kOver[] = {1.12837877f,     0.20659385f,     0.0514604432f, 0.0039923925f,
                                      0.000149376067f, -1.99376271e-6f, 1.98734441e-8f};
    static constexpr float kUnder[] = {1.0f, 0.516417734f, 0.117762432f, 0.0149295835f, 0.00102859726f};
    const FloatTag d;
    const Float half = hn::Set(d, 0.5f);
    const Float scaled = hn::Mul(x, hn::Set(d, 0.70710678f));
    const Float clamped = hn::Max(hn::Min(scaled, hn::Set(d, 3.925f)), hn::Set(d, -3.925f));
    const Float square = hn::Mul(clamped, clamped);
    return hn::MulAdd(hn::Div(hn::Mul(clamped, horner(square, kOver)), horner(square, kUnder)), half, half);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif
