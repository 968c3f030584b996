// A random generator whose numbers are the same on every platform and with every standard library.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

namespace mpm {

/// A step of SplitMix64: mixes any two numbers into a number that looks random.
inline uint64_t mixSeed(uint64_t seed, uint64_t salt = 0) {
    uint64_t z = seed + 0x9E3779B97F4A7C15ull * (salt + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

/// Makes a seed from a string such as a file name (FNV-1a).
inline uint64_t seedOf(const std::string& text) {
    uint64_t hash = 0xCBF29CE484222325ull;
    for (unsigned char c : text)
        hash = (hash ^ c) * 0x100000001B3ull;
    return mixSeed(hash);
}

class Random {
public:
    explicit Random(uint64_t seed) : m_state(mixSeed(seed)) {}

    uint64_t next() { return mixSeed(m_state += 0x9E3779B97F4A7C15ull); }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    double uniform(double low, double high) { return low + (high - low) * uniform(); }
    /// Returns a number from 0 to count - 1.
    int below(int count) { return static_cast<int>(uniform() * count); }
    bool chance(double probability) { return uniform() < probability; }

    double normal() {
        const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
        return radius * std::cos(6.283185307179586 * uniform());
    }

private:
    uint64_t m_state;
};

}  // namespace mpm
