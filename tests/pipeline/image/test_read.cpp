// Images that would need gigabytes are rejected before they are decoded; other images are read.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <opencv2/imgcodecs.hpp>

#include "pipeline/image/read.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

using test::TempFolder;
using Bytes = std::vector<uchar>;

Bytes encoded(const char* ending, const cv::Mat& image, const std::vector<int>& how = {}) {
    Bytes bytes;
    cv::imencode(ending, image, bytes, how);
    return bytes;
}

cv::Mat noise(cv::Size size) {
    cv::Mat image(size, CV_8UC3);
    cv::randu(image, 0, 256);
    return image;
}

std::string told(const Bytes& bytes, int flags = cv::IMREAD_COLOR) {
    try {
        decodeImage({bytes.data(), bytes.size()}, flags);
    } catch (const ImageError& error) {
        return error.what();
    }
    return {};
}

long peakKibibytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/// Changes the size in the frame header of a JPEG.
Bytes withSize(Bytes jpeg, int width, int height) {
    for (size_t i = 2; i + 9 < jpeg.size(); ++i) {
        if (jpeg[i] != 0xff || (jpeg[i + 1] != 0xc0 && jpeg[i + 1] != 0xc2)) continue;
        jpeg[i + 5] = static_cast<uchar>(height >> 8), jpeg[i + 6] = static_cast<uchar>(height);
        jpeg[i + 7] = static_cast<uchar>(width >> 8), jpeg[i + 8] = static_cast<uchar>(width);
        break;
    }
    return jpeg;
}

Bytes hugePng(std::uint32_t width, std::uint32_t height, size_t bytes) {
    Bytes png = encoded(".png", cv::Mat(8, 8, CV_8UC3, cv::Scalar::all(7)));
    for (int b = 0; b < 4; ++b) {
        png[16 + b] = static_cast<uchar>(width >> (24 - 8 * b));
        png[20 + b] = static_cast<uchar>(height >> (24 - 8 * b));
    }
    png.resize(std::max(png.size(), bytes));
    return png;
}

