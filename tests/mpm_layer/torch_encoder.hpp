// The reducer mpm and the encoder in tensor operations of LibTorch, in f32.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <torch/nn/functional/activation.h>
#include <torch/nn/functional/normalization.h>
#include <torch/utils.h>

#include "mpm_layer/encoder/runner.hpp"
#include "support/encoder_case.hpp"

namespace mpm::test {

using torch::Tensor;
namespace F = torch::nn::functional;

inline Tensor tensorOf(const cv::Mat& m) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < m.dims; ++i)
        sizes.push_back(m.size[i]);
    return torch::from_blob(m.data, sizes, torch::kFloat).clone();
}

inline cv::Mat matOf(const Tensor& t) {
    const Tensor flat = t.contiguous();
    return cv::Mat(static_cast<int>(t.size(0)), static_cast<int>(t.size(1)), CV_32F, flat.data_ptr<float>())
        .clone();
}

struct TorchMerge {
    std::vector<int> found;  ///< the map from the tokens' pairs
    std::vector<int> map;    ///< `found`, or the imposed map
    int clusters = 0;
    double margin = 0;  ///< the smallest difference between a token's two best similarities
};

inline TorchMerge torchMerge(const Tensor& tokens) {
    const int64_t n = tokens.size(0);
    const Tensor unit = tokens / tokens.norm(2, 1, true);
    const Tensor similarity = torch::matmul(unit, unit.t()).fill_diagonal_(-2);
    const auto [best, order] = similarity.topk(std::min<int64_t>(2, n), 1);
    TorchMerge merge;
    merge.margin = n > 2 ? (best.select(1, 0) - best.select(1, 1)).min().item<double>() : 1;
    const Tensor nearest = order.select(1, 0).contiguous();
    const int64_t* b = nearest.data_ptr<int64_t>();
    merge.map.resize(n);
    for (int i = 0; i < n; ++i) {
        const bool absorbed = b[b[i]] == i && b[i] < i;
        merge.map[i] = absorbed ? merge.map[b[i]] : merge.clusters++;
    }
    merge.found = merge.map;
    return merge;
}

inline Tensor torchMean(const Tensor& rows, const std::vector<int>& map, int clusters) {
    const Tensor ids = torch::tensor(map, torch::kLong);
    const Tensor sums = torch::zeros({clusters, rows.size(1)}).index_add(0, ids, rows);
    return sums / torch::zeros({clusters}).index_add(0, ids, torch::ones({rows.size(0)})).unsqueeze(1);
}

class TorchEncoder {
public:
    explicit TorchEncoder(const EncoderCase& encoder) : m_case(encoder), m_config(encoder.config) {}

    struct Output {
        std::vector<Tensor> taps;
        std::vector<TorchMerge> merges;
    };

    /// Runs an image [special + image tokens, dim]. `imposed` has maps by stage, which replace the stages'
    /// maps. `injected` has values by block. Before each of these blocks, tokens are restored, the values are
    /// added, and the sums are merged.
    Output run(Tensor x, Tensor bias, const std::map<int, std::vector<int>>& imposed,
               const std::map<int, Tensor>& injected = {}) const {
        const int special = m_config.specialTokens;
        const int64_t n = x.size(0) - special;
        Tensor position = torch::arange(n), composed = torch::arange(n);
        Tensor merged = bias;
        Output output;
        for (int b = m_config.firstBlock; b <= m_config.lastBlock(); ++b) {
            const auto added = injected.find(b);
            if (added != injected.end()) x = averaged(restored(x, composed) + added->second, composed);
            const auto at = std::find(m_config.schedule.begin(), m_config.schedule.end(), b);
            if (at != m_config.schedule.end()) {
                TorchMerge merge = torchMerge(x.slice(0, special));
                const auto given = imposed.find(static_cast<int>(at - m_config.schedule.begin()));
                if (given != imposed.end()) {
                    merge.map = given->second;
                    merge.clusters = *std::max_element(merge.map.begin(), merge.map.end()) + 1;
                }
                x = torch::cat(
                    {x.slice(0, 0, special), torchMean(x.slice(0, special), merge.map, merge.clusters)});
                position = firstMembers(position, merge);
                composed = torch::tensor(merge.map, torch::kLong).index_select(0, composed);
                if (bias.defined()) merged = meanBias(bias, composed, merge.clusters);
                output.merges.push_back(merge);
            }
            x = block(std::to_string(b) + ".", x, position, merged);
            const auto tap = std::find(m_config.taps.begin(), m_config.taps.end(), b);
            if (tap == m_config.taps.end()) continue;
            Tensor out =
                m_config.tapNorm[tap - m_config.taps.begin()] ? norm("norm", x, m_config.finalNorm) : x;
            output.taps.push_back(restored(out, composed));
        }
        return output;
    }

private:
    Tensor restored(const Tensor& x, const Tensor& composed) const {
        const int special = m_config.specialTokens;
        return torch::cat({x.slice(0, 0, special), x.slice(0, special).index_select(0, composed)});
    }

    Tensor averaged(const Tensor& x, const Tensor& composed) const {
        const int special = m_config.specialTokens;
        const std::vector<int> map(composed.data_ptr<int64_t>(),
                                   composed.data_ptr<int64_t>() + composed.size(0));
        const int clusters = *std::max_element(map.begin(), map.end()) + 1;
        return torch::cat({x.slice(0, 0, special), torchMean(x.slice(0, special), map, clusters)});
    }

