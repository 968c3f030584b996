// The most similar other row of every unit row, exactly: a screen of few bits finds it wherever the next best
// is further away than all errors together, and products in f64 decide between those that remain.
//
// **What is computed.** The similarity of rows i and j is their product in f64 (exactDot): products of two
// f32 are exact there, so its bits are the same on every processor. The lowest index wins ties.
//
// **The screen.** Tokens of one image resemble each other, so similarities differ in their last digits only.
// With a row u_i = m + d_i, m near the mean of all rows,
//     u_i.u_j - m.m = d_i.d_j + r_i + r_j,    r_i = m.u_i - m.m.
// The r are computed in f64. Only d_i.d_j is approximated, and its error shrinks with the spread of the rows.
//
// **Its bound.** A row's cells c_i are d_i / s_i, rounded; s_i is its step. With e_i = |d_i / s_i - c_i|,
//     |d_i.d_j - s_i s_j c_i.c_j| <= s_i s_j (|c_i| e_j + |c_j| e_i + e_i e_j) <= s_i s_j K,
// where K takes the largest |c| and e of all rows (screenMargin). In words c_i.c_j is exact; in floats each
// of its D steps rounds. K also covers that u - m is rounded, and the rounding of
//     U_ij = s_i s_j (c_i.c_j + K) + r_i + r_j
// relative to its first term; that relative to r_i and r_j is covered by making these larger by
// kShiftSlack. So U_ij is never below the similarity, and exceeds it by at most
//     2 K s_i s_j + 4 kShiftSlack (|r_i| + |r_j|).
#pragma once

#include <cstddef>
#include <vector>

namespace mpm::kernels {

constexpr double kShiftSlack = 1.0 / (1 << 21);

/// Whether the screen multiplies 16-bit words, two in a cell, instead of floats.
bool screensWords(int width);
/// Cells of 32 bits that a row takes.
int screenCells(int width, bool words);

struct CentredRow {
    float step;   ///< s
    float shift;  ///< r
    float reach;  ///< |d| / s, or more
    float error;  ///< e, or more
};

/// The cells of a unit row; `meanSquare` is exactDot of the mean with itself.
CentredRow centreRow(const float* unit, const float* mean, double meanSquare, int width, bool words,
                     float* cells);

/// K, for the largest reach and error of all rows.
float screenMargin(double reach, double error, int width, bool words);

/// Rows and columns of the screen; steps and shifts of whole panels are readable.
struct Screen {
    const float* cells;  ///< [count][stride], whole row groups readable
    size_t stride;
    const float* panels;  ///< the same rows as columns: see packPanel
    int depth;            ///< cells of a row
    const float* steps;
    const float* shifts;
    float margin;
    bool words;
    int count;
};

/// The highest U of every row found so far, whose it is, and the next highest.
struct Leads {
    explicit Leads(int count);
    void keep(int row, float its, int column, float next);
    void merge(const Leads& other, int first);  ///< rows from `first` on

    std::vector<float> value;
    std::vector<int> index;
    std::vector<float> second;
};

/// U of rows first..first+rows with all later rows; updates the leads of both ends.
void screenChunk(const Screen& screen, int first, int rows, Leads& leads);

/// Some rows of a screen. Columns whose U is below a row's `least` are less similar than another one.
struct DoubtfulRows {
    const float* unit;  ///< all unit rows themselves
    size_t stride;
    int width;
    const int* rows;
    const float* least;
    int count;
};

/// The most similar other row of each doubtful row, by exactDot of the columns that are left.
void decideRows(const Screen& screen, const DoubtfulRows& rows, int* nearest);

/// The product of two rows in f64; its bits do not depend on the processor.
double exactDot(const float* a, const float* b, int width);

}  // namespace mpm::kernels
