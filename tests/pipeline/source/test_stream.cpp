// Reads streams from a server that is killed, stalled and restarted.
#include <gtest/gtest.h>

#include <fstream>

#include <opencv2/videoio.hpp>

#include "pipeline/source/reader.hpp"
#include "pipeline/source/stream_server.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

using namespace std::chrono_literals;
using test::StreamServer;

ReaderOptions networkTimes() {
    ReaderOptions options;
    options.stallAfter = 150ms;
    options.offlineAfter = 400ms;
    options.firstPause = 10ms;
    options.longestPause = 50ms;
    return options;
}

SourceOptions shortTimeouts() {
    SourceOptions options;
    options.openTimeout = 1500ms;
    options.readTimeout = 700ms;
    return options;
}

bool arrives(const Reader& reader, SourceState state) {
    for (int i = 0; i < 2000; ++i, std::this_thread::sleep_for(5ms))
        if (reader.status().state == state) return true;
    return false;
}

void expectNoPassword(const Reader& reader) {
    EXPECT_EQ(reader.status().message().find("secret"), std::string::npos) << reader.status().message();
}

TEST(Stream, GoesLiveGoesOfflineAndComesBack) {
    StreamServer server;
    server.start();
    Reader reader(server.url(), networkTimes(), shortTimeouts());
    Frame frame;
    ASSERT_TRUE(reader.take(frame, 10s)) << reader.status().message();
    EXPECT_EQ(frame.image.size(), cv::Size(64, 48));
    EXPECT_EQ(reader.status().state, SourceState::Live);
    server.kill();
    ASSERT_TRUE(arrives(reader, SourceState::Offline));
    expectNoPassword(reader);
    while (reader.take(frame, 0ms)) {
    }
    EXPECT_FALSE(reader.take(frame, 300ms)) << "a stale frame was shown as new";
    server.start();
    ASSERT_TRUE(arrives(reader, SourceState::Live));
    EXPECT_TRUE(reader.take(frame, 5s));
}

TEST(Stream, AStallIsSeenAndTheConnectionRenewed) {
    StreamServer server;
    server.start();
    Reader reader(server.url(), networkTimes(), shortTimeouts());
    ASSERT_TRUE(arrives(reader, SourceState::Live));
    server.stall(true);
    ASSERT_TRUE(arrives(reader, SourceState::Stalled));
    const std::int64_t before = reader.status().frames;
    server.stall(false);
    ASSERT_TRUE(arrives(reader, SourceState::Live));
    for (int i = 0; i < 400 && reader.status().frames == before; ++i)
        std::this_thread::sleep_for(5ms);
    EXPECT_GT(reader.status().frames, before);
    expectNoPassword(reader);
}

// A clip that a server sends has an end, and the reader skips no frame. If the connection ends early, the
// clip is damaged.
TEST(Stream, AClipThatBreaksOffIsDamaged) {
    const test::TempFolder folder;
    const std::string path = folder / "clip.avi";
    {
        cv::VideoWriter writer(path, cv::CAP_OPENCV_MJPEG, cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 10,
                               {64, 48});
        for (int i = 0; i < 400; ++i)
            writer.write(cv::Mat(48, 64, CV_8UC3, cv::Scalar(i % 256, 90, 200)));
    }
    std::ifstream file(path, std::ios::binary);
    const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(file), {}};
    for (const bool whole : {true, false}) {
        StreamServer server;
        server.setFile(bytes, whole ? bytes.size() : bytes.size() / 2);
        server.start();
        const auto source = makeSource(Address(server.url()), shortTimeouts());
        source->open();
        EXPECT_FALSE(source->live());
        int frames = 0;
        const auto read = [&] {
            for (Frame frame; source->next(frame); ++frames) {
            }
        };
        if (whole)
            EXPECT_NO_THROW(read());
        else
            EXPECT_THROW(read(), SourceError);
        EXPECT_GT(frames, whole ? 390 : 100);
    }
}

TEST(Stream, KilledAndRestartedAgainAndAgain) {
    StreamServer server;
    server.start();
    Reader reader(server.url(), networkTimes(), shortTimeouts());
    std::int64_t last = -1;
    Frame frame;
    for (int round = 0; round < 10; ++round) {
        ASSERT_TRUE(reader.take(frame, 10s)) << "round " << round << ": " << reader.status().message();
        EXPECT_GT(frame.number, last);
        last = frame.number;
        server.kill();
        server.start();
        while (reader.take(frame, 0ms))
            last = frame.number;
    }
    expectNoPassword(reader);
}

}  // namespace
}  // namespace mpm::pipeline
