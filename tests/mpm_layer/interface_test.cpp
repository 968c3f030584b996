// Tests that networks and operators of the C interface, and readNet, give the results of C++ and reject wrong
// calls.
#include <opencv2/core/utils/logger.hpp>

#include <mpm/read_net.hpp>

#include "mpm_layer/dnn_fixture.hpp"

namespace mpm::test {
namespace {

namespace logging = cv::utils::logging;

mpm_array view(cv::Mat& m) {
    mpm_array array{};
    array.data = m.data;
    array.type = m.depth() == CV_32F ? MPM_F32 : MPM_I32;
    array.dims = m.dims;
    std::copy_n(m.size.p, m.dims, array.sizes);
    return array;
}

cv::Mat tokens(int rows, int dim) {
    const int sizes[] = {1, rows, dim};
    cv::Mat m(3, sizes, CV_32F);
    cv::RNG random(5);
    random.fill(m, cv::RNG::NORMAL, 0, 1);
    return m;
}

struct OperatorFree {
    void operator()(mpm_operator* op) const { mpm_operator_free(op); }
};
using OperatorHandle = std::unique_ptr<mpm_operator, OperatorFree>;

class InterfaceTest : public DnnTest {
protected:
    std::string modelFile() {
        OnnxModel model;
        model.input("tokens", {1, 9, 8});
        model.node("MpmMerge", {"tokens"}, {"merged", "map"}, "mpm");
        model.node("MpmRestore", {"merged", "map"}, {"restored"}, "mpm");
        model.output("restored", {1, 9, 8});
        const std::string path = m_folder.path() + "/net.onnx";
        model.write(path);
        return path;
    }
};

TEST_F(InterfaceTest, ReadsANetworkQuietlyAndLeavesTheLogLevel) {
    const std::string path = modelFile();
    const logging::LogLevel before = logging::setLogLevel(logging::LOG_LEVEL_WARNING);
    testing::internal::CaptureStderr();
    cv::dnn::Net net = readNet(path);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(logging::getLogLevel(), logging::LOG_LEVEL_WARNING);
    EXPECT_THROW(readNet(m_folder.path() + "/missing.onnx"), cv::Exception);
    EXPECT_EQ(logging::setLogLevel(before), logging::LOG_LEVEL_WARNING);
    EXPECT_FALSE(net.empty());
}

TEST_F(InterfaceTest, ANetworkInCGivesTheSameAsInCpp) {
    const std::string path = modelFile();
    cv::Mat input = tokens(9, 8);
    cv::dnn::Net net = readNet(path);
    const cv::Mat expected = forward(net, input);
    mpm_net* handle = mpm_read_net(path.c_str());
    ASSERT_NE(handle, nullptr) << mpm_last_error();
    const mpm_array in = view(input);
    mpm_array out{};
    ASSERT_EQ(mpm_net_forward(handle, &in, &out), 0) << mpm_last_error();
    ASSERT_EQ(out.dims, 3);
    EXPECT_EQ(cv::norm(expected, cv::Mat(out.dims, out.sizes, CV_32F, out.data), cv::NORM_INF), 0);
    EXPECT_EQ(mpm_net_forward(handle, nullptr, &out), -1);
    EXPECT_EQ(mpm_net_forward(handle, &in, nullptr), -1);
    EXPECT_EQ(mpm_net_forward(nullptr, &in, &out), -1);
    mpm_net_free(handle);
    mpm_net_free(nullptr);
    EXPECT_EQ(mpm_read_net(nullptr), nullptr);
    EXPECT_EQ(mpm_read_net("missing.onnx"), nullptr);
    EXPECT_STRNE(mpm_last_error(), "");
}

TEST_F(InterfaceTest, AnOperatorGivesTheSameAsTheFunction) {
    const OperatorHandle op(mpm_operator_new("MpmMerge"));
    const int special = 1;
    ASSERT_EQ(mpm_operator_set_ints(op.get(), "special_tokens", &special, 1), 0);
    ASSERT_EQ(mpm_operator_build(op.get()), 0) << mpm_last_error();
    cv::Mat input = tokens(9, 8);
    const mpm_array in = view(input);
    mpm_array out[3] = {};
    ASSERT_EQ(mpm_operator_outputs(op.get(), &in, 1, out, 3), 3);
    cv::Mat merged(out[0].dims, out[0].sizes, CV_32F), map(out[1].dims, out[1].sizes, CV_32F);
    out[0].data = merged.data, out[1].data = map.data;
    ASSERT_EQ(mpm_operator_run(op.get(), &in, 1, out, 2), 0) << mpm_last_error();
    const Merged expected = mergeTokens(input.reshape(1, 9), special);
    cv::Mat ids;
    map.convertTo(ids, CV_32S);
    EXPECT_EQ(cv::norm(ids.reshape(1, 1), expected.map, cv::NORM_INF), 0);
    const cv::Mat rows = merged.reshape(1, 9).rowRange(0, expected.tokens.rows);
    EXPECT_EQ(cv::norm(rows, expected.tokens, cv::NORM_INF), 0);
}

TEST_F(InterfaceTest, EveryOperatorHasAName) {
    int count = 0;
    for (; const char* type = mpm_operator_type(count); ++count) {
        EXPECT_TRUE(cv::dnn::LayerFactory::isLayerRegistered(std::string("mpm.") + type)) << type;
        EXPECT_NE(OperatorHandle(mpm_operator_new(type)), nullptr) << type;
    }
    EXPECT_GE(count, 11);
    EXPECT_EQ(mpm_operator_type(-1), nullptr);
    EXPECT_EQ(mpm_operator_new("MpmNothing"), nullptr);
    EXPECT_EQ(mpm_operator_new(nullptr), nullptr);
}

TEST_F(InterfaceTest, WrongCallsFailWithAReason) {
    const OperatorHandle op(mpm_operator_new("MpmMerge"));
    cv::Mat input = tokens(9, 8);
    const mpm_array in = view(input);
    mpm_array out[3] = {}, wrong = in;
    const int one = 1;
    EXPECT_EQ(mpm_operator_outputs(op.get(), &in, 1, out, 3), -1);  // the operator is not built yet
    EXPECT_EQ(mpm_operator_set_ints(op.get(), "special_tokens", &one, 0), -1);
    EXPECT_EQ(mpm_operator_set_ints(op.get(), nullptr, &one, 1), -1);
    EXPECT_EQ(mpm_operator_set_reals(op.get(), "x", nullptr, 1), -1);
    EXPECT_EQ(mpm_operator_set_text(op.get(), "x", nullptr), -1);
    EXPECT_EQ(mpm_operator_add_constant(op.get(), nullptr), -1);
    EXPECT_EQ(mpm_operator_build(nullptr), -1);
    ASSERT_EQ(mpm_operator_build(op.get()), 0);
    EXPECT_EQ(mpm_operator_build(op.get()), -1);
    EXPECT_EQ(mpm_operator_set_ints(op.get(), "special_tokens", &one, 1), -1);
    ASSERT_EQ(mpm_operator_outputs(op.get(), &in, 1, out, 3), 3);
    EXPECT_EQ(mpm_operator_run(op.get(), &in, 1, out, 3), -1);  // outputs without memory
    EXPECT_EQ(mpm_operator_run(op.get(), &in, 1, out, 0), -1);
    EXPECT_EQ(mpm_operator_run(op.get(), nullptr, 1, out, 1), -1);
    cv::Mat room = input.clone();
    out[0] = view(room);
    out[0].sizes[1] = 5;
    EXPECT_EQ(mpm_operator_run(op.get(), &in, 1, out, 1), -1);
    for (const int dims : {0, -1, MPM_MAX_DIMS + 1}) {
        wrong.dims = dims;
        EXPECT_EQ(mpm_operator_outputs(op.get(), &wrong, 1, out, 3), -1);
    }
    wrong = in, wrong.sizes[1] = -9;
    EXPECT_EQ(mpm_operator_outputs(op.get(), &wrong, 1, out, 3), -1);
    wrong = in, wrong.type = 7;
    out[0] = view(room);
    EXPECT_EQ(mpm_operator_run(op.get(), &wrong, 1, out, 1), -1);
    EXPECT_EQ(mpm_operator_run(op.get(), &in, 1, out, 1), 0) << mpm_last_error();
    mpm_operator_free(nullptr);
}

}  // namespace
}  // namespace mpm::test
