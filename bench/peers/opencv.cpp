// Compares MPM's layers with OpenCV's: runs converted models and their exports in cv::dnn in turn.
//   mpm_bench_opencv MODEL.onnx... [THREADS=2] [ROUNDS=20]
// Prints a line of JSON for each model, like peer.py, or the reason if this OpenCV cannot load the model.
// Merging is off, so that a model and its export compute the same values.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <opencv2/core/utils/logger.hpp>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

namespace {

constexpr int kWarmUp = 3;

struct Peer {
    std::string path;
    cv::dnn::Net net;
    std::vector<double> times;
    std::string refusal;
};

/// Returns a random input of the first size in the models' metadata, or of 512x512 if there is none.
cv::Mat inputFor(const std::vector<Peer>& peers) {
    cv::Size size;
    for (const Peer& peer : peers) {
        if (size.empty()) size = mpm::modelInfo(peer.path).size;
    }
    if (size.empty()) size = cv::Size(512, 512);
    const int shape[] = {1, 3, size.height, size.width};
    cv::Mat input(4, shape, CV_32F);
    cv::theRNG().state = 1;
    cv::randu(input, -1.0, 1.0);
    return input;
}

void forward(Peer& peer, const cv::Mat& input) {
    peer.net.setInput(input);
    peer.net.forward();
}

void load(Peer& peer, const cv::Mat& input) {
    try {
        peer.net = cv::dnn::readNetFromONNX(peer.path);
        try {
            mpm::encoder(peer.net).setSchedule({});
        } catch (const cv::Exception&) {
            // An export has no merging to switch off.
        }
        for (int i = 0; i < kWarmUp; ++i)
            forward(peer, input);
    } catch (const cv::Exception& e) {
        peer.refusal = e.err.substr(0, e.err.find('\n'));
    }
}

void timeOnce(Peer& peer, const cv::Mat& input) {
    const auto start = std::chrono::steady_clock::now();
    forward(peer, input);
    peer.times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
}

void print(Peer& peer, int threads) {
    std::cout << "{\"peer\": \"OpenCV " << CV_VERSION << "\", \"model\": \""
              << peer.path.substr(peer.path.rfind('/') + 1) << "\", \"threads\": " << threads << ", ";
    if (peer.refusal.empty()) {
        std::sort(peer.times.begin(), peer.times.end());
        const auto at = [&](double share) {
            return peer.times[static_cast<size_t>(share * (peer.times.size() - 1))];
        };
        std::cout << "\"ms\": {\"median\": " << at(0.5) << ", \"p10\": " << at(0.1)
                  << ", \"p90\": " << at(0.9) << "}}\n";
    } else {
        std::replace(peer.refusal.begin(), peer.refusal.end(), '"', '\'');
        std::cout << "\"cannot\": \"" << peer.refusal << "\"}\n";
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<Peer> peers;
    std::vector<int> numbers;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument.find(".onnx") != std::string::npos) {
            peers.emplace_back();
            peers.back().path = argument;
        } else {
            numbers.push_back(std::atoi(argv[i]));
        }
    }
    if (peers.empty()) {
        std::cerr << "usage: mpm_bench_opencv MODEL.onnx... [THREADS] [ROUNDS]\n";
        return 2;
    }
    const int threads = !numbers.empty() ? numbers[0] : 2, rounds = numbers.size() > 1 ? numbers[1] : 20;
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    cv::setNumThreads(threads);
    mpm::registerLayers();
    const cv::Mat input = inputFor(peers);
    for (Peer& peer : peers)
        load(peer, input);
    for (int round = 0; round < rounds; ++round) {
        for (Peer& peer : peers) {
            if (peer.refusal.empty()) timeOnce(peer, input);
        }
    }
    for (Peer& peer : peers)
        print(peer, threads);
}