    // Returns the mean bias of each cluster. Every input token of the encoder counts once, so the result
    // differs from the mean over the clusters of the previous stage.
    Tensor meanBias(const Tensor& bias, const Tensor& composed, int clusters) const {
        const int special = m_config.specialTokens;
        const Tensor counts =
            torch::zeros({clusters}).index_add(0, composed, torch::ones({composed.size(0)}));
        const Tensor sums = torch::zeros({clusters}).index_add(0, composed, bias.slice(0, special));
        return torch::cat({bias.slice(0, 0, special), sums / counts});
    }

    static Tensor firstMembers(const Tensor& position, const TorchMerge& merge) {
        std::vector<int64_t> first(merge.clusters, -1);
        for (size_t i = 0; i < merge.map.size(); ++i) {
            if (first[merge.map[i]] < 0) first[merge.map[i]] = static_cast<int64_t>(i);
        }
        return position.index_select(0, torch::tensor(first, torch::kLong));
    }

    bool has(const std::string& name) const { return m_case.weights.has(name); }
    Tensor weight(const std::string& name) const { return tensorOf(m_case.weights.raw(name)); }
    Tensor vector(const std::string& name) const { return weight(name).reshape({-1}); }

    Tensor norm(const std::string& name, const Tensor& x, const NormRule& rule) const {
        if (!has(name + ".weight")) return x;
        if (rule.kind == NormKind::Rms)
            return x * (x.pow(2).mean(-1, true) + rule.epsilon).rsqrt() * vector(name + ".weight");
        return F::layer_norm(x, F::LayerNormFuncOptions({x.size(-1)})
                                    .weight(vector(name + ".weight"))
                                    .bias(vector(name + ".bias"))
                                    .eps(rule.epsilon));
    }

    Tensor linear(const std::string& name, const Tensor& x) const {
        const Tensor y = torch::matmul(x, weight(name + ".weight"));
        return has(name + ".bias") ? y + vector(name + ".bias") : y;
    }

    Tensor activate(const Tensor& x) const {
        const std::string& name = m_case.options.activation;
        if (name == "gelu") return F::gelu(x);
        if (name == "gelu_tanh") return F::gelu(x, F::GELUFuncOptions().approximate("tanh"));
        if (name == "gelu_quick") return x * torch::sigmoid(1.702 * x);
        return name == "silu" ? F::silu(x) : F::relu(x);
    }

    // Rotates x [heads, tokens, size], except special tokens.
    Tensor rotate(const Tensor& x, const Tensor& position) const {
        if (!has("rope.cos")) return x;
        const int64_t special = m_config.specialTokens, size = x.size(2);
        const Tensor cosine =
            weight("rope.cos").reshape({-1, m_case.options.imageTokens, size}).index_select(1, position);
        const Tensor sine =
            weight("rope.sin").reshape({-1, m_case.options.imageTokens, size}).index_select(1, position);
        const Tensor image = x.slice(1, special);
        Tensor turned;
        if (m_config.rotary == Rotary::Interleaved) {
            const Tensor pairs = image.reshape({image.size(0), image.size(1), size / 2, 2});
            turned = torch::stack({-pairs.select(3, 1), pairs.select(3, 0)}, 3).reshape_as(image);
        } else {
            turned = torch::cat({-image.slice(2, size / 2), image.slice(2, 0, size / 2)}, 2);
        }
        return torch::cat({x.slice(1, 0, special), image * cosine + turned * sine}, 1);
    }

    Tensor attention(const std::string& prefix, const Tensor& x, const Tensor& position,
                     const Tensor& bias) const {
        const int64_t n = x.size(0), heads = m_config.heads;
        const Tensor qkv = linear(prefix + "qkv", x).reshape({n, 3, heads, -1}).permute({1, 2, 0, 3});
        const Tensor q = rotate(norm(prefix + "q_norm", qkv[0], m_config.innerNorm), position);
        const Tensor k = rotate(norm(prefix + "k_norm", qkv[1], m_config.innerNorm), position);
        const double scale =
            m_config.scale != 0 ? m_config.scale : 1 / std::sqrt(static_cast<double>(q.size(2)));
        Tensor logits = torch::matmul(q, k.transpose(1, 2)) * scale;
        if (bias.defined()) logits = logits + bias;
        const Tensor out = torch::matmul(logits.softmax(-1), qkv[2]).transpose(0, 1).reshape({n, -1});
        return linear(prefix + "proj", norm(prefix + "attn_norm", out, m_config.innerNorm));
    }

    Tensor mlp(const std::string& prefix, const Tensor& x) const {
        const Tensor h = has(prefix + "gate.weight")
                             ? activate(linear(prefix + "gate", x)) * linear(prefix + "fc1", x)
                             : activate(linear(prefix + "fc1", x));
        return linear(prefix + "fc2", norm(prefix + "mlp_norm", h, m_config.innerNorm));
    }

    Tensor block(const std::string& prefix, Tensor x, const Tensor& position, const Tensor& bias) const {
        const auto scaled = [&](const std::string& name, const Tensor& y) {
            return has(name) ? vector(name) * y : y;
        };
        const Tensor attended = scaled(
            prefix + "ls1", attention(prefix, norm(prefix + "norm1", x, m_config.norm), position, bias));
        const Tensor read = m_config.parallel ? x : x + attended;
        return x + attended +
               scaled(prefix + "ls2", mlp(prefix, norm(prefix + "norm2", read, m_config.norm)));
    }

    const EncoderCase& m_case;
    const EncoderConfig& m_config;
};

}  // namespace mpm::test
