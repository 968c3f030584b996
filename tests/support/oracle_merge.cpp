#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/oracle.hpp"

namespace mpm::test {
namespace {

bool isFinite(const std::vector<double>& row) {
    return std::all_of(row.begin(), row.end(), [](double v) { return std::isfinite(v); });
}

double norm(const std::vector<double>& row) {
    double sum = 0;
    for (double v : row)
        sum += v * v;
    return std::sqrt(sum);
}

}  // namespace

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
    const double na = norm(a), nb = norm(b);
    return na == 0 || nb == 0 ? 0 : std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / (na * nb);
}

OracleMerge oracleMerge(const Rows& tokens) {
    const int n = static_cast<int>(tokens.size());
    OracleMerge result;
    result.nearest.assign(n, -1);
    result.margin.assign(n, std::numeric_limits<double>::infinity());
    for (int i = 0; i < n; ++i) {
        if (!isFinite(tokens[i])) continue;
        double best = -2, second = -2;
        for (int j = 0; j < n; ++j) {
            if (j == i || !isFinite(tokens[j])) continue;
            const double s = cosine(tokens[i], tokens[j]);
            if (s > best) {
                second = best;
                best = s;
                result.nearest[i] = j;
            } else {
                second = std::max(second, s);
            }
        }
        if (second > -2) result.margin[i] = best - second;
    }
    result.map.assign(n, -1);
    for (int i = 0; i < n; ++i) {
        const int j = result.nearest[i];
        const bool paired = j >= 0 && result.nearest[j] == i;
        result.map[i] = paired && j < i ? result.map[j] : result.clusters++;
    }
    return result;
}

std::vector<int> partners(const std::vector<int>& map) {
    std::map<int, std::vector<int>> members;
    for (size_t i = 0; i < map.size(); ++i)
        members[map[i]].push_back(static_cast<int>(i));
    std::vector<int> partner(map.size());
    for (const auto& [id, list] : members) {
        for (size_t m = 0; m < list.size(); ++m)
            partner[list[m]] = list[(m + 1) % list.size()];
    }
    return partner;
}

Rows oracleMean(const Rows& tokens, const std::vector<int>& map, int clusters) {
    Rows mean(clusters, std::vector<double>(tokens.empty() ? 0 : tokens[0].size(), 0.0));
    std::vector<int> members(clusters, 0);
    for (size_t i = 0; i < map.size(); ++i) {
        ++members[map[i]];
        for (size_t k = 0; k < tokens[i].size(); ++k)
            mean[map[i]][k] += tokens[i][k];
    }
    for (int c = 0; c < clusters; ++c) {
        for (double& v : mean[c])
            v /= members[c];
    }
    return mean;
}

}  // namespace mpm::test
