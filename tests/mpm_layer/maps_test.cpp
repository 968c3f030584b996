// Tests encoders that take or return maps, alone and as segments of a chain.
#include <list>
#include <random>

#include "mpm_layer/chain_suite.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/i8.hpp"

namespace mpm::test {
namespace {

const Target kF32{"F32", Device::Cpu, Precision::F32, 1e-5, true};
const Target kBf16{"Bf16", Device::Cpu, Precision::BF16, 2e-2, false};
const Target kI8{"I8", Device::Cpu, Precision::I8, kernels::hasI8() ? 5e-2 : 1e-1, false};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EncoderOptionsTest);  // encoder_test.cpp runs these tests
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EncoderTest);

class Maps : public EncoderTest {};

/// Returns a random map with clusters of 1 to `largest` tokens, and ids in random order.
std::vector<int> randomMap(int tokens, int largest, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<int> ids;
    int clusters = 0;
    for (int size = 1; static_cast<int>(ids.size()) < tokens; size = size % largest + 1, ++clusters)
        ids.insert(ids.end(), std::min(size, tokens - static_cast<int>(ids.size())), clusters);
    std::shuffle(ids.begin(), ids.end(), random);
    return ids;
}

std::vector<int> byRepresentative(std::vector<int> ids) {
    std::map<int, int> order;
    for (int& id : ids)
        id = order.emplace(id, static_cast<int>(order.size())).first->second;
    return ids;
}

TEST_P(Maps, SinglesGiveTheSameBitsAsNoMap) {
    for (const int trailing : {0, 3}) {
        EncoderOptions o = with([](auto& options) { options.schedule = {0, 2}, options.rope = "half"; });
        o.trailing = trailing;
        const EncoderCase plain = makeEncoder(o);
        o.map = true;
        const EncoderCase mapped = makeEncoder(o);
        const cv::Mat batch = makeBatch(o, 3, 24, 8);
        const std::vector<MergeMap> singles(3, identityMap(24));
        const Ran with = runWithMaps(GetParam(), mapped, batch, singles);
        EXPECT_TRUE(sameBits(with.outputs[0], run(GetParam(), plain, batch).outputs[0]));
        EXPECT_EQ(with.report.images[0].stages.size(), 3u);
        EXPECT_EQ(with.report.images[0].stages[0].tokens, 24);
    }
}

// There are 7 tokens before the image tokens and 4 after them. Clusters of the maps have 1 to 50 tokens.
TEST_P(Maps, EqualTheOracle) {
    EncoderOptions o = with([](auto& options) { options.schedule = {2}, options.rope = "interleaved"; });
    o.special = 7, o.trailing = 4, o.map = true, o.imageTokens = 640;
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 5, o.imageTokens, 3);
    const cv::Mat bias = randomMatrix(1, batch.size[1], 12, 0.7);
    std::vector<std::vector<int>> ids;
    std::vector<MergeMap> maps;
    for (int i = 0; i < 5; ++i) {
        ids.push_back(randomMap(o.imageTokens, 10 * (i + 1), i));
        maps.push_back(mapOf(ids.back()));
    }
    const Ran ran = runWithMaps(GetParam(), encoder, batch, maps, bias);
    const std::vector<double> biases(bias.begin<float>(), bias.end<float>());
    for (int i = 0; i < 5; ++i) {
        const ImageReport& report = ran.report.images[i];
        ASSERT_EQ(report.stages.size(), 2u);
        EXPECT_EQ(mpm::test::ids(report.stages[0].map), byRepresentative(ids[i]));
        EXPECT_EQ(report.stages[0].block, 0);
        EXPECT_EQ(report.tokens[0], maps[i].clusters);
        EXPECT_EQ(report.tokens[2], report.stages[1].tokens);
        OracleGiven given;
        given.entry = byRepresentative(ids[i]);
        given.imposed[0] = mpm::test::ids(report.stages[1].map);
        const OracleOutput expected =
            oracleEncoder(encoder.config, encoder.weights, toRows(imageOf(batch, i)), biases, given);
        if (GetParam().decidesAlike && expected.smallestMargins[0] > 1e-5) {
            EXPECT_EQ(given.imposed[0], expected.freeMaps[0]);
        }
        EXPECT_LT(relativeError(imageOf(ran.outputs[0], i), toMatrix(expected.taps[0], o.dim())),
                  GetParam().tolerance)
            << "image " << i;
    }
}

