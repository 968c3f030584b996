#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include "pipeline/source/reader.hpp"
#include "pipeline/source/scene_source.hpp"
#include "pipeline/source/source.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::pipeline {
namespace {

using test::TempFolder;
using namespace std::chrono_literals;

cv::Mat numbered(int number) {
    cv::Mat image(48, 64, CV_8UC3, cv::Scalar(0, 0, 0));
    cv::rectangle(image, {number, 10, 8, 20}, cv::Scalar(255, 255, 255), cv::FILLED);
    return image;
}

std::string writeClip(const TempFolder& folder, int frames) {
    const std::string path = folder / "clip.avi";
    cv::VideoWriter writer(path, cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 25, {64, 48});
    for (int i = 0; i < frames; ++i)
        writer << numbered(i);
    return path;
}

std::vector<Frame> readAll(Source& source) {
    std::vector<Frame> frames;
    for (Frame frame; source.next(frame);)
        frames.push_back(frame);
    return frames;
}

void writeText(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
}

TEST(SourceKind, FollowsTheForm) {
    TempFolder folder;
    cv::imwrite(folder / "a.png", numbered(1));
    writeText(folder / "clip.avi", "not really");
    EXPECT_EQ(sourceKind("demo"), SourceKind::Scene);
    EXPECT_EQ(sourceKind("0"), SourceKind::Camera);
    EXPECT_EQ(sourceKind("rtsp://host/stream"), SourceKind::Stream);
    EXPECT_EQ(sourceKind("gst:videotestsrc ! appsink"), SourceKind::Pipeline);
    EXPECT_EQ(sourceKind(folder.path()), SourceKind::ImageFiles);
    EXPECT_EQ(sourceKind(folder / "a.png"), SourceKind::ImageFiles);
    EXPECT_EQ(sourceKind(folder / "*.png"), SourceKind::ImageFiles);
    EXPECT_EQ(sourceKind(folder / "clip.avi"), SourceKind::Video);
    EXPECT_THROW(sourceKind(folder / "missing.png"), SourceError);
    EXPECT_THROW(sourceKind(folder / "*.jpg"), SourceError);
    EXPECT_THROW(sourceKind(""), SourceError);
}

TEST(Source, TraitsOfEachKind) {
    EXPECT_TRUE(traitsOf(SourceKind::Camera).remote && traitsOf(SourceKind::Stream).remote);
    EXPECT_TRUE(traitsOf(SourceKind::Pipeline).remote && !traitsOf(SourceKind::Pipeline).seekable);
    EXPECT_TRUE(traitsOf(SourceKind::Video).seekable && !traitsOf(SourceKind::Video).remote);
    EXPECT_TRUE(traitsOf(SourceKind::ImageFiles).files && !traitsOf(SourceKind::ImageFiles).scene);
    EXPECT_TRUE(traitsOf(SourceKind::Scene).scene && !traitsOf(SourceKind::Scene).files);
}

TEST(ImageFiles, ComeInNaturalOrderAndOnlyImages) {
    TempFolder folder;
    for (int number : {10, 9, 1, 100})
        cv::imwrite(folder / ("frame" + std::to_string(number) + ".png"), numbered(number % 50));
    writeText(folder / "notes.txt", "no image");
    const auto source = makeSource(folder.path());
    source->open();
    EXPECT_EQ(source->length(), 4);
    EXPECT_FALSE(source->live());
    std::vector<std::string> names;
    for (const Frame& frame : readAll(*source))
        names.push_back(frame.name);
    EXPECT_EQ(names, (std::vector<std::string>{"frame1", "frame9", "frame10", "frame100"}));
}

TEST(ImageFiles, LettersBeyondAsciiComeAfterThoseOfIt) {
    TempFolder folder;
    for (const char* name : {"\u00e4.png", "-.png", "z.png"})
        cv::imwrite(folder / name, numbered(1));
    const std::vector<std::string> paths = imagePaths(folder.path());
    EXPECT_EQ(paths, (std::vector<std::string>{folder / "-.png", folder / "z.png", folder / "\u00e4.png"}));
}

TEST(ImageFiles, SameStemsGetNamesOfTheirOwn) {
    TempFolder folder;
    cv::imwrite(folder / "a.png", numbered(1));
    cv::imwrite(folder / "a.bmp", numbered(2));
    const auto source = makeSource(folder / "a.*");
    source->open();
    const std::vector<Frame> frames = readAll(*source);
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_NE(frames[0].name, frames[1].name);
}

TEST(ImageFiles, ADamagedOneIsNamedAndTheNextOneFollows) {
    TempFolder folder;
    cv::imwrite(folder / "a.png", numbered(1));
    writeText(folder / "b.png", "\x89PNG cut off");
    cv::imwrite(folder / "c.png", numbered(3));
    const auto source = makeSource(folder.path());
    source->open();
    Frame frame;
    ASSERT_TRUE(source->next(frame));
    try {
        source->next(frame);
        FAIL() << "a damaged image was read";
    } catch (const BadImage& error) {
        EXPECT_NE(std::string(error.what()).find("b.png"), std::string::npos);
    }
    ASSERT_TRUE(source->next(frame));
    EXPECT_EQ(frame.name, "c");
    EXPECT_FALSE(source->next(frame));
}

std::vector<char> bytesOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns whether a source reads a file with these bytes as an image.
bool isRead(const std::string& path, const std::vector<char>& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto source = makeSource(path);
    source->open();
    Frame frame;
    try {
        return source->next(frame);
    } catch (const BadImage& error) {
        EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
        return false;
    }
}

TEST(ImageFiles, AJpegThatIsCutOffIsDamagedAndOneWithoutItsEndMarkerIsNot) {
    TempFolder folder;
    cv::Mat noise(120, 161, CV_8UC3);
    cv::randu(noise, 0, 256);
    for (const int progressive : {0, 1})
        for (const int restart : {0, 4}) {
            const std::string path = folder / "a.jpg";
            cv::imwrite(path, noise,
                        {cv::IMWRITE_JPEG_PROGRESSIVE, progressive, cv::IMWRITE_JPEG_RST_INTERVAL, restart});
            const std::vector<char> whole = bytesOf(path);
            ASSERT_EQ(whole.back(), '\xd9');
            EXPECT_TRUE(isRead(path, whole));
            std::vector<char> changed(whole.begin(), whole.end() - 2);
            EXPECT_TRUE(isRead(path, changed)) << "only the end marker is missing";
            for (const double share : {0.5, 0.7, 0.9, 0.98}) {
                changed.assign(whole.begin(), whole.begin() + long(share * double(whole.size())));
                EXPECT_FALSE(isRead(path, changed)) << share << " of it, progressive " << progressive;
            }
            changed = whole;
            changed.insert(changed.end(), 5000, '\0');
            EXPECT_TRUE(isRead(path, changed)) << "padded behind its end";
        }
}

// A JPEG may contain a preview in a segment. The end marker of the preview is not the end of the image.
TEST(ImageFiles, TheEndOfAPreviewIsNotTheImagesEnd) {
    TempFolder folder;
    cv::Mat noise(120, 160, CV_8UC3);
    cv::randu(noise, 0, 256);
    cv::imwrite(folder / "a.jpg", noise);
    std::vector<char> file = bytesOf(folder / "a.jpg");
    const std::vector<char> preview = {'\xff', '\xe1', 0, 6, '\xff', '\xd8', '\xff', '\xd9'};
    file.insert(file.begin() + 2, preview.begin(), preview.end());
    EXPECT_TRUE(isRead(folder / "b.jpg", file));
    file.resize(file.size() * 2 / 3);
    EXPECT_FALSE(isRead(folder / "b.jpg", file));
}

/// Returns the message of a source that the user may not read. Root may read everything, so if root runs the
/// test, the test temporarily becomes another user.
std::string toldAbout(const std::string& text) {
    const uid_t user = geteuid();
    if (user == 0 && seteuid(65534) != 0) return "cannot step down";
    std::string told;
    try {
        const auto source = makeSource(text);
        source->open();
        Frame frame;
        source->next(frame);
    } catch (const SourceError& error) {
        told = error.what();
    }
    if (user == 0 && seteuid(0) != 0) return "cannot step up";
    return told;
}

TEST(ImageFiles, WhatMayNotBeReadIsCalledThat) {
    TempFolder folder;
    fs::permissions(folder.path(), fs::perms(0755));
    fs::create_directory(folder / "in");
    for (const char* name : {"a.png", "in/b.png"})
        cv::imwrite(folder / name, numbered(1));
    const std::string clip = writeClip(folder, 3);
    fs::permissions(folder / "a.png", fs::perms::none);
    fs::permissions(clip, fs::perms::none);
    fs::permissions(folder / "in", fs::perms::none);
    for (const std::string& text : {folder / "a.png", folder / "in", folder / "in/b.png", clip}) {
        const std::string told = toldAbout(text);
        EXPECT_NE(told.find("permission denied"), std::string::npos) << told;
        EXPECT_NE(told.find(text), std::string::npos) << told;
    }
    fs::permissions(folder / "in", fs::perms(0755));
}

TEST(ImageFiles, AnEmptyFolderIsAnError) {
    TempFolder folder;
    const auto source = makeSource(folder.path());
    EXPECT_THROW(source->open(), SourceError);
}

TEST(Video, GivesEveryFrameInOrderAndEnds) {
    TempFolder folder;
    const auto source = makeSource(writeClip(folder, 20));
    source->open();
    EXPECT_FALSE(source->live());
    EXPECT_EQ(source->length(), 20);
    EXPECT_NEAR(source->rate(), 25, 0.1);
    const std::vector<Frame> frames = readAll(*source);
    ASSERT_EQ(frames.size(), 20u);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(frames[i].number, i);
        EXPECT_LT(cv::norm(frames[i].image, numbered(i), cv::NORM_L1) / (64 * 48 * 3), 8) << i;
    }
    EXPECT_EQ(frames[3].name, "clip_000003");
}

