// Compares windowed encoders to the oracle (the scalar reference in support/oracle.hpp), and to encoders
// without windows, also in random shapes.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

#include "mpm_layer/windows_suite.hpp"
#include "support/refusal.hpp"

namespace mpm::test {
namespace {

class WindowsTest : public EncoderTest {};

TEST_P(WindowsTest, BlocksAttendWithinWindowsOrOverTheImage) {
    const std::vector<std::vector<int>> globals = {{}, {0}, {1}, {2}, {0, 2}, {0, 1, 2}};
    int special = 0;
    for (const std::vector<int>& global : globals) {
        EncoderOptions o = windowed({8, 6}, {4, 2}, global, {});
        o.special = special++ % 3;
        o.taps = {0, 1, 2}, o.tapNorm = {0, 1, 1};
        const EncoderCase encoder = makeEncoder(o);
        const cv::Mat batch = makeBatch(o, 2, 48, 3);
        expectWindows(GetParam(), encoder, batch, run(GetParam(), encoder, batch));
    }
}

TEST_P(WindowsTest, MergeTokensOfOneWindowOnly) {
    for (const std::vector<int>& global : {std::vector<int>{}, {0}, {1}, {2}}) {
        EncoderOptions o = windowed({12, 8}, {6, 4}, global, {0, 1, 2});
        o.taps = {1, 2}, o.tapNorm = {0, 1};
        o.rope = "half", o.ropeOfWindow = global.size() == 1;
        const EncoderCase encoder = makeEncoder(o);
        const cv::Mat batch = makeBatch(o, 3, 96, 5), bias = randomMatrix(1, batch.size[1], 12, 0.7);
        const std::vector<double> biases(bias.begin<float>(), bias.end<float>());
        expectWindows(GetParam(), encoder, batch, run(GetParam(), encoder, batch, bias), biases);
    }
}

// If windows do not divide the grid, the windows at the edge are padded. Padding rows are zero after the
// norm, and give keys and values.
TEST_P(WindowsTest, PaddingFillsUpWindowsAtTheEdge) {
    for (const char* rope : {"", "interleaved"}) {
        for (const cv::Size window : {cv::Size(7, 7), cv::Size(9, 3), cv::Size(20, 16)}) {
            EncoderOptions o = windowed({10, 8}, window, {1}, {0, 2});
            o.rope = rope, o.ropeOfWindow = true;
            o.qkNorm = window.width == 9;
            o.special = window.width == 7 ? 2 : 0;
            const EncoderCase encoder = makeEncoder(o);
            const cv::Mat batch = makeBatch(o, 2, 80, 6), bias = randomMatrix(1, batch.size[1], 12, 0.7);
            const std::vector<double> biases(bias.begin<float>(), bias.end<float>());
            expectWindows(GetParam(), encoder, batch, run(GetParam(), encoder, batch, bias), biases);
        }
    }
}

TEST_P(WindowsTest, OneWindowGivesTheBitsOfAnEncoderWithout) {
    EncoderOptions o = with([](auto& options) { options.schedule = {0, 2}, options.rope = "half"; });
    o.special = 2, o.grid = {6, 4};
    const EncoderCase plain = makeEncoder(o);
    o.window = o.grid;
    const cv::Mat batch = makeBatch(o, 3, 24, 8), bias = randomMatrix(1, 26, 12, 0.7);
    for (const std::vector<int>& global : {std::vector<int>{}, {1}}) {
        o.globalBlocks = global;
        const EncoderCase windows = makeEncoder(o);
        for (const char* method : {"mpm", "gentle", "tome:r=4", "algm", "local", "random", "grid"}) {
            const auto choose = [&](Settings& s) { s.method = method; };
            const Ran one = run(GetParam(), windows, batch, bias, choose);
            EXPECT_TRUE(sameBits(one.outputs[0], run(GetParam(), plain, batch, bias, choose).outputs[0]))
                << method;
        }
    }
}

// Copies each window of a batch to an image of a larger batch, in the order of the windows. If `back`, copies
// the images back to the windows.
cv::Mat windowsAsImages(const EncoderOptions& o, const cv::Mat& batch, bool back, const cv::Mat& like) {
    const int across = o.grid.width / o.window.width, count = o.specialRows() / std::max(o.special, 1),
              own = o.special + o.window.area(), whole = o.specialRows() + o.grid.area();
    cv::Mat result = like.clone();
    for (int r = 0; r < result.size[0] * result.size[1]; ++r) {
        const int row = back ? r % whole : r % own, part = back ? r / whole : r / own;
        const auto copy = [&](int image, int window, int special, int y, int x) {
            const int inWindows = (image * count + window) * own +
                                  (special >= 0 ? special : o.special + y * o.window.width + x);
            const int position =
                (window / across * o.window.height + y) * o.grid.width + window % across * o.window.width + x;
            const int inImage =
                image * whole + (special >= 0 ? window * o.special + special : o.specialRows() + position);
            const int dim = o.dim(), from = back ? inWindows : inImage, to = back ? inImage : inWindows;
            std::copy_n(batch.ptr<float>() + from * dim, dim, result.ptr<float>() + to * dim);
        };
        if (!back) {
            const int token = row - o.special;
            copy(part / count, part % count, token < 0 ? row : -1, token / o.window.width,
                 token % o.window.width);
        } else if (row < o.specialRows()) {
            copy(part, row / o.special, row % o.special, 0, 0);
        } else {
            const int y = (row - o.specialRows()) / o.grid.width, x = (row - o.specialRows()) % o.grid.width;
            copy(part, y / o.window.height * across + x / o.window.width, -1, y % o.window.height,
                 x % o.window.width);
        }
    }
    return result;
}

// Without global blocks, windows do not affect each other. So a batch in which each window is an image gives
// the same result.
TEST_P(WindowsTest, WithoutGlobalBlocksAreImagesOfALargerBatch) {
    EncoderOptions o = windowed({8, 12}, {4, 6}, {}, {0, 1});
    o.special = 2, o.rope = "interleaved", o.ropeOfWindow = true;
    const EncoderCase windows = makeEncoder(o);
    EncoderOptions p = o;
    p.grid = o.window, p.window = {}, p.ropeOfWindow = false, p.imageTokens = 24;
    const EncoderCase images = makeEncoder(p);
    const cv::Mat batch = makeBatch(o, 2, 96, 8);
    const cv::Mat split = windowsAsImages(o, batch, false, makeBatch(p, 8, 24, 1));
    for (const char* method :
         {"mpm", "mpm:pairs=0.5,by=last-keys,mean=weighted", "mpm:pairs=0.5,by=keys,mean=scaled,before=mlp",
          "gentle", "tome:r=4", "algm:tau=0.2,batch=least", "algm:tau=0.2", "local:window=2", "random",
          "grid"}) {
        const auto choose = [&](Settings& s) { s.method = method; };
        const Ran one = run(GetParam(), windows, batch, cv::Mat(), choose);
        const Ran other = run(GetParam(), images, split, cv::Mat(), choose);
        EXPECT_TRUE(sameBits(one.outputs[0], windowsAsImages(o, other.outputs[0], true, one.outputs[0])))
            << method;
        for (int i = 0; i < 2; ++i) {
            for (size_t b = 0; b < one.report.images[i].tokens.size(); ++b) {
                int tokens = 0;
                for (int w = 0; w < 4; ++w)
                    tokens += other.report.images[4 * i + w].tokens[b];
                EXPECT_EQ(one.report.images[i].tokens[b], tokens) << method;
            }
        }
    }
}

TEST_P(WindowsTest, GiveTheSameBitsInAnyBatchAndForAnyThreadCount) {
    EncoderOptions o = windowed({15, 11}, {7, 7}, {1}, {0, 1, 2});
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 3, 165, 9);
    const Ran together = run(GetParam(), encoder, batch);
    const int threads = cv::getNumThreads();
    for (const int count : {1, 2, 5}) {
        cv::setNumThreads(count);
        for (int i = 0; i < 3; ++i) {
            const Ran alone = run(GetParam(), encoder, batchOfOne(batch, i));
            EXPECT_TRUE(sameBits(imageOf(alone.outputs[0], 0), imageOf(together.outputs[0], i)));
            EXPECT_TRUE(sameBits(alone.report.images[0].map, together.report.images[i].map));
        }
    }
    cv::setNumThreads(threads);
}

TEST_P(WindowsTest, DegenerateTokensStayInTheirWindow) {
    EncoderOptions o = windowed({6, 4}, {3, 2}, {1}, {0});
    o.special = 0;
    const EncoderCase encoder = makeEncoder(o);
    cv::Mat batch = makeBatch(o, 1, 24, 4);
    for (int t = 0; t < 24; ++t) {  // the first window has equal tokens, the last NaN
        const int window = t / 6 / 2 * 2 + t % 6 / 3;
        if (window == 0) std::fill_n(batch.ptr<float>() + t * o.dim(), o.dim(), 0.25f);
        if (window == 3) batch.ptr<float>()[t * o.dim()] = std::nanf("");
    }
    const Stage stage = run(GetParam(), encoder, batch).report.images[0].stages[0];
    std::map<int, std::set<int>> left;
    for (int t = 0; t < 24; ++t)
        left[t / 6 / 2 * 2 + t % 6 / 3].insert(stage.map.at<int>(t));
    EXPECT_EQ(left[0].size(), 5u);
    EXPECT_EQ(left[3].size(), 6u);
    EXPECT_GE(left[1].size(), 3u);
    EXPECT_LE(left[1].size(), 5u);
    EXPECT_EQ(stage.map.at<int>(0), stage.map.at<int>(1));
    // Without global blocks, NaN must not reach other windows.
    EncoderOptions local = o;
    local.globalBlocks.clear();
    const EncoderCase windowsOnly = makeEncoder(local);
    const cv::Mat found = run(GetParam(), windowsOnly, batch).outputs[0];
    cv::Mat clean = batch.clone();
    cv::patchNaNs(clean, 1);
    const cv::Mat expected = run(GetParam(), windowsOnly, clean).outputs[0];
    for (int t = 0; t < 24; ++t) {
        const float* const row = found.ptr<float>() + t * o.dim();
        if (t / 6 / 2 * 2 + t % 6 / 3 == 3) {
            EXPECT_TRUE(std::all_of(row, row + o.dim(), [](float v) { return std::isnan(v); })) << t;
        } else {
            EXPECT_EQ(std::memcmp(row, expected.ptr<float>() + t * o.dim(), o.dim() * sizeof *row), 0) << t;
        }
    }
    // A window with a single token has no pair to merge.
    const EncoderOptions single = windowed({5, 3}, {1, 1}, {}, {0, 1});
    const Ran ran = run(GetParam(), makeEncoder(single), makeBatch(single, 1, 15, 4));
    EXPECT_EQ(ran.report.images[0].tokens, (std::vector<int>{15, 15, 15}));
}

EncoderOptions randomOptions(std::mt19937& random) {
    const auto below = [&](int end) { return static_cast<int>(random() % end); };
    const cv::Size window(1 + below(4), 1 + below(4));
    cv::Size grid(window.width * (1 + below(3)), window.height * (1 + below(3)));
    if (below(3) == 0) grid -= cv::Size(below(window.width), below(window.height));
    EncoderOptions o = windowed(grid, window, {}, {});
    o.blocks = 1 + below(3), o.heads = 1 + below(2), o.hidden = 16;
    for (int b = 0; b < o.blocks; ++b) {
        if (below(2)) o.globalBlocks.push_back(b);
        if (below(2)) o.schedule.push_back(b);
    }
    o.special = below(3);
    o.finalNorm = below(2) != 0;
    if (below(2)) o.rope = below(2) ? "half" : "interleaved";
    o.ropeOfWindow = o.padding || below(2);
    o.qkNorm = below(3) == 0;
    o.seed = random();
    return o;
}

TEST(Windows, EqualTheOracleInRandomShapes) {
    const char* wanted = std::getenv("MPM_WINDOW_SHAPES");
    const int shapes = wanted ? std::atoi(wanted) : 2000;
    std::mt19937 random(17);
    for (int n = 0; n < shapes && !testing::Test::HasFailure(); ++n) {
        const EncoderOptions o = randomOptions(random);
        SCOPED_TRACE(cv::format("shape %d: grid %dx%d, windows %dx%d", n, o.grid.height, o.grid.width,
                                o.window.height, o.window.width));
        const EncoderCase encoder = makeEncoder(o);
        cv::Mat batch = makeBatch(o, 1 + random() % 2, o.imageTokens, random());
        if (random() % 4 == 0) {  // equal tokens
            for (int t = 0; t < o.imageTokens; t += 1 + random() % 2)
                std::copy_n(batch.ptr<float>() + o.specialRows() * o.dim(), o.dim(),
                            batch.ptr<float>() + (o.specialRows() + t) * o.dim());
        }
        expectWindows(kF32, encoder, batch, run(kF32, encoder, batch));
    }
}

TEST(Windows, RunOnTheProcessorOnly) {
    const EncoderOptions o = windowed({4, 4}, {2, 2}, {}, {});
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 1, 16, 4);
    Target target = kF32;
    target.device = Device::Auto;
    EXPECT_EQ(run(target, encoder, batch).report.device, Device::Cpu);
    target.device = Device::Cuda;
    EXPECT_THROW(run(target, encoder, batch), cv::Exception);
}

TEST(Windows, RotaryTablesFitTheWindowOrTheImage) {
    EncoderOptions o = windowed({5, 4}, {2, 2}, {1}, {});
    o.rope = "half";
    const auto tryOne = [&] {
        const EncoderCase encoder = makeEncoder(o);
        run(kF32, encoder, makeBatch(o, 1, o.grid.area(), 4));
    };
    expectRefusal(tryOne, "padding needs tables for the 4 of a window");
    o.ropeOfWindow = true;
    EXPECT_NO_THROW(tryOne());
    o.ropeOfWindow = false, o.imageTokens = 7;
    expectRefusal(tryOne, "rotary tables are for 7 image tokens, the input has 20");
}

INSTANTIATE_TEST_SUITE_P(Cpu, WindowsTest, testing::Values(kF32, kBf16, kI8),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace mpm::test
