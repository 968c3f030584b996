// Networks of the same thread must not affect each other, in any order of reading, running and destruction.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <random>

#include <mpm/read_net.hpp>

#include "dnn_fixture.hpp"
#include "mpm_layer/encoder/control.hpp"
#include "mpm_layer/encoder/network_state.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"

namespace mpm::test::networks {
namespace {

constexpr int kTokens = 24, kPatch = 8;

EncoderOptions backboneOptions() {
    EncoderOptions o;
    o.imageTokens = kTokens;
    o.schedule = {1};
    return o;
}

EncoderOptions decoderOptions() {
    EncoderOptions o = backboneOptions();
    o.seed = 5, o.blocks = 2, o.schedule = {};
    return o;
}

constexpr int kRows = kTokens + 1;  // with a special token

void addLinear(OnnxModel& model, const std::string& from, const std::string& to) {
    const int dim = backboneOptions().dim();
    model.constant(to + ".weight", randomMatrix(dim, dim, 10, 0.2));
    model.constant(to + ".bias", randomMatrix(1, dim, 11));
    model.node("MpmLinear", {from, to + ".weight", to + ".bias"}, {to}, "mpm");
}

void addDecoder(OnnxModel& model, const std::string& from, const std::string& to) {
    addEncoder(model, makeEncoder(decoderOptions()), {from}, {to});
    model.attribute("role", std::string("decoder"));
}

OnnxModel over(int batch, const std::function<void(OnnxModel&)>& add) {
    const Dims dims = {batch, batch < 0 ? -1 : kRows, backboneOptions().dim()};
    OnnxModel model;
    model.input("tokens", dims);
    add(model);
    model.output("result", dims);
    return model;
}

OnnxModel backboneAndDecoder(int batch = -1) {
    return over(batch, [](OnnxModel& model) {
        addEncoder(model, makeEncoder(backboneOptions()), {"tokens"}, {"encoded"});
        addLinear(model, "encoded", "projected");
        addDecoder(model, "projected", "result");
    });
}

OnnxModel decoderAlone(int batch = -1) {
    return over(batch, [](OnnxModel& model) {
        addLinear(model, "tokens", "projected");
        addDecoder(model, "projected", "decoded");
        addLinear(model, "decoded", "result");
    });
}

OnnxModel decoderBeforeBackbone(int batch = -1) {
    return over(batch, [](OnnxModel& model) {
        addDecoder(model, "tokens", "decoded");
        addEncoder(model, makeEncoder(backboneOptions()), {"decoded"}, {"result"});
    });
}

/// Returns options that compute exactly the tokens whose bits changed. Only the first frame is full.
Reuse exactReuse() {
    Reuse reuse;
    reuse.exact = true;
    reuse.refresh = 0;
    reuse.full = 1;
    return reuse;
}

/// Returns a copy of the frame in which a few image tokens differ.
cv::Mat nextFrame(const cv::Mat& frame, std::mt19937& random) {
    cv::Mat next = frame.clone();
    for (int i = 0; i < 2; ++i) {
        const int image = static_cast<int>(random() % static_cast<unsigned>(frame.size[0]));
        float* const row = next.ptr<float>(image, 1 + static_cast<int>(random() % kTokens));
        for (int d = 0; d < frame.size[2]; ++d)
            row[d] += static_cast<float>(static_cast<int>(random() % 200) - 100) / 100;
    }
    return next;
}

cv::Mat firstFrame(int batch, unsigned seed) {
    return makeBatch(backboneOptions(), batch, kTokens, seed);
}

/// Runs `body` in a new thread, in which networks of other threads have no effect.
template <class Body>
auto inNewThread(const Body& body) {
    return std::async(std::launch::async, body).get();
}

/// A way in which a program reads networks.
struct Way {
    const char* name;
    bool marked;     ///< mpm::readNet reads the network, and marks its layers
    bool sameNames;  ///< layers of all networks have the same names
};

class Networks : public DnnTest, public testing::WithParamInterface<Way> {
protected:
    cv::dnn::Net read(OnnxModel model) {
        if (!GetParam().sameNames) model.prefix("net" + std::to_string(++m_count) + "_");
        const std::string path = m_folder.path() + "/model.onnx";
        model.write(path);
        return GetParam().marked ? readNet(path) : cv::dnn::readNetFromONNX(path);
    }

