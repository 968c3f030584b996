// The exact search for the most similar other row of every unit row. A screen compares rows at low precision.
// If the best row leads the second by more than the sum of all errors, the best row is the result. If not,
// cosines in f64 decide among the candidates.
//
// **Terms.**
// - basis: a point m near all rows, and kDirections directions, which are the columns of a matrix B
// - place: the coordinates a of a row in the basis
// - rest: the difference e between a row and m + B a
// - cell: 32 bits of a rest: an element in f32, or two elements of 16 bits each ("words")
// - panel: columns that are multiplied and stored together (packPanel)
// - screen: the upper bounds U and F of the cosines, computed from cells and places
// - lead: a row's column with the highest U so far; the row also keeps a second column (leads.hpp)
// - bar: a lower bound on the cosine of a row and its lead; a column with U below the bar is not the nearest
// - slack: a row's part of the error of U
// - extent: bounds of the places, the bars and F of some rows
// U, F, bars and the values of leads are bounds on the cosine minus 1, not on the cosine.
//
// **Similarity** is the cosine of two f32 unit rows in f64 (cosineOf). Products of two f32 are exact in
// f64, so the bits of a cosine are the same on every processor. The lowest index wins ties.
//
// **The screen.** Tokens of an image resemble each other: similarities differ only in the last digits, and
// rows differ mostly in a few directions, for example in colour. With the basis, a row is
//     u_i = m + B a_i + e_i,      cosine_ij - 1 = -|u_i - u_j|^2 / 2.
// If a_i is near the best choice, e_i is small and nearly at right angles to the directions: c_i = B'e_i is
// nearly 0 (B' is the transpose of B). So
//     cosine_ij - 1 = r_i + r_j - (a_i-a_j)'B'B(a_i-a_j) / 2 - (a_i-a_j).(c_i-c_j) + e_i.e_j,
//     r_i = -|e_i|^2 / 2      (1/2 less for a row of zeros, whose cosine is 0).
// Near the basis, r is small. Similar rows have similar places a. So the first three terms are small, and f32
// is exact enough for these terms. Only e_i.e_j is approximated. The error is small near the basis.
//
// **The bound.**
// - A row's cells q_i are e_i / s_i, rounded; s_i is its step. With x_i >= |e_i / s_i - q_i|,
//       |e_i.e_j - s_i s_j q_i.q_j| <= s_i s_j (|q_i| x_j + |q_j| x_i + x_i x_j) <= s_i s_j K.
//   K follows from the largest |q| and the largest x of all rows (screenMargin). For words, q_i.q_j is exact.
//   For floats, each step of the product rounds. K also covers this rounding, and the part of the rounding of
//   U that is proportional to s_i s_j q_i.q_j.
//   The subtraction of m and B a_i rounds, so e_i itself has an error of at most h_i. x_i includes h_i / s_i.
// - The directions are scaled so that |a|^2 (1 + t) <= a'B'Ba / 2 <= |a|^2 (1 + 3t) for t = kTilt. Then
//       |(a_i-a_j).(c_i-c_j)| <= 3/4 t |a_i-a_j|^2 + (g_i^2 + g_j^2) / t,      g_i >= |c_i|,
//   and the last quarter of t |a_i-a_j|^2 covers the rounding of f32.
// - slack_i = g_i^2 / t + the error of r_i, which is below |e_i| h_i + h_i^2 + the rounding of sums.
// - The length of a unit row of D elements is not exactly 1 in f32. With d = 2^-24 (D + 16), the wrong length
//   changes a cosine by less than d^2 plus d times the cosine's distance from 1. U and F cover the
//   second term; the bars also cover the first term.
// So
//     U_ij = (r_i + slack_i) + (r_j + slack_j) - |a_i-a_j|^2 + s_i s_j (q_i.q_j + K)
// is never below the cosine minus 1, and exceeds it by at most
//     2 K s_i s_j + 3 (slack_i + slack_j) + 5 t |a_i-a_j|^2.
//
// **Far rows.** e_i.e_j <= |e_i| |e_j|. So with l_i >= |e_i|,
//     F_ij = (r_i + slack_i) + (r_j + slack_j) - |a_i-a_j|^2 + l_i l_j
// is also never below the cosine minus 1. Rows are sorted by their places in the first direction, so
// neighbours tend to be similar. The screen begins with near rows. Their leads give bars that exceed F of
// most other rows, so most other rows need no product. A simpler bound excludes whole panels:
//     F_ij <= z_i + z_j - (a_i-a_j)^2 of the first direction alone, z_i = r_i + slack_i + l_i^2 / 2.
#pragma once

#include <cstddef>

#include "mpm_layer/kernels/tokens/leads.hpp"

