// Tests the guarantees of reuse on random encoders, frames and batches.
#include <map>
#include <set>

#include "mpm_layer/reuse_suite.hpp"

namespace mpm::test {
namespace {

class Dice {
public:
    explicit Dice(unsigned seed) : m_random(seed) {}
    int below(int end) { return static_cast<int>(m_random() % static_cast<unsigned>(end)); }
    bool oneIn(int times) { return below(times) == 0; }

private:
    std::mt19937 m_random;
};

// Sets a random grid of windows. Some windows are padded. The grid has at least 20 tokens, because with fewer
// tokens, a frame would often have no change.
void divideAtRandom(EncoderOptions& o, Dice& dice) {
    do {
        o.window = {1 + dice.below(7), 1 + dice.below(7)};
        o.grid = {o.window.width * (1 + dice.below(3)), o.window.height * (1 + dice.below(3))};
        if (dice.oneIn(2)) o.grid -= cv::Size(dice.below(o.window.width), dice.below(o.window.height));
    } while (o.grid.area() < 20);
    o.padding = o.grid.width % o.window.width != 0 || o.grid.height % o.window.height != 0;
    o.imageTokens = o.grid.area();
    o.trailing = 0;
    o.ropeOfWindow = o.padding || dice.oneIn(2);
    for (int b = 0; b < o.blocks; ++b)
        if (dice.oneIn(3)) o.globalBlocks.push_back(b);
}

EncoderOptions randomOptions(Dice& dice, bool windows) {
    EncoderOptions o;
    o.imageTokens = 20 + dice.below(45);
    o.blocks = 1 + dice.below(4);
    o.heads = 1 + dice.below(3);
    o.headSize = 8 * (1 + dice.below(3));
    o.hidden = 8 * (2 + dice.below(9));
    o.special = dice.below(6);
    o.trailing = dice.oneIn(3) ? dice.below(4) : 0;
    if (dice.oneIn(2)) o.rope = dice.oneIn(2) ? "half" : "interleaved", o.ropePerHead = dice.oneIn(2);
    o.qkNorm = dice.oneIn(3), o.layerScale = dice.oneIn(3), o.gated = dice.oneIn(3);
    o.attentionNorm = dice.oneIn(4), o.mlpNorm = dice.oneIn(4);
    o.seed = static_cast<unsigned>(dice.below(1000));
    o.schedule = {dice.below(o.blocks)};
    for (int b = 0; b < o.blocks; ++b)
        if (b == o.blocks - 1 || dice.oneIn(3)) o.taps.push_back(b), o.tapNorm.push_back(dice.below(2));
    if (windows) divideAtRandom(o, dice);
    return o;
}

Reuse randomReuse(Dice& dice) {
    Reuse reuse = exactly(dice.oneIn(5) ? 0 : 2 + dice.below(9), 0.1 + 0.1 * dice.below(9));
    if (dice.oneIn(3)) reuse.budget = 0.05 * dice.below(20);
    return reuse;
}

// Returns the next frame of a stream. Sometimes the frame stays the same, sometimes all tokens may change.
cv::Mat nextFrame(const EncoderOptions& o, const cv::Mat& frame, Dice& dice) {
    const int tokens = frame.size[1] - o.specialRows() - o.trailing;
    if (dice.oneIn(4)) return frame;
    std::vector<int> some;
    const int most = dice.oneIn(6) ? tokens : 1 + tokens / 5, first = dice.below(tokens);
    for (int i = 0, count = dice.below(most + 1); i < count; ++i)
        some.push_back(dice.oneIn(2) ? (first + i) % tokens : dice.below(tokens));
    return changed(frame, o.specialRows(), some, static_cast<unsigned>(dice.below(1 << 30)));
}

// Computes with simple code which rows the encoder must compute, and compares these rows with the report.
class Ledger {
public:
    Ledger(const EncoderOptions& o, const Reuse& reuse) : m_options(o), m_reuse(reuse) {}

