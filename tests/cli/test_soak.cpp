// `mpm run` for a long time: memory and open descriptors must not grow.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <opencv2/videoio.hpp>

#include "cli/process.hpp"
#include "cli/small_model.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::test {
namespace {

constexpr int kClip = 100, kFrames = 20000;

struct Look {
    long frames = 0, kilobytes = 0, descriptors = 0;
};

long residentKilobytes(int process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
    return 0;
}

long descriptors(int process) {
    std::error_code error;
    long count = 0;
    for (auto at = fs::directory_iterator("/proc/" + std::to_string(process) + "/fd", error);
         !error && at != fs::directory_iterator(); at.increment(error))
        ++count;
    return count;
}

long linesOf(const std::string& path) {
    std::ifstream file(path);
    return std::max<long>(0, std::count(std::istreambuf_iterator<char>(file), {}, '\n') - 1);
}

class Soak : public ::testing::Test {
protected:
    void SetUp() override {
        writeSmallModel(m_folder / "model.onnx");
        cv::VideoWriter writer(m_folder / "clip.avi", cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 25,
                               {96, 64});
        for (int i = 0; i < kClip; ++i)
            writer << testImage(i);
    }

    /// Returns arguments that run the clip again and again.
    std::vector<std::string> words() const {
        std::vector<std::string> words = {"run", m_folder / "model.onnx"};
        words.insert(words.end(), kFrames / kClip, m_folder / "clip.avi");
        for (const char* word : {"--save", "csv,jsonl", "--threads", "2", "--out"})
            words.emplace_back(word);
        words.push_back(m_folder / "out");
        return words;
    }

    TempFolder m_folder;
};

TEST_F(Soak, TwentyThousandFramesLeaveMemoryAndDescriptorsFlat) {
    Process process(words());
    std::vector<Look> looks;
    for (long frames = 0; frames < kFrames;) {
        usleep(200'000);
        const Look look{linesOf(m_folder / "out/tokens.csv"), residentKilobytes(process.id()),
                        descriptors(process.id())};
        if (look.kilobytes == 0) break;  // the program has ended
        frames = look.frames;
        if (frames > 0) looks.push_back(look);
    }
    const Outcome outcome = process.wait();
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(linesOf(m_folder / "out/tokens.csv"), kFrames);
    EXPECT_EQ(linesOf(m_folder / "out/tokens.jsonl"), kFrames - 1);  // without a header line
    // After a quarter of the time, everything that is allocated once has been allocated.
    const auto warm =
        std::find_if(looks.begin(), looks.end(), [](const Look& l) { return l.frames > kFrames / 4; });
    ASSERT_GE(looks.end() - warm, 10) << "it ran too fast to be watched";
    const auto most = [&](long Look::*what) {
        return (*std::max_element(warm, looks.end(),
                                  [&](const Look& a, const Look& b) { return a.*what < b.*what; })).*
               what;
    };
    // A leak of 1 KiB per frame would be 15 MiB. The timeline keeps about 100 bytes per frame, so some growth
    // is allowed.
    EXPECT_LT(most(&Look::kilobytes) - warm->kilobytes, 6 * 1024) << "from " << warm->kilobytes << " KiB";
    EXPECT_LE(most(&Look::descriptors), warm->descriptors + 2);
    RecordProperty("kilobytes_at_a_quarter", static_cast<int>(warm->kilobytes));
    RecordProperty("kilobytes_at_most", static_cast<int>(most(&Look::kilobytes)));
}

}  // namespace
}  // namespace mpm::test
