// Files with names of videos that would block the program, or make it read other files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>

#include "pipeline/source/source.hpp"
#include "pipeline/source/video_file.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::pipeline {
namespace {

using test::TempFolder;

std::string writeFilm(const TempFolder& folder, int frames) {
    const std::string path = folder / "clip.avi";
    cv::VideoWriter writer(path, cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 25, {64, 48});
    for (int i = 0; i < frames; ++i)
        writer << cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(10 * i));
    return path;
}

void writeList(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
}

SourceProblem::Kind whyNotOpened(const std::string& address) {
    try {
        makeSource(address)->open();
    } catch (const SourceError& error) {
        EXPECT_NE(std::string(error.what()).find(address), std::string::npos) << error.what();
        return error.kind();
    }
    return SourceProblem::Kind::None;
}

// If the program opened a pipe without a writer, the call would never return.
TEST(Video, APipeOrADeviceIsRejectedWithoutWaiting) {
    TempFolder folder;
    const std::string pipe = folder / "x.mp4";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    fs::create_symlink(pipe, folder / "link.mp4");
    for (const std::string& address :
         {pipe, folder / "link.mp4", "file://" + pipe, std::string("/dev/zero"), std::string("/dev/null")})
        EXPECT_EQ(whyNotOpened(address), SourceProblem::Kind::NotAFile) << address;
}

TEST(Video, APlaylistIsRejectedWhateverItsName) {
    TempFolder folder;
    const std::string clip = writeFilm(folder, 5), pipe = folder / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const std::string concat = "ffconcat version 1.0\nfile ",
                      hls = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n",
                      tag = std::string("ID3\4\0\0\0\0\0\7", 10) + "padding";
    for (const std::string& text :
         {concat + "pipe\n", concat + "clip.avi\n", hls + "clip.avi\n#EXT-X-ENDLIST\n", hls + "pipe\n",
          tag + hls + clip, tag + tag + concat + clip, hls + std::string("#\0\x1b\n", 4) + clip,
          std::string("<?xml version=\"1.0\"?><MPD><BaseURL>http://127.0.0.1:9/</BaseURL></MPD>"),
          std::string("v=0\r\nc=IN IP4 127.0.0.1\r\nm=video 5004 RTP/AVP 96\r\n"),
          "[playlist]\nFile1=" + clip, "video " + std::string(20'000, '\n') + clip}) {
        writeList(folder / "list.mp4", text);
        EXPECT_EQ(whyNotOpened(folder / "list.mp4"), SourceProblem::Kind::Playlist) << text.substr(0, 60);
    }
}

// FFmpeg must also reject playlists, because a file may change between the program's check and opening.
TEST(Video, FfmpegOpensNoFormatThatNamesOtherFiles) {
    TempFolder folder;
    const std::string clip = writeFilm(folder, 5);
    writeList(folder / "list.ffconcat", "ffconcat version 1.0\nfile clip.avi\n");
    writeList(folder / "list.m3u8",
              "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nclip.avi\n#EXT-X-ENDLIST\n");
    const FfmpegOpening rules(false);
    cv::VideoCapture capture;
    EXPECT_FALSE(capture.open(folder / "list.ffconcat", cv::CAP_FFMPEG));
    EXPECT_FALSE(capture.open(folder / "list.m3u8", cv::CAP_FFMPEG));
    EXPECT_TRUE(capture.open(clip, cv::CAP_FFMPEG));
}

// While a capture opens, other threads may read the environment. Opening must not change the environment.
TEST(Video, ACaptureDoesNotMoveThePreparedEnvironment) {
    TempFolder folder;
    const std::string clip = writeFilm(folder, 5);
    prepareFfmpeg();
    char** const place = environ;
    std::vector<const char*> before;
    for (char** entry = environ; *entry != nullptr; ++entry)
        before.push_back(*entry);
    Frame frame;
    const auto source = makeSource(clip);
    source->open();
    EXPECT_TRUE(source->next(frame));
    EXPECT_EQ(environ, place);
    for (size_t i = 0; i < before.size(); ++i)
        EXPECT_EQ(environ[i], before[i]);
    EXPECT_EQ(environ[before.size()], nullptr);
}

/// Returns the places of the images that readSpread() chooses. `useful` decides whether an image counts.
std::vector<int> spread(const std::string& folder, const std::function<bool(int place)>& useful) {
    const auto source = makeSource(Address(folder));
    source->open();
    std::vector<int> places, bad;
    int found = 0;
    readSpread(*source, {4, 60, [] { return false; }, [&](const std::string&) { bad.push_back(0); }},
               [&](const cv::Mat& image) {
                   places.push_back(image.at<cv::Vec3b>(0, 0)[0]);
                   found += useful(places.back()) ? 1 : 0;
                   return found < 4;
               });
    places.insert(places.end(), bad.begin(), bad.end());
    return places;
}

TEST(ReadSpread, SeesAllPartsOfALongFolder) {
    const TempFolder folder;
    for (int i = 0; i < 40; ++i)
        cv::imwrite(folder / (std::to_string(i) + ".png"), cv::Mat(2, 2, CV_8UC3, cv::Scalar::all(i)));
    EXPECT_EQ(spread(folder.path(), [](int) { return true; }), (std::vector<int>{0, 10, 20, 30}));
    EXPECT_EQ(spread(folder.path(), [](int place) { return place >= 15; }),
              (std::vector<int>{0, 10, 20, 30, 5, 15, 25}));
    std::ofstream(folder / "10.png") << "no image";
    EXPECT_EQ(spread(folder.path(), [](int) { return true; }), (std::vector<int>{0, 11, 20, 30, 0}));
    for (int i = 12; i < 40; ++i)
        fs::remove(folder / (std::to_string(i) + ".png"));
    EXPECT_EQ(spread(folder.path(), [](int) { return true; }).size(), 12u) << "a short one is read whole";
}

TEST(ReadSpread, ReportsWhetherTheTimeEndedIt) {
    const TempFolder folder;
    cv::imwrite(folder / "0.png", cv::Mat(2, 2, CV_8UC3, cv::Scalar::all(0)));
    for (const double seconds : {0., 3600.}) {
        const auto source = makeSource(Address(folder.path()));
        source->open();
        const SpreadReading reading{4, seconds, [] { return false; }, [](const std::string&) {}};
        EXPECT_EQ(readSpread(*source, reading, [](const cv::Mat&) { return true; }), seconds == 0);
    }
}

}  // namespace
}  // namespace mpm::pipeline
