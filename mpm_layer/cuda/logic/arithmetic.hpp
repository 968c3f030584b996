// The arithmetic of the kernels that merge, without CUDA, so that tests can run it on the CPU.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define MPM_HOST_DEVICE __host__ __device__
#else
#define MPM_HOST_DEVICE
#endif

namespace mpm::cuda {

using Candidate = unsigned long long;

/// Less than every candidate.
constexpr Candidate kNoCandidate = 0;

/// Returns an unsigned integer that compares like the float. -0 and 0 give the same integer. Not for NaN.
MPM_HOST_DEVICE inline std::uint32_t orderedBits(float value) {
    if (value == 0.0f) value = 0.0f;
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

MPM_HOST_DEVICE inline Candidate candidate(float similarity, int index) {
    return static_cast<Candidate>(orderedBits(similarity)) << 32 | static_cast<std::uint32_t>(~index);
}

/// Returns -1 if there is no candidate.
MPM_HOST_DEVICE inline int indexOf(Candidate c) {
    return c == kNoCandidate ? -1 : ~static_cast<int>(static_cast<std::uint32_t>(c));
}

/// Returns the other token of token i's pair, or -1 if there is no pair. `best` and the indices in it count
/// from the first image token.
MPM_HOST_DEVICE inline int partnerOf(const Candidate* best, int i) {
    const int nearest = indexOf(best[i]);
    return nearest >= 0 && indexOf(best[nearest]) == i ? nearest : -1;
}

/// An integer with two sums over tokens: the number of clusters in the upper half, the number of members in
/// the lower half. A representative adds a cluster and all members of the cluster; other tokens add nothing.
using ClusterSum = unsigned long long;

MPM_HOST_DEVICE inline ClusterSum clusterTerm(int token, int partner) {
    if (partner >= 0 && partner < token) return 0;
    return ClusterSum{1} << 32 | (partner < 0 ? 1u : 2u);
}

MPM_HOST_DEVICE inline int clustersIn(ClusterSum sum) {
    return static_cast<int>(sum >> 32);
}

MPM_HOST_DEVICE inline int membersIn(ClusterSum sum) {
    return static_cast<int>(sum & 0xffffffffu);
}

/// Clusters of an image. `ids` has an id for each token. members[starts[c]..starts[c+1]) are the tokens of
/// cluster c, ascending.
struct ClusterLists {
    int* ids;
    int* starts;
    int* members;
};

/// If `token` is a representative, enters it and its partner in the lists. `before` is the sum of
/// clusterTerm() over tokens 0..token-1.
MPM_HOST_DEVICE inline void placeToken(const ClusterLists& lists, int token, int partner, ClusterSum before) {
    if (partner >= 0 && partner < token) return;
    const int cluster = clustersIn(before), start = membersIn(before);
    lists.ids[token] = cluster;
    lists.starts[cluster] = start;
    lists.members[start] = token;
    if (partner < 0) return;
    lists.ids[partner] = cluster;
    lists.members[start + 1] = partner;
}

/// Returns an element of a cluster's mean. `rows` points to this element in the row of token 0. `weights` has
/// a value for each token; it may be null.
MPM_HOST_DEVICE inline float meanElement(const float* rows, size_t stride, const int* members, int count,
                                         const float* weights) {
    if (count == 1) return rows[members[0] * stride];
    if (!weights && count == 2) {
        return static_cast<float>((static_cast<double>(rows[members[0] * stride]) +
                                   static_cast<double>(rows[members[1] * stride])) *
                                  0.5);
    }
    double total = weights ? weights[members[0]] : 1.0;
    double sum = total * static_cast<double>(rows[members[0] * stride]);  // not 0 + ..., so that -0 stays -0
    for (int m = 1; m < count; ++m) {
        const double weight = weights ? weights[members[m]] : 1.0;
        sum += weight * static_cast<double>(rows[members[m] * stride]);
        total += weight;
    }
    return static_cast<float>(sum / total);
}

/// A power of two, as a product of two factors, because a single factor may be out of the range of f32.
struct Scaling {
    float first, second;

    MPM_HOST_DEVICE float apply(float v) const { return v * first * second; }
};

/// Returns factors that scale `largest`, which must be finite and above 0, to 0.5..1.
MPM_HOST_DEVICE inline Scaling scalingFor(float largest) {
    int exponent = 0;
    frexpf(largest, &exponent);
    return {ldexpf(1.0f, -exponent / 2), ldexpf(1.0f, -exponent - (-exponent / 2))};
}

/// Rounds a finite value to a significand of 8 bits, ties to even.
MPM_HOST_DEVICE inline float roundedToBf16(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits += 0x7fffu + (bits >> 16 & 1u);
    bits &= 0xffff0000u;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/// Three terms, each with 8 of a value's 24 bits. Their sum is exactly the value, unless the value is below
/// 1e-33.
struct SplitValue {
    float high, middle, low;
};

MPM_HOST_DEVICE inline SplitValue split(float value) {
    const float high = roundedToBf16(value);
    const float rest = value - high;  // exact, like rest - middle
    const float middle = roundedToBf16(rest);
    return {high, middle, roundedToBf16(rest - middle)};
}

constexpr int kSplitTerms = 3;
constexpr int kSplitStep = 16;  ///< the depth of a tensor core product

/// Returns the index of a term of element `i` in a split row. For each step of kSplitStep elements, the row
/// has all high terms, then all middle terms, then all low terms.
MPM_HOST_DEVICE constexpr int splitPlace(int i, int term) {
    return (i / kSplitStep * kSplitTerms + term) * kSplitStep + i % kSplitStep;
}

/// Rounds up the width of activations, so that rows are aligned to 16 bytes in every element type.
MPM_HOST_DEVICE constexpr int paddedWidth(int width) {
    return (width + 7) / 8 * 8;
}

/// Rounds up the number of rows of a product, so that few different shapes have to be planned. The extra rows
/// are computed but never used.
constexpr int roundedRows(int rows) {
    const int group = rows <= 2048 ? 64 : 256;
    return (rows + group - 1) / group * group;
}

/// Rounds up the rows of the longest image to a multiple of 64, the smallest tile of queries.
constexpr int roundedLength(int rows) {
    return (rows + 63) / 64 * 64;
}

struct Tile {
    int row, column;
};

MPM_HOST_DEVICE constexpr int tilesAlong(int count, int tile) {
    return (count + tile - 1) / tile;
}

MPM_HOST_DEVICE constexpr int triangleTiles(int side) {
    return side * (side + 1) / 2;
}

/// Returns tile number `index` of a triangle, counted column by column, so the tiles of a smaller triangle
/// come first. If an image has fewer tiles than were launched, only the last thread blocks have no work.
MPM_HOST_DEVICE inline Tile tileOf(int index) {
    int column = static_cast<int>((sqrtf(8.0f * static_cast<float>(index) + 1.0f) - 1.0f) * 0.5f);
    // The rounded root may be off by a few columns. Moves to the column that contains the index.
    while (triangleTiles(column) > index)
        --column;
    while (triangleTiles(column + 1) <= index)
        ++column;
    return {index - triangleTiles(column), column};
}

}  // namespace mpm::cuda
