// Tests what the sandbox denies. Limits must hold even if the kernel has neither Landlock nor filters.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/child_process.hpp"
#include "base/sandbox.hpp"
#include "support/temp_folder.hpp"

namespace mpm {
namespace {

using How = ChildEnd::How;

constexpr double kPatience = 60;

class SandboxTest : public testing::Test {
protected:
    SandboxTest() {
        mkdir(work().c_str(), 0700);
        std::ofstream(m_folder / "input") << "input";
        std::ofstream(m_folder / "secret") << "secret";
    }
    std::string work() const { return m_folder / "work"; }
    std::string file(const std::string& name) const { return m_folder / name; }

    static ChildEnd run(std::vector<std::string> words, double seconds = kPatience) {
        ChildProcess child;
        words.insert(words.begin(), MPM_SUBJECT);
        child.start(MPM_SUBJECT, words, {});
        return child.wait(seconds);
    }
    ChildEnd probe(std::vector<std::string> more = {}) const {
        std::vector<std::string> words{"probe", work(), file("input"), file("secret")};
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    }

private:
    const test::TempFolder m_folder;
};

// The shadow memory of sanitizers takes terabytes of address space, so sanitizer builds have no memory limit.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasMemoryLimit = false;
#else
constexpr bool kHasMemoryLimit = true;
#endif

bool says(const ChildEnd& end, const std::string& text) {
    return end.output.find(text) != std::string::npos;
}

TEST_F(SandboxTest, DeniesWhatTheTaskDoesNotNeed) {
    if (detail::landlockVersion() == 0 || !detail::hasCallFilter()) GTEST_SKIP() << sandboxSupport();
    const ChildEnd end = probe();
    EXPECT_EQ(end.output,
              "computing: done\n"
              "reading inside: done\n"
              "reading outside: Permission denied\n"
              "writing outside: Permission denied\n"
              "making outside: Permission denied\n"
              "making a program: Function not implemented\n"
              "connecting: Operation not permitted\n"
              "another process: Operation not permitted\n"
              "tracing: Operation not permitted\n"
              "a signal to another: Operation not permitted\n"
              "keys: Operation not permitted\n"
              "a ring of calls: Operation not permitted\n"
              "higher limits: Operation not permitted\n"
              "a program: Operation not permitted\n");
    EXPECT_EQ(end.how, How::Exited);
}

TEST_F(SandboxTest, LandlockHoldsFilesWithoutTheFilter) {
    if (detail::landlockVersion() == 0) GTEST_SKIP() << sandboxSupport();
    const ChildEnd end = probe({"without-filter"});
    for (const char* line : {"computing: done", "reading outside: Permission denied",
                             "writing outside: Permission denied", "making outside: Permission denied",
                             "a program: Permission denied", "missing system call filter: left out"})
        EXPECT_TRUE(says(end, line)) << line << "\n" << end.output;
}

TEST_F(SandboxTest, FilterHoldsCallsWithoutLandlock) {
    if (!detail::hasCallFilter()) GTEST_SKIP() << sandboxSupport();
    const ChildEnd end = probe({"without-landlock"});
    for (const char* line :
         {"computing: done", "reading outside: done", "connecting: Operation not permitted",
          "another process: Operation not permitted", "a program: Operation not permitted",
          "missing Landlock: left out"})
        EXPECT_TRUE(says(end, line)) << line << "\n" << end.output;
}

TEST_F(SandboxTest, OldKernelIsSaidAndItsLimitsHold) {
    const ChildEnd end = run({kHasMemoryLimit ? "allocate" : "nothing", work(), "old-kernel"});
    EXPECT_TRUE(says(end, "missing Landlock: the kernel does not offer it")) << end.output;
    EXPECT_TRUE(says(end, "missing system call filter: the kernel does not offer it")) << end.output;
    EXPECT_TRUE(says(end, "out of memory") || !kHasMemoryLimit) << end.output;
    const ChildEnd support = run({"support", "old-kernel"});
    EXPECT_TRUE(says(support, "no Landlock")) << support.output;
    EXPECT_TRUE(says(support, "no system call filter")) << support.output;
}

TEST_F(SandboxTest, MemoryEnds) {
    if (!kHasMemoryLimit) GTEST_SKIP() << "a sanitizer's build";
    const ChildEnd end = run({"allocate", work(), "without-landlock", "without-filter"});
    EXPECT_TRUE(says(end, "out of memory")) << end.output;
    EXPECT_TRUE(says(run({"allocate", work()}), "out of memory"));
}

TEST_F(SandboxTest, ProcessorTimeEnds) {
    const ChildEnd end = run({"spin", work(), "without-landlock", "without-filter"});
    EXPECT_EQ(end.how, How::Signalled);
    EXPECT_EQ(end.number, SIGXCPU);
}

TEST_F(SandboxTest, FilesEnd) {
    const ChildEnd end = run({"fill", work(), "without-landlock", "without-filter"});
    EXPECT_EQ(end.how, How::Signalled);
    EXPECT_EQ(end.number, SIGXFSZ);
    struct stat written {};
    ASSERT_EQ(stat((work() + "/file").c_str(), &written), 0);
    EXPECT_LE(written.st_size, 4 << 20);
}

TEST_F(SandboxTest, HiddenEntriesAndLinksAreLeftOut) {
    mkdir(file(".ssh").c_str(), 0700);
    ASSERT_EQ(symlink("/etc", file("link").c_str()), 0);
    std::vector<std::string> found = visibleEntries(file(""));
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].substr(found[0].rfind('/')), "/input");
    EXPECT_EQ(found[2].substr(found[2].rfind('/')), "/work");
}

