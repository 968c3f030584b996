#include "pipeline/tune/tune.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mpm::pipeline {

double TuneRow::worst() const {
    std::vector<double> sorted = agreements;
    std::sort(sorted.begin(), sorted.end());
    sorted.resize((sorted.size() + 9) / 10);
    return mean(sorted);
}

std::vector<double> TuneRow::meanTokens() const {
    std::vector<double> means = tokens;
    for (double& value : means)
        value /= static_cast<double>(std::max<size_t>(images(), 1));
    return means;
}

bool TuneRow::merged() const {
    return std::any_of(kept.begin(), kept.end(), [](double share) { return share < 1; });
}

namespace {

bool beats(const TuneRow& a, const TuneRow& b) {
    const double speedA = a.speed(), speedB = b.speed(), keepA = a.agreement(), keepB = b.agreement();
    return speedA >= speedB && keepA >= keepB && (speedA > speedB || keepA > keepB);
}

/// Returns the distance of a candidate from the goal, for sorting.
double distance(const TuneRow& row, const TuneGoal& goal) {
    constexpr double kLeast = 1e-4;
    if (goal.faster) return std::abs(std::log(std::max(row.speed(), kLeast) / *goal.faster));
    const double lost = std::max(1 - row.agreement(), 0.0) + kLeast, allowed = 1 - *goal.keep + kLeast;
    return std::abs(std::log(lost / allowed));
}

class Tuning {
public:
    Tuning(const TuneWork& work, const TuneGoal& goal, double limit, const Watcher& watcher)
        : m_work(work), m_goal(goal), m_limit(limit), m_watcher(watcher) {}

    TuneResult run(const std::vector<Method>& candidates, size_t images) {
        for (const Method& method : candidates) {
            m_alive.push_back(m_result.rows.size());
            m_result.rows.push_back({method, {}, {}, {}, {}});
        }
        const size_t stages[] = {std::max<size_t>(2, images / 8), std::max<size_t>(4, 3 * images / 8),
                                 images};
        m_total = plannedTrials(stages);
        size_t image = 0;
        bool whole = true;
        for (const size_t end : stages) {
            if (image > 0 && whole) halve();
            for (; whole && image < std::min(end, images); ++image)
                whole = measure(image);
        }
        m_result.complete = whole;
        choose();
        return std::move(m_result);
    }

private:
    bool over() {
        m_result.stopped = m_result.stopped || m_watcher.stopped();
        return m_result.stopped || m_work.seconds() + m_longest > m_limit;
    }

    /// Runs the candidates on an image. Also runs the model with all tokens before, between and after the
    /// candidates, so that a slow run or a machine that slows down does not affect the choice. Returns false
    /// if the time or the watcher ends the tuning during this image. In this case, keeps the results only if
    /// this is the first image.
    bool measure(size_t image) {
        std::vector<double> fulls;
        std::vector<std::pair<size_t, Trial>> trials;
        const bool whole = runAll(image, fulls, trials);
        if ((whole || image == 0) && !fulls.empty()) {
            const double full = std::max(quantile(fulls, 0.5), 1e-9);
            m_fulls.push_back(full);
            for (const auto& [row, trial] : trials)
                add(trial, full, m_result.rows[row]);
        }
        const auto fails = [this](size_t one) { return m_result.rows[one].images() == 0; };
        if (whole) m_alive.erase(std::remove_if(m_alive.begin(), m_alive.end(), fails), m_alive.end());
        return whole;
    }

    bool runAll(size_t image, std::vector<double>& fulls, std::vector<std::pair<size_t, Trial>>& trials) {
        constexpr size_t kInTurn = 3;
        for (size_t i = 0; i < m_alive.size(); ++i) {
            if ((i % kInTurn == 0 && !runFull(image, fulls)) || over()) return false;
            // Runs the candidates in another order for each image, and in reverse for every second image.
            // Uses the order of the table for the first image, because there may be no time for all
            // candidates.
            const size_t place = (image % 2 == 0 ? i : m_alive.size() - 1 - i) + image / 2;
            const size_t row = m_alive[place % m_alive.size()];
            if (const std::optional<Trial> trial = m_work.trial(m_result.rows[row].method, image))
                trials.emplace_back(row, *trial);
            m_watcher.report(++m_done, m_total);
        }
        runFull(image, fulls);
        return true;
    }

    bool runFull(size_t image, std::vector<double>& fulls) {
        if (over()) return false;
        fulls.push_back(m_work.full(image));
        m_longest = std::max(m_longest, fulls.back() / 1000);
        return true;
    }

