// Mutual pairs among neighbours only, for images with too many tokens to compare all of them.

#include <algorithm>

#include "base/loops.hpp"
#include "mpm_layer/kernels/tokens/nearest.hpp"
#include "mpm_layer/merge/mutual_pairs.hpp"
#include "mpm_layer/merge/nearest.hpp"
#include "mpm_layer/merge/registry.hpp"
#include "mpm_layer/merge/similarity.hpp"

namespace mpm {
namespace {

// Returns, for each row, the position of the row's representative (its first image token) in the grid.
std::vector<cv::Point> placesOf(const StageContext& image) {
    const int tokens = image.composed ? image.composed->tokens() : image.tokens.count;
    if (image.grid.area() != tokens) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: method local needs the grid of image tokens; the model does not record it "
                 "(convert it again, or use another method)");
    }
    std::vector<cv::Point> places(image.tokens.count, {-1, -1});
    for (int i = 0; i < tokens; ++i) {
        cv::Point& place = places[image.composed ? image.composed->ids[i] : i];
        if (place.x < 0) place = {i % image.grid.width, i / image.grid.width};
    }
    return places;
}

// The rows in each line of the grid, sorted from left to right.
class Lines {
public:
    Lines(const std::vector<cv::Point>& places, const UnitRows& rows, cv::Size grid)
        : m_places(places), m_rows(rows), m_lines(grid.height) {
        for (int i = 0; i < rows.count(); ++i)
            m_lines[placeOf(i).y].push_back(i);
        for (std::vector<int>& line : m_lines)
            std::stable_sort(line.begin(), line.end(),
                             [&](int a, int b) { return placeOf(a).x < placeOf(b).x; });
    }

    const cv::Point& placeOf(int row) const { return m_places[m_rows.original(row)]; }

    // Finds all other rows that are at most `window` lines and columns away. The result is ascending, so
    // that the lowest index wins ties.
    void around(int row, int window, std::vector<int>& found) const {
        const cv::Point at = placeOf(row);
        const int last = std::min(static_cast<int>(m_lines.size()) - 1, at.y + window);
        found.clear();
        for (int y = std::max(0, at.y - window); y <= last; ++y) {
            const auto left = std::lower_bound(m_lines[y].begin(), m_lines[y].end(), at.x - window,
                                               [&](int r, int x) { return placeOf(r).x < x; });
            for (auto r = left; r != m_lines[y].end() && placeOf(*r).x <= at.x + window; ++r)
                if (*r != row) found.push_back(*r);
        }
        std::sort(found.begin(), found.end());
    }

private:
    const std::vector<cv::Point>& m_places;
    const UnitRows& m_rows;
    std::vector<std::vector<int>> m_lines;
};

class LocalPairs : public Reducer {
public:
    explicit LocalPairs(int window) : m_window(window) {}

    std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const override {
        std::vector<MergeMap> maps;
        for (const StageContext& image : batch) {
            const std::vector<cv::Point> places = placesOf(image);
            const bool covers = m_window >= std::max(image.grid.width, image.grid.height) - 1;
            maps.push_back(
                pairUp(covers ? nearestNeighbours({image.tokens}).front() : nearest(image, places)));
        }
        return maps;
    }

private:
    std::vector<int> nearest(const StageContext& image, const std::vector<cv::Point>& places) const {
        const UnitRows rows(image.tokens);
        const Lines lines(places, rows, image.grid);
        std::vector<int> best(image.tokens.count, -1);
        parallelRanges(rows.count(), [&](const cv::Range& range) {
            std::vector<int> found;
            for (int i = range.start; i < range.end; ++i) {
                lines.around(i, m_window, found);
                float value = 0;
                const int partner = kernels::nearestCandidate(
                    rows.rows() + i * rows.stride(), rows.rows(), rows.stride(), found.data(),
                    static_cast<int>(found.size()), image.tokens.width, value);
                if (partner >= 0) best[rows.original(i)] = rows.original(partner);
            }
        });
        return best;
    }

    int m_window;
};

}  // namespace

ReducerEntry localPairsEntry() {
    return {"local",
            "mutual pairs among tokens at most `window` rows and columns apart",
            {Parameter::integer("window", 8, 1, 100000)},
            [](const Arguments& a) { return std::make_shared<LocalPairs>(a.integer("window")); },
            // An upper limit: at the border of the image, and after a merge, tokens have fewer neighbours.
            [](const Arguments& a, const MatchingSize& size) {
                const double side = 2.0 * a.integer("window") + 1;
                return size.tokens * std::min(size.tokens - 1, side * side - 1) * size.width;
            }};
}

}  // namespace mpm
