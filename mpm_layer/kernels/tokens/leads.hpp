// The best columns of every row in a screen of similarities (kernels/tokens/screen.hpp).
#pragma once

#include <cstddef>

#include "mpm_layer/kernels/common/buffer.hpp"

namespace mpm::kernels {

/// The two highest values of each row so far, their columns, and `rest`, an upper bound of all other values.
class Leads {
public:
    struct Row {
        float value, second, rest;
        int index, secondIndex;  ///< -1 if there is none
    };

    explicit Leads(int count);

    /// Merges in the leads that `other` has for row `first` and all later rows.
    void merge(const Leads& other, int first);

    int count() const { return m_count; }
    Row row(int i) const { return {value[i], second[i], rest[i], index[i], secondIndex[i]}; }

private:
    int m_count;
    Buffer m_data;

public:
    // Memory for two more vectors follows the last row, because vectors may begin at any row.
    float *value, *second, *rest;
    int *index, *secondIndex;
};

}  // namespace mpm::kernels