    void check(const cv::Mat& frame, const std::vector<cv::Mat>& outputs, const ReuseReport& report) {
        const int tokens = frame.size[1] - m_options.specialRows() - m_options.trailing;
        if (report.state == ReuseState::Suspended) {
            m_reference.release();
            return;
        }
        if (m_reference.empty() || m_reference.size[1] != frame.size[1]) {
            ASSERT_EQ(report.state, ReuseState::Full) << "nothing is remembered";
            m_reference = frame.clone();
            m_ages.assign(tokens, 0);
        } else {
            checkTokens(frame, outputs, report, tokens);
        }
        m_outputs = outputs;
    }

private:
    bool differs(const cv::Mat& frame, int token) const {
        const int row = m_options.specialRows() + token;
        return std::memcmp(frame.ptr<float>(0, row), m_reference.ptr<float>(0, row),
                           m_options.dim() * sizeof(float)) != 0;
    }

    void checkTokens(const cv::Mat& frame, const std::vector<cv::Mat>& outputs, const ReuseReport& report,
                     int tokens) {
        int changes = 0, computed = 0, postponed = 0;
        for (int t = 0; t < tokens; ++t) {
            const bool differed = differs(frame, t);
            const auto reason = static_cast<ReuseReason>(report.reasons.at<uchar>(t));
            changes += differed;
            if (reason == ReuseReason::Changed || reason == ReuseReason::Refreshed) {
                ++computed;
                ASSERT_EQ(reason == ReuseReason::Changed, differed) << t;
                m_ages[t] = 0;
                std::copy_n(frame.ptr<float>(0, m_options.specialRows() + t), m_options.dim(),
                            m_reference.ptr<float>(0, m_options.specialRows() + t));
            } else {
                ASSERT_EQ(reason == ReuseReason::Postponed, differed) << t;
                postponed += differed;
                ++m_ages[t];
                checkKept(outputs, m_options.specialRows() + t);
            }
            ASSERT_EQ(report.ages.at<int>(t), m_ages[t]) << t;
            ASSERT_TRUE(m_reuse.refresh == 0 || m_ages[t] <= m_reuse.refresh) << t;
        }
        ASSERT_DOUBLE_EQ(report.recomputed, static_cast<double>(computed) / tokens);
        ASSERT_EQ(report.state == ReuseState::Full, changes > m_reuse.full * tokens);
        const int refreshed = m_reuse.refresh ? (tokens + m_reuse.refresh - 1) / m_reuse.refresh : 0;
        const bool usedUp = computed >= std::max(refreshed, static_cast<int>(m_reuse.budget * tokens));
        ASSERT_TRUE(postponed == 0 || usedUp) << "only the budget postpones";
    }

    void checkKept(const std::vector<cv::Mat>& outputs, int row) const {
        for (size_t tap = 0; tap < outputs.size(); ++tap)
            ASSERT_EQ(std::memcmp(outputs[tap].ptr<float>(0, row), m_outputs[tap].ptr<float>(0, row),
                                  m_options.dim() * sizeof(float)),
                      0)
                << "a kept token keeps its output";
    }

