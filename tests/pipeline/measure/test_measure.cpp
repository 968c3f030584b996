// The library that `mpm bench` and `mpm eval` use: methods, settings, rounds, heads, published figures.
#include <gtest/gtest.h>

#include "pipeline/measure/bench_rounds.hpp"
#include "pipeline/measure/counts_json.hpp"
#include "pipeline/measure/eval_summary.hpp"
#include "pipeline/measure/watcher.hpp"

namespace mpm::pipeline {
namespace {

void expectSettingsError(const std::function<void()>& work, const std::string& word) {
    try {
        work();
        ADD_FAILURE() << "no error about " << word;
    } catch (const MeasureError& error) {
        EXPECT_EQ(error.kind(), MeasureError::Kind::Settings);
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
}

RandomModel smallModel() {
    RandomModel model;
    model.size = {64, 64};
    model.dim = 64, model.depth = 3, model.heads = 1, model.classes = 2;
    return model;
}

BenchNetworks smallNetworks() {
    return BenchNetworks([] { return Network(smallModel()); });
}

TEST(Method, ListsAreRead) {
    const std::vector<Method> methods =
        methodsFrom("none,mpm:0+2,tome:r=3,schedule=falling,local,reuse,reuse:full=0.3,refresh=9");
    ASSERT_EQ(methods.size(), 6u);
    EXPECT_EQ(methods[1].name, "mpm");
    EXPECT_EQ(methods[1].blocks, (std::vector<int>{0, 2}));
    EXPECT_EQ(methods[1].text, mutualPairsBefore({0, 2}).text);
    EXPECT_EQ(methods[2].name, "tome:r=3,schedule=falling");
    EXPECT_EQ(methods[2].shortName(), "tome");
    EXPECT_FALSE(methods[3].blocks);
    EXPECT_FALSE(methods[3].reuses());
    EXPECT_EQ(methods[4].reducer({}), "mpm");
    EXPECT_EQ(methods[5].name, "reuse:full=0.3,refresh=9");
    EXPECT_TRUE(methods[5].reuses());
    EXPECT_NO_THROW(checkMethods(methods));
}

TEST(Method, BlocksMayFollowParameters) {
    const std::vector<Method> methods =
        methodsFrom("mpm:pairs=0.4,by=keys:1+3+5,tome:r=13,gentle:0+2,gentle,mpm:mean=weighted");
    ASSERT_EQ(methods.size(), 5u);
    EXPECT_EQ(methods[0].name, "mpm:pairs=0.4,by=keys");
    EXPECT_EQ(methods[0].blocks, (std::vector<int>{1, 3, 5}));
    EXPECT_EQ(methods[0].text, "mpm:pairs=0.4,by=keys:1+3+5");
    EXPECT_EQ(methods[0].shortName(), "mpm");
    EXPECT_EQ(methods[1].name, "tome:r=13");
    EXPECT_EQ(methods[2].blocks, (std::vector<int>{0, 2}));
    EXPECT_FALSE(methods[3].blocks);
    EXPECT_NO_THROW(checkMethods(methods));
    expectSettingsError([] { methodsFrom("mpm:pairs=0.4:3+1"); }, "mpm:pairs=0.4:3+1");
    for (const char* text : {"tome:r=2:2+5", "algm:5"})
        expectSettingsError([&] { checkMethods(methodsFrom(text)); }, "has its own blocks");
    expectSettingsError([] { checkMethods(methodsFrom("none:2")); }, "merges nothing");
    EXPECT_EQ(usualBlocks("gentle", 12), (std::vector<int>{1, 3, 5, 7, 9}));
    EXPECT_EQ(usualBlocks("gentle", 6), (std::vector<int>{1, 3}));
    EXPECT_EQ(usualBlocks("gentle", 24).back(), 17);
    EXPECT_TRUE(usualBlocks("gentle", 1).empty());
    EXPECT_TRUE(usualBlocks("mpm", 12).empty());
}

// If a method is set in the model, `mpm` without blocks and `reuse` select this method.
TEST(Method, WithoutBlocksMpmIsTheModelsOwn) {
    const OwnMerging own{"mpm:pairs=2", {0, 2}};
    EXPECT_EQ(methodsFrom("mpm")[0].reducer(own), "mpm:pairs=2");
    EXPECT_EQ(methodsFrom("reuse")[0].reducer(own), "mpm:pairs=2");
    EXPECT_EQ(methodsFrom("mpm:1")[0].reducer(own), "mpm");
    EXPECT_EQ(methodsFrom("mpm:mean=weighted")[0].reducer(own), "mpm:mean=weighted");
    BenchNetworks networks([] {
        Network network(smallModel());
        network.encoder().setMethod("mpm:pairs=2");
        network.encoder().setSchedule({0, 2});
        return network;
    });
    BenchRounds rounds(std::move(networks), {1}, costOf(smallModel()), methodsFrom("none,mpm,mpm:1"));
    rounds.run({cv::Mat(64, 64, CV_8UC3, cv::Scalar(1, 2, 3))}, 0, 1);
    const std::vector<BenchRow>& rows = rounds.rows();
    EXPECT_EQ(rows[1].method.text, "mpm:pairs=2");
    EXPECT_EQ(rows[1].method.shortName(), "mpm");
    EXPECT_EQ(rows[1].tokens.schedule(), (std::vector<int>{0, 2}));
    EXPECT_EQ(rows[0].tokens.means()[2] - rows[1].tokens.means()[2], 3)
        << "at most two pairs a stage, then one";
    EXPECT_EQ(rows[2].method.text, "mpm:1");
}

TEST(Method, ReuseIsAddedOrGetsItsValues) {
    const auto texts = [](const std::string& methods, const std::string& values) {
        std::string all;
        for (const Method& method : withReuse(methodsFrom(methods), values))
            all += method.text + " ";
        return all;
    };
    EXPECT_EQ(texts("none,mpm", "on"), "none mpm reuse ");
    EXPECT_EQ(texts("none", "refresh=9"), "none reuse:refresh=9 ");
    EXPECT_EQ(texts("reuse,none", "refresh=9,full=0.5"), "reuse:refresh=9,full=0.5 none ");
    EXPECT_EQ(texts("reuse:refresh=4,reuse", "full=0.5"), "reuse:refresh=4 reuse:full=0.5 ");
}

TEST(Method, SharingIsRead) {
    const auto methods = methodsFrom("none,cts,cts:shared=120,policy=random,cts:policy=oracle,mpm:2");
    ASSERT_EQ(methods.size(), 5u);
    EXPECT_FALSE(methods[0].shares());
    EXPECT_TRUE(methods[1].shares());
    EXPECT_EQ(methods[2].reducer({}), "none");
    EXPECT_FALSE(shareMethodOf(methods[1]).shared);
    EXPECT_EQ(shareMethodOf(methods[1]).policy, ShareMethod::Policy::Learned);
    EXPECT_EQ(shareMethodOf(methods[2]).shared, 120);
    EXPECT_EQ(shareMethodOf(methods[2]).policy, ShareMethod::Policy::Random);
    EXPECT_EQ(shareMethodOf(methods[3]).policy, ShareMethod::Policy::Oracle);
    EXPECT_NO_THROW(checkMethods(methods));
    for (const char* wrong : {"cts:shared=-1", "cts:shared=", "cts:shared=2x", "cts:policy=best", "cts:r=3",
                              "cts:2", "cts:shared=3:2"})
        expectSettingsError([&] { checkMethods(methodsFrom(wrong)); }, "write cts");
}

TEST(Method, SharingNeedsAPolicyInTheModel) {
    Network network(smallModel());
    EXPECT_NO_THROW(applyMethod(network, methodsFrom("none")[0], {}));
    try {
        applyMethod(network, methodsFrom("cts:shared=2")[0], {});
        ADD_FAILURE() << "no error";
    } catch (const MeasureError& error) {
        EXPECT_EQ(error.kind(), MeasureError::Kind::Input);
        EXPECT_NE(std::string(error.what()).find("no policy"), std::string::npos) << error.what();
    }
    expectSettingsError(
        [] { BenchRounds(smallNetworks(), {1}, costOf(smallModel()), methodsFrom("cts:policy=oracle")); },
        "needs labels");
}

// The score of a superpatch is the share of its most frequent label. Superpatches with equal shares are in
// random order.
TEST(ShareScores, OracleCountsLabels) {
    cv::Mat labels(8, 12, CV_8U, cv::Scalar(3));
    for (int k = 0; k < 6; ++k)  // the first k of superpatch k's 16 pixels get the labels 0..k-1
        for (int i = 0; i < k; ++i)
            labels.at<uchar>(k / 3 * 4 + i / 4, k % 3 * 4 + i % 4) = static_cast<uchar>(i);
    const cv::Mat scores = oracleScores(labels, {3, 2}, 5);
    for (int k = 0; k < 6; ++k) {
        const int most = k == 4   ? 13
                         : k == 5 ? 12
                                  : 16 - k;  // if k > 3, one of the first k pixels keeps label 3
        EXPECT_GE(scores.at<float>(k / 3, k % 3), most / 16.0F) << k;
        EXPECT_LT(scores.at<float>(k / 3, k % 3), (most + 0.6F) / 16) << k;
    }
    labels.setTo(7);
    const cv::Mat one = oracleScores(labels, {3, 2}, 1), other = oracleScores(labels, {3, 2}, 2);
    EXPECT_NE(cv::norm(one, other, cv::NORM_INF), 0);
    EXPECT_EQ(cv::norm(one, oracleScores(labels, {3, 2}, 1), cv::NORM_INF), 0);
    EXPECT_THROW(oracleScores(labels, {5, 2}, 1), cv::Exception);
    EXPECT_NE(cv::norm(randomScores({3, 2}, 1), randomScores({3, 2}, 2), cv::NORM_INF), 0);
}

TEST(Flops, AGivenMapCostsNoMatching) {
    ModelCost cost;
    cost.attentionWeights = {100}, cost.mlpWeights = {200};
    cost.width = cost.attentionWidth = 8;
    mpm::ImageReport report;
    report.map = cv::Mat(1, 10, CV_32S, cv::Scalar(0));
    report.tokens = {7};
    report.stages = {{0, report.map, 7}};
    const double block = 2 * 7 * 300 + 4 * 7 * 7 * 8;
    EXPECT_GT(FlopsCounter(cost).image(report), block);
    cost.mapGiven = true;
    EXPECT_EQ(FlopsCounter(cost).image(report), block);
    EXPECT_TRUE(scheduleOf(report, true).empty());
    EXPECT_EQ(scheduleOf(report, false), (std::vector<int>{0}));
}

TEST(Flops, BlocksWithWindowsAttendToTheirWindow) {
    ModelCost cost;
    cost.attentionWeights = {100, 100}, cost.mlpWeights = {200, 200};
    cost.width = cost.attentionWidth = 8;
    cost.otherTokens = {4, 4};
    cost.windows = 4, cost.padding = 6, cost.windowed = {1, 0};
    const FlopsCounter counter(cost);
    const auto block = [](double rows, double keys) { return 2 * rows * 300 + 4 * rows * keys * 8; };
    mpm::ImageReport report;
    report.map = cv::Mat(1, 10, CV_32S, cv::Scalar(0));
    report.tokens = {10, 10};
    EXPECT_EQ(counter.blocks(report), (std::vector<double>{block(14, 20.0 / 4), block(14, 14)}));
    report.reuse.state = mpm::ReuseState::Partial;
    report.reuse.recomputed = 0.2;
    EXPECT_EQ(counter.blocks(report), (std::vector<double>{block(6, 20.0 / 4), block(6, 14)}));
    EXPECT_EQ(counter.merging(40, "mpm"), 4 * mpm::matchingCost("mpm", {10, 8, 8}));
}

TEST(Flops, DecodersFollowReuse) {
    ModelCost cost;
    cost.attentionWeights = {100, 100}, cost.mlpWeights = {200, 200};
    cost.width = cost.attentionWidth = 8;
    cost.around = 5;
    cost.decoders = {{10, 3, 8, {100}, {200}}};  // 10 rows come from the image, 3 from the decoder
    const FlopsCounter counter(cost);
    const auto rows = [](double computed, double all) { return 2 * computed * 300 + 4 * computed * all * 8; };
    mpm::ImageReport report;
    report.map = cv::Mat(1, 10, CV_32S, cv::Scalar(0));
    report.tokens = {10, 10};
    EXPECT_EQ(counter.image(report), 5 + 2 * rows(10, 10) + rows(13, 13));
    report.reuse.state = mpm::ReuseState::Partial;
    report.reuse.recomputed = 0.4;
    EXPECT_EQ(counter.image(report), 5 + 2 * rows(4, 10) + rows(7, 13));
    report.reuse.state = mpm::ReuseState::Full;
    report.reuse.recomputed = 1;
    EXPECT_EQ(counter.image(report), 5 + 2 * rows(10, 10) + rows(13, 13));
}

TEST(Method, WrongListsAreRejected) {
    expectSettingsError([] { methodsFrom(""); }, "no method");
    expectSettingsError([] { methodsFrom("none,"); }, "empty entry");
    expectSettingsError([] { methodsFrom("mpm:5+2"); }, "mpm:5+2");
    expectSettingsError([] { methodsFrom("mpm:x"); }, "mpm:x");
    expectSettingsError([] { checkMethods(methodsFrom("magic")); }, "magic");
    expectSettingsError([] { checkMethods(methodsFrom("tome:r=x")); }, "r=x");
    EXPECT_EQ(blocksFrom("2,5"), (std::vector<int>{2, 5}));
    for (const char* text : {"", ",", "2,", "2,2", "-1", "2;5", "2 5"})
        EXPECT_FALSE(blocksFrom(text)) << text;
}

TEST(EvalSettings, SweepsAreExpanded) {
    EvalRequest request;
    request.methods = methodsFrom("none,singles,pairs");
    EXPECT_EQ(settingsOf(request, 4).size(), 1u + 4 + 6);
    request.nights.resize(2);
    EXPECT_EQ(settingsOf(request, 4).size(), 2u * 11);
    request.paired = true;
    const std::vector<Setting> settings = settingsOf(request, 4);
    EXPECT_EQ(settings.size(), 3u * 11);
    EXPECT_FALSE(settings.front().night);
    EXPECT_TRUE(settings.back().night);
    request.methods.clear();
    EXPECT_EQ(settingsOf(request, 4).front().method.text, "mpm");
}

TEST(BenchRounds, MeasuresEachMethodAtEachBatch) {
    BenchRounds rounds(smallNetworks(), {1, 2}, costOf(smallModel()), methodsFrom("none,mpm:0+1"));
    const std::vector<cv::Mat> images(2, cv::Mat(64, 64, CV_8UC3, cv::Scalar(90, 120, 150)));
    std::int64_t last = 0;
    Watcher watcher;
    watcher.progress = [&](std::int64_t done, std::int64_t total) {
        EXPECT_EQ(total, 4);
        EXPECT_EQ(done, ++last);
    };
    rounds.run(images, 1, 3, watcher);
    EXPECT_EQ(last, 4);
    ASSERT_EQ(rounds.rows().size(), 4u);
    for (const BenchRow& row : rounds.rows()) {
        EXPECT_EQ(row.forwards.size(), 3u);
        EXPECT_GT(row.ms(0.5), 0);
        EXPECT_EQ(row.kept.size(), 3u * row.batch);
        const BenchRow* base = baseOf(rounds.rows(), row);
        ASSERT_NE(base, nullptr);
        EXPECT_EQ(base->batch, row.batch);
        if (row.method.name == "mpm") {
            EXPECT_LT(mean(row.kept), mean(base->kept));
        }
    }
}

TEST(BenchRounds, EveryRoundIsTheSumOfItsParts) {
    BenchRounds rounds(smallNetworks(), {1, 2}, costOf(smallModel()), methodsFrom("none,mpm:0+1"));
    rounds.run({2, cv::Mat(64, 64, CV_8UC3, cv::Scalar(90, 120, 150))}, 1, 3);
    ASSERT_EQ(rounds.rows().size(), 4u);
    for (const BenchRow& row : rounds.rows()) {
        std::vector<std::string> names;
        for (const PartTimes& part : row.parts) {
            names.push_back(part.name);
            ASSERT_EQ(part.times.size(), 3u) << part.name;
        }
        EXPECT_EQ(names, (std::vector<std::string>{"patch embedding", "encoder", "behind the encoder",
                                                   "outside the layers"}));
        for (size_t round = 0; round < row.forwards.size(); ++round) {
            double sum = 0;
            for (const PartTimes& part : row.parts) {
                EXPECT_GE(part.times[round], 0) << part.name;
                sum += part.times[round];
            }
            EXPECT_NEAR(sum, row.forwards[round], 1e-6 * sum);
            EXPECT_GE(row.parts.at(1).times[round], row.encoders[round]);
        }
    }
}

TEST(BenchRounds, StopsWhenItIsAskedTo) {
    BenchRounds rounds(smallNetworks(), {1}, costOf(smallModel()), methodsFrom("none"));
    Watcher watcher;
    watcher.stopRequested = [] { return true; };
    try {
        rounds.run({cv::Mat(64, 64, CV_8UC3, cv::Scalar::all(0))}, 0, 1, watcher);
        FAIL() << "it went on";
    } catch (const MeasureError& error) {
        EXPECT_EQ(error.kind(), MeasureError::Kind::Failed);
    }
}

TEST(BenchRounds, RejectsABlockThatIsNotThere) {
    const auto open = [](const std::string& methods, int batch) {
        BenchRounds(smallNetworks(), {batch}, costOf(smallModel()), methodsFrom(methods));
    };
    expectSettingsError([&] { open("mpm:1+99", 1); }, "99");
    expectSettingsError([&] { open("none,reuse", 2); }, "batch 1");
    expectSettingsError([&] { open("reuse:refresh=x", 1); }, "refresh");
}

TEST(BenchRounds, ReuseComputesLessOfAStillScene) {
    BenchRounds rounds(smallNetworks(), {1}, costOf(smallModel()),
                       methodsFrom("none,reuse:refresh=8,full=0.5"));
    cv::Mat image(64, 64, CV_8UC3);
    cv::randu(image, 0, 255);
    rounds.run({image}, 2, 9);
    const BenchRow &all = rounds.rows()[0], &reuse = rounds.rows()[1];
    EXPECT_EQ(reuse.reuse.full, 1);
    EXPECT_EQ(reuse.reuse.suspended, 0);
    EXPECT_DOUBLE_EQ(reuse.reuse.meanRecomputed(), (1 + 8 * 2.0 / 16) / 9);
    EXPECT_LT(reuse.gflops(), 0.5 * all.gflops());
    EXPECT_EQ(all.reuse.forwards, 0);
    EXPECT_EQ(reuse.agreement, std::vector<double>(9, 1.0)) << "a still scene has the labels of all tokens";
    EXPECT_TRUE(all.agreement.empty());
}

TEST(Counts, HeadsSurviveJson) {
    EvalHead head;
    head.run = {"1.0", "4.6.0", "a processor", "avx2", 2, "model.onnx", {640, 480}};
    head.modelSha256 = "abc", head.blocks = 12, head.width = 192, head.heads = 3;
    head.dataset = "camvid", head.split = "val", head.images = 7, head.imagesHash = ~std::uint64_t{0};
    head.group = 2, head.groups = 4, head.shard = {2, 3}, head.classes = {"sky", "road"}, head.classCount = 2;
    head.settings = {{"mpm", "mpm:2", "f32", 2, std::nullopt},
                     {"tome", "tome:r=3", "bf16", 1, std::vector<double>{0.35, 250, 0.01}}};
    const Json json = toJson(head);
    EXPECT_EQ(json.at("size"), (Json{480, 640}));
    EXPECT_EQ(toJson(headFrom(json)), json);
}

TEST(Published, FiguresAreFoundByModelAndMethod) {
    EXPECT_EQ(publishedFigures().size(), 38u);
    EvalHead head;
    head.dataset = "pascal-context", head.width = 384, head.run.size = {512, 512};
    SettingHead setting{"mpm", "mpm", "f32", 1, std::nullopt};
    EvalCounts counts{head, {}};
    counts.head.settings = {setting};
    counts.head.classCount = 2;
    EvalSummary summary(counts);
    EvalRow& row = summary.rows.front();
    EXPECT_FALSE(publishedFor(head, row)) << "nothing was measured";
    row.tokens = {1024};
    EXPECT_FALSE(publishedFor(head, row)) << "the schedule differs";
    row.schedule = {2, 5};
    const auto figures = publishedFor(head, row);
    ASSERT_TRUE(figures);
    EXPECT_EQ(figures->miou, 52.5);
    EXPECT_EQ(figures->gflops, 44);
    EXPECT_EQ(figures->fps, 561);
    row.night = std::vector<double>{0.35, 250, 0.01};
    EXPECT_FALSE(publishedFor(head, row)) << "published by day only";
}

TEST(Statistics, QuantilesAreInterpolated) {
    EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
    EXPECT_EQ(quantile({1, 2}, 0.25), 1.25);
    EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
    EXPECT_EQ(deviation({1}), 0);
    EXPECT_NEAR(deviation({1, 3}), std::sqrt(2), 1e-12);
}

}  // namespace
}  // namespace mpm::pipeline
