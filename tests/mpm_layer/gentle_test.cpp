// Compares the options of the reducer `mpm` (merge only a share of the pairs, compare keys instead of tokens)
// with plain loops in f64.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/runner.hpp"
#include "mpm_layer/encoder/stage_keys.hpp"
#include "mpm_layer/merge/reducer.hpp"
#include "support/encoder_case.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace mpm::test {
namespace {

RowsView viewOf(const cv::Mat& rows) {
    return {rows.ptr<float>(), rows.empty() ? 0 : rows.step1(), rows.rows, rows.cols};
}

MergeMap reduced(const std::string& method, const cv::Mat& rows) {
    StageContext context;
    context.tokens = context.metric = viewOf(rows);
    return makeReducer(method)->reduce({context}).front();
}

/// Finds the best pairs with plain loops. `most(n)` returns how many of n pairs merge.
template <class Most>
std::vector<int> plainBest(const cv::Mat& tokens, const Most& most) {
    const Rows rows = toRows(tokens);
    const int n = tokens.rows;
    const std::vector<int> partner = partners(oracleMerge(rows).map);
    std::vector<int> first;
    for (int i = 0; i < n; ++i)
        if (partner[i] > i) first.push_back(i);
    std::stable_sort(first.begin(), first.end(), [&](int a, int b) {
        return cosine(rows[a], rows[partner[a]]) > cosine(rows[b], rows[partner[b]]);
    });
    first.resize(static_cast<size_t>(most(static_cast<int>(first.size()))));
    std::vector<int> ids(n);
    int clusters = 0;
    for (int i = 0; i < n; ++i) {
        const int low = std::min(i, partner[i]);
        const bool merged = partner[i] != i && std::count(first.begin(), first.end(), low) > 0;
        ids[i] = merged && i != low ? ids[low] : clusters++;
    }
    return ids;
}

int share(double part, int pairs) {
    return static_cast<int>(std::floor(part * pairs + 0.5));
}

/// Returns random tokens. Depending on the seed, some rows are equal, zero or not finite.
cv::Mat oddTokens(int count, unsigned seed) {
    cv::Mat tokens = randomTokens(count, 16, seed);
    cv::RNG random(seed + 1);
    if (seed % 3 == 0 && count > 4) {
        tokens.row(3) *= 2.0;
        tokens.row(3).copyTo(tokens.row(1));  // an equal pair: the cosine is 1
    }
    if (seed % 5 == 0 && count > 2) tokens.row(random.uniform(0, count)).setTo(0);
    if (seed % 7 == 0 && count > 2) tokens.at<float>(random.uniform(0, count), 2) = NAN;
    return tokens;
}

TEST(Gentle, KeepsTheBestPairs) {
    for (unsigned seed = 0; seed < 400; ++seed) {
        const int count = seed < 8 ? static_cast<int>(seed % 4) : 4 + static_cast<int>(seed * 7 % 60);
        const cv::Mat tokens = oddTokens(count, seed);
        for (const double part : {0.1, 0.4, 0.5, 1.0}) {
            const std::string text = part == 1.0 ? "1.0" : cv::format("%.1f", part);
            EXPECT_EQ(reduced("mpm:pairs=" + text, tokens).ids,
                      plainBest(tokens, [&](int pairs) { return share(part, pairs); }))
                << count << " tokens, seed " << seed << ", share " << text;
        }
        for (const int most : {1, 3, 1000})
            EXPECT_EQ(reduced("mpm:pairs=" + std::to_string(most), tokens).ids,
                      plainBest(tokens, [&](int pairs) { return std::min(most, pairs); }))
                << count << " tokens, seed " << seed << ", count " << most;
        EXPECT_EQ(reduced("mpm:pairs=all", tokens).ids, reduced("mpm", tokens).ids);
    }
}

TEST(Gentle, OfEqualPairsTheLowerIndexIsFirst) {
    // Each of the six pairs is a row and a multiple of this row, so all cosines are 1.
    cv::Mat tokens(12, 16, CV_32F);
    for (int p = 0; p < 6; ++p) {
        randomMatrix(1, 16, static_cast<unsigned>(p)).copyTo(tokens.row(11 - p));
        tokens.row(p) = tokens.row(11 - p) * (p % 2 == 0 ? 0.5 : 8.0);
    }
    for (int most = 1; most <= 6; ++most) {
        const MergeMap map = reduced("mpm:pairs=" + std::to_string(most), tokens);
        for (int p = 0; p < 6; ++p)
            EXPECT_EQ(map.ids[p] == map.ids[11 - p], p < most) << most;
    }
    cv::Mat equal(9, 16, CV_32F, cv::Scalar(2));
    EXPECT_EQ(reduced("mpm:pairs=0.5", equal).clusters, 8) << "one pair, and half of it rounds up";
    EXPECT_EQ(reduced("mpm:pairs=0.4", equal).clusters, 9);
}

TEST(Gentle, RejectsOtherAmounts) {
    for (const char* value :
         {"0", "0.0", "1.5", "-1", "-0.5", "2.", "1e3", "none", "0,4", "nan.0", "+3", "99999999999"})
        EXPECT_THROW(makeReducer(std::string("mpm:pairs=") + value), cv::Exception) << value;
    expectRefusal([] { makeReducer("mpm:pairs=2.5"); }, "pairs=2.5; expected all, a share");
    expectRefusal([] { makeReducer("mpm:by=queries"); },
                  "by=queries; expected one of tokens, keys, last-keys");
    for (const char* value : {"all", "1", "1.0", ".4", "0.25", "17"})
        EXPECT_NO_THROW(makeReducer(std::string("mpm:pairs=") + value)) << value;
}

/// Computes the keys of a block from the block's weights. Returns the mean of the keys over the heads.
Rows plainKeys(const EncoderCase& encoder, int block, const Rows& tokens) {
    const std::string prefix = std::to_string(block) + ".";
    const int dim = encoder.options.dim(), size = encoder.options.headSize, heads = encoder.options.heads;
    const auto vector = [&](const char* name, int length) {
        return encoder.weights.vector(prefix + name, length);
    };
    const auto norm = [](std::vector<double> x, const std::vector<float>& weight,
                         const std::vector<float>& bias, const NormRule& rule) {
        const double n = static_cast<double>(x.size());
        const double mean = rule.kind == NormKind::Layer ? std::accumulate(x.begin(), x.end(), 0.0) / n : 0;
        double variance = 0;
        for (double v : x)
            variance += (v - mean) * (v - mean) / n;
        for (size_t k = 0; k < x.size(); ++k) {
            x[k] = (x[k] - mean) / std::sqrt(variance + rule.epsilon);
            if (!weight.empty()) x[k] *= weight[k];
            if (!bias.empty()) x[k] += bias[k];
        }
        return x;
    };
    const cv::Mat qkv = encoder.weights.matrix(prefix + "qkv.weight", dim, 3 * dim);
    const std::vector<float> bias = vector("qkv.bias", 3 * dim);
    const bool keyNorm = encoder.options.qkNorm;
    Rows keys;
    for (const std::vector<double>& token : tokens) {
        const std::vector<double> x =
            norm(token, vector("norm1.weight", dim), vector("norm1.bias", dim), encoder.config.norm);
        std::vector<double> mean(size);
        for (int h = 0; h < heads; ++h) {
            std::vector<double> key(size);
            for (int k = 0; k < size; ++k) {
                const int column = dim + h * size + k;
                key[k] = bias.empty() ? 0 : bias[column];
                for (int d = 0; d < dim; ++d)
                    key[k] += x[d] * qkv.at<float>(d, column);
            }
            if (keyNorm)
                key = norm(key, vector("k_norm.weight", size), vector("k_norm.bias", size),
                           encoder.config.innerNorm);
            for (int k = 0; k < size; ++k)
                mean[k] += key[k] / heads;
        }
        keys.push_back(mean);
    }
    return keys;
}

EncoderOptions keyedOptions(bool keyNorm, const char* rope) {
    EncoderOptions options;
    options.blocks = 4, options.schedule = {1, 3}, options.imageTokens = 60;
    options.qkNorm = keyNorm, options.rope = rope, options.seed = keyNorm ? 5 : 6;
    return options;
}

Report run(const EncoderCase& encoder, const std::string& method, const std::vector<int>& schedule,
           const cv::Mat& batch, std::vector<cv::Mat>& outputs, Precision precision = Precision::F32) {
    const auto control = std::make_shared<EncoderControl>(encoder.config);
    control->change([&](Settings& s) {
        s.method = method;
        s.schedule = schedule;
        s.precision = precision;
        s.device = Device::Cpu;
    });
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    outputs.assign(1, {});
    outputs[0].create(3, batch.size.p, CV_32F);
    runner.run(batch, cv::Mat(), outputs);
    return control->report();
}

Rows imageTokens(const EncoderCase& encoder, const cv::Mat& batch) {
    const cv::Mat rows = imageOf(batch, 0);
    return toRows(rows.rowRange(encoder.options.special, rows.rows).clone());
}

TEST(Gentle, KeysAreThoseOfTheBlock) {
    for (const bool keyNorm : {false, true}) {
        const EncoderCase encoder = makeEncoder(keyedOptions(keyNorm, ""));
        const cv::Mat tokens = randomMatrix(60, encoder.options.dim(), 3);
        const StageKeys keys(encoder.config, encoder.weights, encoderShape(encoder.config, encoder.weights),
                             2);
        cv::Mat actual(60, keys.width(), CV_32F);
        keys.compute(viewOf(tokens), actual.ptr<float>());
        EXPECT_LT(relativeError(actual, toMatrix(plainKeys(encoder, 2, toRows(tokens)), keys.width())), 1e-5);
    }
}

/// The first stage merges before block 0, so the keys are computed from the encoder's input.
TEST(Gentle, PairsByTheKeysOfTheBlock) {
    for (const bool keyNorm : {false, true})
        for (const char* rope : {"", "half"}) {
            const EncoderCase encoder = makeEncoder(keyedOptions(keyNorm, rope));
            const cv::Mat batch = makeBatch(encoder.options, 2, 60, 9);
            std::vector<cv::Mat> outputs;
            const Report report = run(encoder, "mpm:by=keys,pairs=0.5", {0}, batch, outputs);
            const cv::Mat keys = toMatrix(plainKeys(encoder, 0, imageTokens(encoder, batch)), 8);
            EXPECT_EQ(toMergeMap(report.images[0].stages[0].map, "map").ids,
                      plainBest(keys, [](int pairs) { return share(0.5, pairs); }));
        }
}

/// With by=last-keys, the stage before block 1 compares the keys that block 0 computed from the input.
TEST(Gentle, LastKeysAreThoseOfTheBlockBefore) {
    for (const bool keyNorm : {false, true})
        for (const char* rope : {"", "interleaved", "half"}) {
            const EncoderCase encoder = makeEncoder(keyedOptions(keyNorm, rope));
            const cv::Mat batch = makeBatch(encoder.options, 2, 60, 9);
            const cv::Mat keys = toMatrix(plainKeys(encoder, 0, imageTokens(encoder, batch)), 8);
            const std::vector<int> expected = plainBest(keys, [](int pairs) { return pairs; });
            std::vector<cv::Mat> outputs;
            for (const int block : {0, 1}) {
                const Report report = run(encoder, "mpm:by=last-keys", {block}, batch, outputs);
                EXPECT_EQ(toMergeMap(report.images[0].stages[0].map, "map").ids, expected) << block;
            }
        }
}

/// Returns oddTokens(). For some seeds, all tokens are equal, or every second token is zero.
cv::Mat oddCase(unsigned seed) {
    const int count = static_cast<int>(seed % 6 == 0 ? seed / 6 % 4 : 4 + seed * 7 % 29);
    cv::Mat tokens = oddTokens(count, seed);
    for (int t = 1; t < count && seed % 11 == 0; ++t)
        tokens.row(0).copyTo(tokens.row(t));
    for (int t = 0; t < count && seed % 13 == 0; t += 2)
        tokens.row(t).setTo(0);
    return tokens;
}

TEST(Gentle, PairsOddTokensByTheirKeys) {
    std::vector<EncoderCase> encoders;
    for (const bool keyNorm : {false, true}) {
        EncoderOptions options = keyedOptions(keyNorm, "");
        options.blocks = 2, options.heads = 2, options.schedule = {};
        // Without biases, a token of zeros has a key of zeros.
        if (!keyNorm) options.qkvBias = false, options.norm = NormKind::Rms;
        encoders.push_back(makeEncoder(options));
    }
    const std::pair<const char*, int> methods[] = {{"mpm:by=keys", 0}, {"mpm:by=last-keys", 1}};
    int compared = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        const cv::Mat tokens = oddCase(seed);
        const int sizes[] = {1, 1 + tokens.rows, tokens.cols};
        cv::Mat batch(3, sizes, CV_32F, cv::Scalar(0.5));
        std::copy_n(tokens.ptr<float>(), tokens.total(), batch.ptr<float>() + tokens.cols);
        for (const EncoderCase& encoder : encoders) {
            const OracleMerge expected = oracleMerge(plainKeys(encoder, 0, toRows(tokens)));
            const auto clear = [](double margin) { return margin == 0 || margin > 1e-5; };
            if (!std::all_of(expected.margin.begin(), expected.margin.end(), clear)) continue;
            for (const auto& [method, block] : methods) {
                std::vector<cv::Mat> outputs;
                const Report report = run(encoder, method, {block}, batch, outputs);
                ASSERT_EQ(report.images[0].stages.size(), 1u);
                EXPECT_EQ(ids(report.images[0].stages[0].map), expected.map)
                    << method << ", " << tokens.rows << " tokens, seed " << seed;
                ++compared;
            }
        }
    }
    EXPECT_GE(compared, 1000);
}

