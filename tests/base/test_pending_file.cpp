#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <opencv2/core.hpp>

#include "base/pending_file.hpp"
#include "base/private_files.hpp"
#include "base/row_file.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm {
namespace {

std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

mode_t modeOf(const std::string& path) {
    struct stat there {};
    EXPECT_EQ(stat(path.c_str(), &there), 0) << path;
    return there.st_mode & 07777;
}

TEST(PendingFile, IsThereWholeOrNotAtAll) {
    const test::TempFolder folder;
    const std::string path = folder / "out.txt";
    { PendingFile(path).write("half"); }
    EXPECT_FALSE(fs::exists(path));
    EXPECT_TRUE(fs::is_empty(folder.path())) << "nothing is left behind";
    PendingFile file(path);
    file.write("one ");
    file.write("two");
    file.keep();
    EXPECT_EQ(contents(path), "one two");
}

TEST(PendingFile, ANewFileIsPrivateAndAReplacedOneKeepsItsMode) {
    const test::TempFolder folder;
    const mode_t old = umask(0);
    writeAtomically(folder / "new", "x");
    std::ofstream(folder / "shared") << "old";
    chmod((folder / "shared").c_str(), 0664);
    writeAtomically(folder / "shared", "x");
    umask(old);
    EXPECT_EQ(modeOf(folder / "new"), 0600u);
    EXPECT_EQ(modeOf(folder / "shared"), 0664u);
}

TEST(PendingFile, AModelOrAReportFollowsTheUmask) {
    const test::TempFolder folder;
    for (const mode_t mask : {0022, 0002, 0027, 0077}) {
        const mode_t old = umask(mask);
        const std::string inside = folder / ("of" + std::to_string(mask) + "/deep");
        makeFolders(inside, Access::Umask);
        writeAtomically(inside + "/report", "x", Access::Umask);
        RowFile(inside + "/rows", std::string_view("x"), Access::Umask);
        writeAtomically(inside + "/settings", "x");
        umask(old);
        EXPECT_EQ(modeOf(inside), 0777u & ~mask);
        EXPECT_EQ(modeOf(inside + "/report"), 0666u & ~mask);
        EXPECT_EQ(modeOf(inside + "/rows"), 0666u & ~mask);
        EXPECT_EQ(modeOf(inside + "/settings"), 0600u);
    }
}

TEST(PendingFile, ItsTemporaryNameCannotBeForeseen) {
    const test::TempFolder folder;
    const PendingFile first(folder / "a"), second(folder / "a");
    EXPECT_NE(first.path(), second.path());
    EXPECT_EQ(first.path().find(std::to_string(getpid())), std::string::npos);
    EXPECT_EQ(modeOf(first.path()), 0600u);
}

std::string leftBehind(const test::TempFolder& folder, const std::string& name, int seconds) {
    std::ofstream(folder / name) << "half";
    fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
    return folder / name;
}

TEST(PendingFile, WhatAKilledProgramLeftIsRemovedByTheNext) {
    const test::TempFolder folder;
    const std::string old = leftBehind(folder, ".mpm-0123456789abcdef.part", 3600);
    const std::string young = leftBehind(folder, ".mpm-0123456789abcde0.part", 5);
    const std::string other = leftBehind(folder, ".mpm-mine.part", 3600);
    const std::string inUse = leftBehind(folder, ".mpm-0123456789abcde1.part", 3600);
    const int user = open(inUse.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(flock(user, LOCK_EX | LOCK_NB), 0);
    writeAtomically(folder / "out", "x");
    close(user);
    EXPECT_FALSE(fs::exists(old));
    for (const std::string& path : {young, other, inUse})
        EXPECT_TRUE(fs::exists(path)) << path;
}

TEST(PendingFile, MayBeReplacedBeforeItIsKept) {
    const test::TempFolder folder;
    PendingFile file(folder / "out");
    file.write("first");
    writeAtomically(file.path(), "second");
    file.keep(Sync::Replacing);
    EXPECT_EQ(contents(folder / "out"), "second");
}

TEST(RowFile, ReplacesAFileByItsFirstRows) {
    const test::TempFolder folder;
    const std::string path = folder / "table.csv";
    std::ofstream(path) << "old table";
    {
        RowFile rows(path, std::string_view("head\n1\n"));
        EXPECT_EQ(contents(path), "head\n1\n");
        rows.add("2\n");
        rows.sync();
        EXPECT_EQ(contents(path), "head\n1\n2\n");
    }
    RowFile further(path, std::uintmax_t{7});
    further.add("3\n");
    EXPECT_EQ(contents(path), "head\n1\n3\n");
}

TEST(RowFile, ARowThatDoesNotFitIsNotThereByHalves) {
    const test::TempFolder folder;
    RowFile rows(folder / "table", std::string_view("head\n"));
    const rlimit before = [] {
        rlimit now{};
        getrlimit(RLIMIT_FSIZE, &now);
        return now;
    }();
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{8, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_THROW(rows.add("longer than what is left\n"), cv::Exception);
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(contents(folder / "table"), "head\n");
    rows.add("fits\n");
    EXPECT_EQ(contents(folder / "table"), "head\nfits\n");
}

TEST(RowFile, APipeTakesTheRows) {
    const test::TempFolder folder;
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    const int reader = open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    RowFile(folder / "pipe", std::string_view("head\n")).add("row\n");
    char text[32] = "";
    EXPECT_EQ(read(reader, text, sizeof text), 9);
    close(reader);
    EXPECT_EQ(std::string(text), "head\nrow\n");
    EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
}

TEST(PrivateFiles, FoldersAndFilesAreTheOwnersAlone) {
    const test::TempFolder folder;
    const mode_t old = umask(0);
    makePrivateFolders(folder / "a/b/c");
    const int file = openPrivate(folder / "a/b/c/store", O_TRUNC);
    umask(old);
    EXPECT_EQ(modeOf(folder / "a"), 0700u);
    EXPECT_EQ(modeOf(folder / "a/b/c"), 0700u);
    EXPECT_EQ(modeOf(folder / "a/b/c/store"), 0600u);
    EXPECT_NE(fcntl(file, F_GETFD) & FD_CLOEXEC, 0);
    close(file);
    makePrivateFolders(folder / "a/b/c");
}

TEST(PrivateFiles, ALinkIsNotFollowedAndAnOldFileBecomesPrivate) {
    const test::TempFolder folder;
    std::ofstream(folder / "other") << "kept";
    fs::create_symlink(folder / "other", folder / "link");
    EXPECT_THROW(openPrivate(folder / "link", O_TRUNC), cv::Exception);
    EXPECT_EQ(contents(folder / "other"), "kept");
    chmod((folder / "other").c_str(), 0644);
    close(openPrivate(folder / "other", O_APPEND));
    EXPECT_EQ(modeOf(folder / "other"), 0600u);
    EXPECT_THROW(makePrivateFolders(folder / "other/x"), cv::Exception);
}

TEST(WorkFolder, IsPrivateAndGoesWithTheObject) {
    const test::TempFolder folder;
    std::string path;
    {
        const WorkFolder work(folder / "beside");
        path = work.path();
        EXPECT_EQ(modeOf(path), 0700U);
        std::ofstream(path + "/frame.png") << "private";
        // A second WorkFolder must not remove a folder in use, even if the folder seems old.
        fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
        const WorkFolder other(folder / "beside");
        EXPECT_NE(other.path(), path);
        EXPECT_TRUE(fs::exists(path + "/frame.png"));
    }
    EXPECT_TRUE(fs::is_empty(folder / "beside"));
    fs::create_directories(path);
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
    const WorkFolder next(folder / "beside");
    EXPECT_FALSE(fs::exists(path));  // the folder that a killed program left was removed
}

}  // namespace
}  // namespace mpm
