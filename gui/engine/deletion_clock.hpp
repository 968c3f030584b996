// A check of the wall clock before old data are deleted. After the clock jumps ahead, all data seem old, but
// the clock may be wrong. So the clock is trusted only after it has been ahead for a day.
#pragma once

#include <chrono>
#include <optional>

namespace mpm::gui {

class DeletionClock {
public:
    using Steady = std::chrono::steady_clock::time_point;
    using Millis = std::chrono::milliseconds;
    static constexpr std::chrono::hours kDoubt{24};

    /// `newest`: time of the newest data that an earlier run stored.
    explicit DeletionClock(std::optional<Millis> newest, Steady time = std::chrono::steady_clock::now()) {
        if (newest) m_trusted = Mark{*newest, time};
    }

    bool trusts(Millis clock, Steady time) {
        const Mark now{clock, time};
        if (m_trusted && now.isAheadOf(*m_trusted)) {
            if (!m_doubted || now.isAheadOf(*m_doubted)) m_doubted = now;
            if (time - m_doubted->time < kDoubt) return false;
        }
        m_trusted = now;
        m_doubted.reset();
        return true;
    }

private:
    /// The times of the wall clock and of the steady clock at the same moment.
    struct Mark {
        Millis clock;
        Steady time;
        bool isAheadOf(const Mark& other) const { return clock - other.clock > time - other.time + kDoubt; }
    };
    std::optional<Mark> m_trusted, m_doubted;
};

}  // namespace mpm::gui
