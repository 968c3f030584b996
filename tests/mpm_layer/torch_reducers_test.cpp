// Compares ToMe and ALGM with simple implementations of the published methods in LibTorch: each map, and the
// output of the encoder.
#include <torch/types.h>
#include <torch/utils.h>

#include <gtest/gtest.h>

#include "mpm_layer/encoder/runner.hpp"
#include "support/encoder_case.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

using torch::Tensor;

const cv::Size kGrid(12, 8);

Tensor tensorOf(const cv::Mat& m) {
    std::vector<int64_t> sizes(m.size.p, m.size.p + m.dims);
    return torch::from_blob(m.data, sizes, torch::kFloat).clone();
}

Tensor indices(const std::vector<int64_t>& values) {
    return torch::tensor(values, torch::kLong);
}

// Connects each source (a token at an even position, counting special tokens) with the most similar target (a
// token at an odd position). `choose` returns how many of the best edges merge. Unmerged sources get the
// first ids.
template <class Choose>
Tensor alternating(const Tensor& metric, int special, const Choose& choose) {
    const Tensor unit = metric / metric.norm(2, 1, true),
                 parity = (torch::arange(metric.size(0)) + special) % 2;
    const Tensor sources = (parity == 0).nonzero().reshape({-1}),
                 targets = (parity == 1).nonzero().reshape({-1});
    const auto [best, nearest] =
        torch::matmul(unit.index_select(0, sources), unit.index_select(0, targets).t()).max(1);
    const Tensor ranked = best.argsort(0, true);
    const int64_t edges = choose(best), kept = sources.size(0) - edges;
    const Tensor joins = ranked.slice(0, 0, edges), stays = std::get<0>(ranked.slice(0, edges).sort());
    Tensor ids = torch::empty({metric.size(0)}, torch::kLong);
    ids.index_put_({targets}, torch::arange(targets.size(0)) + kept);
    ids.index_put_({sources.index_select(0, stays)}, torch::arange(kept));
    ids.index_put_({sources.index_select(0, joins)}, nearest.index_select(0, joins) + kept);
    return ids;
}

// Merges each window of 2x2 tokens if the mean of the window's six cosines is at least `least`. Merged
// windows get the first ids, the most similar window first.
Tensor windows(const Tensor& tokens, cv::Size grid, double least) {
    const int64_t h = grid.height / 2, w = grid.width / 2;
    const Tensor unit = (tokens / tokens.norm(2, 1, true)).reshape({grid.height, grid.width, -1});
    const Tensor four =
        unit.slice(0, 0, 2 * h).slice(1, 0, 2 * w).reshape({h, 2, w, 2, -1}).permute({0, 2, 1, 3, 4});
    const Tensor flat = four.reshape({h * w, 4, -1}), cosines = torch::matmul(flat, flat.transpose(1, 2));
    const Tensor mean = (cosines.sum({1, 2}) - cosines.diagonal(0, 1, 2).sum(1)) / 12;
    const Tensor ranked = mean.argsort(0, true);
    const int64_t merged = (mean >= least).sum().item<int64_t>();
    Tensor ids = torch::full({tokens.size(0)}, -1, torch::kLong);
    for (int64_t k = 0; k < merged; ++k) {
        const int64_t window = ranked[k].item<int64_t>(),
                      corner = window / w * 2 * grid.width + window % w * 2;
        ids.index_put_({indices({corner, corner + 1, corner + grid.width, corner + grid.width + 1})}, k);
    }
    const Tensor single = (ids < 0).nonzero().reshape({-1});
    ids.index_put_({single}, torch::arange(single.size(0)) + merged);
    return ids;
}

struct Reduction {
    bool proportional = false;
    /// Returns the cluster ids of the image tokens after a block's attention (undefined if no tokens merge).
    std::function<Tensor(int block, const Tensor& tokens, const Tensor& keys)> reduce;
};

struct Result {
    Tensor output;
    std::vector<Tensor> maps;
};

class PublishedEncoder {
public:
    PublishedEncoder(const EncoderCase& encoder, Reduction reduction)
        : m_case(encoder), m_config(encoder.config), m_reduction(std::move(reduction)) {}

    Result run(Tensor x) const {
        const int special = m_config.specialTokens;
        Tensor size = torch::ones({x.size(0)}), composed = torch::arange(x.size(0) - special);
        Result result;
        for (int b = 0; b < m_config.blocks; ++b) {
            const std::string prefix = std::to_string(b) + ".";
            const auto [attended, keys] = attention(prefix, norm(prefix + "norm1", x), size);
            x = x + attended;
            const Tensor ids = m_reduction.reduce(b, x.slice(0, special), keys.slice(0, special));
            if (ids.defined()) {
                join(ids, special, x, size);
                composed = ids.index_select(0, composed);
                result.maps.push_back(ids);
            }
            const Tensor hidden = torch::gelu(linear(prefix + "fc1", norm(prefix + "norm2", x)));
            x = x + linear(prefix + "fc2", hidden);
        }
        x = norm("norm", x);
        result.output = torch::cat({x.slice(0, 0, special), x.slice(0, special).index_select(0, composed)});
        return result;
    }

private:
    // Replaces the rows of each cluster by their mean, weighted by the number of tokens of each row.
    static void join(const Tensor& ids, int special, Tensor& x, Tensor& size) {
        const int64_t count = ids.max().item<int64_t>() + 1;
        const Tensor weight = size.slice(0, special), rows = x.slice(0, special) * weight.unsqueeze(1);
        const Tensor sizes = torch::zeros({count}).index_add(0, ids, weight);
        const Tensor sums = torch::zeros({count, x.size(1)}).index_add(0, ids, rows);
        x = torch::cat({x.slice(0, 0, special), sums / sizes.unsqueeze(1)});
        size = torch::cat({size.slice(0, 0, special), sizes});
    }

