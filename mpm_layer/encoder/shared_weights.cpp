#include "mpm_layer/encoder/shared_weights.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace mpm {
namespace {

// A digest of 128 bits from two independent hashes. In practice, different weights never have equal digests.
class Digest {
public:
    void add(const void* data, size_t bytes) {
        const auto* from = static_cast<const unsigned char*>(data);
        for (; bytes >= sizeof(std::uint64_t);
             from += sizeof(std::uint64_t), bytes -= sizeof(std::uint64_t)) {
            std::uint64_t word;
            std::memcpy(&word, from, sizeof word);
            mix(word);
        }
        std::uint64_t tail = bytes;
        std::memcpy(reinterpret_cast<unsigned char*>(&tail) + 1, from, bytes);
        mix(tail);
    }
    void add(const std::string& text) { add(text.data(), text.size()); }

    std::pair<std::uint64_t, std::uint64_t> value() const { return {m_first, m_second}; }

private:
    void mix(std::uint64_t word) {
        m_first = (m_first ^ word) * 0x9E3779B97F4A7C15u;
        m_first ^= m_first >> 29;
        m_second = (m_second + word) * 0xD6E8FEB86659FD93u;
        m_second ^= m_second >> 32;
    }

    std::uint64_t m_first = 0x243F6A8885A308D3u, m_second = 0x13198A2E03707344u;
};

// Computes a digest of everything that packing reads. Schedule, taps and special tokens do not affect packed
// weights.
Digest digestOf(const Backend& backend, int deviceIndex, const EncoderConfig& config,
                const NamedWeights& weights, Precision precision) {
    Digest digest;
    const int numbers[] = {static_cast<int>(backend.device()),
                           deviceIndex,
                           static_cast<int>(precision),
                           config.blocks,
                           config.firstBlock,
                           config.heads,
                           config.dim,
                           config.int8,
                           config.int8From,
                           static_cast<int>(config.activation),
                           static_cast<int>(config.rotary),
                           static_cast<int>(config.norm.kind),
                           static_cast<int>(config.innerNorm.kind)};
    digest.add(numbers, sizeof numbers);
    const float values[] = {config.scale, config.norm.epsilon, config.innerNorm.epsilon};
    digest.add(values, sizeof values);
    for (const auto& [name, value] : weights.all()) {
        digest.add(name);
        digest.add(value.size.p, value.dims * sizeof(int));
        digest.add(value.data, value.total() * value.elemSize());
    }
    return digest;
}

}  // namespace

std::shared_ptr<const PackedEncoder> packShared(const Backend& backend, int deviceIndex,
                                                const EncoderConfig& config, const NamedWeights& weights,
                                                Precision precision) {
    static std::mutex guard;
    static std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<const PackedEncoder>> known;
    const auto key = digestOf(backend, deviceIndex, config, weights, precision).value();
    const std::lock_guard<std::mutex> lock(guard);
    std::shared_ptr<const PackedEncoder> packed = known[key].lock();
    if (packed) return packed;
    for (auto it = known.begin(); it != known.end();)
        it = it->second.expired() ? known.erase(it) : std::next(it);
    packed = backend.pack(config, weights, precision);
    known[key] = packed;
    return packed;
}

}  // namespace mpm
