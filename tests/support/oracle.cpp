#include "support/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mpm::test {
namespace {

std::vector<double> vectorOf(const NamedWeights& weights, const std::string& name) {
    if (!weights.has(name)) return {};
    const cv::Mat& m = weights.raw(name);
    return std::vector<double>(m.ptr<float>(), m.ptr<float>() + m.total());
}

std::vector<double> linear(const NamedWeights& weights, const std::string& name,
                           const std::vector<double>& x) {
    const cv::Mat& w = weights.raw(name + ".weight");
    std::vector<double> y = vectorOf(weights, name + ".bias");
    y.resize(w.size[1], 0.0);
    for (size_t k = 0; k < x.size(); ++k) {
        const float* row = w.ptr<float>(static_cast<int>(k));
        for (int n = 0; n < w.size[1]; ++n)
            y[n] += x[k] * row[n];
    }
    return y;
}

std::vector<double> normed(const NamedWeights& weights, const std::string& name, std::vector<double> x,
                           const NormRule& rule) {
    const std::vector<double> scale = vectorOf(weights, name + ".weight"),
                              shift = vectorOf(weights, name + ".bias");
    if (scale.empty() && shift.empty()) return x;
    const double centre = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
    const double mean = rule.kind == NormKind::Rms ? 0 : centre;
    double variance = 0;
    for (double v : x)
        variance += (v - mean) * (v - mean);
    variance /= static_cast<double>(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = (x[i] - mean) / std::sqrt(variance + rule.epsilon);
        if (!scale.empty()) x[i] *= scale[i];
        if (!shift.empty()) x[i] += shift[i];
    }
    return x;
}

// A token between blocks: value, raster position of the representative, bias as a key (the mean over the
// tokens of the cluster) and number of these tokens.
struct Token {
    std::vector<double> value;
    int position;
    double bias;
    int stands = 1;
};

class Encoder {
public:
    Encoder(const EncoderConfig& config, const NamedWeights& weights)
        : m_config(config), m_weights(weights) {}

    std::vector<Token> block(int number, std::vector<Token> x) const {
        const std::string prefix = std::to_string(number) + ".";
        const Rows attended = attention(prefix, x);
        for (size_t t = 0; t < x.size(); ++t) {
            const std::vector<double> before = x[t].value;
            add(x[t].value, attended[t], prefix + "ls1");
            add(x[t].value, mlp(prefix, m_config.parallel ? before : x[t].value), prefix + "ls2");
        }
        return x;
    }

    std::vector<double> finalNorm(const std::vector<double>& x) const {
        return normed(m_weights, "norm", x, m_config.finalNorm);
    }

private:
    void add(std::vector<double>& x, const std::vector<double>& y, const std::string& scaleName) const {
        const std::vector<double> scale = vectorOf(m_weights, scaleName);
        for (size_t i = 0; i < x.size(); ++i)
            x[i] += scale.empty() ? y[i] : scale[i] * y[i];
    }

    std::vector<double> mlp(const std::string& prefix, const std::vector<double>& x) const {
        const std::vector<double> y = normed(m_weights, prefix + "norm2", x, m_config.norm);
        std::vector<double> h = linear(m_weights, prefix + "fc1", y);
        if (m_weights.has(prefix + "gate.weight")) {
            const std::vector<double> gate = linear(m_weights, prefix + "gate", y);
            for (size_t i = 0; i < h.size(); ++i)
                h[i] *= activate(gate[i], m_config.activation);
        } else {
            for (double& v : h)
                v = activate(v, m_config.activation);
        }
        return linear(m_weights, prefix + "fc2",
                      normed(m_weights, prefix + "mlp_norm", h, m_config.innerNorm));
    }

    std::vector<double> head(const std::string& prefix, const std::string& which,
                             const std::vector<double>& qkv, int offset, int size, int index,
                             int position) const {
        std::vector<double> x(qkv.begin() + offset, qkv.begin() + offset + size);
        if (which == "v") return x;
        x = normed(m_weights, prefix + which + "_norm", x, m_config.innerNorm);
        return position < 0 ? x : rotate(prefix, x, index, position);
    }

