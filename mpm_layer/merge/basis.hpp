// A basis for the screen of an image's rows (kernels/tokens/screen.hpp): a point near them, and the
// directions in which they differ most.
#pragma once

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/tokens/screen.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Found from some of the rows. Any basis gives right results; a good one leaves little to decide.
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
    kernels::Buffer m_data;  // the origin, then the directions; zeros behind each
};

}  // namespace mpm
