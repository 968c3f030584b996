// The most recently used values by key; a value is created when its key is used for the second time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <utility>

namespace mpm::cuda {

/// The first use of a key only registers it; the second creates the value, later uses find the value.
template <class Key, class Value>
class Recent {
public:
    explicit Recent(size_t most) : m_most(most) {}

    /// Null if the key is new: it is registered, and the least recently used key is removed if there are too
    /// many.
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
