// Baselines that do not read the tokens: pairs drawn at random, and pooling of the grid.

#include <algorithm>
#include <numeric>

#include "mpm_layer/merge/registry.hpp"

namespace mpm {
namespace {

double noCost(const Arguments&, const MatchingSize&) {
    return 0;
}

class RandomPairs : public Reducer {
public:
    RandomPairs(double keep, int seed) : m_keep(keep), m_seed(seed) {}

    std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const override {
        std::vector<MergeMap> maps;
        for (const StageContext& image : batch) {
            cv::RNG random(uint64_t{1000003} + static_cast<unsigned>(m_seed) * 1009 + image.stage);
            maps.push_back(pairUp(image.tokens.count, random));
        }
        return maps;
    }

private:
    MergeMap pairUp(int tokens, cv::RNG& random) const {
        std::vector<int> order(tokens), first(tokens);
        std::iota(order.begin(), order.end(), 0);
        for (int i = tokens - 1; i > 0; --i)
            std::swap(order[i], order[random.uniform(0, i + 1)]);
        std::iota(first.begin(), first.end(), 0);
        const int pairs = std::min(static_cast<int>((1 - m_keep) * tokens + 0.5), tokens / 2);
        for (int p = 0; p < pairs; ++p) {
            const auto [low, high] = std::minmax(order[2 * p], order[2 * p + 1]);
            first[high] = low;
        }
        MergeMap map;
        map.ids.resize(tokens);
        for (int i = 0; i < tokens; ++i)
            map.ids[i] = first[i] == i ? map.clusters++ : map.ids[first[i]];
        return map;
    }

    double m_keep;
    int m_seed;
};

// The first stage pools squares of the grid. Later stages merge nothing: their rows no longer form the grid.
class GridPooling : public Reducer {
public:
    explicit GridPooling(int size) : m_size(size) {}

    std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const override {
        std::vector<MergeMap> maps;
        for (const StageContext& image : batch) {
            if (image.stage > 0) {
                maps.push_back(identityMap(image.tokens.count));
                continue;
            }
            if (image.grid.area() != image.tokens.count) {
                CV_Error(cv::Error::StsBadArg,
                         "mpm: method grid needs the grid of image tokens; the model does not record it");
            }
            const int across = (image.grid.width + m_size - 1) / m_size,
                      down = (image.grid.height + m_size - 1) / m_size;
            MergeMap map;
            map.clusters = across * down;
            for (int i = 0; i < image.tokens.count; ++i) {
                const int y = i / image.grid.width, x = i % image.grid.width;
                map.ids.push_back(y / m_size * across + x / m_size);
            }
            maps.push_back(map);
        }
        return maps;
    }

private:
    int m_size;
};

}  // namespace

ReducerEntry randomPairsEntry() {
    return {
        "random",
        "pairs drawn at random, a baseline",
        {Parameter::number("keep", 0.75, 0.5, 1), Parameter::integer("seed", 0, 0, 1 << 30)},
        [](const Arguments& a) { return std::make_shared<RandomPairs>(a.number("keep"), a.integer("seed")); },
        noCost};
}

ReducerEntry gridPoolingEntry() {
    return {"grid",
            "squares of the grid, a baseline",
            {Parameter::integer("size", 2, 1, 1024)},
            [](const Arguments& a) { return std::make_shared<GridPooling>(a.integer("size")); },
            noCost};
}

}  // namespace mpm