int shownNumber(const Frame& frame) {
    int best = 0;
    const auto error = [&](int number) { return cv::norm(frame.image, numbered(number), cv::NORM_L1); };
    for (int i = 1; i < 40; ++i)
        if (error(i) < error(best)) best = i;
    return best;
}

TEST(Video, IsHeldSoughtAndSteppedByTheReader) {
    TempFolder folder;
    ReaderOptions options;
    options.loop = true;
    Reader reader(writeClip(folder, 20), options);
    Frame frame;
    ASSERT_TRUE(reader.take(frame, 5s));
    EXPECT_EQ(reader.status().length, 20);
    reader.setHeld(true);
    reader.take(frame, 200ms);  // a frame may have been in progress
    EXPECT_FALSE(reader.take(frame, 300ms));
    EXPECT_EQ(reader.status().state, SourceState::Live) << "a film that is held is not stalled";
    const auto comes = [&](int wanted) {
        ASSERT_TRUE(reader.take(frame, 5s));
        EXPECT_EQ(shownNumber(frame), wanted);
        EXPECT_EQ(reader.status().position, wanted);
        EXPECT_FALSE(reader.take(frame, 100ms)) << "more than one frame came";
    };
    reader.seek(10);
    comes(10);
    reader.step(1);
    comes(11);
    reader.step(-1);
    comes(10);
    reader.seek(99);
    comes(19);
    reader.seek(-5);
    comes(0);
    reader.step(-1);
    comes(0);
    // Without a loop, the video is held at the end, and begins again when setHeld(false) is called.
    reader.setLoop(false);
    reader.setSpeed(4);
    reader.setHeld(false);
    while (reader.take(frame, 1s)) {
    }
    EXPECT_TRUE(reader.status().held);
    EXPECT_EQ(reader.status().position, 19);
    EXPECT_EQ(reader.status().passes, 1);
    reader.setHeld(false);
    ASSERT_TRUE(reader.take(frame, 5s));
    EXPECT_EQ(frame.pass, 1);
    EXPECT_LT(shownNumber(frame), 10);
}