    static void add(const Trial& trial, double full, TuneRow& row) {
        row.times.push_back(std::max(trial.ms, 1e-9) / full);
        row.agreements.push_back(trial.agreement);
        row.kept.push_back(trial.kept);
        row.tokens.resize(std::max(row.tokens.size(), trial.tokens.size()), 0);
        for (size_t k = 0; k < trial.tokens.size(); ++k)
            row.tokens[k] += trial.tokens[k];
    }

    static size_t keptOf(size_t alive) {
        return std::max<size_t>(std::min<size_t>(alive, 4), (alive + 1) / 2);
    }

    std::int64_t plannedTrials(const size_t (&stages)[3]) const {
        size_t alive = m_alive.size(), before = 0, trials = 0;
        for (const size_t end : stages) {
            trials += (end - std::min(before, end)) * alive;
            before = std::max(before, end);
            alive = keptOf(alive);
        }
        return static_cast<std::int64_t>(trials);
    }

    /// Keeps half of the candidates, but at least four. First keeps the candidates that no other candidate
    /// beats, then the candidates that only kept candidates beat, and so on. Of the last group, keeps the
    /// candidates nearest to the goal.
    void halve() {
        const size_t wanted = keptOf(m_alive.size());
        std::vector<size_t> left = m_alive, kept;
        while (kept.size() < wanted && !left.empty()) {
            std::vector<size_t> layer = unbeaten(left);
            std::stable_sort(layer.begin(), layer.end(), [this](size_t a, size_t b) {
                return distance(m_result.rows[a], m_goal) < distance(m_result.rows[b], m_goal);
            });
            layer.resize(std::min(layer.size(), wanted - kept.size()));
            kept.insert(kept.end(), layer.begin(), layer.end());
            for (const size_t one : layer)
                left.erase(std::find(left.begin(), left.end(), one));
            if (layer.empty()) break;
        }
        std::sort(kept.begin(), kept.end());
        m_alive = kept;
    }

    std::vector<size_t> unbeaten(const std::vector<size_t>& among) const {
        std::vector<size_t> best;
        for (const size_t one : among) {
            const bool beaten = std::any_of(among.begin(), among.end(), [&](size_t other) {
                return beats(m_result.rows[other], m_result.rows[one]);
            });
            if (!beaten) best.push_back(one);
        }
        return best;
    }

    void choose() {
        m_result.fullMs = m_fulls.empty() ? 0 : quantile(m_fulls, 0.5);
        const auto useless = [this](size_t one) {
            return m_result.rows[one].images() == 0 || !m_result.rows[one].merged();
        };
        m_alive.erase(std::remove_if(m_alive.begin(), m_alive.end(), useless), m_alive.end());
        m_result.front = unbeaten(m_alive);
        std::sort(m_result.front.begin(), m_result.front.end(),
                  [this](size_t a, size_t b) { return m_result.rows[a].speed() > m_result.rows[b].speed(); });
        for (const size_t one : m_result.front) {
            const TuneRow& row = m_result.rows[one];
            const bool reaches =
                m_goal.faster ? row.speed() >= *m_goal.faster : row.agreement() >= *m_goal.keep;
            if (!reaches || row.speed() <= 1) continue;
            if (!m_result.best || better(row, m_result.rows[*m_result.best])) m_result.best = one;
        }
        if (m_result.best) return;
        for (const size_t one : m_result.front) {
            const auto gap = [this](size_t k) { return distance(m_result.rows[k], m_goal); };
            if (!m_result.nearest || gap(one) < gap(*m_result.nearest)) m_result.nearest = one;
        }
    }

    bool better(const TuneRow& a, const TuneRow& b) const {
        return m_goal.faster ? a.agreement() > b.agreement() : a.speed() > b.speed();
    }

    const TuneWork& m_work;
    const TuneGoal& m_goal;
    const double m_limit;
    const Watcher& m_watcher;
    TuneResult m_result;
    std::vector<size_t> m_alive;
    std::vector<double> m_fulls;  ///< ms with all tokens, a median for each image
    double m_longest = 0;         ///< seconds of the longest forward
    std::int64_t m_done = 0, m_total = 0;
};

}  // namespace

TuneResult tune(const std::vector<Method>& candidates, size_t images, const TuneWork& work,
                const TuneGoal& goal, double limit, const Watcher& watcher) {
    return Tuning(work, goal, limit, watcher).run(candidates, images);
}

}  // namespace mpm::pipeline
