// Runs networks with this library's OpenCV, if MPM's operators cannot be registered in the user's cv2.
#include <map>

#include <mpm/read_net.hpp>

#include "python/src/border.hpp"

using namespace mpm::python;

struct mpm_network {
    cv::dnn::Net net;
    std::map<std::string, cv::Mat> inputs;  ///< the network refers to the memory of these matrices
};

int mpm_network_check(const char* path, char** error) {
    return guarded(error, [&] { mpm::batchOf(path); });
}

int mpm_network_open(const char* path, mpm_network** network, char** error) {
    return guarded(error, [&] { *network = new mpm_network{mpm::readNet(path), {}}; });
}

void mpm_network_free(mpm_network* network) {
    delete network;
}

char* mpm_network_outputs(const mpm_network* network) {
    return jsonText(Json(network->net.getUnconnectedOutLayersNames()));
}

int mpm_network_set_input(mpm_network* network, const char* name, const mpm_array* input, char** error) {
    return guarded(error, [&] {
        cv::Mat& kept = network->inputs[name];
        kept = matrixOf(*input).clone();
        network->net.setInput(kept, name);
    });
}

int mpm_network_forward(mpm_network* network, const char* const* names, int count, mpm_buffer** outputs,
                        char** error) {
    return guarded(error, [&] {
        std::vector<std::string> layers(names, names + count);
        for (std::string& layer : layers)  // "" is the last output, as in cv2's forward("")
            if (layer.empty()) layer = network->net.getUnconnectedOutLayersNames().back();
        std::vector<cv::Mat> found;
        network->net.forward(found, layers);
        if (static_cast<int>(found.size()) != count)
            throw std::runtime_error("the network gave another number of outputs");
        std::vector<std::unique_ptr<mpm_buffer>> kept;
        for (const cv::Mat& output : found)
            kept.emplace_back(bufferOf(output.clone()));
        for (int i = 0; i < count; ++i)
            outputs[i] = kept[static_cast<size_t>(i)].release();
    });
}