TEST(Video, WhatIsNoVideoIsRefused) {
    TempFolder folder;
    writeText(folder / "clip.avi", std::string(5000, '\x01'));
    const auto source = makeSource(folder / "clip.avi");
    EXPECT_THROW(source->open(), SourceError);
}

TEST(Video, ACutOffFileSaysSo) {
    TempFolder folder;
    const std::string path = writeClip(folder, 200);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 3);
    const auto source = makeSource(path);
    int frames = 0;
    const auto read = [&] {
        source->open();
        for (Frame frame; source->next(frame);)
            ++frames;
    };
    EXPECT_THROW(read(), SourceError);
    EXPECT_LT(frames, 200);
}

TEST(Stream, NoServerIsAnErrorWithoutThePassword) {
    SourceOptions options;
    options.openTimeout = std::chrono::milliseconds(500);
    const auto source = makeSource("rtsp://admin:s3cret@127.0.0.1:9/live", options);
    EXPECT_TRUE(source->live());
    EXPECT_EQ(source->name().find("s3cret"), std::string::npos);
    try {
        source->open();
        FAIL() << "connected to a closed port";
    } catch (const SourceError& error) {
        EXPECT_EQ(std::string(error.what()).find("s3cret"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("127.0.0.1"), std::string::npos);
    }
}

TEST(Camera, AMissingOneIsAnError) {
    const auto source = makeSource("97");
    EXPECT_THROW(source->open(), SourceError);
}

TEST(Demo, FilmsAWholeDayInTheFramesAskedFor) {
    SourceOptions options;
    options.scene.size = {160, 120};
    options.scene.framesPerDay = options.scene.frames = 4;
    options.scene.startHour = 0;
    options.scene.samples = 1;
    const auto source = makeSource("demo", options);
    source->open();
    EXPECT_EQ(source->length(), 4);
    const std::vector<Frame> frames = readAll(*source);
    ASSERT_EQ(frames.size(), 4u);
    EXPECT_EQ(frames[2].image.size(), cv::Size(160, 120));
    EXPECT_DOUBLE_EQ(frames[2].seconds, 12 * 3600);
    EXPECT_LT(cv::mean(frames[0].image)[1], 0.7 * cv::mean(frames[2].image)[1]) << "midnight against noon";
    source->open();
    Frame again;
    ASSERT_TRUE(source->next(again));
    EXPECT_EQ(cv::norm(again.image, frames[0].image, cv::NORM_INF), 0) << "the street is the same every time";
}

// In the scene, it is dark from 19:10 to 4:50, and bright at 18:00 and 6:00.
TEST(Demo, NightIsFromSunsetToSunriseOnEveryDayOfIt) {
    DayNight judge(sceneRule());
    for (int day = 0; day < 400; day += 57)
        for (int minute = 0; minute < 1440; minute += 10) {
            const Phase phase = judge.update(0.3, sceneTime(60.0 * (1440 * day + minute)));
            const bool dark = minute <= 5 * 60 || minute >= 19 * 60;
            const bool light = minute >= 5 * 60 + 30 && minute <= 18 * 60 + 30;
            EXPECT_TRUE(phase == Phase::Night || !dark) << minute;
            EXPECT_TRUE(phase == Phase::Day || !light) << minute;
        }
    EXPECT_EQ(judge.flips(), 2 * 8);
}

}  // namespace
}  // namespace mpm::pipeline
