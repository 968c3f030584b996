// The inputs of a fuzz target: seeds, and mutants, which depend only on a seed and a number.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace mpm::fuzz {

using Bytes = std::vector<std::uint8_t>;

/// The seed files, in the same order everywhere. If no file is named, the only seed is the empty input.
struct Seeds {
    std::vector<std::string> names;
    std::vector<Bytes> inputs;

    /// Adds a file, or every file of a folder.
    void add(const std::string& path);
};

/// Makes a few changes to a seed. The same seeds and the same round give the same mutant.
class Mutator {
public:
    Mutator(std::uint64_t seed, std::uint64_t round) : m_random(seed * 0x9E3779B97F4A7C15ULL + round) {}

    Bytes mutate(Bytes input, const std::vector<Bytes>& others);

private:
    std::uint64_t below(std::uint64_t end) { return end == 0 ? 0 : m_random() % end; }
    std::size_t place(const Bytes& input);
    void step(Bytes& input, const std::vector<Bytes>& others);
    void putNumber(Bytes& input, std::size_t at);
    void putText(Bytes& input, std::size_t at);
    void putVarint(Bytes& input, std::size_t at);
    void splice(Bytes& input, std::size_t at, const std::vector<Bytes>& others);

    std::mt19937_64 m_random;
};

/// An input. The inputs at the first positions are the unchanged seeds. A mutant of each seed follows, then a
/// second mutant of each seed, and so on.
struct Input {
    Bytes bytes;
    std::string name;
};
Input inputAt(std::uint64_t position, const Seeds& seeds);

}  // namespace mpm::fuzz