/// A stage before the MLP of block 0 compares the keys of block 0, before rotation.
TEST(Gentle, PairsBeforeTheMlpByTheKeysOfTheBlock) {
    for (const char* rope : {"", "interleaved"}) {
        const EncoderCase encoder = makeEncoder(keyedOptions(true, rope));
        const cv::Mat batch = makeBatch(encoder.options, 2, 60, 9);
        const cv::Mat keys = toMatrix(plainKeys(encoder, 0, imageTokens(encoder, batch)), 8);
        const std::vector<int> expected = plainBest(keys, [](int pairs) { return share(0.5, pairs); });
        std::vector<cv::Mat> outputs, early;
        for (const std::string by : {"keys", "last-keys"}) {
            const Report report = run(encoder, "mpm:pairs=0.5,before=mlp,by=" + by, {0}, batch, outputs);
            EXPECT_EQ(ids(report.images[0].stages[0].map), expected) << by;
            EXPECT_EQ(report.images[0].tokens[0], 60) << "attention of block 0 has all tokens";
            EXPECT_EQ(report.images[0].tokens[1], report.images[0].stages[0].tokens);
        }
        run(encoder, "mpm:pairs=0.5,by=keys", {0}, batch, early);
        EXPECT_FALSE(sameBits(outputs[0], early[0]));
    }
    expectRefusal([] { makeReducer("mpm:before=attention"); },
                  "before=attention; expected one of block, mlp");
}

