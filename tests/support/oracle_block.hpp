// The blocks of the scalar oracle: attention and MLP of some rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/oracle.hpp"

namespace mpm::test {

inline std::vector<double> vectorOf(const NamedWeights& weights, const std::string& name) {
    if (!weights.has(name)) return {};
    const cv::Mat& m = weights.raw(name);
    return std::vector<double>(m.ptr<float>(), m.ptr<float>() + m.total());
}

inline std::vector<double> linear(const NamedWeights& weights, const std::string& name,
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

inline std::vector<double> normed(const NamedWeights& weights, const std::string& name, std::vector<double> x,
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

/// A token between two blocks: the value, the raster position of the representative, the bias of the key (the
/// mean over the cluster's tokens), and the number of the cluster's tokens.
struct OracleToken {
    std::vector<double> value;
    int position;
    double bias;
    int stands = 1;
    bool padding = false;  ///< the token pads a window; its value is zero after the norm
};

class OracleBlocks {
public:
    OracleBlocks(const EncoderConfig& config, const NamedWeights& weights)
        : m_config(config), m_weights(weights) {}

    std::vector<OracleToken> block(int number, std::vector<OracleToken> x) const {
        const std::string prefix = std::to_string(number) + ".";
        const Rows attended = attention(prefix, x);
        for (size_t t = 0; t < x.size(); ++t) {
            const std::vector<double> before = x[t].value;
            add(x[t].value, attended[t], prefix + "ls1");
            add(x[t].value, mlp(prefix, m_config.parallel ? before : x[t].value), prefix + "ls2");
        }
        return x;
    }

    /// Returns the number of positions in the block's rotary tables; 0 if there are none.
    int positions(int number) const {
        const std::string prefix = std::to_string(number) + ".rope.cos";
        const std::string name = m_weights.has(prefix) ? prefix : "rope.cos";
        if (!m_weights.has(name)) return 0;
        const cv::Mat& cosine = m_weights.raw(name);
        return cosine.dims == 3 ? cosine.size[1] : cosine.size[0];
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

    Rows attention(const std::string& prefix, const std::vector<OracleToken>& x) const {
        Rows qkv;
        for (const OracleToken& t : x) {
            const std::vector<double> zeros(t.value.size(), 0.0);
            qkv.push_back(
                linear(m_weights, prefix + "qkv",
                       t.padding ? zeros : normed(m_weights, prefix + "norm1", t.value, m_config.norm)));
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
                          const std::vector<OracleToken>& x, double scale, double* out) {
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

}  // namespace mpm::test
