// The time merging saves, from the last few comparisons: a single frame is noisy on a busy machine.
#pragma once

#include <deque>
#include <vector>

#include "base/statistics.hpp"
#include "gui/engine/analysis.hpp"

namespace mpm::gui {

class SavedTime {
public:
    static constexpr std::size_t kKept = 9;

    void add(const Comparison& comparison) {
        m_last.push_back({comparison.savedMs, comparison.whole.prepareMs + comparison.whole.networkMs +
                                                  comparison.whole.labelsMs});
        if (m_last.size() > kKept) m_last.pop_front();
    }
    void clear() { m_last.clear(); }
    bool any() const { return !m_last.empty(); }
    int count() const { return static_cast<int>(m_last.size()); }

    double savedMs() const { return median(&Entry::saved); }
    /// Of the time all tokens take.
    double percent() const {
        const double whole = median(&Entry::whole);
        return whole > 0 ? 100 * savedMs() / whole : 0;
    }

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
};

}  // namespace mpm::gui
