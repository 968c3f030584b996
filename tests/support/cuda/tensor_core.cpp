// Emulates the instructions that mpm_layer/cuda/kernels/tensor_core.cuh uses, as PTX's documentation
// describes them.
#include "mpm_layer/cuda/kernels/tensor_core.cuh"

#include <cmath>
#include <cstring>
#include <limits>

#include "support/cuda/threads.hpp"

namespace emulated {
namespace {

void finish(const PendingCopy& copy) {
    if (copy.exists) {
        std::memcpy(copy.to, copy.from, 16);
    } else {
        std::memset(copy.to, 0, 16);
    }
}

void finishCopies(int pending) {
    PendingCopies& own = copiesOfThread();
    std::vector<PendingCopy> later;
    for (const PendingCopy& copy : own.copies) {
        if (copy.group >= own.groups - pending) {
            later.push_back(copy);
        } else {
            finish(copy);
        }
    }
    own.copies.swap(later);
}

/// Operands and result of ldmatrix.
struct Load {
    const void* row;
    std::uint32_t to[4];
};

// Lane l gets elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4 of each matrix; if `turned`, of column l / 4.
void loadTogether(Lane* lanes, bool turned) {
    Load loads[kWarp];
    for (int l = 0; l < kWarp; ++l)
        std::memcpy(&loads[l], lanes[l].bytes, sizeof(Load));
    for (int l = 0; l < kWarp; ++l) {
        for (int m = 0; m < 4; ++m) {
            std::uint16_t two[2];
            for (int e = 0; e < 2; ++e) {
                const int along = l % 4 * 2 + e, across = l / 4;
                const int row = turned ? along : across, column = turned ? across : along;
                std::memcpy(&two[e], static_cast<const std::uint16_t*>(loads[8 * m + row].row) + column, 2);
            }
            loads[l].to[m] = two[0] | static_cast<std::uint32_t>(two[1]) << 16;
        }
    }
    for (int l = 0; l < kWarp; ++l)
        std::memcpy(lanes[l].bytes, &loads[l], sizeof(Load));
}

void load(const char* operation, std::uint32_t (&to)[4], const void* row, void (*together)(Lane*)) {
    checkShared(row, 16);
    const Load own{row, {}};
    Load done;
    std::memcpy(&done, meetWarp(operation, &own, sizeof own, together)[laneOfThread()].bytes, sizeof done);
    std::memcpy(to, done.to, sizeof to);
}

/// Operands of mma.m16n8k16, and the result in `sum`.
struct Multiply {
    float sum[4];
    std::uint32_t a[4], b[2];
};

float valueOf(std::uint32_t two, int e, __nv_bfloat16*) {
    return __bfloat162float({static_cast<std::uint16_t>(two >> 16 * e)});
}
float valueOf(std::uint32_t two, int e, __half*) {
    return __half2float({static_cast<std::uint16_t>(two >> 16 * e)});
}

// Truncates a sum to f32 instead of rounding it, as tensor cores may do.
float cutOff(double value) {
    const auto nearest = static_cast<float>(value);
    const bool further = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
    return further && std::isfinite(nearest) ? std::nextafterf(nearest, 0.0f) : nearest;
}

template <class T>
void multiplyTogether(Lane* lanes) {
    float a[16][16], b[16][8];
    Multiply all[kWarp];
    for (int l = 0; l < kWarp; ++l) {
        Multiply& own = all[l];
        std::memcpy(&own, lanes[l].bytes, sizeof own);
        const int group = l / 4, pair = l % 4 * 2;
        for (int e = 0; e < 2; ++e) {
            for (int i = 0; i < 4; ++i)
                a[group + i % 2 * 8][pair + i / 2 * 8 + e] = valueOf(own.a[i], e, static_cast<T*>(nullptr));
            for (int i = 0; i < 2; ++i)
                b[pair + i * 8 + e][group] = valueOf(own.b[i], e, static_cast<T*>(nullptr));
        }
    }
    double sums[16][8] = {};
    for (int row = 0; row < 16; ++row) {
        for (int k = 0; k < 16; ++k) {
            for (int column = 0; column < 8; ++column)
                sums[row][column] += static_cast<double>(a[row][k]) * b[k][column];
        }
    }
    for (int l = 0; l < kWarp; ++l) {
        for (int i = 0; i < 4; ++i)
            all[l].sum[i] = cutOff(all[l].sum[i] + sums[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2]);
        std::memcpy(lanes[l].bytes, &all[l], sizeof all[l]);
    }
}

template <class T>
void multiply(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
    Multiply own{{sum[0], sum[1], sum[2], sum[3]}, {a[0], a[1], a[2], a[3]}, {b0, b1}};
    std::memcpy(sum, meetWarp("mma", &own, sizeof own, multiplyTogether<T>)[laneOfThread()].bytes,
                sizeof sum);
}

}  // namespace
}  // namespace emulated

namespace mpm::cuda {

void copyAsync(void* to, const void* from, bool exists) {
    emulated::checkShared(to, 16);
    if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
        emulated::fail("copies 16 bytes from an address that is not a multiple of 16");
    emulated::PendingCopies& own = emulated::copiesOfThread();
    const emulated::PendingCopy copy{to, from, exists, own.groups};
    if (emulated::copiesEarly()) {
        emulated::finish(copy);
    } else {
        own.copies.push_back(copy);
    }
}

void closeCopies() {
    ++emulated::copiesOfThread().groups;
}

template <>
void awaitCopies<0>() {
    emulated::finishCopies(0);
}

template <>
void awaitCopies<1>() {
    emulated::finishCopies(1);
}

void loadMatrices(std::uint32_t (&to)[4], const void* row) {
    emulated::load("ldmatrix", to, row, [](emulated::Lane* lanes) { emulated::loadTogether(lanes, false); });
}

void loadMatricesTurned(std::uint32_t (&to)[4], const void* row) {
    emulated::load("ldmatrix.trans", to, row,
                   [](emulated::Lane* lanes) { emulated::loadTogether(lanes, true); });
}

float powerOfTwo(float v) {
    const float power = std::exp2(v);
    return power < std::numeric_limits<float>::min() ? 0.0f : power;
}

template <>
void multiplyAdd<__nv_bfloat16>(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
    emulated::multiply<__nv_bfloat16>(sum, a, b0, b1);
}

template <>
void multiplyAdd<__half>(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
    emulated::multiply<__half>(sum, a, b0, b1);
}

}  // namespace mpm::cuda