    std::vector<double> rotate(const std::string& prefix, const std::vector<double>& x, int index,
                               int position) const {
        const std::string own = m_weights.has(prefix + "rope.cos") ? prefix + "rope." : "rope.";
        if (!m_weights.has(own + "cos")) return x;
        const int size = static_cast<int>(x.size()), half = size / 2;
        const cv::Mat &cosine = m_weights.raw(own + "cos"), &sine = m_weights.raw(own + "sin");
        const int positions = cosine.dims == 3 ? cosine.size[1] : cosine.size[0];
        const size_t at = (static_cast<size_t>(cosine.dims == 3 ? index : 0) * positions + position) * size;
        std::vector<double> y(size);
        for (int i = 0; i < size; ++i) {
            const bool interleaved = m_config.rotary == Rotary::Interleaved;
            const bool first = interleaved ? i % 2 == 0 : i < half;
            const int partner = interleaved ? (first ? i + 1 : i - 1) : (first ? i + half : i - half);
            y[i] = x[i] * cosine.ptr<float>()[at + i] +
                   (first ? -x[partner] : x[partner]) * sine.ptr<float>()[at + i];
        }
        return y;
    }

    Rows attention(const std::string& prefix, const std::vector<Token>& x) const {
        Rows qkv;
        for (const Token& t : x) {
            qkv.push_back(linear(m_weights, prefix + "qkv",
                                 normed(m_weights, prefix + "norm1", t.value, m_config.norm)));
        }
        const int inner = static_cast<int>(qkv[0].size()) / 3, size = inner / m_config.heads;
        const double scale = m_config.scale != 0 ? m_config.scale : 1 / std::sqrt(static_cast<double>(size));
        Rows out(x.size(), std::vector<double>(inner, 0.0));
        for (int h = 0; h < m_config.heads; ++h) {
            Rows q, k, v;
            for (size_t t = 0; t < x.size(); ++t) {
                q.push_back(head(prefix, "q", qkv[t], h * size, size, h, x[t].position));
                k.push_back(head(prefix, "k", qkv[t], inner + h * size, size, h, x[t].position));
                v.push_back(head(prefix, "v", qkv[t], 2 * inner + h * size, size, h, x[t].position));
            }
            for (size_t t = 0; t < x.size(); ++t)
                attendOne(q[t], k, v, x, scale, &out[t][h * size]);
        }
        for (std::vector<double>& row : out) {
            row = linear(m_weights, prefix + "proj",
                         normed(m_weights, prefix + "attn_norm", row, m_config.innerNorm));
        }
        return out;
    }

    static void attendOne(const std::vector<double>& q, const Rows& k, const Rows& v,
                          const std::vector<Token>& x, double scale, double* out) {
        std::vector<double> logits(k.size());
        for (size_t t = 0; t < k.size(); ++t) {
            logits[t] = scale * std::inner_product(q.begin(), q.end(), k[t].begin(), 0.0) + x[t].bias;
        }
        const double highest = *std::max_element(logits.begin(), logits.end());
        double total = 0;
        for (double& l : logits)
            total += l = std::exp(l - highest);
        for (size_t t = 0; t < k.size(); ++t) {
            for (size_t i = 0; i < q.size(); ++i)
                out[i] += logits[t] / total * v[t][i];
        }
    }

    const EncoderConfig& m_config;
    const NamedWeights& m_weights;
};

// `special` tokens, the map's image tokens, and the tokens behind them.
std::vector<Token> mergeTokens(const std::vector<Token>& x, int special, const std::vector<int>& map,
                               int clusters) {
    std::vector<Token> out(x.begin(), x.begin() + special);
    for (int c = 0; c < clusters; ++c) {
        Token mean{std::vector<double>(x[0].value.size(), 0.0), -1, 0, 0};
        int members = 0;
        for (size_t i = 0; i < map.size(); ++i) {
            if (map[i] != c) continue;
            const Token& member = x[special + i];
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

// An image between blocks, and the row of each of the first tokens.
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

    // The row of token `t` of the input.
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

    std::vector<Token> x;
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
    const Encoder encoder(config, weights);
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
