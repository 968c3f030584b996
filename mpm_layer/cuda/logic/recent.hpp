// Values kept by key, the ones used last: what a shape's second meeting makes, its third finds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <utility>

namespace mpm::cuda {

/// A key is announced when it is met first; its value is made at the second meeting, and found from then on.
template <class Key, class Value>
class Recent {
public:
    explicit Recent(size_t most) : m_most(most) {}

    /// Null where the key is new: it is known from now on, and the longest unused one is forgotten for it.
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