/// Merges row 0 (3 tokens) and row 2 (1 token) into a cluster. Row 1 is a cluster alone.
cv::Mat merged(const cv::Mat& rows, Mean mean) {
    MergeMap map;
    map.ids = {0, 1, 0}, map.clusters = 2;
    const float sizes[] = {3, 1, 1};
    cv::Mat out(2, rows.cols, CV_32F);
    averageRows(viewOf(rows), Clusters(map), {0, 2}, mean, sizes, out.ptr<float>(), out.step1());
    return out;
}

TEST(Gentle, ScaledMeansKeepHalfOfTheLostLength) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        const cv::Mat rows = randomMatrix(3, 20, seed), out = merged(rows, Mean::Scaled);
        cv::Mat expected = 0.75 * rows.row(0) + 0.25 * rows.row(2);
        const double length = 0.75 * cv::norm(rows.row(0)) + 0.25 * cv::norm(rows.row(2));
        expected *= std::sqrt(length * cv::norm(expected)) / cv::norm(expected);
        EXPECT_LT(cv::norm(out.row(0), expected), 1e-5 * cv::norm(expected));
        EXPECT_TRUE(sameBits(out.row(1), rows.row(1)));
        EXPECT_GT(cv::norm(out.row(0)), cv::norm(merged(rows, Mean::Weighted).row(0)));
    }
    cv::Mat rows = randomMatrix(3, 20, 7);
    rows.row(0).copyTo(rows.row(2));
    EXPECT_TRUE(sameBits(merged(rows, Mean::Scaled).row(0), rows.row(0))) << "equal rows";
    rows.row(0) = 2.0, rows.row(2) = -6.0;
    EXPECT_EQ(cv::norm(merged(rows, Mean::Scaled).row(0)), 0) << "opposite rows: the mean has no direction";
}

