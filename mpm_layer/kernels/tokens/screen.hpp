// Finds, exactly, the most similar other row of every unit row. A screen of few bits decides if the best row
// leads the next by more than the sum of all errors; else cosines in f64 decide among the candidates.
//
// **Words.**
// - basis: a point m near all rows and kDirections directions, the columns of B
// - place: the coordinates a of a row in the basis
// - cell: 32 bits of a row's rest e: an element in f32, or two in 16 bits ("words")
// - panel: the columns that a product takes at once, stored together (packPanel)
// - screen: the upper bounds U and F of the cosines, from cells and places
// - lead: a column with the highest U of a row so far (leads.hpp)
// - bar: a lower bound of the cosine of a row and its lead: columns with U below the bar are not the nearest
// - slack: a row's part of the error of U
// - extent: bounds of the places, the bars and F of some rows
// Leads, bars and both bounds are of the cosine less 1.
//
// **What is computed.** The cosine of two f32 unit rows in f64 (cosineOf). Products of two f32 are exact in
// f64, so the bits of a cosine are the same on every processor. The lowest index wins ties.
//
// **The screen.** Tokens of an image resemble each other: similarities differ in the last digits only, and
// most of the difference is in a few directions (colours). With the basis, a row is
//     u_i = m + B a_i + e_i,      cosine_ij - 1 = -|u_i - u_j|^2 / 2.
// With a_i near the best choice, e_i is small and nearly at right angles to B: c_i = B'e_i is nearly 0. So
//     cosine_ij - 1 = r_i + r_j - (a_i-a_j)'B'B(a_i-a_j) / 2 - (a_i-a_j).(c_i-c_j) + e_i.e_j,
//     r_i = -|e_i|^2 / 2      (1/2 less for a row of zeros, whose cosine is 0).
// Near rows have near places a, so that the first three terms are small and f32 gives them exactly enough.
// Only e_i.e_j is approximated, with an error that shrinks with the distance of the rows to the basis.
//
// **The bound.**
// - A row's cells q_i are e_i / s_i, rounded; s_i is its step. With x_i >= |e_i / s_i - q_i|,
//       |e_i.e_j - s_i s_j q_i.q_j| <= s_i s_j (|q_i| x_j + |q_j| x_i + x_i x_j) <= s_i s_j K,
//   with K for the largest |q| and x of all rows (screenMargin). In words q_i.q_j is exact; in floats each
//   step of the product rounds. K covers that, too, and the rounding of the sum U relative to this term. e_i
//   itself is known to within h_i, as subtracting m and B a_i rounds: x_i >= h_i / s_i + ...
// - The directions are scaled so that |a|^2 (1 + t) <= a'B'Ba / 2 <= |a|^2 (1 + 3t) for t = kTilt. Then
//       |(a_i-a_j).(c_i-c_j)| <= 3/4 t |a_i-a_j|^2 + (g_i^2 + g_j^2) / t,      g_i >= |c_i|,
//   and the last quarter of t |a_i-a_j|^2 covers the rounding of f32.
// - slack_i = g_i^2 / t + the error of r_i, which is below |e_i| h_i + h_i^2 + the rounding of sums.
// - The length of a unit row in f32 is not exactly 1: that moves a cosine by less than 2^-24 (D + 16) of the
//   distance from 1, for which these bounds leave room, and by the square of that.
// So
//     U_ij = (r_i + slack_i) + (r_j + slack_j) - |a_i-a_j|^2 + s_i s_j (q_i.q_j + K)
// is never below the cosine less 1, and exceeds it by at most
//     2 K s_i s_j + 3 (slack_i + slack_j) + 5 t |a_i-a_j|^2.
//
// **Far rows.** As e_i.e_j <= |e_i| |e_j|, with l_i >= |e_i|
//     F_ij = (r_i + slack_i) + (r_j + slack_j) - |a_i-a_j|^2 + l_i l_j
// is never below the cosine less 1, either. Rows are in the order of their places in the first direction, so
// neighbours tend to be similar: the screen begins with near rows. The bars of these leads exceed most F of
// other rows, which then need no product. For whole panels,
//     F_ij <= z_i + z_j - (a_i-a_j)^2 of the first direction alone, z_i = r_i + slack_i + l_i^2 / 2.
#pragma once

