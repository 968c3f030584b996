// The time that merging or reuse saves. The values are medians of the newest comparisons, because the times
// of a single frame vary a lot on a busy machine.
#pragma once

#include <deque>
#include <vector>

#include "base/statistics.hpp"
#include "gui/engine/analysis.hpp"

namespace mpm::gui {

class SavedTime {
public:
    static constexpr std::size_t kKept = 9;

    /// If the newest comparison is older than kFresh, the values are stale: the machine's load may differ.
    static constexpr std::chrono::seconds kFresh{5};

    /// Adds a comparison. If the conditions have changed, drops the earlier comparisons first.
    void add(const Comparison& comparison) {
        if (!isOf(*comparison.analysis)) m_last.clear();
        m_of = conditionsOf(*comparison.analysis);
        m_last.push_back({comparison.savedMs, comparison.whole.totalMs()});
        m_newest = Steady::now();
        if (m_last.size() > kKept) m_last.pop_front();
    }
    void clear() { m_last.clear(); }
    bool any() const { return !m_last.empty(); }
    bool isOf(const Analysis& analysis) const { return any() && m_of == conditionsOf(analysis); }
    int count() const { return static_cast<int>(m_last.size()); }

    bool stale() const { return !any() || Steady::now() - m_newest > kFresh; }

    /// The next functions use the same frames. wholeMs() and savedMs() return medians, mergedMs() returns the
    /// difference of the two medians.
    double wholeMs() const { return median(&Entry::whole); }
    double mergedMs() const { return wholeMs() - savedMs(); }
    double savedMs() const { return median(&Entry::saved); }
    /// Returns the saved time, in percent of the time with all tokens.
    double percent() const {
        const double whole = median(&Entry::whole);
        return whole > 0 ? 100 * savedMs() / whole : 0;
    }
    /// Returns the speed, as a multiple of the speed with all tokens.
    double speedUp() const { return mergedMs() > 0 ? wholeMs() / mergedMs() : 0; }

private:
    struct Entry {
        double saved, whole;
    };
    double median(double Entry::*of) const {
        if (m_last.empty()) return 0;
        std::vector<double> values;
        for (const Entry& entry : m_last)
            values.push_back(entry.*of);
        return quantile(std::move(values), 0.5);
    }

    std::deque<Entry> m_last;
    Conditions m_of;
    Steady::time_point m_newest;
};

}  // namespace mpm::gui
