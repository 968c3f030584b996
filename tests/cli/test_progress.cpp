// The progress of a long measurement, on a clock that the test advances, and sources that never answer.
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include <opencv2/imgcodecs.hpp>

#include "cli/common/terminal.hpp"
#include "cli/process.hpp"
#include "cli/small_model.hpp"
#include "support/temp_folder.hpp"

namespace mpm::cli {
namespace {

using namespace std::chrono_literals;

TEST(Progress, IsALineAMinuteInAFileOrAPipe) {
    std::ostringstream out;
    Progress::Clock::time_point now{};
    {
        Progress progress("image", 100, out, false, [&now] { return now; });
        for (int done = 1; done <= 10; ++done) {
            now += 13s;
            progress.set(done, 100);
        }
    }
    EXPECT_EQ(out.str(), "image 5 of 100, 0.1/s, 20:35 left\nimage 10 of 100, 0.1/s, 19:30 left\n");
}

TEST(Progress, IsRewrittenOnATerminal) {
    std::ostringstream out;
    Progress::Clock::time_point now{};
    {
        Progress progress("frame", -1, out, true, [&now] { return now; });
        for (int i = 0; i < 5; ++i) {
            now += 60ms;
            progress.add();
        }
    }
    EXPECT_EQ(out.str(),
              "\rframe 1 ...\033[K\rframe 2, 16.7/s, 0:00\033[K\rframe 4, 16.7/s, 0:00\033[K\r\033[K");
}

TEST(Progress, BeginsWithTheTotal) {
    std::ostringstream out;
    {
        const Progress progress("image", 100, out, true, [] { return Progress::Clock::time_point{}; });
    }
    EXPECT_EQ(out.str(), "\rimage 1 of 100 ...\033[K\r\033[K");
}

// A server accepts connections, but sends nothing. The program must skip this source and read the image.
TEST(Sources, OneOfSeveralThatHangsIsLeftOut) {
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(server, 4), 0);
    ASSERT_EQ(getsockname(server, reinterpret_cast<sockaddr*>(&address), &size), 0);
    const std::string hangs = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/camera.mjpg";
    const test::TempFolder folder;
    const std::string model = folder / "model.onnx", image = folder / "p.png";
    test::writeSmallModel(model);
    cv::imwrite(image, test::testImage(1));
    for (const auto& [first, second] : {std::pair(hangs, image), std::pair(image, hangs)}) {
        const std::string out = folder / (first == image ? "before" : "behind");
        const test::Outcome outcome =
            test::mpmProgram({"run", model, first, second, "--duration", "1", "--out", out});
        EXPECT_EQ(outcome.status, 1) << outcome.err;
        EXPECT_TRUE(outcome.says("127.0.0.1")) << outcome.err;
        EXPECT_TRUE(std::filesystem::exists(out + "/p.labels.png")) << outcome.err;
    }
    close(server);
}

}  // namespace
}  // namespace mpm::cli
