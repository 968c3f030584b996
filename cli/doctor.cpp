// mpm doctor: the capabilities of this machine, as text for a bug report.
#include <cstdlib>
#include <fstream>
#include <iostream>

#include <opencv2/core/utility.hpp>
#include <opencv2/videoio/registry.hpp>

#include "base/printable.hpp"
#include "base/sandbox.hpp"
#include "cli/common/error.hpp"
#include "cli/common/options.hpp"
#include "cli/common/verbs.hpp"
#include "mpm_layer/dnn/opencv.hpp"
#include "pipeline/measure/head.hpp"
#include "pipeline/segment/model_file.hpp"
#include "pipeline/segment/names.hpp"
#include "pipeline/segment/network.hpp"

namespace mpm::cli {

namespace {

void line(const std::string& name, const std::string& value) {
    std::cout << cv::format("%-18s ", name.c_str()) << printable(value) << '\n';
}

std::string buildLine(const std::string& key) {
    std::istringstream information(cv::getBuildInformation());
    for (std::string text; std::getline(information, text);) {
        const size_t at = text.find(key);
        if (at == std::string::npos) continue;
        const size_t value = text.find_first_not_of(' ', at + key.size());
        return value == std::string::npos ? "" : text.substr(value);
    }
    return "unknown";
}

std::string limitOfFeatures() {
    const char* limit = std::getenv("MPM_MAX_CPU_ISA");
    return limit && *limit ? std::string(", limited by MPM_MAX_CPU_ISA=") + limit : "";
}

pipeline::Network smallNetwork() {
    pipeline::RandomModel model;
    model.size = {64, 64};
    model.dim = 64, model.depth = 2, model.heads = 1, model.classes = 2;
    return pipeline::Network(model);
}

/// Runs a small encoder, because a device that this build supports may not work on this machine.
std::string tryDevice(Device device, Precision precision) {
    try {
        pipeline::Network network = smallNetwork();
        network.encoder().setDevice(device);
        network.encoder().setPrecision(precision);
        network.forward(network.blob({cv::Mat(64, 64, CV_8UC3, cv::Scalar(90, 120, 150))}));
        return "usable";
    } catch (const cv::Exception& error) {
        return "not usable: " + error.err;
    }
}

std::string videoBackends() {
    std::string names;
    for (cv::VideoCaptureAPIs api : cv::videoio_registry::getBackends())
        names += (names.empty() ? "" : ", ") + cv::videoio_registry::getBackendName(api);
    return names;
}

std::string cameras() {
    std::string found;
    for (int index = 0; index < 64; ++index) {
        std::ifstream name(cv::format("/sys/class/video4linux/video%d/name", index));
        std::string text;
        if (std::getline(name, text))
            found += (found.empty() ? "" : ", ") + std::to_string(index) + " (" + text + ")";
    }
    return found.empty() ? "none" : found;
}

std::string shippedModel() {
    if (pipeline::hasDefaultModel()) return pipeline::findModel("default");
    std::string searched;
    for (const std::string& folder : pipeline::modelFolders())
        searched += (searched.empty() ? "" : ", ") + folder;
    return "none; searched in " + searched;
}

int doctor(const CommonOptions& options) {
    applyThreads(options);
    line("mpm", mpm::version());
    line("OpenCV", cv::getVersionString());
    line("DNN engine",
         dnn::kHasDynamicShapes ? "5.x (new engine, classic where it cannot)" : "4.x (fixed shapes)");
    line("CPU", pipeline::cpuName());
    line("CPU features", pipeline::cpuFeatures() + limitOfFeatures());
    line("CPU threads", cv::format("%d of %d, pool: %s", cv::getNumThreads(), cv::getNumberOfCPUs(),
                                   buildLine("Parallel framework:").c_str()));
    for (Precision precision : {Precision::F32, Precision::BF16, Precision::F16, Precision::I8})
        line("cpu " + pipeline::precisionName(precision), tryDevice(Device::Cpu, precision));
    line("cuda", tryDevice(Device::Cuda, Precision::F32));
    line("video backends", videoBackends());
    line("cameras", cameras());
    line("shipped model", shippedModel());
    line("sandbox", sandboxSupport());
    return kDone;
}

}  // namespace

void addDoctor(CLI::App& app, Action& action) {
    CLI::App* verb =
        app.add_subcommand("doctor", "Report the capabilities of this machine, for a bug report");
    auto options = std::make_shared<CommonOptions>();
    addCommonOptions(*verb, *options, false);
    verb->footer("Example:\n  mpm doctor > report.txt");
    verb->callback([options, &action] { action = [options] { return doctor(*options); }; });
}

}  // namespace mpm::cli
