// Tests maps of encoders with windows: reported maps, imposed maps, maps as input, and maps in chains.
#include <numeric>
#include <set>

#include "mpm_layer/encoder/windows.hpp"
#include "mpm_layer/windows_suite.hpp"
#include "support/refusal.hpp"

namespace mpm::test {
namespace {

class WindowMaps : public EncoderTest {};

std::vector<std::vector<int>> stagesOf(const ImageReport& image) {
    std::vector<std::vector<int>> stages;
    for (const Stage& stage : image.stages)
        stages.push_back(ids(stage.map));
    return stages;
}

// Ids number the clusters of all windows together, in raster order of the representatives.
TEST_P(WindowMaps, ReportsNumberClustersInRasterOrder) {
    for (const char* method : {"mpm", "tome:r=5", "algm:tau=0.2"}) {
        EncoderOptions o = windowed({9, 8}, {3, 4}, {1}, {0, 2});
        o.blocks = 6;
        const Ran ran = run(GetParam(), makeEncoder(o), makeBatch(o, 2, 72, 4), cv::Mat(),
                            [&](Settings& s) { s.method = method; });
        for (const ImageReport& image : ran.report.images) {
            ASSERT_GE(image.stages.size(), 2u);
            cv::Mat composed = image.stages[0].map;
            for (size_t s = 1; s < image.stages.size(); ++s)
                composed = composeMaps(composed, image.stages[s].map);
            EXPECT_TRUE(sameBits(image.map, composed));
            int next = 0;
            std::map<int, int> windowOf;
            for (int t = 0; t < 72; ++t) {
                const int id = image.map.at<int>(t), window = t / 9 / 4 * 3 + t % 9 / 3;
                EXPECT_LE(id, next) << method;
                next = std::max(next, id + 1);
                EXPECT_EQ(windowOf.emplace(id, window).first->second, window);
            }
            EXPECT_EQ(next, image.stages.back().tokens);
            EXPECT_LT(next, image.stages[0].tokens);
        }
    }
}

TEST_P(WindowMaps, ImposedMapsAreThoseOfReports) {
    const EncoderOptions o = windowed({9, 8}, {3, 4}, {1}, {0, 2});
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 2, 72, 4);
    const Ran own = run(GetParam(), encoder, batch);
    const Ran imposed = run(GetParam(), encoder, batch, cv::Mat(), [&](Settings& s) {
        for (int stage : {0, 1})
            for (const ImageReport& image : own.report.images)
                s.imposed[stage].push_back(toMergeMap(image.stages[stage].map, "a stage"));
    });
    EXPECT_TRUE(sameBits(imposed.outputs[0], own.outputs[0]));
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(stagesOf(imposed.report.images[i]), stagesOf(own.report.images[i]));
    // The map of the first stage can also be an input.
    EncoderOptions later = o;
    later.schedule = {2}, later.map = true;
    std::vector<MergeMap> maps;
    for (const ImageReport& image : own.report.images) {
        maps.push_back(toMergeMap(image.stages[0].map, "a stage"));
        for (int& id : maps.back().ids)
            id = maps.back().clusters - 1 - id;
    }
    const Ran mapped = runWithMaps(GetParam(), makeEncoder(later), batch, maps);
    EXPECT_TRUE(sameBits(mapped.outputs[0], own.outputs[0]));
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(stagesOf(mapped.report.images[i]), stagesOf(own.report.images[i]));
}

TEST_P(WindowMaps, AMapThatJoinsTwoWindowsIsRejected) {
    EncoderOptions o = windowed({4, 4}, {2, 2}, {}, {0});
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 1, 16, 4);
    std::vector<int> map = {0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    const auto impose = [&] {
        run(GetParam(), encoder, batch, cv::Mat(), [&](Settings& s) { s.imposed[0] = {mapOf(map)}; });
    };
    expectRefusal(impose, "joins tokens of two windows of image 0");
    o.map = true;
    expectRefusal([&] { runWithMaps(GetParam(), makeEncoder(o), batch, {mapOf(map)}); }, "two windows");
    map = {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    EXPECT_NO_THROW(impose());
    expectRefusal(
        [&] {
            map.pop_back();
            impose();
        },
        "does not fit image 0");
}

TEST_P(WindowMaps, ChainsGiveTheBitsOfOneEncoder) {
    EncoderOptions o = windowed({9, 8}, {3, 4}, {2, 4}, {1, 3, 4});
    o.blocks = 6, o.special = 2;
    const EncoderCase whole = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 3, 72, 5), bias = randomMatrix(1, batch.size[1], 12, 0.7);
    const auto backwards = [](Settings& s) {
        MergeMap map;
        for (int i = 0; i < 72; ++i)
            map.ids.push_back(47 - i / 3 * 2 - (i % 3 == 2 ? 1 : 0));
        map.clusters = 48;
        s.imposed[0] = {map};
    };
    const auto method = [](const char* name) { return [name](Settings& s) { s.method = name; }; };
    for (const std::function<void(Settings&)>& change :
         {std::function<void(Settings&)>(method("mpm")), std::function<void(Settings&)>(method("gentle")),
          std::function<void(Settings&)>(method("tome:r=4")),
          std::function<void(Settings&)>(method("algm:tau=0.2")),
          std::function<void(Settings&)>(backwards)}) {
        const Ran expected = run(GetParam(), whole, batch, bias, change);
        for (const std::vector<int>& cuts : {std::vector<int>{3}, {1, 2, 4, 5}}) {
            ChainRun chain(whole, cuts, on(GetParam()));
            chain.control().change(change);
            EXPECT_TRUE(sameBits(chain.forward(batch, {}, bias), expected.outputs[0]))
                << chain.control().effective().method.value_or("?");
            for (int i = 0; i < 3; ++i) {
                const ImageReport a = chain.control().report().images[i], b = expected.report.images[i];
                EXPECT_EQ(a.tokens, b.tokens);
                EXPECT_EQ(stagesOf(a), stagesOf(b));
                EXPECT_TRUE(sameBits(a.map, b.map));
            }
        }
    }
}

// Returns the number of clusters in each window of 3x4 tokens in a grid of 9x8.
std::vector<int> clustersByWindow(const std::vector<Stage>& stages) {
    std::vector<int> map(72), counts;
    std::iota(map.begin(), map.end(), 0);
    for (const Stage& stage : stages)
        for (int& id : map)
            id = stage.map.at<int>(id);
    std::vector<std::set<int>> clusters(6);
    for (int t = 0; t < 72; ++t)
        clusters[t / 9 / 4 * 3 + t % 9 / 3].insert(map[t]);
    for (const std::set<int>& window : clusters)
        counts.push_back(static_cast<int>(window.size()));
    return counts;
}

TEST(Windows, CountsBeginAnewInASegmentWithoutMap) {
    MergeMap even, uneven;  // both have 48 clusters
    for (int i = 0; i < 72; ++i) {
        even.ids.push_back(i / 3 * 2 + (i % 3 == 2 ? 1 : 0));
        uneven.ids.push_back(i < 36 ? i / 3 : i - 24);
    }
    even.clusters = uneven.clusters = 48;
    const std::map<int, std::vector<MergeMap>> identityAtTheEnd = {{0, {even}}, {1, {identityMap(48)}}};
    std::map<int, std::vector<MergeMap>> asManyAnew = identityAtTheEnd;
    asManyAnew[2] = {uneven};
    struct {
        const char* method;
        std::vector<int> schedule;
        std::map<int, std::vector<MergeMap>> imposed;
    } const cases[] = {{"tome:r=2", {0}, {}},
                       {"mpm", {1, 3, 6}, {}},
                       {"mpm", {1, 3, 6}, identityAtTheEnd},
                       {"mpm", {1, 3, 4}, asManyAnew}};
    for (const auto& [method, schedule, imposed] : cases) {
        EncoderOptions o = windowed({9, 8}, {3, 4}, {}, schedule);
        o.blocks = 8;
        std::vector<EncoderCase> segments = cutEncoder(makeEncoder(o), {4});
        segments[1].config.takesMap = false;
        const auto control = std::make_shared<EncoderControl>(segments[0].config);
        ASSERT_TRUE(control->addSegment(segments[1].config));
        control->change([&name = method, &maps = imposed](Settings& s) {
            s.device = Device::Cpu;
            s.method = name;
            s.imposed = maps;
        });
        SessionInput input;
        input.tokens = makeBatch(o, 1, 72, 4);
        std::vector<size_t> stages = {0};
        for (const EncoderCase& segment : segments) {
            EncoderRunner runner(control, segment.config);
            runner.setWeights(segment.weights);
            std::vector<cv::Mat> out{cv::Mat(3, input.tokens.size.p, CV_32F)};
            runner.run(input, out);
            input.tokens = out[0];
            stages.push_back(control->report().images[0].stages.size());
        }
        const ImageReport image = control->report().images[0];
        const std::vector<std::vector<int>> tokens = tokensByWindow(control->config(), image);
        ASSERT_EQ(tokens.size(), 8u);
        const int delay = std::string(method) == "mpm" ? 0 : 1;  // tome merges after attention
        for (int block = 0; block < 8; ++block) {
            std::vector<Stage> before;
            for (size_t s = stages[block / 4]; s < stages[block / 4 + 1]; ++s)
                if (image.stages[s].block + delay <= block) before.push_back(image.stages[s]);
            EXPECT_EQ(tokens[block], clustersByWindow(before)) << method << " before block " << block;
        }
    }
}

TEST(Windows, SegmentsOfAChainHaveTheSame) {
    EncoderOptions o = windowed({4, 4}, {2, 2}, {}, {});
    o.chainBlocks = 3, o.blocks = 1;
    EncoderConfig first = makeEncoder(o).config, second = first;
    second.firstBlock = 1, second.blocks = 2, second.taps = {2};
    const auto check = [&](const std::function<void(EncoderConfig&)>& change) {
        EncoderConfig other = second;
        change(other);
        Segments segments(first);
        segments.add(other);
        segments.check();
    };
    EXPECT_NO_THROW(check([](EncoderConfig&) {}));
    const char* same = "must have the same attributes window and grid";
    expectRefusal([&] { check([](EncoderConfig& c) { c.window = {4, 2}; }); }, same);
    expectRefusal([&] { check([](EncoderConfig& c) { c.window = {}; }); }, same);
    expectRefusal([&] { check([](EncoderConfig& c) { c.grid = {2, 8}; }); }, same);
}

INSTANTIATE_TEST_SUITE_P(Cpu, WindowMaps, testing::Values(kF32, kBf16, kI8),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace mpm::test
