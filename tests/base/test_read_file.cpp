#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

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
    for (const std::string& path : {in("pipe"), in("absent"), m_folder.string(), std::string("/dev/zero")}) {
        try {
            mpm::readRegularFile(path, 1 << 20);
            ADD_FAILURE() << path;
        } catch (const cv::Exception& error) {
            EXPECT_NE(error.err.find(path), std::string::npos) << error.err;
        }
    }
}

}  // namespace
