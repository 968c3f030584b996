// Compares chains with injected features to LibTorch: tokens are restored, features are added, and the sums
// are merged again.
#include "mpm_layer/chain_suite.hpp"
#include "mpm_layer/torch_encoder.hpp"

namespace mpm::test {
namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EncoderOptionsTest);  // encoder_test.cpp runs these tests
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EncoderTest);

// Cuts the encoder before, at and after the blocks that merge.
void expectInjectedParity(const EncoderOptions& o, const std::vector<int>& cuts) {
    torch::NoGradGuard guard;
    constexpr int kImages = 5;
    const EncoderCase whole = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, kImages, o.imageTokens, 5);
    std::map<int, cv::Mat> injected;
    for (int block : cuts)
        injected[block] = makeBatch(o, kImages, o.imageTokens, 50 + block);
    ChainRun chain(whole, cuts, on({"F32", Device::Cpu, Precision::F32, 1e-5, true}));
    const cv::Mat out = chain.forward(batch, injected);
    const Report report = chain.control().report();
    for (int i = 0; i < kImages; ++i) {
        std::map<int, std::vector<int>> maps;
        for (size_t s = 0; s < report.images[i].stages.size(); ++s)
            maps[static_cast<int>(s)] = ids(report.images[i].stages[s].map);
        std::map<int, torch::Tensor> added;
        for (const auto& [block, rows] : injected)
            added[block] = tensorOf(imageOf(rows, i));
        const auto expected = TorchEncoder(whole).run(tensorOf(imageOf(batch, i)), {}, maps, added);
        EXPECT_LT(relativeError(imageOf(out, i), matOf(expected.taps[0])), 1e-5) << "image " << i;
        for (size_t s = 0; s < maps.size(); ++s) {
            if (expected.merges[s].margin > 2e-5) {
                EXPECT_EQ(expected.merges[s].found, maps[static_cast<int>(s)])
                    << "image " << i << " stage " << s;
            }
        }
    }
}

TEST(TorchChain, AddsTheMeanOfWhatIsInjected) {
    EncoderOptions o;
    o.heads = 3, o.headSize = 64, o.hidden = 4 * o.dim(), o.blocks = 12, o.imageTokens = 48;
    for (const std::vector<int>& schedule : {std::vector<int>{}, {0}, {2, 5}, {1, 3, 6, 9}}) {
        o.schedule = schedule;
        expectInjectedParity(o, {2, 3, 6, 9});
    }
    o.rope = "half", o.special = 4;
    expectInjectedParity(o, {1, 5, 10});
}

}  // namespace
}  // namespace mpm::test
