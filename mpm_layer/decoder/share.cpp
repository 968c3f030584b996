#include "mpm_layer/decoder/share.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mpm::decoder {

std::vector<float> policyScores(const float* policy, int superpatches) {
    std::vector<float> scores(superpatches);
    for (int i = 0; i < superpatches; ++i)
        scores[i] = policy[superpatches + i] - policy[i];
    return scores;
}

std::vector<int> sharedSuperpatches(std::vector<float> scores, int count) {
    for (float& score : scores)
        if (std::isnan(score)) score = -std::numeric_limits<float>::infinity();
    std::vector<int> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + count, order.end(),
                      [&](int a, int b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    order.resize(count);
    std::sort(order.begin(), order.end());
    return order;
}

std::vector<int> sharedMap(const std::vector<int>& shared, int rows, int columns) {
    const int across = columns / 2;
    std::vector<int> idOf(static_cast<size_t>(rows / 2) * across, -2);  // not shared
    for (int superpatch : shared)
        idOf[superpatch] = -1;  // shared, not seen yet
    std::vector<int> map;
    int next = 0;
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            int& id = idOf[static_cast<size_t>(row / 2) * across + column / 2];
            if (id == -1) id = next++;
            map.push_back(id == -2 ? next++ : id);
        }
    }
    return map;
}

}  // namespace mpm::decoder
