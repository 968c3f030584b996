// Converts untrusted models in a child process: valid and hostile models, and a child that reports wrong
// results.
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/sandbox.hpp"
#include "models/onnx/contained.hpp"
#include "support/onnx_model.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::models {
namespace {

using End = Contained::End;

const std::string kStreet = MPM_SOURCE_DIR "/models/zoo/street-vit-tiny.onnx";

/// Writes a model of a few hundred bytes that needs 2 GiB of memory.
void writeExpand(const std::string& file) {
    test::OnnxModel model;
    model.input("x", {1, 3, 64, 64}).output("y", {1, 512, 1024, 1024});
    model.constant("one", cv::Mat(1, 1, CV_32F, cv::Scalar(1)), {1});
    model.constant("shape", std::vector<long long>{1, 512, 1024, 1024});
    model.node("Expand", {"one", "shape"}, {"large"});
    model.node("ReduceMean", {"x"}, {"mean"});
    model.node("Add", {"mean", "large"}, {"y"});
    model.write(file);
}

class ContainedTest : public testing::Test {
protected:
    std::string path(const std::string& name) const { return m_folder / name; }
    std::string output() const { return path("made/model.onnx"); }
    /// Returns the number of files in the output's folder.
    int entries() const {
        std::error_code error;
        int count = 0;
        for (fs::directory_iterator at(path("made"), error), end; !error && at != end; at.increment(error))
            ++count;
        return count;
    }
    std::string script(const std::string& text) const {
        std::ofstream(path("program")) << "#!/bin/sh\n" << text;
        chmod(path("program").c_str(), 0700);
        return path("program");
    }
    Contained runScript(const std::string& text) const {
        return ContainedConversion(script(text)).run(kStreet, output());
    }

private:
    const test::TempFolder m_folder;
};

TEST_F(ContainedTest, ConvertsAsEverywhere) {
    fs::copy_file(kStreet, path("street.onnx"));
    const mode_t before = umask(0027);
    const Contained result = ContainedConversion().run(path("street.onnx"), output());
    umask(before);
    ASSERT_EQ(result.end, End::Done) << result.message;
    if (detail::landlockVersion() > 0 && detail::hasCallFilter()) {
        EXPECT_TRUE(result.missing.empty()) << result.missing[0];
    }
    struct stat made {};
    ASSERT_EQ(stat(output().c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 07777, 0640U);
    EXPECT_GT(made.st_size, 1 << 20);
    EXPECT_EQ(entries(), 1);
}

TEST_F(ContainedTest, ConvertsWithoutSandboxAndSaysSo) {
    ContainedLimits limits;
    limits.landlock = limits.filter = false;
    const Contained result = ContainedConversion("/proc/self/exe", limits).run(kStreet, output());
    ASSERT_EQ(result.end, End::Done) << result.message;
    ASSERT_EQ(result.missing.size(), 2U);
    EXPECT_EQ(result.missing[0].rfind("Landlock", 0), 0U);
    EXPECT_EQ(result.missing[1].rfind("system call filter", 0), 0U);
}

TEST_F(ContainedTest, RefusesWhatIsNoModel) {
    std::ofstream(path("no.onnx")) << "no graph";
    const Contained result = ContainedConversion().run(path("no.onnx"), output());
    EXPECT_EQ(result.end, End::Refused);
    EXPECT_NE(result.message.find("ONNX"), std::string::npos) << result.message;
    EXPECT_EQ(entries(), 0);
}

/// Limits must hold with and without the sandbox, and the message must name the limit.
class ContainedLimit : public ContainedTest, public testing::WithParamInterface<bool> {
protected:
    ContainedLimit() { m_limits.landlock = m_limits.filter = GetParam(); }
    ContainedLimits m_limits;
};

TEST_P(ContainedLimit, OfMemoryEndsAModelThatAsksForMore) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "shadow memory takes terabytes of address space, so there is no limit on it";
#endif
    writeExpand(path("expand.onnx"));
    m_limits.memory = 64 << 20;
    const Contained result =
        ContainedConversion("/proc/self/exe", m_limits).run(path("expand.onnx"), output());
    const bool budget = result.end == End::Refused && result.message.find("memory") != std::string::npos;
    EXPECT_TRUE(result.end == End::OutOfMemory || budget) << int(result.end) << result.message;
    EXPECT_EQ(entries(), 0);
}

TEST_P(ContainedLimit, OfTimeEndsAModelThatTakesLonger) {
    m_limits.seconds = 0.01;
    const Contained result = ContainedConversion("/proc/self/exe", m_limits).run(kStreet, output());
    EXPECT_EQ(result.end, End::OutOfTime);
    EXPECT_EQ(result.message, "the conversion took too long");
    EXPECT_EQ(entries(), 0);
}

INSTANTIATE_TEST_SUITE_P(Sandbox, ContainedLimit, testing::Bool());

TEST_F(ContainedTest, IsStoppedAtOnce) {
    std::ofstream(path("old")) << "old";
    fs::create_directory(path("made"));
    fs::copy_file(path("old"), output());
    ContainedConversion conversion;
    const int before = entries();
    std::thread other([&] {
        while (entries() == before)  // waits for the child's temporary file
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        conversion.stop();
    });
    EXPECT_EQ(conversion.run(kStreet, output()).end, End::Stopped);
    other.join();
    EXPECT_EQ(fs::file_size(output()), 3U);  // the old file
    EXPECT_EQ(entries(), 1);
}

TEST_F(ContainedTest, TakesNoLinkPipeOrFolderForAModel) {
    for (const std::string make : {"ln -s /etc/passwd \"$3\"", "mkfifo \"$3\"", "mkdir \"$3\"", "true"}) {
        const Contained result = runScript(make + "\nexit 0\n");
        EXPECT_EQ(result.end, End::Failed) << make;
        EXPECT_NE(result.message.find("no file"), std::string::npos) << result.message;
        EXPECT_EQ(entries(), 0) << make;
    }
}

TEST_F(ContainedTest, WordsOfTheChildAreOneShortPlainLine) {
    const Contained result = runScript("printf 'message \\033[31mred\\n'; exit 3\n");
    EXPECT_EQ(result.end, End::Refused);
    EXPECT_EQ(result.message, "\\x1b[31mred");
    const Contained flood = runScript("printf 'message %0100000d\\n' 1; exit 3\n");
    EXPECT_LT(flood.message.size(), 1000U);
}

TEST_F(ContainedTest, SaysThatTheChildBroke) {
    const Contained result = runScript("kill -SEGV $$\n");
    EXPECT_EQ(result.end, End::Failed);
    EXPECT_NE(result.message.find("signal 11"), std::string::npos) << result.message;
    EXPECT_EQ(ContainedConversion("/nowhere").run(kStreet, output()).end, End::Failed);
}

TEST_F(ContainedTest, RemovesWhatAKilledProgramLeft) {
    fs::create_directories(path("made/.work-abandoned"));
    fs::last_write_time(path("made/.work-abandoned"),
                        fs::file_time_type::clock::now() - std::chrono::hours(1));
    runScript("exit 1\n");
    EXPECT_EQ(entries(), 0);
}

}  // namespace
}  // namespace mpm::models

int main(int argc, char** argv) {
    if (mpm::models::isContainedCall(argc, argv)) return mpm::models::containedMain(argc, argv);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
