#include "models/onnx/digest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <vector>

#include "models/onnx/tensor.hpp"

namespace mpm::models {
namespace {

uint32_t rotate(uint32_t x, int by) {
    return (x >> by) | (x << (32 - by));
}

// The fractional bits of square and cube roots of primes, as the standard defines its constants.
struct Constants {
    std::array<uint32_t, 64> rounds;
    std::array<uint32_t, 8> start;

    Constants() {
        size_t found = 0;
        for (int candidate = 2; found < rounds.size(); ++candidate) {
            bool prime = true;
            for (int d = 2; d * d <= candidate; ++d)
                prime &= candidate % d != 0;
            if (!prime) continue;
            rounds[found] = fraction(std::cbrt(static_cast<long double>(candidate)));
            if (found < start.size()) start[found] = fraction(std::sqrt(static_cast<long double>(candidate)));
            ++found;
        }
    }

    static uint32_t fraction(long double x) {
        return static_cast<uint32_t>((x - std::floor(x)) * 4294967296.0L);
    }
};

class Sha256 {
public:
    Sha256() : m_state(constants().start) {}

    void update(const char* bytes, size_t count) {
        m_total += count;
        for (size_t k = 0; k < count; ++k)
            push(static_cast<uint8_t>(bytes[k]));
    }

    std::string finish() {
        const uint64_t bits = m_total * 8;
        push(0x80);
        while (m_filled != 56)
            push(0);
        for (int shift = 56; shift >= 0; shift -= 8)
            push(static_cast<uint8_t>(bits >> shift));
        std::string text;
        for (uint32_t word : m_state) {
            for (int shift = 28; shift >= 0; shift -= 4)
                text += "0123456789abcdef"[(word >> shift) & 15];
        }
        return text;
    }

private:
    static const Constants& constants() {
        static const Constants all;
        return all;
    }

    void push(uint8_t byte) {
        m_block[m_filled++] = byte;
        if (m_filled == m_block.size()) {
            compress();
            m_filled = 0;
        }
    }

    void compress() {
        std::array<uint32_t, 64> w;
        for (int k = 0; k < 16; ++k) {
            w[k] = uint32_t{m_block[4 * k]} << 24 | uint32_t{m_block[4 * k + 1]} << 16 |
                   uint32_t{m_block[4 * k + 2]} << 8 | m_block[4 * k + 3];
        }
        for (int k = 16; k < 64; ++k) {
            const uint32_t a = rotate(w[k - 15], 7) ^ rotate(w[k - 15], 18) ^ (w[k - 15] >> 3);
            const uint32_t b = rotate(w[k - 2], 17) ^ rotate(w[k - 2], 19) ^ (w[k - 2] >> 10);
            w[k] = w[k - 16] + a + w[k - 7] + b;
        }
        std::array<uint32_t, 8> s = m_state;
        for (int k = 0; k < 64; ++k) {
            const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
            const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
            const uint32_t one = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + choice +
                                 constants().rounds[k] + w[k];
            const uint32_t two = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + majority;
            s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
        }
        for (int k = 0; k < 8; ++k)
            m_state[k] += s[k];
    }

    std::array<uint32_t, 8> m_state;
    std::array<uint8_t, 64> m_block{};
    size_t m_filled = 0;
    uint64_t m_total = 0;
};

}  // namespace

std::string sha256OfFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Refusal("'" + path + "' cannot be opened for reading");
    Sha256 hash;
    std::vector<char> chunk(1 << 16);
    while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || file.gcount() > 0) {
        hash.update(chunk.data(), static_cast<size_t>(file.gcount()));
    }
    return hash.finish();
}

}  // namespace mpm::models