    cv::dnn::Net readReusing() {
        cv::dnn::Net net = read(backboneAndDecoder());
        mpm::encoder(net).setDevice(Device::Cpu);
        mpm::encoder(net).setReuse(exactReuse());
        return net;
    }

    /// Returns the result of a new network, which computes all rows.
    cv::Mat fresh(const std::function<OnnxModel(int)>& model, const cv::Mat& frame) {
        return inNewThread([&] {
            cv::dnn::Net net = read(model(frame.size[0]));
            return forward(net, frame);
        });
    }

private:
    int m_count = 0;
};

INSTANTIATE_TEST_SUITE_P(Ways, Networks,
                         testing::Values(Way{"marked", true, false}, Way{"markedSameNames", true, true},
                                         Way{"plain", false, false}, Way{"plainSameNames", false, true}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(Networks, ADecoderFollowsTheBackboneOfItsNetwork) {
    cv::dnn::Net net = readReusing(), other = readReusing();
    std::mt19937 random(3);
    cv::Mat frame = firstFrame(1, 1);
    const cv::Mat before = forward(net, frame);
    forward(other, firstFrame(1, 2));
    cv::Mat next = frame.clone();
    next.ptr<float>(0, 1 + 7)[3] += 1;
    const cv::Mat after = forward(net, next);
    EXPECT_EQ(mpm::encoder(net).report().images.at(0).reuse.state, ReuseState::Partial);
    for (int t = 0; t < kTokens; ++t) {
        const size_t bytes = before.size[2] * sizeof(float);
        const bool kept = std::memcmp(before.ptr<float>(0, 1 + t), after.ptr<float>(0, 1 + t), bytes) == 0;
        EXPECT_EQ(kept, t != 7) << "token " << t;
    }
}

TEST_P(Networks, ADecoderAloneFollowsNoOtherNetwork) {
    for (const bool readBefore : {false, true}) {
        for (const bool destroyed : {false, true}) {
            auto reusing = std::make_unique<cv::dnn::Net>(readReusing());
            cv::dnn::Net alone = readBefore ? read(decoderAlone()) : cv::dnn::Net();
            std::mt19937 random(3);
            cv::Mat frame = firstFrame(1, 1), tokens = firstFrame(1, 2);
            for (int f = 0; f < 4; ++f) {
                if (reusing) forward(*reusing, frame = nextFrame(frame, random));
                if (destroyed && f == 2) reusing.reset();
                if (alone.empty()) alone = read(decoderAlone());
                tokens = nextFrame(tokens, random);
                EXPECT_TRUE(sameBits(forward(alone, tokens), fresh(decoderAlone, tokens)))
                    << readBefore << destroyed << " frame " << f;
            }
        }
    }
}

TEST_P(Networks, ADecoderBeforeItsBackboneFollowsNoOtherNetwork) {
    for (const bool readBefore : {false, true}) {
        cv::dnn::Net reusing = readReusing();
        cv::dnn::Net first = readBefore ? read(decoderBeforeBackbone()) : cv::dnn::Net();
        std::mt19937 random(3);
        cv::Mat frame = firstFrame(1, 1), tokens = firstFrame(1, 2);
        for (int f = 0; f < 4; ++f) {
            forward(reusing, frame = nextFrame(frame, random));
            if (first.empty()) first = read(decoderBeforeBackbone());
            tokens = nextFrame(tokens, random);
            EXPECT_TRUE(sameBits(forward(first, tokens), fresh(decoderBeforeBackbone, tokens)))
                << readBefore << " frame " << f;
        }
    }
}

/// A decoder before the backbone computes all rows, because reuse has not yet decided which rows changed.
TEST_P(Networks, ADecoderBeforeABackboneThatReusesComputesAllRows) {
    cv::dnn::Net net = read(decoderBeforeBackbone()), whole = read(decoderBeforeBackbone());
    Reuse reuse = exactReuse();
    reuse.refresh = 1;  // computes every token in every frame
    mpm::encoder(net).setReuse(reuse);
    mpm::encoder(whole).setSchedule({});
    std::mt19937 random(3);
    cv::Mat tokens = firstFrame(1, 2);
    for (int f = 0; f < 4; ++f) {
        tokens = nextFrame(tokens, random);
        EXPECT_TRUE(sameBits(forward(net, tokens), forward(whole, tokens))) << "frame " << f;
    }
}

// Returns a model of operators that use the precision of an encoder in the same network.
OnnxModel convolutions(int) {
    OnnxModel model;
    model.input("x", {1, 16, 8, 10});
    model.constant("window", randomMatrix(16, 16 * 9, 4), {16, 16, 3, 3});
    model.constant("weight", randomMatrix(12 * 4, 16, 3));
    model.node("MpmConv", {"x", "window"}, {"z"}, "mpm");
    model.node("MpmConvTranspose", {"z", "weight"}, {"y"}, "mpm").ints("window", {2, 2});
    model.output("y", {1, 12, 12, 16});
    return model;
}

OnnxModel masks(int) {
    OnnxModel model;
    model.input("x", {1, 4, 32});
    model.constant("pixels", randomMatrix(32, 80, 3));
    model.node("MpmMatMul", {"x", "pixels"}, {"y"}, "mpm").output("y", {1, 4, 80});
    return model;
}

OnnxModel embedding(int) {
    const int dim = backboneOptions().dim();
    OnnxModel model;
    model.input("x", {1, 3, 4 * kPatch, 6 * kPatch});
    model.constant("table", randomMatrix(kRows, dim, 8), {kRows, dim});
    model.constant("patches", randomMatrix(3 * kPatch * kPatch, dim, 9, 0.05));
    model.node("MpmEmbed", {"x", "table", "patches"}, {"y"}, "mpm");
    model.attribute("first", 1).attribute("patches", kTokens).ints("patch", {kPatch, kPatch});
    model.output("y", {1, kRows, dim});
    return model;
}

cv::Mat randomInput(const std::vector<int>& sizes) {
    cv::Mat input(static_cast<int>(sizes.size()), sizes.data(), CV_32F);
    cv::randu(input, -1, 1);
    return input;
}

TEST_P(Networks, APrecisionIsThatOfOneNetwork) {
    const auto dim = backboneOptions().dim();
    const std::vector<std::pair<std::function<OnnxModel(int)>, std::vector<int>>> kinds = {
        {convolutions, {1, 16, 8, 10}},
        {masks, {1, 4, 32}},
        {embedding, {1, 3, 4 * kPatch, 6 * kPatch}},
        {decoderAlone, {1, kRows, dim}},
        {decoderBeforeBackbone, {1, kRows, dim}}};
    const Precision precision = kernels::hasBf16() ? Precision::BF16 : Precision::I8;
    for (size_t k = 0; k < kinds.size(); ++k) {
        const auto& [model, sizes] = kinds[k];
        const cv::Mat input = randomInput(sizes), expected = fresh(model, input);
        for (const bool readBefore : {false, true}) {
            for (const bool ranBefore : {false, true}) {
                cv::dnn::Net one = readBefore ? read(model(1)) : cv::dnn::Net();
                cv::dnn::Net other = read(backboneAndDecoder());
                mpm::encoder(other).setDevice(Device::Cpu);
                mpm::encoder(other).setPrecision(precision);
                if (ranBefore) forward(other, firstFrame(1, 1));
                if (one.empty()) one = read(model(1));
                for (int i = 0; i < 2; ++i) {
                    EXPECT_TRUE(sameBits(forward(one, input), expected)) << k << readBefore << ranBefore << i;
                    forward(other, firstFrame(1, 1));
                }
            }
        }
    }
}

OnnxModel chainModel(const std::vector<cv::Range>& segments) {
    EncoderOptions o = backboneOptions();
    o.blocks = 6, o.schedule = {};
    const EncoderCase whole = makeEncoder(o);
    return over(1, [&](OnnxModel& model) {
        std::string from = "tokens";
        for (size_t s = 0; s < segments.size(); ++s) {
            const auto [first, end] = std::pair(segments[s].start, segments[s].end);
            std::vector<int> cuts;
            if (first > 0) cuts.push_back(first);
            if (end < o.blocks) cuts.push_back(end);
            EncoderCase part = cutEncoder(whole, cuts)[first > 0 ? 1 : 0];
            part.options.map = part.options.mapOutput = false;
            const std::string to = s + 1 == segments.size() ? "result" : "tokens" + std::to_string(s);
            addEncoder(model, part, {from}, {to});
            from = to;
        }
    });
}

TEST_P(Networks, AChainThatIsUnfinishedDisturbsNoLaterNetwork) {
    const cv::Mat frame = firstFrame(1, 1);
    const auto good = [](int) { return chainModel({{0, 3}, {3, 6}}); };
    const cv::Mat expected = fresh(good, frame);
    const std::vector<std::vector<cv::Range>> unfinished = {
        {{3, 6}}, {{0, 3}}, {{2, 4}}, {{0, 2}, {4, 6}}, {{1, 3}, {3, 6}}};
    for (const auto& segments : unfinished) {
        for (const bool ran : {false, true}) {
            cv::dnn::Net broken = read(chainModel(segments));
            if (ran) {
                EXPECT_THROW(forward(broken, frame), cv::Exception);
            }
            cv::dnn::Net whole = read(good(1));
            cv::Mat result;
            EXPECT_NO_THROW(result = forward(whole, frame)) << segments.size() << ran;
            EXPECT_TRUE(sameBits(result, expected)) << segments.size() << ran;
            EXPECT_THROW(forward(broken, frame), cv::Exception);
        }
    }
}

// In OpenCV 5's new engine, each layer has a pointer to the network. This pointer must tell layers of
// different networks apart.
TEST(NetworkPlace, ThePointerOfTheNewEngineTellsNetworksApart) {
    const int networks[2] = {};
    const void* engines[2] = {};  // set after all layers are created
    EncoderConfig backbone = makeEncoder(backboneOptions()).config;
    EncoderConfig decoder = makeEncoder(decoderOptions()).config;
    decoder.merges = false;
    NetworkPlace lead("a", &engines[0]), follower("b", &engines[0]), alone("c", &engines[1]);
    const auto control = lead.join(backbone);
    const auto decoders = {follower.join(decoder), alone.join(decoder)};
    engines[0] = &networks[0], engines[1] = &networks[1];
    for (int f = 0; f < 2; ++f) {
        lead.allocate(), lead.run();
        lead.beginLead(&networks);
        const auto frame = std::make_shared<LeadFrame>();
        lead.lead(frame);
        alone.allocate(), alone.run();
        EXPECT_EQ(alone.follow(2), nullptr);
        EXPECT_EQ(alone.backboneBefore(), nullptr);
        EXPECT_FALSE(alone.reuses());
        follower.allocate(), follower.run();
        EXPECT_EQ(follower.backboneBefore(), control);
        EXPECT_EQ(follower.follow(2), frame);
        EXPECT_EQ(follower.follow(2), nullptr) << "only once in a forward";
        EXPECT_EQ(lead.blocksBehind(), 2);
    }
}

// A network with reuse and a network without a backbone run in random turns. Each must give the same bits as
// in a process without the other network.
TEST_P(Networks, TwoNetworksAlternate) {
    struct Stream {
        std::unique_ptr<cv::dnn::Net> net, alone;  ///< `alone` runs in separate threads
        cv::Mat frame;
    };
    // The network `alone` runs in a new thread, in which other networks have no effect.
    const auto step = [&](bool reusing, Stream& stream, bool anew) {
        const auto make = [&] {
            return std::make_unique<cv::dnn::Net>(reusing ? readReusing() : read(decoderAlone()));
        };
        if (anew || !stream.net) stream.net = make(), stream.alone = nullptr;
        const cv::Mat result = forward(*stream.net, stream.frame);
        const cv::Mat expected = inNewThread([&] {
            if (!stream.alone) stream.alone = make();
            return forward(*stream.alone, stream.frame);
        });
        return sameBits(result, expected);
    };
    std::mt19937 random(11);
    const auto chance = [&](unsigned in) { return random() % in == 0; };
    Stream streams[2];
    const int steps = GetParam().marked ? 300 : 1000;
    for (int f = 0; f < steps; ++f) {
        const bool reusing = random() % 2 == 0;
        Stream& stream = streams[reusing ? 0 : 1];
        if (stream.frame.empty() || chance(9)) {
            EncoderOptions o = backboneOptions();
            o.imageTokens = kTokens - static_cast<int>(random() % 3);
            stream.frame = makeBatch(o, 1 + static_cast<int>(random() % 3), o.imageTokens, random());
        } else {
            const int count = stream.frame.size[1] - 1;
            float* const row = stream.frame.ptr<float>(0, 1 + static_cast<int>(random() % count));
            row[random() % 8] += 0.5f;
        }
        if (chance(25)) streams[0].net.reset();
        if (chance(25)) streams[1].net.reset();
        ASSERT_TRUE(step(reusing, stream, chance(40))) << "forward " << f << (reusing ? ", reusing" : "");
    }
}

}  // namespace
}  // namespace mpm::test::networks
