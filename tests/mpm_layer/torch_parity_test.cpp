// The layer against LibTorch: a plain writing of the method and the encoder in tensor operations, in f32 as a
// user would have it, at real widths and depths.
#include <torch/nn/functional/activation.h>
#include <torch/nn/functional/normalization.h>
#include <torch/utils.h>

#include <gtest/gtest.h>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/runner.hpp"
#include "support/encoder_case.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

using torch::Tensor;
namespace F = torch::nn::functional;

Tensor tensorOf(const cv::Mat& m) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < m.dims; ++i)
        sizes.push_back(m.size[i]);
    return torch::from_blob(m.data, sizes, torch::kFloat).clone();
}

cv::Mat matOf(const Tensor& t) {
    const Tensor flat = t.contiguous();
    return cv::Mat(static_cast<int>(t.size(0)), static_cast<int>(t.size(1)), CV_32F, flat.data_ptr<float>())
        .clone();
}

struct TorchMerge {
    std::vector<int> map;
    int clusters = 0;
    double margin = 0;  ///< smallest distance of any token's two best similarities
};

TorchMerge torchMerge(const Tensor& tokens) {
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
    return merge;
}

Tensor torchMean(const Tensor& rows, const std::vector<int>& map, int clusters) {
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

    // One image [E+N, D]. Maps by stage are imposed where given.
    Output run(Tensor x, Tensor bias, const std::map<int, std::vector<int>>& imposed) const {
        const int special = m_config.specialTokens;
        const int64_t n = x.size(0) - special;
        Tensor position = torch::arange(n), composed = torch::arange(n);
        Tensor merged = bias;
        Output output;
        for (int b = m_config.firstBlock; b <= m_config.lastBlock(); ++b) {
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
            output.taps.push_back(
                torch::cat({out.slice(0, 0, special), out.slice(0, special).index_select(0, composed)}));
        }
        return output;
    }

private:
    // Over all image tokens that a row represents, not stage by stage.
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

    // [heads, tokens, size]; special tokens are not rotated.
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

struct Ran {
    std::vector<cv::Mat> outputs;
    Report report;
};

Ran run(const EncoderCase& encoder, const cv::Mat& batch, const cv::Mat& bias,
        const std::map<int, std::vector<MergeMap>>& imposed = {}, Precision precision = Precision::F32) {
    const auto control = std::make_shared<EncoderControl>(encoder.config);
    control->change([&](Settings& s) { s.imposed = imposed, s.precision = precision; });
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    Ran ran;
    ran.outputs.resize(encoder.config.taps.size());
    for (cv::Mat& out : ran.outputs)
        out.create(batch.dims, batch.size.p, CV_32F);
    runner.run(batch, bias, ran.outputs);
    ran.report = control->report();
    return ran;
}

void expectParity(const EncoderOptions& options, const cv::Mat& bias = cv::Mat()) {
    torch::NoGradGuard guard;
    const EncoderCase encoder = makeEncoder(options);
    const cv::Mat batch = makeBatch(options, 1, options.imageTokens, 11);
    const Tensor keyBias = bias.empty() ? Tensor() : tensorOf(bias).reshape({-1});
    const auto expected = TorchEncoder(encoder).run(tensorOf(imageOf(batch, 0)), keyBias, {});
    Ran ran = run(encoder, batch, bias);
    // One flip changes all that follows: then LibTorch's maps are imposed, and the rest must agree.
    std::map<int, std::vector<MergeMap>> imposed;
    bool agree = true;
    for (size_t s = 0; s < expected.merges.size(); ++s) {
        const MergeMap map{expected.merges[s].map, expected.merges[s].clusters};
        imposed[static_cast<int>(s)] = {map};
        const bool same = sameBits(ran.report.images[0].stages[s].map, toMat(map));
        if (agree && !same) {
            EXPECT_LT(expected.merges[s].margin, 2e-5)
                << "stage " << s << " differs though no token is undecided";
        }
        agree = agree && same;
    }
    if (!agree) ran = run(encoder, batch, bias, imposed);
    for (size_t t = 0; t < expected.taps.size(); ++t) {
        EXPECT_LT(relativeError(imageOf(ran.outputs[t], 0), matOf(expected.taps[t])), 1e-4) << "tap " << t;
    }
}

TEST(TorchParity, OneMergeOnTheSameTokens) {
    for (const auto& [n, dim] :
         std::vector<std::pair<int, int>>{{2, 8}, {65, 192}, {1024, 192}, {900, 384}, {1024, 768}}) {
        for (unsigned seed = 0; seed < 4; ++seed) {
            const cv::Mat tokens = randomTokens(n, dim, seed);
            const TorchMerge expected = torchMerge(tensorOf(tokens));
            const Merged merged = mergeTokens(tokens, 0);
            const std::vector<int> map(merged.map.ptr<int>(), merged.map.ptr<int>() + n);
            const Rows rows = toRows(tokens);
            const std::vector<int> ours = partners(map), theirs = partners(expected.map);
            for (int i = 0; i < n; ++i) {
                if (ours[i] == theirs[i]) continue;
                // Undecided: the similarities to both candidates, or to a partner's other candidate, are
                // within 1e-6.
                const OracleMerge oracle = oracleMerge(rows);
                EXPECT_LE(std::min({oracle.margin[i], oracle.margin[ours[i]], oracle.margin[theirs[i]]}),
                          1e-6);
            }
        }
    }
}

struct Width {
    const char* name;
    int heads, blocks, tokens;
};

class TorchWidths : public testing::TestWithParam<Width> {};

TEST_P(TorchWidths, AtEverySchedule) {
    for (const std::vector<int>& schedule :
         {std::vector<int>{}, {0}, {2, 5}, {3, 6, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}) {
        EncoderOptions o;
        o.heads = GetParam().heads, o.headSize = 64, o.hidden = 4 * o.dim(), o.blocks = GetParam().blocks;
        o.imageTokens = GetParam().tokens, o.schedule = schedule;
        expectParity(o);
    }
}

INSTANTIATE_TEST_SUITE_P(All, TorchWidths,
                         testing::Values(Width{"T12", 3, 12, 256}, Width{"S12", 6, 12, 196},
                                         Width{"B12", 12, 12, 64}, Width{"T24", 3, 24, 128},
                                         Width{"S24", 6, 24, 64}, Width{"B24", 12, 24, 36}),
                         [](const auto& one) { return std::string(one.param.name); });

struct Option {
    const char* name;
    std::function<void(EncoderOptions&)> change;
};

class TorchOptions : public testing::TestWithParam<Option> {};

TEST_P(TorchOptions, EachOnItsOwn) {
    EncoderOptions o;
    o.headSize = 32, o.hidden = 200, o.blocks = 6, o.imageTokens = 120, o.schedule = {2, 5};
    GetParam().change(o);
    expectParity(o);
}

INSTANTIATE_TEST_SUITE_P(
    All, TorchOptions,
    testing::Values(Option{"NoSpecial", [](auto& o) { o.special = 0; }},
                    Option{"Distilled", [](auto& o) { o.special = 2; }},
                    Option{"Registers", [](auto& o) { o.special = 5; }},
                    Option{"NoBias", [](auto& o) { o.qkvBias = false; }},
                    Option{"LayerScale", [](auto& o) { o.layerScale = true; }},
                    Option{"QkNorm", [](auto& o) { o.qkNorm = true; }},
                    Option{"InnerNorms", [](auto& o) { o.attentionNorm = o.mlpNorm = true; }},
                    Option{"GeluTanh", [](auto& o) { o.activation = "gelu_tanh"; }},
                    Option{"GeluQuick", [](auto& o) { o.activation = "gelu_quick"; }},
                    Option{"SwiGlu", [](auto& o) { o.activation = "silu", o.gated = o.mlpNorm = true; }},
                    Option{"RmsNorm",
                           [](auto& o) {
                               o.norm = o.innerNorm = NormKind::Rms, o.qkNorm = true;
                               o.activation = "silu", o.gated = true, o.special = 0, o.qkvBias = false;
                           }},
                    Option{"Parallel", [](auto& o) { o.parallel = o.layerScale = true; }},
                    Option{"RotaryInterleaved", [](auto& o) { o.rope = "interleaved"; }},
                    Option{"RotaryHalves", [](auto& o) { o.rope = "half", o.special = 5; }},
                    Option{"RotaryPerHead", [](auto& o) { o.rope = "half", o.ropePerHead = true; }},
                    Option{"Taps",
                           [](auto& o) {
                               o.taps = {1, 3, 5}, o.tapNorm = {0, 1, 1};
                           }},
                    Option{"Scale", [](auto& o) { o.scale = 0.11f; }}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(TorchParity, BiasOfKeys) {
    EncoderOptions o;
    o.blocks = 6, o.imageTokens = 120, o.schedule = {2, 5};
    expectParity(o, randomMatrix(1, 121, 3, 1.5));
}

TEST(TorchParity, ImposedMaps) {
    torch::NoGradGuard guard;
    EncoderOptions o;
    o.imageTokens = 60, o.schedule = {1};
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 1, 60, 2);
    MergeMap map;
    for (int i = 0; i < 60; ++i)
        map.ids.push_back(i * 7 % 20);
    map.clusters = 20;
    const auto expected = TorchEncoder(encoder).run(tensorOf(imageOf(batch, 0)), {}, {{0, map.ids}});
    const Ran ran = run(encoder, batch, cv::Mat(), {{0, {map}}});
    EXPECT_LT(relativeError(imageOf(ran.outputs[0], 0), matOf(expected.taps[0])), 1e-4);
}

void expectInt8(const EncoderCase& encoder, const cv::Mat& batch, const std::vector<std::string>& keptInF32) {
    torch::NoGradGuard guard;
    const auto expected = TorchEncoder(encoder).run(tensorOf(imageOf(batch, 0)), {}, {});
    std::map<int, std::vector<MergeMap>> imposed;
    for (size_t s = 0; s < expected.merges.size(); ++s)
        imposed[static_cast<int>(s)] = {{expected.merges[s].map, expected.merges[s].clusters}};
    const Ran ran = run(encoder, batch, cv::Mat(), imposed, Precision::I8);
    EXPECT_EQ(ran.report.keptInF32, keptInF32);
    const double error = relativeError(imageOf(ran.outputs[0], 0), matOf(expected.taps[0]));
    EXPECT_LT(error, 0.05);
    EXPECT_GT(error, 0) << "f32 ran";
}

TEST(TorchParity, Int8OfRandomAndStructuredModels) {
    EncoderOptions o;
    o.headSize = 64, o.hidden = 4 * o.dim(), o.blocks = 12, o.imageTokens = 196;
    for (const std::vector<int>& schedule : {std::vector<int>{}, {2, 5}}) {
        o.schedule = schedule;
        EncoderCase encoder = makeEncoder(o);
        cv::Mat batch = makeBatch(o, 1, o.imageTokens, 11);
        expectInt8(encoder, batch, {});
        // As in an image: tokens of few kinds, a little noise.
        for (int t = 0; t < o.imageTokens; ++t)
            for (int d = 0; d < o.dim(); ++d)
                batch.ptr<float>(0, o.special + t)[d] =
                    batch.ptr<float>(0, o.special + t % 9)[d] + 0.05f * batch.ptr<float>(0, o.special + t)[d];
        expectInt8(encoder, batch, {});
        // A weight's row that is a thousand times as large as the others.
        cv::Mat weight = encoder.weights.raw("3.fc1.weight").clone();
        weight.row(7) *= 1000;
        encoder.weights.add("3.fc1.weight", weight);
        cv::Mat norm = encoder.weights.raw("3.norm2.weight").clone();
        norm.at<float>(7) *= 1e-3f;
        encoder.weights.add("3.norm2.weight", norm);
        expectInt8(encoder, batch, {"3.fc1"});
    }
}

}  // namespace
}  // namespace mpm::test
