// A slot that passes the newest item to another thread. A newer item replaces an item that was not taken, so
// nothing queues up.
#pragma once

#include <mutex>
#include <optional>
#include <utility>

namespace mpm::gui {

template <typename T>
class Mailbox {
public:
    /// Returns whether the slot was empty. If so, the caller must signal the receiver.
    bool put(T item) {
        return put(std::move(item), [](const T&) {});
    }
    /// Calls `missed` with the previous item if it was not taken.
    template <class Missed>
    bool put(T item, const Missed& missed) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        const bool full = m_item.has_value();
        if (full) missed(*m_item);
        m_item = std::move(item);
        return !full;
    }

    std::optional<T> take() {
        const std::lock_guard<std::mutex> lock(m_mutex);
        return std::exchange(m_item, std::nullopt);
    }

private:
    std::mutex m_mutex;
    std::optional<T> m_item;
};

}  // namespace mpm::gui
