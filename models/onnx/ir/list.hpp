// Vectors that check each index, because indices are computed from numbers in files.
#pragma once

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace mpm::models {

/// Thrown if a model cannot be read, understood or converted. The message is a single line: the cause, the
/// place, the remedy.
class Refusal : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

[[noreturn]] inline void throwOutside(std::int64_t index, std::size_t count) {
    throw Refusal("there is no element " + std::to_string(index) + " of " + std::to_string(count) +
                  ": an input, output or axis is missing, or the file is damaged");
}

template <class T>
class List : public std::vector<T> {
public:
    using Base = std::vector<T>;
    using Base::Base;
    List() = default;
    List(const Base& values) : Base(values) {}        // NOLINT(google-explicit-constructor)
    List(Base&& values) : Base(std::move(values)) {}  // NOLINT(google-explicit-constructor)

    template <class Index>
    T& operator[](Index index) {
        return Base::operator[](checked(index));
    }
    template <class Index>
    const T& operator[](Index index) const {
        return Base::operator[](checked(index));
    }
    T& front() { return (*this)[0]; }
    const T& front() const { return (*this)[0]; }
    T& back() { return Base::operator[](checked(static_cast<std::int64_t>(this->size()) - 1)); }
    const T& back() const { return Base::operator[](checked(static_cast<std::int64_t>(this->size()) - 1)); }

private:
    template <class Index>
    std::size_t checked(Index index) const {
        const auto at = static_cast<std::size_t>(index);  // a negative index becomes larger than any vector
        if (at >= this->size()) throwOutside(static_cast<std::int64_t>(index), this->size());
        return at;
    }
};

/// Returns 0, 1 ... count - 1.
inline List<std::int64_t> counted(std::size_t count) {
    List<std::int64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
    return numbers;
}

/// The elements of a tensor. An index out of range throws Refusal. data() is for inner loops whose bounds are
/// known.
template <class T>
class Elements {
public:
    Elements(T* data, std::int64_t count) : m_data(data), m_count(count) {}

    T& operator[](std::int64_t index) const {
        if (index < 0 || index >= m_count) throwOutside(index, static_cast<std::size_t>(m_count));
        return m_data[index];
    }
    T* operator+(std::int64_t offset) const {
        if (offset < 0 || offset > m_count) throwOutside(offset, static_cast<std::size_t>(m_count));
        return m_data + offset;
    }
    T* data() const { return m_data; }
    operator T*() const { return m_data; }  // NOLINT(google-explicit-constructor)

private:
    T* m_data;
    std::int64_t m_count;
};

}  // namespace mpm::models
