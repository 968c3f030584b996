// The elements of a tensor as sparse sums of other elements. A large model has millions of elements per step,
// and most are a copy of another element: columns with default values are omitted, and steps that change
// nothing share columns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/onnx/ir/list.hpp"

namespace mpm::models {

/// factor[0] * source[at[0]] + factor[1] * source[at[1]] + constant. `at` counts over all sources in order.
struct Term {
    int32_t at[2] = {-1, -1};
    float factor[2] = {0, 0};
    float constant = 0;
    int count() const { return (at[0] >= 0) + (at[1] >= 0); }
};

class Terms {
public:
    Terms() = default;
    static Terms identity(int64_t count, int64_t offset);
    static Terms constants(const float* values, int64_t count);
    static Terms from(const List<Term>& terms);

    size_t size() const { return m_count; }
    Term operator[](size_t k) const;
    bool simple() const { return !m_at[1] && !m_constant; }  ///< a single element each, perhaps scaled
    bool any(const std::function<bool(const Term&)>& test) const;

    /// Element k of the result is element order[k].
    Terms picked(const List<int32_t>& order) const;
    static Terms joined(const List<Terms>& parts);
    Terms scaled(const Terms& by, bool divide) const;  ///< `by` constants
    Terms negated() const;
    /// False if an element would depend on more than two.
    static bool sum(const Terms& a, const Terms& b, float sign, Terms& result);
    /// The same for dependence: only `at` is meaningful.
    static bool united(const Terms& a, const Terms& b, Terms& result);

private:
    template <typename T>
    using Column = std::shared_ptr<const List<T>>;

    static Terms empty(size_t count);

    size_t m_count = 0;
    Column<int32_t> m_at[2];    // absent: -1
    Column<float> m_factor[2];  // absent: 1 if there is an element
    Column<float> m_constant;   // absent: 0
};

}  // namespace mpm::models
