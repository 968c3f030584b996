#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

#include <opencv2/core.hpp>

#include "base/private_files.hpp"
#include "base/read_file.hpp"

namespace fs = std::filesystem;

namespace {

class ReadFileTest : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "mpm_read_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        m_folder = name;
    }
    void TearDown() override { fs::remove_all(m_folder); }

    std::string in(const char* name) const { return (m_folder / name).string(); }

    fs::path m_folder;
};

TEST_F(ReadFileTest, GivesTheBytesOfARegularFile) {
    const std::string bytes("a\0b\n", 4);
    mpm::writeAtomically(in("file"), bytes);
    EXPECT_EQ(mpm::readRegularFile(in("file"), 4), bytes);
    EXPECT_THROW(mpm::readRegularFile(in("file"), 3), cv::Exception);
    fs::create_symlink(in("file"), in("link"));
    EXPECT_EQ(mpm::readRegularFile(in("link"), 4), bytes);
}

TEST_F(ReadFileTest, RejectsWhatIsNoRegularFileWithoutWaiting) {
    ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
    const auto isRejected = [](const std::string& path, const std::function<void()>& read) {
        try {
            read();
            ADD_FAILURE() << path;
        } catch (const cv::Exception& error) {
            EXPECT_NE(error.err.find(path), std::string::npos) << error.err;
        }
    };
    for (const std::string& path : {in("pipe"), in("absent"), m_folder.string(), std::string("/dev/zero")}) {
        isRejected(path, [&] { mpm::readRegularFile(path, 1 << 20); });
        isRejected(path, [&] { mpm::LineReader(path, 1 << 20); });
    }
}

TEST_F(ReadFileTest, GivesLinesOfALimitedLength) {
    mpm::writeAtomically(in("file"), "one\n\ntwo");
    mpm::LineReader lines(in("file"), 3);
    std::string line;
    for (const char* expected : {"one", ""}) {
        ASSERT_TRUE(lines.next(line));
        EXPECT_EQ(line, expected);
        EXPECT_TRUE(lines.whole());
    }
    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(line, "two");
    EXPECT_FALSE(lines.whole());
    EXPECT_FALSE(lines.next(line));
    EXPECT_FALSE(lines.failed());
    mpm::writeAtomically(in("file"), "one\nfour\n");
    mpm::LineReader longer(in("file"), 3);
    EXPECT_TRUE(longer.next(line));
    EXPECT_THROW(longer.next(line), cv::Exception);
}

}  // namespace
