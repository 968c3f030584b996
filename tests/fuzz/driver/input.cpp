#include "fuzz/driver/input.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fs = std::filesystem;

namespace mpm::fuzz {

namespace {

/// Numbers at the limits of types, at which arithmetic may overflow.
constexpr std::uint64_t kEdges[] = {0,          1,          0x7F,       0x80,       0xFF,
                                    0x7FFF,     0x8000,     0xFFFF,     0x7FFFFFFF, 0x80000000,
                                    0xFFFFFFFF, 0x7FFFFFF0, 0x10000000, 0x40000000, 0x7FFFFFFFFFFFFFFF};

/// Limits of types, for formats that have numbers as text, and texts that names should not contain.
constexpr const char* kTexts[] = {
    "0",   "-1",  "2147483647", "-2147483648", "4294967295", "9223372036854775807",
    "1e9", "nan", "-inf",       "1e308",       "32768",      "99999999999999999999",
    "\n",  "\"",  "\x1b[31m",   "\xff",        "../",        "{",
    "[",   "<",   "%n",         "\\u0000"};

Bytes read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Bytes::iterator at(Bytes& input, std::size_t position) {
    return input.begin() + static_cast<std::ptrdiff_t>(position);
}

}  // namespace

void Seeds::add(const std::string& path) {
    std::vector<std::string> found;
    if (fs::is_directory(path)) {
        for (const auto& entry : fs::recursive_directory_iterator(path))
            if (entry.is_regular_file()) found.push_back(entry.path().string());
        std::sort(found.begin(), found.end());
    } else {
        found.push_back(path);
    }
    for (const std::string& name : found) {
        names.push_back(name);
        inputs.push_back(read(name));
    }
}

Bytes Mutator::mutate(Bytes input, const std::vector<Bytes>& others) {
    for (std::uint64_t count = 1 + below(6); count > 0; --count)
        step(input, others);
    return input;
}

/// Chooses the place of a change. Most changes are near the beginning or the end of a file, where headers and
/// shapes are; weights are in the middle.
std::size_t Mutator::place(const Bytes& input) {
    const std::uint64_t near = std::min<std::uint64_t>(input.size(), 4096);
    switch (below(4)) {
        case 0:
            return below(input.size());
        case 1:
            return input.size() - 1 - below(near);
        default:
            return below(near);
    }
}

void Mutator::step(Bytes& input, const std::vector<Bytes>& others) {
    if (input.empty()) input.push_back(static_cast<std::uint8_t>(below(256)));
    const std::size_t start = place(input);
    const std::size_t length =
        std::min<std::size_t>(1 + below(below(8) == 0 ? 4096 : 16), input.size() - start);
    const auto from = at(input, start), to = at(input, start + length);
    switch (below(9)) {
        case 0:
            *from = static_cast<std::uint8_t>(*from ^ (1U << below(8)));
            return;
        case 1:
            *from = static_cast<std::uint8_t>(below(256));
            return;
        case 2:
            return putNumber(input, start);
        case 3:
            if (input.size() > length) input.erase(from, to);
            return;
        case 4: {
            const Bytes copy(from, to);
            input.insert(from, copy.begin(), copy.end());
            return;
        }
        case 5:
            if (below(4) == 0) input.resize(start + 1);
            return;
        case 6:
            return putVarint(input, start);
        case 7:
            return putText(input, start);
        default:
            return splice(input, start, others);
    }
}

void Mutator::putNumber(Bytes& input, std::size_t start) {
    const std::uint64_t number = kEdges[below(std::size(kEdges))] + below(3) - 1;
    const std::size_t width = std::min<std::size_t>(std::size_t{1} << below(4), input.size() - start);
    std::memcpy(input.data() + start, &number, width);
}

/// Replaces the number at `start`, or a single byte if there is no number, by one of kTexts.
void Mutator::putText(Bytes& input, std::size_t start) {
    const auto isDigit = [](std::uint8_t letter) { return letter >= '0' && letter <= '9'; };
    auto end = std::find_if_not(at(input, start), input.end(), isDigit);
    if (end == at(input, start)) ++end;
    const std::string text = kTexts[below(std::size(kTexts))];
    const auto place = input.erase(at(input, start), end);
    input.insert(place, text.begin(), text.end());
}

/// Writes a number as protobuf writes sizes (varint).
void Mutator::putVarint(Bytes& input, std::size_t start) {
    std::uint64_t number = kEdges[below(std::size(kEdges))] + below(3) - 1;
    Bytes bytes;
    do {
        bytes.push_back(static_cast<std::uint8_t>((number & 0x7F) | (number > 0x7F ? 0x80 : 0)));
        number >>= 7;
    } while (number != 0);
    const auto place = input.erase(at(input, start));
    input.insert(place, bytes.begin(), bytes.end());
}

void Mutator::splice(Bytes& input, std::size_t start, const std::vector<Bytes>& others) {
    Bytes other = others[below(others.size())];
    if (other.empty()) return;
    const std::size_t from = place(other);
    const std::size_t length = std::min<std::size_t>(1 + below(256), other.size() - from);
    input.insert(at(input, start), at(other, from), at(other, from + length));
}

Input inputAt(std::uint64_t position, const Seeds& seeds) {
    const std::uint64_t count = seeds.inputs.size();
    const std::uint64_t seed = position % count, round = position / count;
    if (round == 0) return {seeds.inputs[seed], seeds.names[seed]};
    return {Mutator(seed + 1, round - 1).mutate(seeds.inputs[seed], seeds.inputs),
            seeds.names[seed] + " round " + std::to_string(round)};
}

}  // namespace mpm::fuzz