TEST(ChildProcess, InheritsNothing) {
    const int open = dup(STDOUT_FILENO);  // without O_CLOEXEC, a child could inherit `open`
    setenv("MPM_TEST_PASSWORD", "secret", 1);
    signal(SIGPIPE, SIG_IGN);
    ChildProcess child;
    child.start(MPM_SUBJECT, {MPM_SUBJECT, "inherited"}, {"LANG=C"});
    EXPECT_EQ(child.wait(kPatience).output, "LANG=C\n");
    signal(SIGPIPE, SIG_DFL);
    close(open);
}

TEST(ChildProcess, KeepsItsErrorsIfTheyAreWanted) {
    for (const bool wanted : {false, true}) {
        ChildProcess child;
        child.start("/bin/sh", {"sh", "-c", "echo done; echo wrong >&2"}, {}, wanted);
        EXPECT_EQ(child.wait(kPatience).output, wanted ? "done\nwrong\n" : "done\n");
    }
}

TEST(ChildProcess, IsStoppedAtOnce) {
    const test::TempFolder folder;
    ChildProcess child;
    child.start(MPM_SUBJECT, {MPM_SUBJECT, "linger", folder / "number"}, {});
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        child.stop();
    });
    EXPECT_EQ(child.wait(kPatience).how, How::Stopped);  // the program would run for ever
    other.join();
}

TEST(ChildProcess, StoppedBeforeItsStartItNeverRuns) {
    ChildProcess child;
    child.stop();
    child.start(MPM_SUBJECT, {MPM_SUBJECT, "inherited"}, {"LANG=C"});
    const ChildEnd end = child.wait(kPatience);
    EXPECT_EQ(end.how, How::Stopped);
    EXPECT_EQ(end.output, "");
}

TEST(ChildProcess, EndsWhenItsTimeIsOver) {
    const test::TempFolder folder;
    ChildProcess child;
    child.start(MPM_SUBJECT, {MPM_SUBJECT, "linger", folder / "number"}, {});
    EXPECT_EQ(child.wait(0.3).how, How::OutOfTime);
}

TEST(ChildProcess, SaysThatAProgramIsMissing) {
    ChildProcess child;
    child.start("/nowhere/program", {"program"}, {});
    const ChildEnd end = child.wait(kPatience);
    EXPECT_EQ(end.how, How::NotStarted);
    EXPECT_EQ(end.number, ENOENT);
}

TEST(ChildProcess, EndsWithItsParent) {
    const test::TempFolder folder;
    const std::string file = folder / "number";
    ChildProcess child;
    child.start(MPM_SUBJECT, {MPM_SUBJECT, "leave", file}, {});
    child.wait(kPatience);
    pid_t lingering = 0;
    ASSERT_TRUE(std::ifstream(file) >> lingering);
    for (int i = 0; i < 1000 && kill(lingering, 0) == 0; ++i) {
        // A zombie counts as ended.
        std::string state;
        std::ifstream about("/proc/" + std::to_string(lingering) + "/stat");
        if (about >> state >> state >> state && state == "Z") break;
        ASSERT_LT(i, 999);
        usleep(10000);
    }
}

}  // namespace
}  // namespace mpm
