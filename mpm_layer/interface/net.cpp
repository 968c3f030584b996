// Networks in the C interface.
#include <memory>

#include <mpm/mpm.h>
#include <mpm/read_net.hpp>

#include "mpm_layer/dnn/opencv.hpp"
#include "mpm_layer/interface/guard.hpp"

struct mpm_net {
    cv::dnn::Net net;
    cv::Mat output;
};

mpm_net* mpm_read_net(const char* path) {
    const auto read = [&] {
        if (!path) CV_Error(cv::Error::StsNullPtr, "mpm: path is null");
        auto net = std::make_unique<mpm_net>();
        net->net = mpm::readNet(path);
        return net.release();
    };
    return mpm::guarded(read, static_cast<mpm_net*>(nullptr));
}

int mpm_net_forward(mpm_net* net, const mpm_array* input, mpm_array* output) {
    return mpm::guarded([&] {
        if (!net || !output) CV_Error(cv::Error::StsNullPtr, "mpm: net or output is null");
        net->net.setInput(mpm::matrixOf(input, "input"));
        net->output = net->net.forward();
        // In OpenCV 5, ids are int64, a type that mpm_array lacks; in 4.x, ids are f32.
        if (net->output.depth() != CV_32F && net->output.depth() == mpm::dnn::kInteger)
            net->output.convertTo(net->output, CV_32S);
        if (!net->output.isContinuous()) net->output = net->output.clone();
        *output = mpm::arrayOf(net->output);
        return 0;
    });
}

void mpm_net_free(mpm_net* net) {
    delete net;
}