TEST_P(Maps, NumbersOfClustersDoNotMatter) {
    EncoderOptions o = with([](auto& options) { options.schedule = {1}; });
    o.map = true;
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 1, 60, 3);
    const std::vector<int> ids = randomMap(60, 5, 1);
    const Ran one = runWithMaps(GetParam(), encoder, batch, {mapOf(ids)});
    const Ran other = runWithMaps(GetParam(), encoder, batch, {mapOf(byRepresentative(ids))});
    EXPECT_TRUE(sameBits(one.outputs[0], other.outputs[0]));
    EXPECT_TRUE(sameBits(one.report.images[0].map, other.report.images[0].map));
}

TEST_P(Maps, ADecoderFollowsAndNeverMerges) {
    EncoderOptions o = with([](auto& options) { options.schedule = {0, 1}; });
    o.map = true, o.trailing = 6;
    EncoderCase decoder = makeEncoder(o);
    decoder.config.merges = false;
    const cv::Mat batch = makeBatch(o, 1, 30, 3);
    const std::vector<int> ids = randomMap(30, 4, 1);
    const Ran ran = runWithMaps(GetParam(), decoder, batch, {mapOf(ids)});
    decoder.config.schedule.clear();
    OracleGiven given;
    given.entry = byRepresentative(ids);
    const OracleOutput expected =
        oracleEncoder(decoder.config, decoder.weights, toRows(imageOf(batch, 0)), {}, given);
    EXPECT_LT(relativeError(imageOf(ran.outputs[0], 0), toMatrix(expected.taps[0], o.dim())),
              GetParam().tolerance);
    EXPECT_EQ(mpm::test::ids(ran.report.images[0].map), byRepresentative(ids));
}

INSTANTIATE_TEST_SUITE_P(Cpu, Maps, testing::Values(kF32, kBf16, kI8),
                         [](const auto& one) { return std::string(one.param.name); });

class Chains : public EncoderTest {};

void expectSameReport(const Report& cut, const Report& whole) {
    ASSERT_EQ(cut.images.size(), whole.images.size());
    for (size_t i = 0; i < cut.images.size(); ++i) {
        const ImageReport &a = cut.images[i], &b = whole.images[i];
        EXPECT_TRUE(sameBits(a.map, b.map)) << "image " << i;
        EXPECT_EQ(a.tokens, b.tokens) << "image " << i;
        ASSERT_EQ(a.stages.size(), b.stages.size()) << "image " << i;
        for (size_t s = 0; s < a.stages.size(); ++s) {
            EXPECT_EQ(a.stages[s].block, b.stages[s].block);
            EXPECT_EQ(a.stages[s].tokens, b.stages[s].tokens);
            EXPECT_TRUE(sameBits(a.stages[s].map, b.stages[s].map)) << "stage " << s;
        }
    }
}