#include <cstddef>

#include "mpm_layer/kernels/tokens/leads.hpp"

namespace mpm::kernels {

constexpr int kDirections = 4;
constexpr double kTilt = 1.0 / (1 << 14);

/// m, and B as rows, `stride` apart; directions that are zero are not used. Rows have zeros behind them.
struct ScreenBasis {
    const float* origin;
    const float* directions;
    size_t stride;
    float offsets[kDirections];  ///< of the directions, their products with m
};

/// Whether the screen multiplies 16-bit words, two in a cell, instead of floats.
bool screensWords(int width);
/// Cells of 32 bits that a row takes.
inline int screenCells(int width, bool words) {
    return words ? (width + 1) / 2 : width;
}

/// Rows as they are: [count][stride].
struct TokenRows {
    const float* data;
    size_t stride;
    int width;
};

struct PlacedRow {
    float place[kDirections];  ///< a
    float inverse;             ///< 1 / length; a row that is not plain is normalised first
    bool finite, zero, plain;
};

/// Places rows first..first+count, normalised as unitRow does it, in the basis.
void placeRows(const TokenRows& rows, int first, int count, const ScreenBasis& basis, PlacedRow* placed);

struct CentredRow {
    float step;   ///< s
    float shift;  ///< r + slack
    float slack;
    float norm;   ///< l
    float reach;  ///< |e| / s, or more
    float error;  ///< x
};

/// Writes the cells of the rows whose numbers are in `tokens`, `stride` apart. Rows with an element that is
/// not finite get cells of zeros and the lowest shift, -infinity.
void centreRows(const TokenRows& rows, const PlacedRow* placed, const int* tokens, int count,
                const ScreenBasis& basis, bool words, float* cells, size_t stride, CentredRow* centred);

/// K, for the largest reach and error of all rows.
float screenMargin(double reach, double error, int width, bool words);

/// Rows and columns of the screen. The arrays per row are readable for whole panels; shifts of rows that do
/// not exist are -infinity.
struct Screen {
    const float* cells;  ///< [count][stride], whole row groups readable
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

/// Some rows that are near each other.
struct Extent {
    double low, high;  ///< of their places in the first direction
    double most;       ///< of their z
    double least;      ///< of their bars

    /// Whether no row of either extent can be the most similar of any row of the other.
    bool isFarFrom(const Extent& other) const;
};

/// Bars of rows; +infinity if there is no row.
struct FarBars {
    const float* least;    ///< readable for whole panels
    const Extent* panels;  ///< of each panel
};

/// The bar of each row of a panel: -infinity without a lead, +infinity if there is no row or it is not
/// finite.
void setBars(const Screen& screen, const Leads& leads, int first, float* bars);

Extent extentOf(const Screen& screen, const float* least, int first, int rows);

/// U of rows first..first+rows, whole row groups but for the last, with the later rows that are in the same
/// or the next panel; updates the leads of both ends.
void screenNear(const Screen& screen, int first, int rows, Leads& leads);

/// The same with all other rows that can lead.
void screenFar(const Screen& screen, const FarBars& bars, int first, int rows, Leads& leads);

/// All rows of an image, for cosines in f64.
struct ExactRows {
    const float* data;
    size_t stride;
    int width;
    const double* lengths;  ///< if these are unit rows already; else null: rows are normalised when needed
    const int* tokens;      ///< of the screen's rows
};

/// Some rows of a screen. A column whose U is below the bar `least` of a row is not the most similar.
struct DoubtfulRows {
    const int* rows;
    const float* least;
    int count;
};

/// The number of rows that take no longer together than a single row.
int decidedTogether();

/// The most similar other row of each doubtful row, by cosineOf the columns that are left.
void decideRows(const Screen& screen, const ExactRows& exact, const DoubtfulRows& rows, int* nearest);

/// The more similar of two columns, by the same rule.
int decideBetween(const ExactRows& rows, int row, int one, int other);

/// The product of two rows in f64; its bits do not depend on the processor.
double exactDot(const float* a, const float* b, int width);

/// The cosine of two unit rows in f64, from their lengths in f64: at most 1, and 1 for equal rows; 0 if a row
/// is zero.
double cosineOf(const float* a, const float* b, int width, double lengthOfA, double lengthOfB);

}  // namespace mpm::kernels
