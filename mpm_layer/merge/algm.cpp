// ALGM: an early block merges similar squares of 2x2 tokens. A later block merges by a bipartite matching,
// with a threshold that adapts to the image.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/loops.hpp"
#include "mpm_layer/merge/bipartite.hpp"
#include "mpm_layer/merge/registry.hpp"
#include "mpm_layer/merge/similarity.hpp"

namespace mpm {
namespace {

// A square of four tokens in raster order, and their mean similarity.
struct Window {
    int tokens[4];
    double similarity;
};

double meanSimilarity(const RowsView& rows, const int (&tokens)[4]) {
    double sum = 0;
    for (int a = 0; a < 4; ++a) {
        for (int b = a + 1; b < 4; ++b) {
            const float *x = rows.row(tokens[a]), *y = rows.row(tokens[b]);
            double xy = 0, xx = 0, yy = 0;
            for (int k = 0; k < rows.width; ++k) {
                xy += static_cast<double>(x[k]) * y[k];
                xx += static_cast<double>(x[k]) * x[k];
                yy += static_cast<double>(y[k]) * y[k];
            }
            const double norms = std::sqrt(xx) * std::sqrt(yy);
            sum += norms == 0 ? 0 : xy / norms;
        }
    }
    return std::isfinite(sum) ? sum / 6 : -2.0;
}

// Returns the squares, the most similar first. If the number of rows or columns is odd, the last row or
// column is in no square.
std::vector<Window> rankedWindows(const RowsView& rows, cv::Size grid) {
    const int across = grid.width / 2, down = grid.height / 2;
    std::vector<Window> windows(static_cast<size_t>(across) * down);
    parallelFor(down, [&](int y) {
        for (int x = 0; x < across; ++x) {
            const int corner = 2 * y * grid.width + 2 * x;
            Window& window = windows[static_cast<size_t>(y) * across + x];
            window = {{corner, corner + 1, corner + grid.width, corner + grid.width + 1}, 0};
            window.similarity = meanSimilarity(rows, window.tokens);
        }
    });
    std::stable_sort(windows.begin(), windows.end(),
                     [](const Window& a, const Window& b) { return a.similarity > b.similarity; });
    return windows;
}

// Numbers the clusters: first merged squares, in the order of `windows`; then single tokens, ascending.
MergeMap joinWindows(const std::vector<Window>& windows, int merged, int tokens) {
    MergeMap map;
    map.ids.assign(tokens, -1);
    for (int w = 0; w < merged; ++w) {
        for (int token : windows[w].tokens)
            map.ids[token] = map.clusters;
        ++map.clusters;
    }
    for (int& id : map.ids) {
        if (id < 0) id = map.clusters++;
    }
    return map;
}

class Algm : public Reducer {
public:
    Algm(double threshold, bool perBatch) : m_threshold(threshold), m_perBatch(perBatch) {}

    Moment moment() const override { return Moment::AfterAttention; }
    Mean mean() const override { return Mean::Weighted; }
    std::vector<int> ownSchedule(int blocks) const override {
        return blocks < 5 ? std::vector<int>{0} : std::vector<int>{0, blocks >= 24 ? 6 : 4};
    }

    std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const override {
        return batch.front().stage == 0 ? mergeWindows(batch) : mergeMatches(batch);
    }

private:
    // If m_perBatch, uses the lowest count of all images for the whole batch, as the authors' program does.
    void levelOut(std::vector<int>& counts) const {
        if (m_perBatch)
            std::fill(counts.begin(), counts.end(), *std::min_element(counts.begin(), counts.end()));
    }

    std::vector<MergeMap> mergeWindows(const std::vector<StageContext>& batch) const {
        std::vector<std::vector<Window>> windows;
        std::vector<int> counts;
        for (const StageContext& image : batch) {
            const bool raster = image.grid.area() == image.tokens.count;
            if (!raster) {
                CV_Error(cv::Error::StsBadArg,
                         "mpm: method algm needs the grid of image tokens; the model does not record it "
                         "(convert it again, or use another method)");
            }
            windows.push_back(rankedWindows(image.tokens, image.grid));
            counts.push_back(static_cast<int>(
                std::count_if(windows.back().begin(), windows.back().end(),
                              [&](const Window& w) { return w.similarity >= m_threshold; })));
        }
        levelOut(counts);
        std::vector<MergeMap> maps;
        for (size_t i = 0; i < batch.size(); ++i)
            maps.push_back(joinWindows(windows[i], counts[i], batch[i].tokens.count));
        return maps;
    }

    std::vector<MergeMap> mergeMatches(const std::vector<StageContext>& batch) const {
        std::vector<Matching> matchings;
        std::vector<double> means, deviations;
        for (const StageContext& image : batch) {
            matchings.push_back(matchAlternating(image.tokens, image.special));
            const std::vector<double> cosines = cosinesOf(matchings.back());
            means.push_back(meanOf(cosines));
            deviations.push_back(deviationOf(cosines, means.back()));
        }
        if (m_perBatch) {
            std::fill(means.begin(), means.end(), meanOf(means));
            std::fill(deviations.begin(), deviations.end(), meanOf(deviations));
        }
        std::vector<int> counts;
        for (size_t i = 0; i < batch.size(); ++i) {
            const double least = means[i] + deviations[i] / (batch[i].block + 1);
            const std::vector<double>& s = matchings[i].similarity;
            counts.push_back(
                static_cast<int>(std::count_if(s.begin(), s.end(), [&](double v) { return v >= least; })));
        }
        levelOut(counts);
        std::vector<MergeMap> maps;
        for (size_t i = 0; i < batch.size(); ++i)
            maps.push_back(matchings[i].join(counts[i]));
        return maps;
    }

    /// Returns the cosines of sources that have a match. A source that is not finite has no match.
    static std::vector<double> cosinesOf(const Matching& matching) {
        std::vector<double> cosines;
        for (size_t i = 0; i < matching.similarity.size(); ++i)
            if (matching.target[i] >= 0) cosines.push_back(matching.similarity[i]);
        return cosines;
    }

    static double meanOf(const std::vector<double>& values) {
        return std::accumulate(values.begin(), values.end(), 0.0) / std::max<size_t>(values.size(), 1);
    }

    static double deviationOf(const std::vector<double>& values, double mean) {
        double sum = 0;
        for (double v : values)
            sum += (v - mean) * (v - mean);
        return values.size() < 2 ? 0 : std::sqrt(sum / static_cast<double>(values.size() - 1));
    }

    double m_threshold;
    bool m_perBatch;
};

}  // namespace

ReducerEntry algmEntry() {
    return {
        "algm",
        "Adaptive Local-then-Global Merging: similar 2x2 windows, later similar pairs",
        {Parameter::number("tau", 0.88, -1, 1), Parameter::word("batch", {"each", "least"})},
        [](const Arguments& a) { return std::make_shared<Algm>(a.number("tau"), a.is("batch", "least")); },
        // Compares every even token with every odd token. The cost of the first stage is negligible.
        [](const Arguments&, const MatchingSize& size) {
            const double half = size.tokens / 2;
            return 2 * half * half * size.width;
        }};
}

}  // namespace mpm