TEST(Gentle, DoesNotDependOnBatchOrThreads) {
    const EncoderCase encoder = makeEncoder(keyedOptions(false, "half"));
    const cv::Mat batch = makeBatch(encoder.options, 3, 60, 9);
    const int threads = cv::getNumThreads();
    for (const char* method : {"gentle", "mpm:by=last-keys,pairs=7,mean=weighted,attention=proportional",
                               "mpm:by=keys,pairs=0.5,mean=scaled,attention=proportional,before=mlp"})
        for (const Precision precision : {Precision::F32, Precision::I8}) {
            std::vector<cv::Mat> whole, single;
            const Report report = run(encoder, method, {1, 3}, batch, whole, precision);
            EXPECT_LT(report.images[1].stages.back().tokens, 60);
            cv::setNumThreads(1);
            for (int i = 0; i < 3; ++i) {
                run(encoder, method, {1, 3}, batchOfOne(batch, i), single, precision);
                EXPECT_TRUE(sameBits(imageOf(whole[0], i), imageOf(single[0], 0))) << method << i;
            }
            cv::setNumThreads(threads);
        }
}

TEST(Gentle, IsANameForItsParameters) {
    const EncoderCase encoder = makeEncoder(keyedOptions(false, ""));
    const cv::Mat batch = makeBatch(encoder.options, 2, 60, 9);
    std::vector<cv::Mat> named, written;
    run(encoder, "gentle", {1, 3}, batch, named);
    run(encoder, "mpm:pairs=0.4,by=keys,mean=weighted,attention=proportional", {1, 3}, batch, written);
    EXPECT_TRUE(sameBits(named[0], written[0]));
    const MatchingSize size{100, 64, 16};
    EXPECT_EQ(matchingCost("mpm:pairs=0.4", size), 100 * 99 * 64);
    EXPECT_EQ(matchingCost("mpm:by=last-keys", size), 100 * 99 * 16);
    EXPECT_EQ(matchingCost("gentle", size), 100 * 99 * 16 + 2 * 100 * 64 * 16);
}

}  // namespace
}  // namespace mpm::test
