// headerOf() must read the size of the decoded image from the first bytes of a file.
#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>

#include "pipeline/image/header.hpp"

namespace mpm::pipeline {
namespace {

std::optional<ImageHeader> headerOf(const std::vector<uchar>& bytes) {
    return imageHeader({bytes.data(), bytes.size()});
}

TEST(ImageHeader, IsThatOfTheDecodedImageInEveryFormat) {
    for (const char* ending : {".jpg", ".png", ".bmp", ".tif", ".webp", ".ppm", ".pgm", ".pbm", ".pnm"})
        for (const cv::Size size : {cv::Size(67, 41), cv::Size(300, 70)}) {
            const std::string name = ending;
            const bool grey = name == ".pgm" || name == ".pbm";
            cv::Mat image(size, grey ? CV_8UC1 : CV_8UC3, cv::Scalar::all(200));
            std::vector<uchar> bytes;
            ASSERT_TRUE(cv::imencode(ending, image, bytes)) << ending;
            const auto header = headerOf(bytes);
            ASSERT_TRUE(header) << ending;
            EXPECT_EQ(header->width, size.width) << ending;
            EXPECT_EQ(header->height, size.height) << ending;
            EXPECT_GE(header->channels * header->depth, image.channels()) << ending;
            for (size_t length = 0; length < std::min<size_t>(bytes.size(), 200); ++length)
                headerOf({bytes.begin(), bytes.begin() + static_cast<long>(length)});
        }
}

TEST(ImageHeader, KnowsDepthAndChannels) {
    std::vector<uchar> bytes;
    cv::imencode(".png", cv::Mat(9, 8, CV_16UC4, cv::Scalar::all(1)), bytes);
    EXPECT_EQ(headerOf(bytes)->depth, 2);
    EXPECT_EQ(headerOf(bytes)->channels, 4);
    cv::imencode(".tif", cv::Mat(9, 8, CV_16UC3, cv::Scalar::all(1)), bytes);
    EXPECT_EQ(headerOf(bytes)->depth, 2);
    EXPECT_EQ(headerOf(bytes)->channels, 3);
    cv::imencode(".jpg", cv::Mat(90, 80, CV_8UC3, cv::Scalar::all(1)), bytes,
                 {cv::IMWRITE_JPEG_PROGRESSIVE, 1});
    EXPECT_GT(headerOf(bytes)->extraDepth, 0);  // decoding a progressive JPEG keeps all coefficients
}

TEST(ImageHeader, IsNothingForOtherFormats) {
    for (const char* ending : {".pam", ".pfm", ".jp2", ".hdr", ".ras"}) {
        std::vector<uchar> bytes;
        const bool real = std::string(ending) == ".pfm" || std::string(ending) == ".hdr";
        ASSERT_TRUE(
            cv::imencode(ending, cv::Mat(64, 64, real ? CV_32FC3 : CV_8UC3, cv::Scalar::all(1)), bytes));
        EXPECT_FALSE(headerOf(bytes)) << ending;
    }
}

TEST(ImageHeader, IsNothingOfAnythingElse) {
    for (const std::string& text :
         {std::string(), std::string("P"), std::string("P6"), std::string("P6\n0 5\n255\n"),
          std::string("BM"), std::string("\xff\xd8"), std::string("RIFF....WEBP"), std::string("II*\0", 4),
          std::string("not an image at all"), std::string("#?RADIANCE\n\n-Y 4 +X 4\n")}) {
        const std::vector<uchar> bytes(text.begin(), text.end());
        EXPECT_FALSE(headerOf(bytes)) << text;
    }
}

}  // namespace
}  // namespace mpm::pipeline
