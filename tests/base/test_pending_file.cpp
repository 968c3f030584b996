#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <opencv2/core.hpp>

#include "base/pending_file.hpp"
#include "base/private_files.hpp"
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

TEST(PendingFile, ItsTemporaryNameCannotBeForeseen) {
    const test::TempFolder folder;
    const PendingFile first(folder / "a"), second(folder / "a");
    EXPECT_NE(first.path(), second.path());
    EXPECT_EQ(first.path().find(std::to_string(getpid())), std::string::npos);
    EXPECT_EQ(modeOf(first.path()), 0600u);
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

}  // namespace
}  // namespace mpm