const std::vector<std::vector<int>>& cutsOfTwelve() {
    static const std::vector<std::vector<int>> kCuts = {
        {1}, {2}, {3}, {5, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
    return kCuts;
}

// Cuts the encoder into segments before, at and after the blocks that merge. The bits must not change.
void expectSameBits(const Target& target, const EncoderOptions& o, const cv::Mat& batch) {
    const EncoderCase whole = makeEncoder(o);
    const auto control = std::make_shared<EncoderControl>(whole.config);
    EncoderRunner runner(control);
    runner.setWeights(whole.weights);
    control->change([&](Settings& s) {
        s.device = target.device;
        s.precision = target.precision;
    });
    std::map<std::vector<int>, Ran> expected;
    const std::vector<std::vector<int>> schedules = {{}, {0}, {2, 5}, {1, 3, 6, 9}};
    for (const std::vector<int>& schedule : schedules) {
        control->change([&](Settings& s) { s.schedule = schedule; });
        Ran& ran = expected[schedule];
        ran.outputs.resize(1);
        ran.outputs[0].create(batch.dims, batch.size.p, CV_32F);
        runner.run(batch, cv::Mat(), ran.outputs);
        ran.report = control->report();
    }
    for (const std::vector<int>& cuts : cutsOfTwelve()) {
        ChainRun chain(whole, cuts, on(target));
        for (const std::vector<int>& schedule : schedules) {
            chain.control().change([&](Settings& s) { s.schedule = schedule; });
            EXPECT_TRUE(sameBits(chain.forward(batch), expected[schedule].outputs[0]))
                << cuts.size() + 1 << " segments, " << schedule.size() << " merges";
            expectSameReport(chain.control().report(), expected[schedule].report);
        }
    }
}

EncoderOptions twelveBlocks(int heads) {
    EncoderOptions o;
    o.heads = heads, o.headSize = 64, o.blocks = 12, o.hidden = 4 * o.dim();
    return o;
}

TEST_P(Chains, GiveTheBitsOfOneEncoderAtWidthT) {
    EncoderOptions o = twelveBlocks(3);
    o.special = 3, o.trailing = 2, o.rope = "half", o.imageTokens = 50;
    expectSameBits(GetParam(), o, makeBatch(o, 5, 50, 7));
}

TEST_P(Chains, GiveTheBitsOfOneEncoderAtWidthS) {
    const EncoderOptions o = twelveBlocks(6);
    expectSameBits(GetParam(), o, makeBatch(o, 2, 24, 7));
}

TEST_P(Chains, GiveTheBitsOfOneEncoderAtRealWidthsB) {
    const EncoderOptions o = twelveBlocks(12);
    expectSameBits(GetParam(), o, makeBatch(o, 1, 20, 7));
}

EncoderOptions small() {
    EncoderOptions o;
    o.blocks = 6, o.schedule = {1, 3, 4};
    return o;
}

TEST_P(Chains, GiveTheSameBitsForEveryMethodBiasAndImposedMap) {
    EncoderOptions o = small();
    o.rope = "interleaved", o.imageTokens = 60;
    EncoderCase whole = makeEncoder(o);
    whole.config.grid = cv::Size(10, 6);
    const cv::Mat batch = makeBatch(o, 3, 60, 5), bias = randomMatrix(1, 61, 12, 0.7);
    const auto backwards = [](Settings& s) {
        MergeMap map;
        for (int i = 0; i < 60; ++i)
            map.ids.push_back((59 - i) / 2);
        map.clusters = 30;
        s.imposed[0] = {map};
    };
    const auto method = [](const char* name) { return [name](Settings& s) { s.method = name; }; };
    for (const std::function<void(Settings&)>& change :
         {std::function<void(Settings&)>(backwards), std::function<void(Settings&)>(method("tome:r=4")),
          std::function<void(Settings&)>(method("algm")), std::function<void(Settings&)>(method("local")),
          std::function<void(Settings&)>(method("random")), std::function<void(Settings&)>(method("grid")),
          std::function<void(Settings&)>(method("mpm:mean=weighted,attention=proportional"))}) {
        const Ran expected = run(GetParam(), whole, batch, bias, change);
        for (const std::vector<int>& cuts : {std::vector<int>{3}, {1, 2, 4, 5}}) {
            ChainRun chain(whole, cuts, on(GetParam()));
            chain.control().change(change);
            EXPECT_TRUE(sameBits(chain.forward(batch, {}, bias), expected.outputs[0]))
                << chain.control().effective().method.value_or("?");
            EXPECT_EQ(chain.control().report().images[2].tokens, expected.report.images[2].tokens);
        }
    }
}

TEST_P(Chains, AddTheMeanOfWhatIsInjected) {
    EncoderOptions o = small();
    o.special = 2, o.trailing = 3;
    const EncoderCase whole = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 5, 40, 5);
    std::map<int, cv::Mat> injected;
    for (int block : {2, 3, 5})
        injected[block] = makeBatch(o, 5, 40, 50 + block);
    ChainRun chain(whole, {2, 3, 5}, on(GetParam()));
    const cv::Mat out = chain.forward(batch, injected);
    for (int i = 0; i < 5; ++i) {
        const Report report = chain.control().report();
        OracleGiven given;
        for (int s = 0; s < 3; ++s)
            given.imposed[s] = ids(report.images[i].stages[s].map);
        for (const auto& [block, rows] : injected)
            given.injected[block] = toRows(imageOf(rows, i));
        const OracleOutput expected =
            oracleEncoder(whole.config, whole.weights, toRows(imageOf(batch, i)), {}, given);
        EXPECT_LT(relativeError(imageOf(out, i), toMatrix(expected.taps[0], o.dim())), GetParam().tolerance)
            << "image " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Chains, testing::Values(kF32, kBf16, kI8),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(ChainReport, AMapOfItsOwnIsAStage) {
    const EncoderCase whole = makeEncoder(small());
    const std::vector<EncoderCase> segments = cutEncoder(whole, {2});
    const cv::Mat batch = makeBatch(whole.options, 1, 24, 5);
    NetworkPlace before, behind;
    const auto first = before.join(segments[0].config), second = behind.join(segments[1].config);
    ASSERT_EQ(first, second);
    EXPECT_EQ(first->schedule(), (std::vector<int>{1, 3, 4}));
    EncoderRunner a(first, segments[0].config), b(first, segments[1].config);
    a.setWeights(segments[0].weights);
    b.setWeights(segments[1].weights);
    std::vector<cv::Mat> out{cv::Mat(3, batch.size.p, CV_32F)};
    SessionInput input;
    input.tokens = batch;
    a.run(input, out);
    input.tokens = out[0].clone();
    input.maps = {mapOf(randomMap(24, 3, 2))};
    b.run(input, out);
    const Report report = first->report();
    const ImageReport& image = report.images[0];
    ASSERT_EQ(image.stages.size(), 4u);
    EXPECT_EQ(image.stages[1].block, 2);
    EXPECT_EQ(image.stages[1].map.total(), 24u);
    ASSERT_EQ(image.tokens.size(), 6u);
    EXPECT_EQ(image.tokens[0], 24);
    EXPECT_EQ(image.tokens[1], image.stages[0].tokens);
    EXPECT_EQ(image.tokens[2], image.stages[1].tokens);
    EXPECT_EQ(image.tokens[3], image.stages[2].tokens);
}

// The number of clusters changes from image to image. After some rounds, no more memory is allocated.
TEST(Chain, AllocatesNothingOnceWarm) {
    EncoderOptions o = small();
    o.headSize = 64, o.imageTokens = 200;
    const EncoderCase whole = makeEncoder(o);
    ChainRun chain(whole, {2, 4}, on(kF32));
    for (unsigned seed = 0; seed < 20; ++seed)
        chain.forward(makeBatch(o, 1, 200, seed));
    const size_t before = kernels::systemAllocations();
    for (unsigned seed = 20; seed < 80; ++seed)
        chain.forward(makeBatch(o, 1, 200, seed));
    // A pool thread that gets work for the first time may still allocate scratch memory.
    EXPECT_LE(kernels::systemAllocations() - before, 8u);
}

TEST(Chain, ReusesAsOneEncoderDoes) {
    EncoderOptions o = small();
    o.trailing = 2;
    const EncoderCase whole = makeEncoder(o);
    ChainRun chain(whole, {2, 4}, on(kF32));
    Reuse reuse;
    reuse.exact = true;
    chain.control().change([&](Settings& s) { s.reuse = reuse; });
    const cv::Mat first = makeBatch(o, 2, 24, 5);
    cv::Mat second = first.clone();
    second.ptr<float>(1)[(o.special + 3) * o.dim()] += 0.5f;
    const auto all = [](Settings& s) { s.schedule = std::vector<int>(); };
    EXPECT_TRUE(sameBits(chain.forward(first), run(kF32, whole, first, cv::Mat(), all).outputs[0]));
    const cv::Mat out = chain.forward(second);
    const Report report = chain.control().report();
    EXPECT_EQ(report.images[1].reuse.state, ReuseState::Partial);
    EXPECT_GT(report.images[1].reuse.recomputed, 0);
    EXPECT_LT(report.images[1].reuse.recomputed, 0.5);
    EXPECT_EQ(report.images[1].tokens, std::vector<int>(6, 24));
    EXPECT_TRUE(report.images[1].stages.empty());
    EXPECT_LT(relativeError(out, run(kF32, whole, second, cv::Mat(), all).outputs[0]), 0.1);
}

template <class Body>
void expectRejection(const Body& body, const std::string& word) {
    try {
        body();
        FAIL() << "was accepted; expected a rejection that says " << word;
    } catch (const cv::Exception& e) {
        EXPECT_NE(e.err.find(word), std::string::npos) << e.err;
    }
}

// Creates a segment for each range of blocks of a chain of 6 blocks, as the reader of a network does.
void readChain(const std::vector<cv::Range>& ranges) {
    const EncoderCase whole = makeEncoder(small());
    std::list<NetworkPlace> places;
    std::vector<std::shared_ptr<EncoderControl>> all;
    for (const cv::Range& range : ranges) {
        EncoderConfig segment = whole.config;
        segment.chain = "trunk", segment.chainBlocks = 6;
        segment.firstBlock = range.start, segment.blocks = range.size();
        all.push_back(places.emplace_back().join(segment));
    }
    all.front()->checkSegments();
    EXPECT_EQ(all.front()->segments(), static_cast<int>(ranges.size()));
}

TEST(Chain, CoversItsBlocksWithoutGapOrOverlap) {
    EXPECT_NO_THROW(readChain({{0, 6}}));
    EXPECT_NO_THROW(readChain({{0, 2}, {2, 6}}));
    EXPECT_NO_THROW(readChain({{0, 2}, {2, 6}}));  // another network with the same chain
    expectRejection([] { readChain({{0, 2}, {3, 6}}); }, "there are 0..1, 3..5");
    expectRejection([] { readChain({{0, 3}, {2, 6}}); }, "there are 0..2, 2..5");
    expectRejection([] { readChain({{0, 3}}); }, "'trunk' must cover its blocks 0..5");
    expectRejection([] { readChain({{0, 3}, {0, 3}, {3, 6}}); }, "there are 0..2");
    EXPECT_NO_THROW(readChain({{0, 2}, {2, 6}}));  // an error does not affect the next network
}

TEST(Chain, WrongUse) {
    const EncoderCase whole = makeEncoder(small());
    const cv::Mat batch = makeBatch(whole.options, 2, 24, 5);
    EncoderOptions o = small();
    o.map = true;
    const EncoderCase mapped = makeEncoder(o);
    const auto with = [&](const std::vector<MergeMap>& maps) { runWithMaps(kF32, mapped, batch, maps); };
    expectRejection([&] { with({}); }, "map of each of 2 images, got 0");
    expectRejection([&] { with({identityMap(24)}); }, "map of each of 2 images, got 1");
    expectRejection(
        [&] {
            with({identityMap(24), identityMap(23)});
        },
        "of 23 image tokens, but there are 24");
    ChainRun chain(whole, {2, 4}, on(kF32));
    chain.control().change([](Settings& s) { s.schedule = {{6}}; });
    expectRejection([&] { chain.forward(batch); }, "this encoder has blocks 0..5");
    chain.control().change([](Settings& s) {
        s.schedule = {{1, 4}};
        s.imposed[1] = {identityMap(24)};
    });
    expectRejection([&] { chain.forward(batch); }, "a map of 24 tokens before block 4 does not fit image 0");
    chain.control().change([](Settings& s) {
        s.imposed.clear();
        s.imposed[2] = {identityMap(24)};
    });
    expectRejection([&] { chain.forward(batch); }, "named stage 2, but the schedule has stages 0..1");
    chain.control().change([](Settings& s) { s.imposed.clear(); });
    EXPECT_NO_THROW(chain.forward(batch));
}

}  // namespace
}  // namespace mpm::test
