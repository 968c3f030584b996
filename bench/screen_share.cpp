// Counts the tokens whose nearest token needs a search in f64, because the search at low precision (the
// screen) cannot decide.
//   mpm_bench_screen IMAGE MODEL.onnx...
// Runs each converted model on the image and on noise, and merges before blocks 2 and 5. Prints a line for
// each model and input.
#include <cstdio>
#include <string>

#include <opencv2/core/utils/logger.hpp>
#include <opencv2/dnn.hpp>
#include <opencv2/imgcodecs.hpp>

#include <mpm/mpm.hpp>

#include "mpm_layer/merge/nearest.hpp"

namespace {

void report(const std::string& path, cv::dnn::Net& net, const cv::Mat& input, const char* kind) {
    const mpm::NearestCounts before = mpm::nearestCounts();
    net.setInput(input);
    net.forward();
    const mpm::NearestCounts after = mpm::nearestCounts();
    const double rows = static_cast<double>(after.rows - before.rows);
    const double decided = static_cast<double>(after.decided - before.decided);
    std::printf("%s, %s: %.0f of %.0f tokens, %.2f %%\n", path.substr(path.rfind('/') + 1).c_str(), kind,
                decided, rows, rows > 0 ? 100 * decided / rows : 0);
}

void run(const std::string& path, const cv::Mat& image) {
    cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
    mpm::encoder(net).setMethod("mpm");
    mpm::encoder(net).setSchedule({2, 5});
    const cv::Size recorded = mpm::modelInfo(path).size;
    const cv::Size size = recorded.empty() ? cv::Size(512, 512) : recorded;
    const cv::Mat blob = cv::dnn::blobFromImage(image, 1 / 58.0, size, cv::Scalar::all(116), true);
    report(path, net, blob, "image");
    cv::Mat noise = blob.clone();
    cv::theRNG().state = 1;
    cv::randn(noise, 0.0, 1.0);
    report(path, net, noise, "noise");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: mpm_bench_screen IMAGE MODEL.onnx...\n");
        return 2;
    }
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_ERROR);
    mpm::registerLayers();
    const cv::Mat image = cv::imread(argv[1]);
    if (image.empty()) {
        std::fprintf(stderr, "mpm_bench_screen: %s is not an image\n", argv[1]);
        return 1;
    }
    int failed = 0;
    for (int i = 2; i < argc; ++i) {
        try {
            run(argv[i], image);
        } catch (const cv::Exception& error) {
            std::printf("%s: %s\n", argv[i], error.what());
            failed = 1;
        }
    }
    return failed;
}
