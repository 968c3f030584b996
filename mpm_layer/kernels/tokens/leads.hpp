// The best columns of every row in a screen of similarities (kernels/tokens/screen.hpp).
#pragma once

#include <cstddef>

#include "mpm_layer/kernels/common/buffer.hpp"

namespace mpm::kernels {

/// For each row: the highest value so far, another high value (`second`), the columns of both values, and
/// `rest`, an upper bound on all other values. `second` may be lower than `rest`.
class Leads {
public:
    struct Row {
        float value, second, rest;
        int index, secondIndex;  ///< -1 if there is none
    };

    explicit Leads(int count);

    /// For row `first` and all later rows, merges the leads in `other` into the leads in this object.
    void merge(const Leads& other, int first);

    int count() const { return m_count; }
    Row row(int i) const { return {value[i], second[i], rest[i], index[i], secondIndex[i]}; }

private:
    int m_count;
    Buffer m_data;

public:
    // Each array has room for two vectors after its last element, because a vector may begin at any element.
    float *value, *second, *rest;
    int *index, *secondIndex;
};

}  // namespace mpm::kernels
