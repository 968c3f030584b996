#include "perf_precomp.hpp"

namespace opencv_test {
namespace {

using Setting = perf::TestBaseWithParam<tuple<std::string, std::string>>;  // blocks, precision

PERF_TEST_P(Setting, forward,
            testing::Combine(testing::Values("none", "2,5"), testing::Values("f32", "i8"))) {
    cv::mpm::set("blocks", get<0>(GetParam()));
    cv::mpm::set("precision", get<1>(GetParam()));
    dnn::Net net = cv::mpm::readNet(MPM_TEST_MODEL);
    Mat image(480, 640, CV_8UC3);
    declare.in(image, WARMUP_RNG).iterations(20);
    net.setInput(cv::mpm::blobFromImage(image, MPM_TEST_MODEL));
    TEST_CYCLE() net.forward();
    SANITY_CHECK_NOTHING();
}

}  // namespace
}  // namespace opencv_test