    Tensor weight(const std::string& name) const { return tensorOf(m_case.weights.raw(name)); }
    Tensor norm(const std::string& name, const Tensor& x) const {
        const double epsilon = name == "norm" ? m_config.finalNorm.epsilon : m_config.norm.epsilon;
        return torch::layer_norm(x, {x.size(1)}, weight(name + ".weight").reshape({-1}),
                                 weight(name + ".bias").reshape({-1}), epsilon);
    }
    Tensor linear(const std::string& name, const Tensor& x) const {
        return torch::matmul(x, weight(name + ".weight")) + weight(name + ".bias").reshape({-1});
    }

    // Returns the output of attention, and the mean of the keys over the heads.
    std::pair<Tensor, Tensor> attention(const std::string& prefix, const Tensor& x,
                                        const Tensor& size) const {
        const int64_t n = x.size(0), heads = m_config.heads;
        const Tensor qkv = linear(prefix + "qkv", x).reshape({n, 3, heads, -1}).permute({1, 2, 0, 3});
        Tensor logits =
            torch::matmul(qkv[0], qkv[1].transpose(1, 2)) / std::sqrt(static_cast<double>(qkv.size(3)));
        if (m_reduction.proportional) logits = logits + size.log();
        const Tensor mixed = torch::matmul(logits.softmax(-1), qkv[2]).transpose(0, 1).reshape({n, -1});
        return {linear(prefix + "proj", mixed), qkv[1].mean(0)};
    }

    const EncoderCase& m_case;
    const EncoderConfig& m_config;
    Reduction m_reduction;
};

void expectParity(const EncoderOptions& options, const std::string& method, const Reduction& reduction) {
    torch::NoGradGuard guard;
    EncoderCase encoder = makeEncoder(options);
    encoder.config.grid = kGrid;
    std::vector<bool> merged;
    for (unsigned seed = 0; seed < 4; ++seed) {
        const cv::Mat batch = makeBatch(options, 1, options.imageTokens, seed);
        const Result expected = PublishedEncoder(encoder, reduction).run(tensorOf(imageOf(batch, 0)));
        const auto control = std::make_shared<EncoderControl>(encoder.config);
        control->change([&](Settings& s) { s.method = method; });
        EncoderRunner runner(control);
        runner.setWeights(encoder.weights);
        std::vector<cv::Mat> outputs(1);
        outputs[0].create(batch.dims, batch.size.p, CV_32F);
        runner.run(batch, cv::Mat(), outputs);
        const ImageReport report = control->report().images[0];
        ASSERT_EQ(report.stages.size(), expected.maps.size());
        merged.resize(expected.maps.size());
        for (size_t s = 0; s < report.stages.size(); ++s) {
            merged[s] = merged[s] || expected.maps[s].max().item<int64_t>() + 1 < expected.maps[s].size(0);
            const Tensor map =
                torch::from_blob(report.stages[s].map.data, {expected.maps[s].size(0)}, torch::kInt);
            ASSERT_TRUE(map.to(torch::kLong).equal(expected.maps[s]))
                << method << ", stage " << s << ", seed " << seed;
        }
        const Tensor found = tensorOf(imageOf(outputs[0], 0));
        EXPECT_LT((found - expected.output).abs().max().item<float>(),
                  1e-4 * expected.output.abs().max().item<float>());
    }
    const bool falls = method.find("falling") != std::string::npos;  // the last block merges nothing
    for (size_t s = 0; s + (falls ? 1 : 0) < merged.size(); ++s)
        EXPECT_TRUE(merged[s]) << method << " merges nothing in stage " << s;
}

EncoderOptions options(int special) {
    EncoderOptions o;
    o.heads = 3, o.headSize = 16, o.hidden = 96, o.blocks = 7, o.special = special, o.imageTokens = 96;
    return o;
}

class TomeParity : public testing::TestWithParam<int> {};

TEST_P(TomeParity, ConstantAndFalling) {
    const int special = GetParam();
    const auto tome = [special](bool falling, bool proportional) {
        Reduction reduction;
        reduction.proportional = proportional;
        reduction.reduce = [=](int block, const Tensor&, const Tensor& keys) {
            const int64_t wanted = falling ? static_cast<int64_t>(2.0 * 7 - 2.0 * 7 / 6 * block) : 9;
            return alternating(keys, special,
                               [&](const Tensor&) { return std::min(wanted, keys.size(0) / 2); });
        };
        return reduction;
    };
    expectParity(options(special), "tome:r=9", tome(false, true));
    expectParity(options(special), "tome:r=9,attention=plain", tome(false, false));
    expectParity(options(special), "tome:r=7,schedule=falling", tome(true, true));
}

INSTANTIATE_TEST_SUITE_P(SpecialTokens, TomeParity, testing::Values(1, 2));

TEST(AlgmParity, WindowsThenMatches) {
    for (double tau : {0.5, 0.7}) {
        Reduction reduction;
        reduction.reduce = [tau](int block, const Tensor& tokens, const Tensor&) {
            if (block == 0) return windows(tokens, kGrid, tau);
            if (block != 4) return Tensor();
            return alternating(tokens, 1, [&](const Tensor& best) {
                return (best >= best.mean() + best.std() / (block + 1)).sum().item<int64_t>();
            });
        };
        expectParity(options(1), cv::format("algm:tau=%g", tau), reduction);
    }
}

}  // namespace
}  // namespace mpm::test
