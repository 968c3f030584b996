// Makes decisions from the bytes of a fuzz input. A decision uses one or several bytes; after the last byte,
// every byte counts as 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace mpm::fuzz {

class Choices {
public:
    Choices(const std::uint8_t* data, std::size_t size) : m_data(data), m_left(size) {}

    bool done() const { return m_left == 0; }
    std::uint8_t byte() {
        if (m_left == 0) return 0;
        --m_left;
        return *m_data++;
    }
    /// Returns 0..end-1; `end` is at most 256.
    int below(int end) { return byte() % end; }
    bool once(int in) { return below(in) == 1; }

    template <class Number>
    Number number() {
        Number value{};
        std::uint8_t bytes[sizeof value];
        for (std::size_t i = 0; i < sizeof value; ++i)
            bytes[i] = byte();
        std::memcpy(&value, bytes, sizeof value);
        return value;
    }

    template <class Value, std::size_t Count>
    Value of(const Value (&values)[Count]) {
        static_assert(Count <= 256, "one byte chooses");
        return values[below(static_cast<int>(Count))];
    }

    std::string text() {
        std::string all;
        for (int left = below(32); left > 0; --left)
            all += static_cast<char>(byte());
        return all;
    }

private:
    const std::uint8_t* m_data;
    std::size_t m_left;
};

}  // namespace mpm::fuzz