    const EncoderOptions m_options;
    const Reuse m_reuse;
    cv::Mat m_reference;
    std::vector<int> m_ages;
    std::vector<cv::Mat> m_outputs;
};

TEST(ReuseProperty, RowsAgesAndOutputsAreAsPromised) {
    const int threads = cv::getNumThreads();
    for (unsigned seed = 0; seed < 80; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const EncoderOptions o = randomOptions(dice, seed >= 40);
        const Reuse reuse = randomReuse(dice);
        const EncoderCase encoder = makeEncoder(o);
        const std::vector<Precision> all = precisions();
        Camera camera(encoder, reuse, all[seed % all.size()]);
        Ledger ledger(o, reuse);
        cv::setNumThreads(std::vector<int>{1, 2, 5}[seed % 3]);
        cv::Mat frame = makeBatch(o, 1, o.imageTokens, seed);
        for (int f = 0; f < 40; ++f) {
            const std::vector<cv::Mat> outputs = camera.see(frame);
            ledger.check(frame, outputs, camera.reuse());
            if (camera.state() == ReuseState::Full)
                expectSame(outputs, unmerged(encoder, frame, all[seed % all.size()]), "a full forward");
            if (testing::Test::HasFailure()) break;
            frame = nextFrame(o, frame, dice);
            if (o.rope.empty() && o.window.empty() && dice.oneIn(12))
                frame = makeBatch(o, 1, 20 + dice.below(o.imageTokens - 19), seed + f);
        }
        if (testing::Test::HasFailure()) break;
    }
    cv::setNumThreads(threads);
}

struct Stream {
    std::vector<cv::Mat> outputs;
    ReuseReport report;
};

// There are 1 to 9 streams. The batch of each forward has some of the streams, in random order. The result of
// a stream must be the same as without other streams.
TEST(ReuseProperty, StreamsDoNotDependOnTheirBatch) {
    const int threads = cv::getNumThreads();
    for (unsigned seed = 100; seed < 136 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const EncoderOptions o = randomOptions(dice, seed >= 118);
        const Reuse reuse = randomReuse(dice);
        const EncoderCase encoder = makeEncoder(o);
        const std::vector<Precision> all = precisions();
        const Precision precision = all[seed % all.size()];
        const int streams = 1 + static_cast<int>(seed % 9);
        Camera together(encoder, reuse, precision), alone(encoder, reuse, precision);
        std::map<int, cv::Mat> frames;
        for (int s = 0; s < streams; ++s)
            frames[s] = makeBatch(o, 1, o.imageTokens, seed * 50 + static_cast<unsigned>(s));
        for (int f = 0; f < 25; ++f) {
            std::vector<int> seen;
            const int first = dice.below(streams);
            for (int s = 0; s < streams; ++s)
                if (s == 0 || !dice.oneIn(3)) seen.push_back((first + s) % streams);
            const std::vector<int> schedule = dice.oneIn(5) ? std::vector<int>() : o.schedule;
            const int forgotten = dice.oneIn(8) ? dice.below(streams) : -1;
            const int sizes[] = {static_cast<int>(seen.size()), frames[0].size[1], frames[0].size[2]};
            cv::Mat batch(3, sizes, CV_32F);
            std::vector<Stream> expected;
            for (size_t i = 0; i < seen.size(); ++i) {
                cv::Mat& frame = frames[seen[i]] = nextFrame(o, frames[seen[i]], dice);
                std::copy_n(frame.ptr<float>(), frame.total(), batch.ptr<float>(static_cast<int>(i)));
                cv::setNumThreads(1);
                alone.change([&](Settings& s) { s.streams = {seen[i]}, s.schedule = schedule; });
                if (seen[i] == forgotten) alone.runner().forget(forgotten);
                Stream one{alone.see(frame), {}};
                one.report = alone.reuse();
                expected.push_back(one);
                EXPECT_TRUE(seen[i] != forgotten || one.report.state == ReuseState::Full);
            }
            cv::setNumThreads(std::vector<int>{1, 2, 5}[static_cast<size_t>(f) % 3]);
            together.change([&](Settings& s) { s.streams = seen, s.schedule = schedule; });
            if (std::count(seen.begin(), seen.end(), forgotten) > 0) together.runner().forget(forgotten);
            const std::vector<cv::Mat> outputs = together.see(batch);
            for (size_t i = 0; i < seen.size(); ++i) {
                const int image = static_cast<int>(i);
                ASSERT_EQ(together.state(image), expected[i].report.state) << "frame " << f;
                ASSERT_TRUE(sameBits(together.reuse(image).reasons, expected[i].report.reasons));
                ASSERT_TRUE(sameBits(together.reuse(image).ages, expected[i].report.ages));
                for (size_t tap = 0; tap < outputs.size(); ++tap)
                    ASSERT_TRUE(sameBits(imageOf(outputs[tap], image), imageOf(expected[i].outputs[tap], 0)))
                        << "frame " << f << " stream " << seen[i] << " tap " << tap;
            }
        }
    }
    cv::setNumThreads(threads);
}

// Compares the output `seen` of a block before the first global block with that of a full forward (`whole`).
// Skips the windows in `touched`, which have changed tokens.
void expectUntouchedWindows(const EncoderOptions& o, const cv::Mat& seen, const cv::Mat& whole,
                            const std::set<int>& touched) {
    const int across = (o.grid.width + o.window.width - 1) / o.window.width;
    for (int r = 0; r < seen.size[1]; ++r) {
        const int token = r - o.specialRows(), y = token / o.grid.width, x = token % o.grid.width;
        const int window = token < 0 ? r / o.special : y / o.window.height * across + x / o.window.width;
        if (touched.count(window) > 0) continue;
        ASSERT_EQ(std::memcmp(seen.ptr<float>(0, r), whole.ptr<float>(0, r), o.dim() * sizeof(float)), 0)
            << "row " << r << " of window " << window;
    }
}

// Before the first global block, a window without change has the bits of a full forward.
TEST(ReuseProperty, WindowsWithoutChangeAreThoseOfAFullForwardBeforeTheFirstGlobalBlock) {
    int partial = 0;
    for (unsigned seed = 200; seed < 224 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        EncoderOptions o = randomOptions(dice, true);
        o.blocks = 3, o.taps = {0, 1, 2}, o.tapNorm = {0, 1, 0}, o.schedule = {}, o.globalBlocks = {2};
        const int across = (o.grid.width + o.window.width - 1) / o.window.width;
        const EncoderCase encoder = makeEncoder(o);
        const std::vector<Precision> all = precisions();
        const Precision precision = all[seed % all.size()];
        Camera camera(encoder, randomReuse(dice), precision);
        cv::Mat frame = makeBatch(o, 1, o.imageTokens, seed);
        const cv::Mat bias = dice.oneIn(2) ? randomMatrix(1, frame.size[1], 12, 0.7) : cv::Mat();
        std::set<int> touched;
        for (int f = 0; f < 30; ++f) {
            const std::vector<cv::Mat> seen = camera.see(frame, bias);
            if (camera.state() == ReuseState::Suspended) break;
            if (camera.state() == ReuseState::Full) touched.clear();
            partial += camera.state() == ReuseState::Partial && !touched.empty();
            const std::vector<cv::Mat> whole = unmerged(encoder, frame, precision, bias);
            for (const int tap : {0, 1})
                expectUntouchedWindows(o, seen[tap], whole[tap], touched);
            const int token = dice.below(o.imageTokens);
            touched.insert(token / o.grid.width / o.window.height * across +
                           token % o.grid.width / o.window.width);
            frame = changed(frame, o.specialRows(), {token}, seed * 100 + f);
        }
    }
    EXPECT_GT(partial, 200);
}

// The schedule has an effect only in a suspended stream, and this stream is never suspended.
TEST(ReuseProperty, TheScheduleIsNotUsed) {
    Dice dice(7);
    const EncoderOptions o = options();
    const EncoderCase encoder = makeEncoder(o);
    Camera one(encoder, exactly(5, 1)), other(encoder, exactly(5, 1));
    cv::Mat frame = makeBatch(o, 1, kTokens, 5);
    for (int f = 0; f < 30; ++f) {
        other.change([&](Settings& s) {
            s.schedule = f % 3 ? std::vector<int>{f % 3} : std::vector<int>();
            s.method = f % 4 ? "mpm" : "tome:r=4";
        });
        expectSame(one.see(frame), other.see(frame), "frame " + std::to_string(f));
        EXPECT_EQ(other.report().images[0].stages.size(), 0u);
        frame = nextFrame(o, frame, dice);
    }
}

}  // namespace
}  // namespace mpm::test