namespace mpm::kernels {

constexpr int kDirections = 4;
constexpr double kTilt = 1.0 / (1 << 14);

/// The basis. `origin` is m. `directions` has the columns of B as rows, which are `stride` floats apart and
/// padded with zeros. Unused directions are zero.
struct ScreenBasis {
    const float* origin;
    const float* directions;
    size_t stride;
    float offsets[kDirections];  ///< products of the directions with m
};

/// Returns whether the screen multiplies rows of this width as 16-bit words, two in a cell, not as floats.
bool screensWords(int width);
inline int screenCells(int width, bool words) {
    return words ? (width + 1) / 2 : width;
}

/// Rows that are not normalised: [count][stride].
struct TokenRows {
    const float* data;
    size_t stride;
    int width;
};

/// The place of a row. `plain` is true if the squares of the row's elements neither overflow nor underflow;
/// other rows need unitRow().
struct PlacedRow {
    float place[kDirections];  ///< a
    float inverse;             ///< 1 / length
    bool finite, zero, plain;
};

/// Finds the place of each of rows first..first+count in the basis, as if unitRow() had normalised the row.
void placeRows(const TokenRows& rows, int first, int count, const ScreenBasis& basis, PlacedRow* placed);

struct CentredRow {
    float step;   ///< s
    float shift;  ///< r + slack
    float slack;
    float norm;   ///< l
    float reach;  ///< at least |e| / s
    float error;  ///< x
};

/// Writes the cells of the rows whose numbers are in `tokens`. The rows of `cells` are `stride` cells apart.
/// If an element of a row is not finite, the row's cells are zeros and the row's shift is -infinity.
void centreRows(const TokenRows& rows, const PlacedRow* placed, const int* tokens, int count,
                const ScreenBasis& basis, bool words, float* cells, size_t stride, CentredRow* centred);

/// Returns K for the largest reach and error of all rows.
float screenMargin(double reach, double error, int width, bool words);

/// The rows of the screen, which are also its columns. Arrays with a value for each row must be readable up
/// to the end of the last panel; the shifts of missing rows must be -infinity.
struct Screen {
    const float* cells;  ///< [count][stride]; whole row groups must be readable
    size_t stride;
    const float* panels;  ///< the same rows as columns: see packPanel
    int depth;            ///< cells of a row
    const float* steps;
    const float* shifts;
    const float* slacks;
    const float* norms;
    const float* places;  ///< [kDirections][apart]
    size_t apart;
    float margin;
    bool words;
    int count, width;
};

/// Bounds of some rows that are near each other.
struct Extent {
    double low, high;  ///< the lowest and highest place in the first direction
    double most;       ///< the highest z
    double least;      ///< the lowest bar

    /// Returns true only if no row of either extent has its most similar row in the other extent.
    bool isFarFrom(const Extent& other) const;
};

/// The bars of all rows, and the extents of all panels. The bar of a missing row is +infinity.
struct FarBars {
    const float* least;    ///< the bar of each row; readable for whole panels
    const Extent* panels;  ///< the extent of each panel
};

/// Sets the bars of the panel that begins at row `first`: -infinity for a row without a lead, +infinity if a
/// row is missing or not finite.
void setBars(const Screen& screen, const Leads& leads, int first, float* bars);

Extent extentOf(const Screen& screen, const float* least, int first, int rows);

/// Computes U for each of rows first..first+rows and each later row in the same or the next panel, and
/// updates the leads of both rows. `rows` must be a multiple of rowGroup(), except for the last rows.
void screenNear(const Screen& screen, int first, int rows, Leads& leads);

/// Like screenNear(), but for later rows in all other panels. Skips groups and panels that the bars exclude.
void screenFar(const Screen& screen, const FarBars& bars, int first, int rows, Leads& leads);

/// All rows of an image, for cosines in f64.
struct ExactRows {
    const float* data;
    size_t stride;
    int width;
    const double* lengths;  ///< lengths of the unit rows in `data`; null if `data` is not normalised
    const int* tokens;      ///< the token of each row of the screen
};

/// Rows for which the screen has not found the most similar row. `least` has the bar of each row. If U of a
/// row and a column is below the row's bar, the column is excluded for this row.
struct DoubtfulRows {
    const int* rows;
    const float* least;
    int count;
};

/// Returns how many doubtful rows decideRows() handles together, in about the same time as a single row.
int decidedTogether();

/// Finds the most similar other row of each doubtful row: cosineOf decides among the remaining columns.
void decideRows(const Screen& screen, const ExactRows& exact, const DoubtfulRows& rows, int* nearest);

/// Returns which of two columns is more similar to `row`, by cosineOf.
int decideBetween(const ExactRows& rows, int row, int one, int other);

/// Returns the product of two rows in f64; its bits do not depend on the processor.
double exactDot(const float* a, const float* b, int width);

/// Returns the cosine, in f64, of two rows that were normalised in f32. Rounding makes their lengths differ
/// from 1, so the caller passes the lengths in f64. The result is at most 1; exactly 1 for equal rows; 0 if a
/// length is 0.
double cosineOf(const float* a, const float* b, int width, double lengthOfA, double lengthOfB);

}  // namespace mpm::kernels
