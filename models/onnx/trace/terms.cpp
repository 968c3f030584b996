#include "models/onnx/trace/trace.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

/// Makes a column whose memory is charged to the job as long as the column exists.
template <typename T>
std::shared_ptr<const List<T>> column(List<T> values) {
    struct Kept {
        Held held;
        List<T> values;
    };
    const auto bytes = checkedProduct<int64_t>(values.size(), sizeof(T));
    auto kept = std::make_shared<Kept>(Kept{Held(bytes, kPurpose), std::move(values)});
    return {kept, &kept->values};
}

Held roomFor(size_t terms) {
    return {checkedProduct<int64_t>(terms, 2 * sizeof(Term)), kPurpose};
}

template <typename T>
std::shared_ptr<const List<T>> pick(const std::shared_ptr<const List<T>>& from, const List<int32_t>& order) {
    if (!from) return nullptr;
    checkTime();
    List<T> to(order.size());
    std::transform(order.begin(), order.end(), to.begin(), [&](int32_t at) { return (*from)[at]; });
    return column(std::move(to));
}

bool accumulate(Term& to, const Term& from, float sign) {
    to.constant += sign * from.constant;
    for (int k = 0; k < 2 && from.at[k] >= 0; ++k) {
        int slot = 0;
        while (slot < 2 && to.at[slot] >= 0 && to.at[slot] != from.at[k])
            ++slot;
        if (slot == 2) return false;
        to.at[slot] = from.at[k];
        to.factor[slot] += sign * from.factor[k];
    }
    return true;
}

}  // namespace

Terms Terms::empty(size_t count) {
    Terms terms;
    terms.m_count = count;
    return terms;
}

Terms Terms::identity(int64_t count, int64_t offset) {
    Terms terms = empty(static_cast<size_t>(count));
    List<int32_t> at(terms.m_count);
    std::iota(at.begin(), at.end(), static_cast<int32_t>(offset));
    terms.m_at[0] = column(std::move(at));
    return terms;
}

Terms Terms::constants(const float* values, int64_t count) {
    Terms terms = empty(static_cast<size_t>(count));
    terms.m_constant = column(List<float>(values, values + count));
    return terms;
}

Terms Terms::from(const List<Term>& all) {
    Terms terms = empty(all.size());
    bool second = false, factors = false, constants = false;
    for (const Term& t : all) {
        second |= t.at[1] >= 0;
        factors |= t.at[0] >= 0 && t.factor[0] != 1;
        constants |= t.constant != 0;
    }
    const auto collect = [&](auto get) {
        List<decltype(get(all[0]))> values(all.size());
        std::transform(all.begin(), all.end(), values.begin(), get);
        return column(std::move(values));
    };
    terms.m_at[0] = collect([](const Term& t) { return t.at[0]; });
    if (factors) terms.m_factor[0] = collect([](const Term& t) { return t.factor[0]; });
    if (second) {
        terms.m_at[1] = collect([](const Term& t) { return t.at[1]; });
        terms.m_factor[1] = collect([](const Term& t) { return t.factor[1]; });
    }
    if (constants) terms.m_constant = collect([](const Term& t) { return t.constant; });
    return terms;
}

Term Terms::operator[](size_t k) const {
    if (k >= m_count) throwOutside(static_cast<int64_t>(k), m_count);  // all columns have m_count elements
    Term term;
    for (int slot = 0; slot < 2; ++slot) {
        if (!m_at[slot] || m_at[slot]->data()[k] < 0) continue;
        term.at[slot] = m_at[slot]->data()[k];
        term.factor[slot] = m_factor[slot] ? m_factor[slot]->data()[k] : 1;
    }
    if (m_constant) term.constant = m_constant->data()[k];
    return term;
}

bool Terms::any(const std::function<bool(const Term&)>& test) const {
    for (size_t k = 0; k < m_count; ++k) {
        if (test((*this)[k])) return true;
    }
    return false;
}

Terms Terms::picked(const List<int32_t>& order) const {
    Terms terms = empty(order.size());
    for (int slot = 0; slot < 2; ++slot) {
        terms.m_at[slot] = pick(m_at[slot], order);
        terms.m_factor[slot] = pick(m_factor[slot], order);
    }
    terms.m_constant = pick(m_constant, order);
    return terms;
}

Terms Terms::joined(const List<Terms>& parts) {
    bool simple = true;
    for (const Terms& part : parts)
        simple &= part.simple() && !part.m_factor[0] && part.m_at[0];
    if (simple) {
        List<int32_t> at;
        for (const Terms& part : parts)
            at.insert(at.end(), part.m_at[0]->begin(), part.m_at[0]->end());
        Terms terms = empty(at.size());
        terms.m_at[0] = column(std::move(at));
        return terms;
    }
    size_t count = 0;
    for (const Terms& part : parts)
        count += part.size();
    const Held held = roomFor(count);
    List<Term> all;
    for (const Terms& part : parts) {
        for (size_t k = 0; k < part.size(); ++k)
            all.push_back(part[k]);
    }
    return from(all);
}

Terms Terms::scaled(const Terms& by, bool divide) const {
    if (simple() && m_at[0] && by.m_constant) {  // only the factors change
        Terms terms = *this;
        List<float> factors(m_count);
        const auto value = by.m_constant->begin();
        for (size_t k = 0; k < m_count; ++k)
            factors[k] = divide ? 1 / value[k] : value[k];
        if (m_factor[0]) {
            const auto own = m_factor[0]->begin();
            for (size_t k = 0; k < m_count; ++k)
                factors[k] *= own[k];
        }
        terms.m_factor[0] = column(std::move(factors));
        return terms;
    }
    const Held held = roomFor(m_count);
    List<Term> all(m_count);
    size_t k = 0;
    for (Term& term : all) {
        term = (*this)[k];
        const float constant = by[k++].constant, factor = divide ? 1 / constant : constant;
        for (float& f : term.factor)
            f *= factor;
        term.constant *= factor;
    }
    return from(all);
}

bool Terms::sum(const Terms& a, const Terms& b, float sign, Terms& result) {
    const Held held = roomFor(a.m_count);
    List<Term> all(a.m_count);
    size_t k = 0;
    for (Term& term : all) {
        term = a[k];
        if (!accumulate(term, b[k++], sign)) return false;
    }
    result = from(all);
    return true;
}

bool Terms::united(const Terms& a, const Terms& b, Terms& result) {
    if (a.m_at[0] == b.m_at[0] && a.m_at[1] == b.m_at[1]) {
        result = a;
        return true;
    }
    return sum(a, b, 1, result);
}

}  // namespace mpm::models
