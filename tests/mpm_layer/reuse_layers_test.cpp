// Tests reuse inside cv::dnn: the operators around an encoder with reuse compute only rows that changed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include <mpm/read_net.hpp>

#include "dnn_fixture.hpp"
#include "mpm_layer/encoder/reuse/row_memory.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"

namespace mpm::test {
namespace {

constexpr int kRows = 4, kColumns = 6, kPatch = 8;

class ReuseLayers : public DnnTest {
protected:
    /// Returns a model: patch embedding, encoder, linear layer, decoder, linear layer.
    OnnxModel model(int batch) {
        EncoderOptions o;
        o.imageTokens = kRows * kColumns;
        const EncoderCase encoder = makeEncoder(o);
        o.seed = 5, o.blocks = 2, o.special = 0, o.trailing = 1;
        const EncoderCase decoder = makeEncoder(o);
        const int rows = o.imageTokens + 1, dim = o.dim();
        OnnxModel model;
        model.input("image", {batch, 3, kRows * kPatch, kColumns * kPatch});
        model.constant("table", randomMatrix(rows, dim, 8), {rows, dim});
        model.constant("patches", randomMatrix(3 * kPatch * kPatch, dim, 9, 0.05));
        model.node("MpmEmbed", {"image", "table", "patches"}, {"tokens"}, "mpm");
        model.attribute("first", 1).attribute("patches", o.imageTokens).ints("patch", {kPatch, kPatch});
        addEncoder(model, encoder, {"tokens"}, {"encoded"});
        for (const std::string name : {"in", "out"})
            model.constant(name + ".weight", randomMatrix(dim, dim, 10, 0.2))
                .constant(name + ".bias", randomMatrix(1, dim, 11));
        model.node("MpmLinear", {"encoded", "in.weight", "in.bias"}, {"projected"}, "mpm");
        addEncoder(model, decoder, {"projected"}, {"decoded"});
        model.attribute("role", std::string("decoder"));
        model.node("MpmLinear", {"decoded", "out.weight", "out.bias"}, {"result"}, "mpm");
        model.output("result", {batch, rows, dim});
        return model;
    }

