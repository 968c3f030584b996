// Tests the encoder on a GPU: the suite for all devices, and features that only a GPU has. Without a GPU, the
// tests are skipped with a message.
#include <cstdlib>

#include "mpm_layer/encoder_suite.hpp"

namespace mpm::test {
namespace {

MPM_INSTANTIATE_ENCODER_SUITE(Cuda, (Target{"F32", Device::Cuda, Precision::F32, 1e-4, true}),
                              (Target{"Tf32", Device::Cuda, Precision::TF32, 5e-3, false}),
                              (Target{"Bf16", Device::Cuda, Precision::BF16, 2e-2, false}),
                              (Target{"F16", Device::Cuda, Precision::F16, 5e-3, false}));

const Target kTarget{"F32", Device::Cuda, Precision::F32, 1e-4, true};

class CudaWays : public testing::Test {
protected:
    void SetUp() override {
        const std::string why = missing(kTarget);
        if (!why.empty()) GTEST_SKIP() << why;
    }
    void TearDown() override {
        unsetenv("MPM_CUDA_GRAPHS");
        unsetenv("MPM_CUDA_NEAREST");
    }
};

// The first forward of a shape launches each kernel, the second records a CUDA graph, the third launches the
// graph.
TEST_F(CudaWays, GraphsChangeNoBits) {
    const EncoderOptions o = with([](auto& options) { options.schedule = {1}; });
    const EncoderCase encoder = makeEncoder(o);
    const auto control = std::make_shared<EncoderControl>(encoder.config);
    control->change([](Settings& s) { s.device = Device::Cuda; });
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    const auto forward = [&](const cv::Mat& batch, const char* graphs) {
        setenv("MPM_CUDA_GRAPHS", graphs, 1);
        std::vector<cv::Mat> outputs{cv::Mat(3, batch.size.p, CV_32F)};
        runner.run(batch, cv::Mat(), outputs);
        return outputs[0];
    };
    for (int round = 0; round < 3; ++round) {
        for (int images : {1, 3}) {
            const cv::Mat batch = makeBatch(o, images, 24, 20u + round);
            const cv::Mat expected = forward(batch, "never");
            EXPECT_TRUE(sameBits(forward(batch, "always"), expected)) << images << " images, round " << round;
        }
    }
}

void expectProcessorsMerge(const cv::Mat& tokens, int special) {
    const auto device = makeBackend(Device::Cuda, 0), processor = makeBackend(Device::Cpu, 0);
    const int images = tokens.size[0], dim = tokens.size[2];
    std::vector<std::vector<MergeMap>> maps(2);
    std::vector<std::vector<std::vector<float>>> rows(2);
    for (int way = 0; way < 2; ++way) {
        const auto place = [&](const std::vector<MergeMap>& found) {
            maps[way] = found;
            std::vector<float*> to;
            for (const MergeMap& map : found)
                rows[way].emplace_back(std::max<size_t>(1, static_cast<size_t>(map.clusters) * dim));
            for (std::vector<float>& image : rows[way])
                to.push_back(image.data());
            return to;
        };
        (way == 0 ? device : processor)->merge(tokens, special, place);
    }
    for (int i = 0; i < images; ++i)
        ASSERT_EQ(maps[0][i].ids, maps[1][i].ids) << "image " << i;
    EXPECT_EQ(rows[0], rows[1]) << "means have the same bits";

    // restore() accepts any rows, so the test passes the tokens instead of merged rows.
    cv::Mat restored[2];
    for (int way = 0; way < 2; ++way) {
        restored[way].create(3, tokens.size.p, CV_32F);
        (way == 0 ? device : processor)->restore(tokens, maps[0], special, restored[way]);
    }
    EXPECT_TRUE(sameBits(restored[0], restored[1]));
}

TEST_F(CudaWays, MergesAloneAsTheProcessorDoes) {
    for (const char* nearest : {"plain", "tensor"}) {
        setenv("MPM_CUDA_NEAREST", nearest, 1);
        for (int tokens : {0, 1, 2, 3, 24, 127, 129, 150}) {
            const EncoderOptions o = with([](auto& options) { options.headSize = 20; });
            expectProcessorsMerge(makeBatch(o, 2, tokens, 40u + tokens), o.special);
        }
        const int sizes[] = {1, 9, 6};
        expectProcessorsMerge(cv::Mat(3, sizes, CV_32F, cv::Scalar(0.3)), 0);
    }
}

}  // namespace
}  // namespace mpm::test
