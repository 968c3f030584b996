// Helpers for tests of the layers inside cv::dnn: load a model, run a forward, compute expected results.
#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include <mpm/mpm.h>
#include <mpm/mpm.hpp>

#include "support/encoder_case.hpp"
#include "support/onnx_model.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {

class DnnTest : public testing::Test {
protected:
    void SetUp() override { registerLayers(); }

    void TearDown() override {
        for (const char* name : {"MPM_BLOCKS", "MPM_METHOD", "MPM_DEVICE", "MPM_PRECISION",
                                 "MPM_BATCH_INDEPENDENT", "MPM_REUSE"})
            unsetenv(name);
        mpm_set_blocks(nullptr);
        mpm_set_method(nullptr);
        mpm_set_device(nullptr);
        mpm_set_precision(nullptr);
        mpm_set_batch_independent(nullptr);
        mpm_set_reuse(nullptr);
    }

    cv::dnn::Net load(const OnnxModel& model) {
        const std::string path = m_folder.path() + "/model.onnx";
        model.write(path);
        return cv::dnn::readNetFromONNX(path);
    }

    TempFolder m_folder;
};

// The new engine of OpenCV 5.0.0 does not update the sizes of layers that follow a dynamic layer if the shape
// of the input stays the same (fixed in later versions). So this function first sets another shape.
inline void setInput(cv::dnn::Net& net, const cv::Mat& blob, const std::string& name = "") {
#if CV_VERSION_MAJOR >= 5
    if (blob.dims == 3) {
        const int other[] = {blob.size[0], blob.size[1] + 1, blob.size[2]};
        net.setInput(cv::Mat(3, other, CV_32F, cv::Scalar(1)), name);
    }
#endif
    net.setInput(blob, name);
}

inline cv::Mat forward(cv::dnn::Net& net, const cv::Mat& blob) {
    setInput(net, blob);
    return net.forward().clone();
}

inline EncoderOptions options() {
    EncoderOptions o;
    o.schedule = {1};
    o.imageTokens = 40;
    return o;
}

inline cv::Mat oracle(const EncoderCase& encoder, const cv::Mat& batch, int image) {
    return toMatrix(oracleEncoder(encoder.config, encoder.weights, toRows(imageOf(batch, image)), {}).taps[0],
                    batch.size[2]);
}

}  // namespace mpm::test