TEST(ReadImage, RejectsGigabytesFromAFewBytes) {
    const long before = peakKibibytes();
    for (const int progressive : {0, 1}) {
        const Bytes small = encoded(".jpg", noise({8, 8}), {cv::IMWRITE_JPEG_PROGRESSIVE, progressive});
        for (const auto& [width, height] : {std::pair{65'000, 16'000}, {65'500, 65'500}, {16'000, 16'000}})
            EXPECT_NE(told(withSize(small, width, height)), "");
    }
    EXPECT_NE(told(hugePng(40'000, 43'000, 125'000)).find("--max-memory 2147483648"), std::string::npos);
    EXPECT_NE(told(hugePng(16'000, 16'000, 100)).find("cut off"), std::string::npos);
    EXPECT_NE(told(hugePng(0x7fffffff, 0x7fffffff, 100)).find("--max-memory"), std::string::npos);
    EXPECT_NE(told(encoded(".jpg", noise({64, 64})), cv::IMREAD_UNCHANGED), "not called");
    EXPECT_LT(peakKibibytes() - before, 100'000);
}

TEST(ReadImage, OfAHundredMegapixelsIsAllowed) {
    for (const auto& [extra, channels] : {std::pair{0, 3}, {2, 3}, {8, 3}})
        EXPECT_NO_THROW(checkImageSize(11'600, 8'700, 2 * 3 + extra * channels / 2));
    EXPECT_THROW(checkImageSize(40'000, 40'000, 6), ImageError);
    // An image of the largest allowed size is indeed decoded.
    Bytes bytes = encoded(".png", cv::Mat(10'000, 10'000, CV_8UC1, cv::Scalar::all(7)));
    EXPECT_EQ(decodeImage({bytes.data(), bytes.size()}, cv::IMREAD_UNCHANGED).total(), 100'000'000U);
}

std::ptrdiff_t openFiles() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST(ReadImage, NamesTheFormatsItReads) {
    const std::string text = told(encoded(".jp2", noise({64, 64})));
    EXPECT_NE(text.find("JPEG, PNG, PNM, BMP, TIFF or WebP"), std::string::npos) << text;
}

TEST(ReadImage, DamagedOnesLeaveNoFileOpen) {
    const cv::Mat image = noise({128, 96});
    std::vector<Bytes> files;
    for (const char* ending : {".jpg", ".png", ".bmp", ".tif", ".webp", ".ppm"})
        files.push_back(encoded(ending, image));
    const std::ptrdiff_t before = openFiles();
    cv::RNG random(7);
    for (const Bytes& good : files)
        for (int i = 0; i < 40; ++i) {
            Bytes damaged = good;
            for (int k = 0; k < 4; ++k)
                damaged[static_cast<size_t>(random.uniform(12, int(good.size())))] =
                    uchar(random.uniform(0, 256));
            if (i % 2) damaged.resize(static_cast<size_t>(random.uniform(12, int(good.size()))));
            told(damaged);
            told(damaged, cv::IMREAD_UNCHANGED);
        }
    EXPECT_EQ(openFiles(), before);
}

TEST(ReadImage, ObeysTheLimitThatWasSet) {
    const Bytes bytes = encoded(".png", noise({200, 100}));
    EXPECT_EQ(told(bytes), "");
    setMaxImageBytes(100'000);
    const std::string text = told(bytes);
    setMaxImageBytes(0);
    EXPECT_NE(text.find("200x100"), std::string::npos) << text;
    EXPECT_NE(text.find("--max-memory 100000"), std::string::npos) << text;
    EXPECT_EQ(maxImageBytes(), kDefaultImageBytes);
}

TEST(ReadImage, GivesWhatOpenCvGives) {
    TempFolder folder;
    for (const char* ending : {".jpg", ".png", ".bmp", ".tif", ".webp", ".ppm"}) {
        const std::string path = folder / ("a" + std::string(ending));
        ASSERT_TRUE(cv::imwrite(path, noise({61, 43})));
        for (const int flags : {int(cv::IMREAD_COLOR), int(cv::IMREAD_UNCHANGED)})
            EXPECT_EQ(cv::norm(readImage(path, flags), cv::imread(path, flags), cv::NORM_INF), 0) << ending;
    }
}

TEST(ReadImage, WaitsForNoPipe) {
    TempFolder folder;
    const std::string path = folder / "x.jpg";
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    for (const std::string& name : {path, std::string("/dev/zero"), folder.path(), folder / "missing.jpg"})
        EXPECT_THROW(readImage(name, cv::IMREAD_COLOR), ImageError) << name;
}

// Reading an image must not redirect standard error, because other threads of the process also use it.
TEST(ReadImage, LeavesStandardErrorAlone) {
    TempFolder folder;
    const Bytes whole = encoded(".jpg", noise({160, 120}));
    const Bytes cut(whole.begin(), whole.begin() + static_cast<long>(whole.size() / 2));
    const Bytes open(whole.begin(), whole.end() - 2);
    const int kept = dup(STDERR_FILENO);
    const std::string path = folder / "stderr";
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
    dup2(file, STDERR_FILENO);
    std::atomic<int> running{2};
    const auto readMany = [&] {
        for (int i = 0; i < 100; ++i) {
            EXPECT_NE(told(cut), "");
            EXPECT_EQ(told(open), "");
        }
        --running;
    };
    std::thread one(readMany), other(readMany);
    int written = 0;
    while (running > 0) {
        written += write(STDERR_FILENO, "x", 1) == 1 ? 1 : 0;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    one.join();
    other.join();
    struct stat now {
    }, then{};
    fstat(STDERR_FILENO, &now);
    fstat(file, &then);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(file);
    EXPECT_EQ(now.st_ino, then.st_ino);
    EXPECT_EQ(then.st_size, written) << "libjpeg may not print either";
}

TEST(ReadImage, OfTooManyScansIsRejected) {
    Bytes bytes = encoded(".jpg", noise({64, 64}));
    const Bytes scan = {0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0};
    for (int i = 0; i < 200; ++i)
        bytes.insert(bytes.end() - 2, scan.begin(), scan.end());
    EXPECT_NE(told(bytes), "");
}

}  // namespace
}  // namespace mpm::pipeline
