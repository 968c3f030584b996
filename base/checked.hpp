// Arithmetic that never wraps around, for sizes, shapes and offsets from files and other programs.
#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>

#include <opencv2/core.hpp>

namespace mpm {

class SizeError : public cv::Exception {
public:
    explicit SizeError(const std::string& message)
        : cv::Exception(cv::Error::StsOutOfRange, message, "", __FILE__, __LINE__) {}
};

namespace detail {

template <class... Numbers>
[[noreturn]] void throwTooLarge(const char* sign, Numbers... numbers) {
    std::string text;
    for (const std::string& number : std::initializer_list<std::string>{std::to_string(numbers)...})
        text += (text.empty() ? "" : sign) + number;
    throw SizeError("a size is out of range: " + text);
}

}  // namespace detail

/// Converts `value` to T; throws cv::Exception if `value` does not fit.
template <class T, class Number>
T checkedCast(Number value) {
    static_assert(std::is_integral_v<T> && std::is_integral_v<Number>, "sizes are integers");
    T result{};
    if (__builtin_add_overflow(value, Number{0}, &result)) detail::throwTooLarge("", value);
    return result;
}

/// Computes the product of all numbers. Returns false if the product does not fit in a T.
template <class T, class... Numbers>
bool productFits(T& product, Numbers... numbers) {
    static_assert((std::is_integral_v<Numbers> && ...), "sizes are integers");
    product = 1;
    // A factor of 0 makes the product 0, even if the other factors overflow.
    if (((numbers == 0) || ...)) {
        product = 0;
        return true;
    }
    return (!__builtin_mul_overflow(product, numbers, &product) && ...);
}

/// Returns the product of all numbers. Throws cv::Exception if the product does not fit in a T: for example,
/// a negative number does not fit in an unsigned T.
template <class T, class... Numbers>
T checkedProduct(Numbers... numbers) {
    T product{};
    if (!productFits(product, numbers...)) detail::throwTooLarge(" x ", numbers...);
    return product;
}

/// Returns the sum of all numbers; throws cv::Exception if the sum does not fit in a T.
template <class T, class... Numbers>
T checkedSum(Numbers... numbers) {
    static_assert((std::is_integral_v<Numbers> && ...), "sizes are integers");
    T sum = 0;
    if ((__builtin_add_overflow(sum, numbers, &sum) || ...)) detail::throwTooLarge(" + ", numbers...);
    return sum;
}

/// Returns first - second; throws cv::Exception if the difference does not fit in a T.
template <class T, class First, class Second>
T checkedDifference(First first, Second second) {
    T difference{};
    if (__builtin_sub_overflow(first, second, &difference)) detail::throwTooLarge(" - ", first, second);
    return difference;
}

/// Returns the product of all sizes of a shape; 1 for a shape without dimensions. Throws cv::Exception if
/// the product does not fit in a T or a size is negative.
template <class T, class Shape>
T checkedTotal(const Shape& shape) {
    T total = 1;
    bool empty = false, fits = true;
    for (const auto size : shape) {
        if (size < 0) detail::throwTooLarge("", size);
        empty = empty || size == 0;
        fits = fits && !__builtin_mul_overflow(total, size, &total);
    }
    if (empty) return 0;
    if (!fits) {
        std::string text;
        for (const auto size : shape)
            text += (text.empty() ? "" : " x ") + std::to_string(size);
        throw SizeError("a size is out of range: " + text.substr(0, 200));
    }
    return total;
}

}  // namespace mpm
