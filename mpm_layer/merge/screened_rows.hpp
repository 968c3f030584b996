// The tokens of an image as rows of a screen (kernels/tokens/screen.hpp), sorted by their places along the
// first direction of the basis. Row numbers follow this order.
#pragma once

#include <vector>

#include "base/loops.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/tokens/screen.hpp"
#include "mpm_layer/merge/merge_map.hpp"
#include "mpm_layer/merge/reducer.hpp"

namespace mpm {

/// The basis, found from some of the rows. Any basis gives correct results; with a good basis, few rows need
/// exact cosines.
class Basis {
public:
    explicit Basis(const RowsView& rows);

    kernels::ScreenBasis view() const;

private:
    struct Sample;

    void centre(Sample& sample);
    void turn(Sample& sample);
    bool isTrue() const;
    float* direction(int index) { return m_data.data() + (1 + index) * m_stride; }
    const float* direction(int index) const { return m_data.data() + (1 + index) * m_stride; }

    int m_width;
    size_t m_stride;
    kernels::Buffer m_data;  // the origin, then the directions, each padded with zeros
};

class ScreenedRows {
public:
    ScreenedRows(const RowsView& tokens, Team& team);

    int count() const { return m_count; }
    int panelCount() const { return m_panelCount; }
    int token(int row) const { return m_tokens[row]; }
    kernels::Screen screen() const;

    /// Sets the bar of each row of a panel from the leads that were found so far.
    void setBars(const kernels::Leads& leads, int panel);
    float bar(int row) const { return m_bars[row]; }
    /// Sets the extent of a panel, for screenFar.
    void setExtent(int panel);
    kernels::FarBars farBars() const { return {m_bars.data(), m_extents.data()}; }

    /// Finds the most similar column of each of `rows`. Columns whose U (screen.hpp) is below least[k] are
    /// excluded for rows[k].
    void decideRows(const std::vector<int>& rows, const std::vector<float>& least,
                    std::vector<int>& nearest) const;
    /// Returns the column, `one` or `other`, that is more similar to `row`.
    int nearer(int row, int one, int other) const;
    /// Normalises all rows, which saves time if many rows need exact cosines.
    void normaliseAll(Team& team);

private:
    void sortTokens(const std::vector<kernels::PlacedRow>& placed);
    kernels::CentredRow centrePanel(const std::vector<kernels::PlacedRow>& placed,
                                    const kernels::ScreenBasis& basis, int panel);
    int rowsOf(int panel) const;
    kernels::ExactRows exactRows() const;

    RowsView m_view;
    int m_count, m_width;
    bool m_words;
    int m_depth, m_panelCount;
    size_t m_stride, m_unitStride = 0;
    std::vector<int> m_tokens;
    kernels::Buffer m_cells, m_panels;
    // An entry for each row, padded to whole panels.
    std::vector<float> m_steps, m_shifts, m_slacks, m_norms, m_places, m_bars;
    std::vector<kernels::Extent> m_extents;  // of each panel
    kernels::Buffer m_unit;                  // unit rows in the order of tokens; set by normaliseAll()
    std::vector<double> m_lengths;           // exact lengths of the unit rows, about 1
    float m_margin = 0;
};

}  // namespace mpm
