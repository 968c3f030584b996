#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "pipeline/source/patient.hpp"
#include "pipeline/source/reader.hpp"

namespace mpm::pipeline {
namespace {

using namespace std::chrono_literals;

/// The behaviour of a camera: each connection gives `good` frames, then fails, hangs or ends.
struct Behaviour {
    std::atomic<int> opened{0};
    std::atomic<bool> refuses{false};
    std::atomic<bool> hangs{false};
    std::chrono::milliseconds pace{1};
    int good = 1'000'000;
    bool live = true;
    bool ends = false;  ///< the stream ends instead of failing
};

class FaultySource : public Source {
public:
    explicit FaultySource(std::shared_ptr<Behaviour> behaviour) : m_behaviour(std::move(behaviour)) {}

    void open() override {
        ++m_behaviour->opened;
        if (m_behaviour->refuses) throw SourceError("rtsp://u:secret@h: refused");
    }
    bool next(Frame& frame) override {
        while (m_behaviour->hangs)
            std::this_thread::sleep_for(5ms);
        if (m_count == m_behaviour->good) {
            if (m_behaviour->live && !m_behaviour->ends) throw SourceError("broke off");
            return false;
        }
        std::this_thread::sleep_for(m_behaviour->pace);
        frame.image = cv::Mat(4, 4, CV_8UC3, cv::Scalar(1, 2, 3));
        frame.number = m_count++;
        return true;
    }
    bool live() const override { return m_behaviour->live; }
    std::string name() const override { return "faulty"; }
    double rate() const override { return 500; }

private:
    std::shared_ptr<Behaviour> m_behaviour;
    int m_count = 0;
};

TEST(Patient, AFirstFrameHasALimitOfTime) {
    const auto behaviour = std::make_shared<Behaviour>();
    behaviour->hangs = true;
    PatientSource source(
        std::make_unique<FaultySource>(behaviour), [](double) { return false; }, 50ms);
    source.open();
    Frame frame;
    EXPECT_THROW(source.next(frame), LeftBehind);
    behaviour->hangs = false;
}

ReaderOptions quick() {
    ReaderOptions options;
    options.stallAfter = 60ms;
    options.offlineAfter = 150ms;
    options.firstPause = 4ms;
    options.longestPause = 20ms;
    return options;
}

Reader::Make maker(const std::shared_ptr<Behaviour>& behaviour) {
    return [behaviour] { return std::make_unique<FaultySource>(behaviour); };
}

bool comes(const Reader& reader, SourceState state) {
    for (int i = 0; i < 400; ++i, std::this_thread::sleep_for(5ms))
        if (reader.status().state == state) return true;
    return false;
}

TEST(Reader, LatestFrameWins) {
    Reader reader(maker(std::make_shared<Behaviour>()), quick());
    Frame first, second;
    ASSERT_TRUE(reader.take(first, 2s));
    while (reader.status().frames < first.number + 3)
        std::this_thread::sleep_for(1ms);
    ASSERT_TRUE(reader.take(second, 2s));
    EXPECT_GT(second.number, first.number + 1);
    EXPECT_GT(reader.status().dropped, 0);
}

TEST(Reader, ComesBackFiftyTimes) {
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->good = 3;
    Reader reader(maker(behaviour), quick());
    std::int64_t last = -1;
    for (Frame frame; behaviour->opened < 50;) {
        if (!reader.take(frame, 2s)) break;
        EXPECT_GT(frame.number, last);
        last = frame.number;
    }
    EXPECT_GE(behaviour->opened, 50);
}

TEST(Reader, TellsAStallFromALiveImage) {
    auto behaviour = std::make_shared<Behaviour>();
    Reader reader(maker(behaviour), quick());
    ASSERT_TRUE(comes(reader, SourceState::Live));
    behaviour->hangs = true;
    ASSERT_TRUE(comes(reader, SourceState::Stalled));
    behaviour->hangs = false;
    EXPECT_TRUE(comes(reader, SourceState::Live));
}

// The time between frames is twice `stallAfter`. The source must be live, but a stall must still be noticed.
TEST(Reader, ASlowSourceIsNoStall) {
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->pace = 400ms;
    ReaderOptions options = quick();
    options.stallAfter = 200ms;
    Reader reader(maker(behaviour), options);
    while (reader.status().frames < 3)
        std::this_thread::sleep_for(5ms);
    while (reader.status().frames < 5) {
        const SourceStatus status = reader.status();  // on a busy machine, frames may be later than 400 ms
        const auto silence = std::chrono::system_clock::now() - status.lastFrame;
        ASSERT_TRUE(status.state == SourceState::Live || silence >= 3 * behaviour->pace);
        std::this_thread::sleep_for(5ms);
    }
    behaviour->hangs = true;
    EXPECT_TRUE(comes(reader, SourceState::Stalled));
    behaviour->hangs = false;
}

TEST(Reader, RefusedConnectionsGoOfflineAndComeBack) {
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->refuses = true;
    Reader reader(maker(behaviour), quick());
    ASSERT_TRUE(comes(reader, SourceState::Offline));
    EXPECT_GT(reader.status().attempts, 2);
    EXPECT_EQ(reader.status().message().find("secret"), std::string::npos);
    behaviour->refuses = false;
    EXPECT_TRUE(comes(reader, SourceState::Live));
    EXPECT_EQ(reader.status().attempts, 0);
}

TEST(Reader, FilesEndAndAreOver) {
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->good = 5;
    behaviour->live = false;
    ReaderOptions options = quick();
    options.everyFrame = true;
    Reader reader(maker(behaviour), options);
    int frames = 0;
    for (Frame frame; reader.running();) {
        if (!reader.take(frame, 100ms)) continue;
        EXPECT_EQ(frame.number, frames++);
    }
    EXPECT_EQ(frames, 5);
    EXPECT_EQ(reader.status().dropped, 0);
    EXPECT_EQ(reader.status().state, SourceState::Ended);
}

TEST(Reader, AFileThatCannotBeOpenedFailsForGood) {
    Reader reader("/nowhere/clip.avi", quick());
    ASSERT_TRUE(comes(reader, SourceState::Failed));
    Frame frame;
    EXPECT_FALSE(reader.take(frame, 10ms));
    EXPECT_FALSE(reader.running());
    EXPECT_NE(reader.status().message().find("/nowhere/clip.avi"), std::string::npos);
}

TEST(Reader, ALiveSourceThatEndsIsOverWhereThatIsWanted) {
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->good = 5;
    behaviour->ends = true;
    ReaderOptions options = quick();
    options.retryEnded = false;
    Reader reader(maker(behaviour), options);
    ASSERT_TRUE(comes(reader, SourceState::Ended));
    EXPECT_EQ(reader.status().frames, 5);
    EXPECT_EQ(behaviour->opened, 1);
}

TEST(Reader, LoopsOverFiles) {
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->good = 3;
    behaviour->live = false;
    ReaderOptions options = quick();
    options.everyFrame = options.loop = true;
    Reader reader(maker(behaviour), options);
    Frame frame;
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(reader.take(frame, 2s));
        EXPECT_EQ(frame.number, i);
    }
}

TEST(Reader, AFileThatIsReplacedComesBack) {
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->good = 3;
    behaviour->live = false;
    ReaderOptions options = quick();
    options.loop = true;
    Reader reader(maker(behaviour), options);
    Frame frame;
    ASSERT_TRUE(reader.take(frame, 2s));
    behaviour->refuses = true;
    ASSERT_TRUE(comes(reader, SourceState::Retrying));
    behaviour->refuses = false;
    ASSERT_TRUE(comes(reader, SourceState::Live));
    EXPECT_TRUE(reader.running());
}

TEST(Reader, ClosesWhileTheDriverHangs) {
    auto behaviour = std::make_shared<Behaviour>();
    {
        Reader reader(maker(behaviour), quick());
        ASSERT_TRUE(comes(reader, SourceState::Live));
        behaviour->hangs = true;
        ASSERT_TRUE(comes(reader, SourceState::Stalled));
    }  // the destructor must not wait for the driver, which hangs
    behaviour->hangs = false;
}

}  // namespace
}  // namespace mpm::pipeline
