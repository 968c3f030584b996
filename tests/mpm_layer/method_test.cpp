// Tests the choice of the reducer by the file, the environment, the C interface or the handle.
#include <map>

#include <gtest/gtest.h>

#include "dnn_fixture.hpp"
#include "support/refusal.hpp"

namespace mpm::test {
namespace {

class MethodTest : public DnnTest {
protected:
    EncoderOptions with(const std::string& method) const {
        EncoderOptions o = options();
        o.schedule = {0, 1};
        o.method = method;
        return o;
    }

    cv::dnn::Net netWith(const std::string& method) {
        return load(encoderModel(makeEncoder(with(method)), 1, 40));
    }

    /// Runs a forward and returns the map. Sets no method.
    cv::Mat map(cv::dnn::Net& net) {
        forward(net, m_batch);
        return mpm::encoder(net).report().images.at(0).map;
    }

    /// Loads a model file without a method, calls setMethod(method), and returns the merge map of a forward.
    cv::Mat mapBy(const std::string& method) {
        cv::dnn::Net net = netWith("");
        Encoder handle = mpm::encoder(net);
        handle.setMethod(method);
        return map(net);
    }

    const cv::Mat m_batch = makeBatch(options(), 1, 40, 1);
};

TEST_F(MethodTest, TheFileChoosesIt) {
    const std::string few = "mpm:pairs=2,by=keys,mean=weighted";
    for (const std::string& method : {std::string("gentle"), few, std::string("mpm")}) {
        cv::dnn::Net net = netWith(method);
        EXPECT_EQ(mpm::encoder(net).method(), method);
        EXPECT_EQ(mpm::encoder(net).schedule(), (std::vector<int>{0, 1}));
        EXPECT_TRUE(sameBits(map(net), mapBy(method))) << method;
    }
    EXPECT_FALSE(sameBits(mapBy(few), mapBy("mpm")));
    EXPECT_FALSE(sameBits(mapBy("gentle"), mapBy(few)));
}

TEST_F(MethodTest, HandleBeatsCInterfaceBeatsEnvironmentBeatsFile) {
    cv::dnn::Net net = netWith("gentle");
    Encoder handle = mpm::encoder(net);
    const auto is = [&](const std::string& method) {
        EXPECT_EQ(handle.method(), method);
        EXPECT_TRUE(sameBits(map(net), mapBy(method))) << method;
    };
    const std::string two = "mpm:pairs=2", three = "mpm:pairs=3", four = "mpm:pairs=4";
    is("gentle");
    setenv("MPM_METHOD", two.c_str(), 1);
    is(two);
    ASSERT_EQ(mpm_set_method(three.c_str()), 0);
    is(three);
    handle.setMethod(four);
    is(four);
    EXPECT_EQ(handle.schedule(), (std::vector<int>{0, 1})) << "the blocks stay";
    ASSERT_EQ(mpm_set_method(nullptr), 0);
    is(four);
}

TEST_F(MethodTest, BlocksAreNoPartOfIt) {
    cv::dnn::Net net = netWith("gentle");
    Encoder handle = mpm::encoder(net);
    expectRefusal([&] { handle.setMethod("gentle:0+1"); }, "gentle:0+1");
    EXPECT_EQ(mpm_set_method("gentle:0+1"), -1);
    EXPECT_EQ(mpm_set_method("best"), -1);
    EXPECT_NE(std::string(mpm_last_error()).find("method 'best' is not known"), std::string::npos);
    EXPECT_EQ(handle.method(), "gentle") << "a refusal changes nothing";
    setenv("MPM_METHOD", "best", 1);
    expectRefusal([&] { map(net); }, "mpm: MPM_METHOD: method 'best' is not known");
    handle.setMethod("mpm");
    EXPECT_NO_THROW(map(net)) << "a variable that is overridden is not read";
    setenv("MPM_METHOD", "", 1);
    cv::dnn::Net other = netWith("gentle");
    EXPECT_EQ(mpm::encoder(other).method(), "gentle");
}

TEST_F(MethodTest, NoBlocksNoMergesByTheMethodOfAFile) {
    cv::dnn::Net net = netWith("tome:r=3");
    forward(net, m_batch);
    Encoder handle = mpm::encoder(net);
    EXPECT_EQ(handle.report().images.at(0).stages.size(), 3u) << "ToMe has blocks of its own";
    handle.setSchedule({});
    forward(net, m_batch);
    EXPECT_TRUE(handle.report().images.at(0).stages.empty());
    handle.setMethod("tome:r=2");
    forward(net, m_batch);
    EXPECT_TRUE(handle.report().images.at(0).stages.empty()) << "an empty schedule runs all tokens";
    handle.setSchedule({1});
    forward(net, m_batch);
    EXPECT_EQ(handle.report().images.at(0).stages.size(), 3u);
}

TEST_F(MethodTest, AWrongOneInAFileIsNamed) {
    const std::map<std::string, std::string> wrong{{"best", "method 'best' is not known"},
                                                   {"mpm:pairs=2.5", "has pairs=2.5"},
                                                   {"gentle:1+3", "gentle:1+3"}};
    for (const auto& [method, words] : wrong) {
        expectRefusal(
            [&, text = method] {
                cv::dnn::Net net = netWith(text);
                map(net);
            },
            words);
    }
}

TEST_F(MethodTest, SegmentsOfAChainAgree) {
    EncoderOptions o = with("mpm:pairs=3");
    o.blocks = 6, o.schedule = {1, 4};
    const EncoderCase whole = makeEncoder(o);
    const auto chain = [&](const std::string& second) {
        std::vector<EncoderCase> segments = cutEncoder(whole, {3});
        segments[1].options.method = segments[1].config.method = second;
        OnnxModel model;
        const Dims dims = {1, o.special + 40, o.dim()};
        model.input("tokens", dims);
        addEncoder(model, segments[0], {"tokens"}, {"middle", "map"});
        addEncoder(model, segments[1], {"middle", "map"}, {"end"});
        return load(model.output("end", dims));
    };
    cv::dnn::Net one = load(encoderModel(whole, 1, 40)), cut = chain("mpm:pairs=3");
    EXPECT_EQ(mpm::encoder(cut).method(), "mpm:pairs=3");
    EXPECT_TRUE(sameBits(forward(cut, m_batch), forward(one, m_batch)));
    cv::dnn::Net wrong = chain("gentle");
    expectRefusal([&] { forward(wrong, m_batch); },
                  "must have one method; there are 'mpm:pairs=3' and 'gentle'");
}

}  // namespace
}  // namespace mpm::test
