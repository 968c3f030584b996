#include "models/onnx/io/read.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

#include "models/onnx/ir/tensor.hpp"

namespace mpm::models {

namespace {

constexpr std::array<std::uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr std::uint32_t turned(std::uint32_t word, int bits) {
    return word >> bits | word << (32 - bits);
}

class Sha256 {
public:
    void add(const char* bytes, std::size_t count) {
        m_length += count;
        while (count > 0) {
            const std::size_t part = std::min(count, m_block.size() - m_filled);
            std::memcpy(m_block.data() + m_filled, bytes, part);
            m_filled += part, bytes += part, count -= part;
            if (m_filled == m_block.size()) mix();
        }
    }

    std::string finish() {
        const std::uint64_t bits = m_length * 8;
        add("\x80", 1);
        while (m_filled != m_block.size() - 8)
            add("\0", 1);
        char length[8];
        for (int i = 0; i < 8; ++i)
            length[i] = static_cast<char>(bits >> (56 - 8 * i));
        add(length, sizeof length);
        std::string text;
        for (const std::uint32_t word : m_state)
            for (int shift = 28; shift >= 0; shift -= 4)
                text += "0123456789abcdef"[word >> shift & 15];
        return text;
    }

private:
    void mix() {
        std::array<std::uint32_t, 64> words{};
        for (std::size_t i = 0; i < 64; ++i)
            words[i] = i < 16 ? wordAt(4 * i) : extended(words, i);
        auto [a, b, c, d, e, f, g, h] = m_state;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t first = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
                                        ((e & f) ^ (~e & g)) + kRounds[i] + words[i];
            const std::uint32_t second =
                (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
        }
        const std::array<std::uint32_t, 8> mixed = {a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < mixed.size(); ++i)
            m_state[i] += mixed[i];
        m_filled = 0;
    }

    std::uint32_t wordAt(std::size_t at) const {
        std::uint32_t word = 0;
        for (std::size_t i = 0; i < 4; ++i)
            word = word << 8 | static_cast<unsigned char>(m_block[at + i]);
        return word;
    }

    static std::uint32_t extended(const std::array<std::uint32_t, 64>& words, std::size_t i) {
        const std::uint32_t early = words[i - 15], late = words[i - 2];
        return words[i - 16] + (turned(early, 7) ^ turned(early, 18) ^ early >> 3) + words[i - 7] +
               (turned(late, 17) ^ turned(late, 19) ^ late >> 10);
    }

    std::array<std::uint32_t, 8> m_state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<char, 64> m_block{};
    std::size_t m_filled = 0;
    std::uint64_t m_length = 0;
};

}  // namespace

std::string sha256OfFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Refusal("'" + path + "' cannot be opened for reading");
    Sha256 digest;
    std::vector<char> chunk(1 << 20);
    while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), file.gcount() > 0)
        digest.add(chunk.data(), static_cast<std::size_t>(file.gcount()));
    // The digest of only a part of the file would not identify the file.
    if (file.bad()) throw Refusal("'" + path + "' cannot be read to its end");
    return digest.finish();
}

}  // namespace mpm::models
