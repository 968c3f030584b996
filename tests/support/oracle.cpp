#include "support/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/oracle_block.hpp"

namespace mpm::test {
namespace {

// Merges the image tokens of x by the map. x has `special` tokens before the image tokens, and may have
// trailing tokens after the image tokens.
std::vector<OracleToken> mergeTokens(const std::vector<OracleToken>& x, int special,
                                     const std::vector<int>& map, int clusters) {
    std::vector<OracleToken> out(x.begin(), x.begin() + special);
    for (int c = 0; c < clusters; ++c) {
        OracleToken mean{std::vector<double>(x[0].value.size(), 0.0), -1, 0, 0};
        int members = 0;
        for (size_t i = 0; i < map.size(); ++i) {
            if (map[i] != c) continue;
            const OracleToken& member = x[special + i];
            mean.position = members++ == 0 ? member.position : std::min(mean.position, member.position);
            for (size_t k = 0; k < mean.value.size(); ++k)
                mean.value[k] += member.value[k];
            mean.bias += member.bias * member.stands;
            mean.stands += member.stands;
        }
        for (double& v : mean.value)
            v /= members;
        mean.bias /= mean.stands;
        out.push_back(mean);
    }
    out.insert(out.end(), x.begin() + special + map.size(), x.end());
    return out;
}

int clustersOf(const std::vector<int>& map) {
    return map.empty() ? 0 : *std::max_element(map.begin(), map.end()) + 1;
}

// The tokens of an image between two blocks, and the row of each input token.
class Walk {
public:
    Walk(const EncoderConfig& config, const Rows& tokens, const std::vector<double>& keyBias)
        : m_special(config.specialTokens), m_trailing(config.trailingTokens) {
        const int count = static_cast<int>(tokens.size()), end = count - m_trailing;
        for (int t = 0; t < count; ++t) {
            const bool image = t >= m_special && t < end;
            x.push_back({tokens[t], image ? t - m_special : -1, keyBias.empty() ? 0.0 : keyBias[t]});
            if (image) composed.push_back(t - m_special);
        }
    }

    void merge(const std::vector<int>& map) {
        x = mergeTokens(x, m_special, map, clustersOf(map));
        for (int& id : composed)
            id = map[id];
    }

    Rows imageRows() const {
        Rows rows;
        for (size_t t = m_special; t + m_trailing < x.size(); ++t)
            rows.push_back(x[t].value);
        return rows;
    }

    // Returns the row of input token `t`.
    size_t placeOf(size_t t) const {
        if (t < static_cast<size_t>(m_special)) return t;
        t -= m_special;
        if (t < composed.size()) return m_special + composed[t];
        return x.size() - m_trailing + (t - composed.size());
    }

    void inject(const Rows& rows) {
        std::vector<int> members(x.size(), 0);
        for (size_t t = 0; t < rows.size(); ++t)
            ++members[placeOf(t)];
        for (size_t t = 0; t < rows.size(); ++t) {
            for (size_t k = 0; k < rows[t].size(); ++k)
                x[placeOf(t)].value[k] += rows[t][k] / members[placeOf(t)];
        }
    }

    size_t tokens() const { return m_special + composed.size() + m_trailing; }

    std::vector<OracleToken> x;
    std::vector<int> composed;

private:
    int m_special, m_trailing;
};

}  // namespace

double activate(double x, kernels::Activation activation) {
    using kernels::Activation;
    switch (activation) {
        case Activation::Gelu:
            return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
        case Activation::GeluTanh:
            return 0.5 * x * (1 + std::tanh(std::sqrt(2 / CV_PI) * (x + 0.044715 * x * x * x)));
        case Activation::GeluQuick:
            return x / (1 + std::exp(-1.702 * x));
        case Activation::Silu:
            return x / (1 + std::exp(-x));
        case Activation::Relu:
            return std::max(x, 0.0);
        case Activation::None:
            break;
    }
    return x;
}

Rows toRows(const cv::Mat& matrix) {
    Rows rows;
    for (int r = 0; r < matrix.rows; ++r)
        rows.emplace_back(matrix.ptr<float>(r), matrix.ptr<float>(r) + matrix.cols);
    return rows;
}

cv::Mat toMatrix(const Rows& rows, int columns) {
    cv::Mat matrix(static_cast<int>(rows.size()), columns, CV_32F);
    for (int r = 0; r < matrix.rows; ++r)
        std::copy(rows[r].begin(), rows[r].end(), matrix.ptr<float>(r));
    return matrix;
}

OracleOutput oracleEncoder(const EncoderConfig& config, const NamedWeights& weights, const Rows& tokens,
                           const std::vector<double>& keyBias,
                           const std::map<int, std::vector<int>>& imposed) {
    OracleGiven given;
    given.imposed = imposed;
    return oracleEncoder(config, weights, tokens, keyBias, given);
}

OracleOutput oracleEncoder(const EncoderConfig& config, const NamedWeights& weights, const Rows& tokens,
                           const std::vector<double>& keyBias, const OracleGiven& given) {
    const OracleBlocks encoder(config, weights);
    Walk walk(config, tokens, keyBias);
    OracleOutput output;
    if (!given.entry.empty()) walk.merge(given.entry);
    for (int b = config.firstBlock; b <= config.lastBlock(); ++b) {
        const auto injected = given.injected.find(b);
        if (injected != given.injected.end()) walk.inject(injected->second);
        const auto scheduled = std::find(config.schedule.begin(), config.schedule.end(), b);
        if (scheduled != config.schedule.end()) {
            const OracleMerge merge = oracleMerge(walk.imageRows());
            const auto imposed = given.imposed.find(static_cast<int>(scheduled - config.schedule.begin()));
            const std::vector<int>& map = imposed != given.imposed.end() ? imposed->second : merge.map;
            output.stageMaps.push_back(map);
            output.freeMaps.push_back(merge.map);
            double smallest = std::numeric_limits<double>::infinity();
            for (double margin : merge.margin)
                smallest = std::min(smallest, margin);
            output.smallestMargins.push_back(smallest);
            walk.merge(map);
        }
        walk.x = encoder.block(b, walk.x);
        const auto tap = std::find(config.taps.begin(), config.taps.end(), b);
        if (tap == config.taps.end()) continue;
        const bool normed = config.tapNorm[tap - config.taps.begin()] != 0;
        Rows restored;
        for (size_t t = 0; t < walk.tokens(); ++t) {
            const std::vector<double>& from = walk.x[walk.placeOf(t)].value;
            restored.push_back(normed ? encoder.finalNorm(from) : from);
        }
        output.taps.push_back(restored);
    }
    return output;
}

}  // namespace mpm::test