    /// Returns options that compute all tokens in every frame, although only the first frame is full. Results
    /// must have the bits of a full forward.
    static Reuse everyToken() {
        Reuse reuse;
        reuse.exact = true;
        reuse.refresh = 1;
        reuse.full = 1;
        return reuse;
    }
};

void change(cv::Mat& image, int token, float by, int index = 0) {
    const int y = token / kColumns * kPatch, x = token % kColumns * kPatch;
    image.ptr<float>(index, token % 3, y + token % kPatch)[x + 3] += by;
}

TEST_F(ReuseLayers, ADecoderMultipliesAsTheHandleSays) {
    const OnnxModel made = model(1);
    cv::dnn::Net handled = load(made), inProcess = load(made), plain = load(made);
    const int sizes[] = {1, 3, kRows * kPatch, kColumns * kPatch};
    cv::Mat image(4, sizes, CV_32F);
    cv::randu(image, -1, 1);
    mpm::encoder(handled).setPrecision(Precision::I8);
    const cv::Mat byHandle = forward(handled, image).clone(), exact = forward(plain, image).clone();
    setenv("MPM_PRECISION", "i8", 1);
    EXPECT_EQ(cv::norm(byHandle, forward(inProcess, image), cv::NORM_INF), 0);
    EXPECT_GT(cv::norm(byHandle, exact, cv::NORM_INF), 0);
}

// An image and its copy, rounded to bf16, give the same bits only if the patch embedding rounds to bf16.
TEST_F(ReuseLayers, PatchesAreMultipliedInThePrecisionOfTheBackboneBehindThem) {
    if (!kernels::hasBf16()) GTEST_SKIP() << "no bf16 here";
    const OnnxModel made = model(1);
    cv::dnn::Net rounding = load(made), exact = load(made);
    mpm::encoder(rounding).setDevice(Device::Cpu);
    mpm::encoder(rounding).setPrecision(Precision::BF16);
    const int sizes[] = {1, 3, kRows * kPatch, kColumns * kPatch};
    cv::Mat image(4, sizes, CV_32F);
    cv::randu(image, -1, 1);
    cv::Mat rounded = image.clone();
    for (size_t i = 0; i < rounded.total(); ++i) {
        kernels::Bf16Pair pair;
        kernels::packPairs(image.ptr<float>() + i, 1, &pair);
        const std::uint32_t bits = pair << 16;
        std::memcpy(rounded.ptr<float>() + i, &bits, sizeof bits);
    }
    EXPECT_TRUE(sameBits(forward(rounding, image).clone(), forward(rounding, rounded)));
    EXPECT_FALSE(sameBits(forward(exact, image).clone(), forward(exact, rounded)));
    mpm::encoder(rounding).setPrecision(Precision::F32);
    EXPECT_TRUE(sameBits(forward(rounding, image).clone(), forward(exact, image)));
}

TEST_F(ReuseLayers, HaveTheBitsOfAllRowsComputedAnew) {
    for (int run = 0; run < 4; ++run) {
        const int batch = run % 2 ? 3 : 1;
        const OnnxModel made = model(batch);
        cv::dnn::Net again = load(made), plain = load(made);
        Encoder reusing = mpm::encoder(again), whole = mpm::encoder(plain);
        reusing.setDevice(Device::Cpu);
        for (Encoder* encoder : {&reusing, &whole})
            encoder->setPrecision(run < 2 ? Precision::F32 : Precision::Auto);
        reusing.setReuse(everyToken());
        whole.setSchedule({});
        const int sizes[] = {batch, 3, kRows * kPatch, kColumns * kPatch};
        cv::Mat image(4, sizes, CV_32F);
        cv::randu(image, -1, 1);
        std::mt19937 random(4);
        for (int f = 0; f < 30; ++f) {
            ASSERT_TRUE(sameBits(forward(again, image), forward(plain, image))) << "frame " << f;
            const auto state = reusing.report().images[0].reuse.state;
            const bool full = f == 0 || f == 10 || f == 11;  // frame 10 is not finite
            ASSERT_EQ(state, full ? ReuseState::Full : ReuseState::Partial) << "frame " << f;
            for (int i = 0; f % 4 != 3 && i < f % 7; ++i)
                change(image, static_cast<int>(random() % (kRows * kColumns)), 0.25f,
                       static_cast<int>(random() % static_cast<unsigned>(batch)));
            if (f == 9) change(image, 5, std::numeric_limits<float>::infinity());
            if (f == 10) cv::randu(image, -1, 1);
            if (f == 20) reusing.setReuse(std::nullopt), reusing.setSchedule({}), forward(again, image);
            if (f == 20) reusing.setReuse(everyToken());
            if (f == 20) forward(again, image);
        }
    }
}

/// The decoder does not run in some frames. Changes in these frames must still reach all decoder blocks.
TEST_F(ReuseLayers, ADecoderThatMissesFramesCatchesUp) {
    const OnnxModel made = model(1);
    cv::dnn::Net again = load(made), plain = load(made);
    Encoder reusing = mpm::encoder(again), whole = mpm::encoder(plain);
    reusing.setDevice(Device::Cpu), whole.setDevice(Device::Cpu);
    reusing.setPrecision(Precision::F32), whole.setPrecision(Precision::F32);
    Reuse reuse;
    reuse.exact = true;
    reuse.refresh = 4;
    reusing.setReuse(reuse);
    whole.setSchedule({});
    const int sizes[] = {1, 3, kRows * kPatch, kColumns * kPatch};
    cv::Mat image(4, sizes, CV_32F);
    cv::randu(image, -1, 1);
    forward(again, image);
    change(image, 5, 0.25f);
    for (int f = 0; f < 5; ++f)
        forward(again, image);
    for (int f = 0; f < 40; ++f) {
        again.setInput(image);
        try {
            again.forward("encoded");
        } catch (const cv::Exception&) {
            GTEST_SKIP() << "this OpenCV runs whole networks only";
        }
    }
    EXPECT_TRUE(sameBits(forward(again, image), forward(plain, image)));
}

// The model file has defaults for the options of reuse. The defaults apply if reuse is turned on without
// these options. The file alone does not turn reuse on.
TEST_F(ReuseLayers, TheModelFileHasTheDefaults) {
    OnnxModel made = model(1);
    made.metadata("mpm.reuse", "\"refresh=3,full=0.5\"");
    const std::string path = m_folder.path() + "/model.onnx";
    made.write(path);
    EXPECT_EQ(reuseOf(path).refresh, 3);
    EXPECT_EQ(reuseOf(path).full, 0.5);
    EXPECT_EQ(reuseOf(path).sensitivity, Reuse().sensitivity);
    EXPECT_EQ(reuseFrom("full=0.1", reuseOf(path))->refresh, 3);
    EXPECT_EQ(reuseFrom("full=0.1", reuseOf(path))->full, 0.1);
    EXPECT_FALSE(reuseFrom("off", reuseOf(path)));
    cv::dnn::Net net = readNet(path);
    mpm::encoder(net).setDevice(Device::Cpu);
    const int sizes[] = {1, 3, kRows * kPatch, kColumns * kPatch};
    cv::Mat image(4, sizes, CV_32F);
    cv::randu(image, -1, 1);
    // Runs eight equal frames. Returns the largest age of a token, which is `refresh` - 1, or -1 if reuse is
    // off.
    const auto oldest = [&] {
        double most = -1;
        for (int f = 0; f < 8; ++f) {
            forward(net, image);
            const ReuseReport reuse = mpm::encoder(net).report().images[0].reuse;
            double age = 0;
            if (reuse.state == ReuseState::Off) continue;
            cv::minMaxLoc(reuse.ages, nullptr, &age);
            most = std::max(most, age);
        }
        return most;
    };
    EXPECT_EQ(oldest(), -1);
    setenv("MPM_REUSE", "on", 1);
    EXPECT_EQ(oldest(), 2);
    setenv("MPM_REUSE", "refresh=4", 1);
    EXPECT_EQ(oldest(), 3);
    EXPECT_EQ(mpm_set_reuse("on"), 0);
    EXPECT_EQ(oldest(), 2);
    EXPECT_EQ(mpm_set_reuse("refresh=2"), 0);
    EXPECT_EQ(oldest(), 1);
    mpm::encoder(net).setReuse(Reuse());
    EXPECT_EQ(oldest(), 7) << "the handle has values of its own";
    mpm::encoder(net).setReuse(std::nullopt);
    EXPECT_EQ(oldest(), -1);
}

// A network with reuse and a network without reuse run in turns. They must not affect each other.
TEST_F(ReuseLayers, NetworksTakeTurns) {
    const OnnxModel made = model(1);
    cv::dnn::Net again = load(made), plain = load(made), expected = load(made);
    Encoder reusing = mpm::encoder(again);
    reusing.setDevice(Device::Cpu);
    reusing.setReuse(everyToken());
    for (cv::dnn::Net* net : {&plain, &expected})
        mpm::encoder(*net).setSchedule({});
    const int sizes[] = {1, 3, kRows * kPatch, kColumns * kPatch};
    cv::Mat one(4, sizes, CV_32F), other(4, sizes, CV_32F);
    cv::randu(one, -1, 1);
    cv::randu(other, -1, 1);
    for (int f = 0; f < 6; ++f) {
        const cv::Mat& image = f % 2 ? one : other;
        const cv::Mat wanted = forward(expected, image);
        EXPECT_TRUE(sameBits(forward(again, image), wanted)) << f;
        EXPECT_TRUE(sameBits(forward(plain, image), wanted)) << f;
    }
}

// If most rows differ in every forward, the memory stops comparing for some forwards.
TEST(RowMemory, RestsWhileMostRowsDiffer) {
    constexpr int kCount = 20, kWidth = 6;
    RowMemory memory;
    cv::Mat rows = randomMatrix(kCount, kWidth, 3);
    // Runs `frames` forwards, each with `changing` rows changed. Returns how many forwards compared rows.
    const auto compared = [&](int frames, int changing) {
        int count = 0;
        for (int f = 0; f < frames; ++f) {
            for (int r = 0; r < changing; ++r)
                rows.at<float>((r + f) % kCount, f % kWidth) += 1;
            const auto differ = memory.update(rows, kWidth, 2);
            if (!differ) continue;
            ++count;
            if (differ->size() == kCount) continue;  // the memory was empty
            EXPECT_EQ(differ->size(), static_cast<size_t>(changing));
        }
        return count;
    };
    EXPECT_EQ(compared(50, kCount / 2), 50);
    EXPECT_LT(compared(1000, kCount / 2 + 1), 40);
    EXPECT_GT(compared(1000, 1), 900) << "it comes back";
    EXPECT_EQ(compared(50, 0), 50);
    memory.clear();
    EXPECT_EQ(memory.update(rows, kWidth, 2)->size(), static_cast<size_t>(kCount));
}

}  // namespace
}  // namespace mpm::test
