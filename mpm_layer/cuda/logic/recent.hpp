// A map that keeps only the most recently used keys, with their values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <utility>

namespace mpm::cuda {

/// Maps keys to values. The first use of a key only registers the key. Later uses return the key's value,
/// which is empty until the caller fills it.
template <class Key, class Value>
class Recent {
public:
    explicit Recent(size_t most) : m_most(most) {}

    /// Returns the value of a key. If the key is new, registers it, removes the least recently used key if
    /// there are too many, and returns null.
    Value* meet(const Key& key) {
        const auto found =
            std::find_if(m_entries.begin(), m_entries.end(), [&](const auto& e) { return e.first == key; });
        if (found != m_entries.end()) {
            m_entries.splice(m_entries.begin(), m_entries, found);
            return &found->second;
        }
        m_entries.emplace_front(key, Value{});
        if (m_entries.size() > m_most) m_entries.pop_back();
        return nullptr;
    }

    void clear() { m_entries.clear(); }
    size_t size() const { return m_entries.size(); }

private:
    size_t m_most;
    std::list<std::pair<Key, Value>> m_entries;
};

}  // namespace mpm::cuda
