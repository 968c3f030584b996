// Tests the shipped model inside OpenCV. Kernels, layers and reuse are tested in MPM's source tree.
#include "test_precomp.hpp"

#include "opencv2/mpm/mpm.hpp"

namespace opencv_test {
namespace {

const std::string kModel = MPM_TEST_MODEL;

/// Draws rectangles in few colours, so that neighbouring tokens are alike.
Mat street() {
    Mat image(480, 640, CV_8UC3, Scalar(200, 180, 160));
    rectangle(image, Rect(0, 240, 640, 240), Scalar(90, 90, 90), FILLED);
    rectangle(image, Rect(80, 100, 120, 180), Scalar(60, 80, 120), FILLED);
    rectangle(image, Rect(420, 260, 90, 60), Scalar(30, 30, 160), FILLED);
    return image;
}

Mat labelsOf(const Mat& scores) {
    Mat best;
    reduceArgMax(scores.reshape(1, scores.size[1]), best, 0);
    return best;
}

class Mpm : public testing::Test {
protected:
    void SetUp() override {
        if (!std::ifstream(kModel).good()) throw SkipTestException("no model " + kModel);
        cv::mpm::registerLayers();
    }
    void TearDown() override {
        for (const char* name : {"blocks", "method", "precision"})
            cv::mpm::set(name, "");
    }
    Mat forward(dnn::Net net) {
        net.setInput(cv::mpm::blobFromImage(street(), kModel));
        return net.forward().clone();
    }
};

TEST_F(Mpm, dnn_reads_and_merges) {
    dnn::Net net = dnn::readNetFromONNX(kModel);
    cv::mpm::set("blocks", "none");
    const Mat all = forward(net);
    const std::vector<int> before = cv::mpm::tokens();
    EXPECT_EQ(before.front(), before.back());
    cv::mpm::set("blocks", "2,5");
    const Mat merged = forward(net);
    const std::vector<int> after = cv::mpm::tokens();
    ASSERT_EQ(before.size(), after.size());
    EXPECT_EQ(before.front(), after.front());
    EXPECT_LT(after.back(), after.front());
    ASSERT_EQ(all.size, merged.size);
    const double equal = countNonZero(labelsOf(all) == labelsOf(merged));
    EXPECT_GT(equal / labelsOf(all).total(), 0.9);
}

TEST_F(Mpm, is_the_same_through_every_way) {
    const Mat expected = forward(cv::mpm::readNet(kModel));
    EXPECT_EQ(0, cvtest::norm(expected, forward(dnn::readNet(kModel)), NORM_INF));
    dnn::Net net = cv::mpm::readNet(kModel);
    ::mpm::encoder(net).setSchedule({});
    forward(net);
    EXPECT_EQ(1200, ::mpm::encoder(net).tokens().back());
}

TEST_F(Mpm, int8_is_near) {
    const Mat expected = labelsOf(forward(cv::mpm::readNet(kModel)));
    cv::mpm::set("precision", "i8");
    const double equal = countNonZero(expected == labelsOf(forward(cv::mpm::readNet(kModel))));
    EXPECT_GT(equal / expected.total(), 0.9);
}

TEST_F(Mpm, metadata) {
    EXPECT_EQ(11u, cv::mpm::labels(kModel).size());
    const Mat blob = cv::mpm::blobFromImage(street(), kModel);
    EXPECT_EQ(480, blob.size[2]);
    EXPECT_EQ(640, blob.size[3]);
}

TEST_F(Mpm, wrong_use_is_an_error) {
    EXPECT_THROW(cv::mpm::set("blocks", "5,2"), cv::Exception);
    EXPECT_THROW(cv::mpm::set("colour", "red"), cv::Exception);
    EXPECT_THROW(cv::mpm::readNet("missing.onnx"), cv::Exception);
    EXPECT_THROW(cv::mpm::tokens(7), cv::Exception);
}

TEST(MpmFunctions, merge_and_restore) {
    Mat tokens(10, 4, CV_32F);
    theRNG().fill(tokens, RNG::NORMAL, 0, 1);
    const ::mpm::Merged merged = ::mpm::mergeTokens(tokens, 1);
    EXPECT_LT(merged.tokens.rows, tokens.rows);
    EXPECT_EQ(tokens.size(), ::mpm::restoreTokens(merged.tokens, merged.map, 1).size());
}

}  // namespace
}  // namespace opencv_test
