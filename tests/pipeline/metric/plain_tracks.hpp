// A second implementation of the figures of tracks, from their definitions: tries all assignments.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "pipeline/metric/tracks.hpp"

namespace mpm::test {

using Pairs = std::vector<std::pair<int, int>>;

/// Assigns columns to rows. Returns the pairs with the largest sum of scores; all these scores are positive.
inline Pairs bestPairs(int rows, int columns, const std::function<double(int, int)>& score) {
    Pairs best, now;
    double bestSum = 0;
    std::vector<bool> used(static_cast<size_t>(columns));
    const std::function<void(int, double)> go = [&](int row, double sum) {
        if (row == rows) {
            if (sum > bestSum) bestSum = sum, best = now;
            return;
        }
        go(row + 1, sum);
        for (int column = 0; column < columns; ++column) {
            if (used[column] || score(row, column) <= 0) continue;
            used[column] = true;
            now.emplace_back(row, column);
            go(row + 1, sum + score(row, column));
            now.pop_back();
            used[column] = false;
        }
    };
    go(0, 0);
    return best;
}

inline double plainOverlap(const cv::Rect2d& a, const cv::Rect2d& b) {
    const double both = (a & b).area();
    return both <= 0 ? 0 : both / (a.area() + b.area() - both);
}

struct PlainTracks {
    pipeline::TrackFrames truth, tracks;
    int frames = 0;

    using Boxes = std::vector<pipeline::TrackBox>;
    static Boxes at(const pipeline::TrackFrames& all, int frame) {
        return all.count(frame) > 0 ? all.at(frame) : Boxes{};
    }
    static double countOf(const pipeline::TrackFrames& all, int64_t id) {
        double count = 0;
        for (const auto& [frame, boxes] : all)
            for (const auto& box : boxes)
                count += box.id == id;
        return count;
    }
    static double boxes(const pipeline::TrackFrames& all) {
        double count = 0;
        for (const auto& [frame, list] : all)
            count += double(list.size());
        return count;
    }

    /// Returns HOTA, DetA, AssA, LocA, DetRe, DetPr, AssRe and AssPr at a single threshold.
    std::vector<double> hota(double threshold) const {
        std::map<std::pair<int64_t, int64_t>, double> likeness, common;
        for (int f = 1; f <= frames; ++f) {
            const Boxes a = at(truth, f), b = at(tracks, f);
            for (const auto& x : a)
                for (const auto& y : b) {
                    double all = -plainOverlap(x.box, y.box);
                    for (const auto& other : a)
                        all += plainOverlap(other.box, y.box);
                    for (const auto& other : b)
                        all += plainOverlap(x.box, other.box);
                    if (all > 0) likeness[{x.id, y.id}] += plainOverlap(x.box, y.box) / all;
                }
        }
        double right = 0, place = 0;
        for (int f = 1; f <= frames; ++f) {
            const Boxes a = at(truth, f), b = at(tracks, f);
            const Pairs pairs = bestPairs(int(a.size()), int(b.size()), [&](int i, int j) {
                const double same = likeness[{a[i].id, b[j].id}];
                return same / (countOf(truth, a[i].id) + countOf(tracks, b[j].id) - same) *
                       plainOverlap(a[i].box, b[j].box);
            });
            for (const auto& [i, j] : pairs) {
                const double overlap = plainOverlap(a[i].box, b[j].box);
                if (overlap < threshold) continue;
                ++right, place += overlap, ++common[{a[i].id, b[j].id}];
            }
        }
        double ass = 0, assRe = 0, assPr = 0;
        for (const auto& [pair, n] : common) {
            const double x = countOf(truth, pair.first), y = countOf(tracks, pair.second);
            ass += n * n / (x + y - n), assRe += n * n / x, assPr += n * n / y;
        }
        const double all = boxes(truth), found = boxes(tracks);
        const auto over = [](double a, double b) { return b > 0 ? a / b : 0; };
        const double detA = over(right, all + found - right), assA = over(ass, right);
        return {std::sqrt(detA * assA),
                detA,
                assA,
                right > 0 ? place / right : 1,
                over(right, all),
                over(right, found),
                over(assRe, right),
                over(assPr, right)};
    }

    /// Returns MOTA, MOTP, and the numbers of switches, fragments, and mostly tracked, partly tracked and
    /// mostly lost objects.
    std::vector<double> clear() const {
        double right = 0, place = 0, switches = 0, fragments = 0;
        std::map<int64_t, int64_t> last, before;
        std::map<int64_t, double> tracked, pieces;
        for (int f = 1; f <= frames; ++f) {
            const Boxes a = at(truth, f), b = at(tracks, f);
            if (a.empty() || b.empty()) continue;
            const Pairs pairs = bestPairs(int(a.size()), int(b.size()), [&](int i, int j) {
                const double overlap = plainOverlap(a[i].box, b[j].box);
                const bool same = before.count(a[i].id) > 0 && before[a[i].id] == b[j].id;
                return overlap < .5 ? 0 : overlap + 1000 * same;
            });
            std::map<int64_t, int64_t> now;
            for (const auto& [i, j] : pairs) {
                const int64_t id = a[i].id, track = b[j].id;
                switches += last.count(id) > 0 && last[id] != track;
                pieces[id] += before.count(id) == 0;
                last[id] = now[id] = track;
                ++tracked[id], ++right, place += plainOverlap(a[i].box, b[j].box);
            }
            before = now;
        }
        double counts[3] = {};
        std::set<int64_t> ids;
        for (const auto& [frame, list] : truth)
            for (const auto& box : list)
                ids.insert(box.id);
        for (const int64_t id : ids) {
            const double share = tracked[id] / countOf(truth, id);
            ++counts[share > .8 ? 0 : share >= .2 ? 1 : 2];
            fragments += std::max(0., pieces[id] - 1);
        }
        const double wrong = boxes(tracks) - right;
        return {(right - wrong - switches) / std::max(1., boxes(truth)),
                place / std::max(1., right),
                switches,
                fragments,
                counts[0],
                counts[1],
                counts[2]};
    }

    /// Returns IDF1, IDP and IDR.
    std::vector<double> identities() const {
        std::map<std::pair<int64_t, int64_t>, double> common;
        std::set<int64_t> first, second;
        for (int f = 1; f <= frames; ++f)
            for (const auto& x : at(truth, f))
                for (const auto& y : at(tracks, f))
                    if (plainOverlap(x.box, y.box) >= .5)
                        ++common[{x.id, y.id}], first.insert(x.id), second.insert(y.id);
        const std::vector<int64_t> a(first.begin(), first.end()), b(second.begin(), second.end());
        const auto score = [&](int i, int j) { return common[{a[i], b[j]}]; };
        double right = 0;
        for (const auto& [i, j] : bestPairs(int(a.size()), int(b.size()), score))
            right += score(i, j);
        const double all = boxes(truth), found = boxes(tracks);
        return {2 * right / std::max(2., all + found), right / std::max(1., found),
                right / std::max(1., all)};
    }
};

}  // namespace mpm::test
