// A benchmark of convolutions. Runs MPM's and OpenCV's layers in turn, and prints the median milliseconds and
// GFLOP/s for each shape.
//
//   mpm_bench_conv [ROUNDS=5] [SHAPE...]        SHAPE: channels,outs,kernel,stride,size[,groups]
//                                               groups 0: a transposed convolution
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <opencv2/dnn.hpp>

#include "mpm_layer/cpu/convolution.hpp"

#include <mpm/mpm.hpp>

namespace {

using mpm::Precision;

struct Shape {
    int channels, outs, kernel, stride, size, groups = 1;
};

const std::vector<Shape> kShapes = {
    {256, 256, 3, 1, 128},     {64, 64, 3, 1, 296},       {64, 64, 3, 1, 148},   {64, 64, 3, 1, 74},
    {64, 64, 3, 1, 37},        {64, 64, 3, 1, 19},        {48, 64, 3, 1, 148},   {96, 64, 3, 1, 74},
    {192, 64, 3, 1, 37},       {384, 64, 3, 1, 19},       {384, 384, 3, 2, 37},  {64, 64, 1, 1, 148},
    {384, 48, 1, 1, 37},       {384, 384, 1, 1, 37},      {64, 32, 3, 1, 296},   {32, 32, 3, 1, 518},
    {32, 1, 1, 1, 518},        {256, 256, 1, 1, 64},      {128, 128, 3, 1, 32},  {512, 512, 3, 1, 16},
    {3, 64, 3, 2, 512},        {64, 64, 3, 2, 128},       {16, 16, 3, 1, 64},    {8, 8, 3, 1, 128},
    {256, 256, 3, 1, 32, 256}, {128, 128, 7, 1, 64, 128}, {512, 256, 1, 1, 32},  {768, 512, 1, 1, 16},
    {512, 150, 1, 1, 128},     {256, 256, 4, 2, 32, 0},   {64, 64, 3, 1, 64, 0}, {64, 32, 8, 4, 32, 0}};

double timeOf(const std::function<void()>& run) {
    const int64 start = cv::getTickCount();
    run();
    return static_cast<double>(cv::getTickCount() - start) / cv::getTickFrequency() * 1e3;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

cv::Mat randomMat(const std::vector<int>& sizes) {
    cv::Mat m(static_cast<int>(sizes.size()), sizes.data(), CV_32F);
    cv::randn(m, 0, 1);
    return m;
}

cv::dnn::Net theirNet(const char* type, const Shape& s, int pad, const cv::Mat& weight) {
    cv::dnn::LayerParams params;
    for (const auto& [name, value] : {std::pair("kernel_size", s.kernel),
                                      {"stride", s.stride},
                                      {"pad", pad},
                                      {"group", std::max(1, s.groups)},
                                      {"num_output", s.outs}})
        params.set(name, value);
    params.set("bias_term", false);
    params.blobs = {weight};
    cv::dnn::Net net;
    net.addLayerToPrev("conv", type, params);
    return net;
}

void compareTransposed(const Shape& s, int rounds) {
    const int pad = (s.kernel - s.stride) / 2;
    const cv::Mat x = randomMat({1, s.channels, s.size, s.size}),
                  weight = randomMat({s.channels, s.outs, s.kernel, s.kernel});
    cv::dnn::Net theirs = theirNet("Deconvolution", s, pad, weight);
    cv::dnn::LayerParams constant, params;
    constant.blobs = {cv::Mat(weight.reshape(1, s.channels).t())};
    for (const auto& [name, value] :
         {std::pair("window", s.stride), {"kernel", s.kernel}, {"padding", pad}}) {
        const std::vector<int> both{value, value};
        params.set(name, cv::dnn::DictValue::arrayInt(both.data(), 2));
    }
    cv::dnn::Net ours;
    const int from = ours.addLayer("weight", "Const", constant),
              to = ours.addLayer("up", "MpmConvTranspose", params);
    ours.connect(0, 0, to, 0);
    ours.connect(from, 0, to, 1);
    std::vector<double> times[2];
    cv::Mat results[2];
    for (int round = 0; round <= rounds; ++round) {
        for (const auto& [k, net] : {std::pair(0, &theirs), {1, &ours}}) {
            const double time =
                timeOf([&, k = k, net = net] { net->setInput(x), results[k] = net->forward(); });
            if (round > 0) times[k].push_back(time);
        }
    }
    const double off = cv::norm(results[0], results[1], cv::NORM_INF);
    std::printf("%4d %4d %dx%d/%d %4d up    %8.3f ms  %8.3f ms (%5.2f)  largest difference %.1e\n",
                s.channels, s.outs, s.kernel, s.kernel, s.stride, s.size, median(times[0]), median(times[1]),
                median(times[0]) / median(times[1]), off);
    std::fflush(stdout);
}

void compare(const Shape& s, int rounds) {
    if (s.groups == 0) return compareTransposed(s, rounds);
    const int pad = s.kernel / 2, each = s.channels / s.groups;
    const cv::Mat x = randomMat({1, s.channels, s.size, s.size}),
                  weight = randomMat({s.outs, each, s.kernel, s.kernel});
    cv::dnn::Net net = theirNet("Convolution", s, pad, weight);
    net.setInput(x);
    const mpm::cpu::ConvAxis axis{s.size, s.kernel, s.stride, 1, pad, pad};
    const mpm::cpu::ConvShape shape{1, s.channels, s.outs, s.groups, axis, axis};
    std::vector<mpm::cpu::ConvWeights> weights;
    std::vector<Precision> precisions{Precision::F32, Precision::BF16, Precision::I8};
    if (!mpm::kernels::hasBf16()) precisions.erase(precisions.begin() + 1);
    std::vector<std::vector<double>> times(precisions.size() + 1);
    std::vector<std::unique_ptr<mpm::cpu::ConvWeights>> packed;
    for (const Precision precision : precisions)
        packed.push_back(std::make_unique<mpm::cpu::ConvWeights>(weight.ptr<float>(), shape, precision));
    packed.push_back(std::make_unique<mpm::cpu::ConvWeights>(weight.ptr<float>(), shape, Precision::F32,
                                                             mpm::cpu::Source::Kept));
    times.resize(packed.size() + 1);
    cv::Mat y = net.forward().clone();
    for (int round = 0; round <= rounds; ++round) {
        const double theirs = timeOf([&] { net.setInput(x), net.forward(); });
        if (round > 0) times[0].push_back(theirs);
        for (size_t k = 0; k < packed.size(); ++k) {
            const double ours = timeOf(
                [&] { mpm::cpu::convolve(x.ptr<float>(), false, shape, *packed[k], {}, y.ptr<float>()); });
            if (round > 0) times[1 + k].push_back(ours);
        }
    }
    const double operations = 2.0 * shape.outs * shape.depth() * shape.pixels();
    std::printf("%4d %4d %dx%d/%d %4d g%-3d", s.channels, s.outs, s.kernel, s.kernel, s.stride, s.size,
                s.groups);
    for (const std::vector<double>& column : times)
        std::printf("  %8.3f ms %6.0f G (%5.2f)", median(column), operations / median(column) * 1e-6,
                    median(times[0]) / median(column));
    std::printf("\n");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    mpm::registerLayers();
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
    std::printf(
        "channels, outs, kernel, size, groups; OpenCV, ours in f32, bf16 (if there is), i8, then f32 by "
        "transforms (where they suit)\n");
    for (int k = 2; k < argc; ++k) {
        std::vector<int> numbers;
        std::istringstream text(argv[k]);
        for (std::string part; std::getline(text, part, ',');)
            numbers.push_back(std::atoi(part.c_str()));
        if (numbers.size() < 5) return std::fprintf(stderr, "mpm_bench_conv: %s is no shape\n", argv[k]), 2;
        compare(
            {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers.size() > 5 ? numbers[5] : 1},
            rounds);
    }
    for (const Shape& shape : kShapes)
        if (argc <= 2) compare(shape, rounds);
}
