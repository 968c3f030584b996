#include "cli/eval_set.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "cli/small_model.hpp"

namespace fs = std::filesystem;

namespace mpm::test {

namespace {

const std::set<std::string> kTimes = {"images_per_second", "stderr",     "windows_per_second", "ms",
                                      "mean_ms",           "encoder_ms", "merge_ms",           "restore_ms"};

void dropTimes(nlohmann::json& json) {
    if (!json.is_structured()) return;
    if (json.is_object())
        for (const std::string& key : kTimes)
            json.erase(key);
    for (auto& value : json)
        dropTimes(value);
}

}  // namespace

std::string readText(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

nlohmann::json readJson(const std::string& path) {
    return nlohmann::json::parse(readText(path));
}

cv::Mat blobs(int seed, cv::Size size, int classes, int ignored) {
    cv::Mat small(4, 5, CV_8U), labels;
    cv::RNG random(seed);
    random.fill(small, cv::RNG::UNIFORM, 0, classes);
    cv::resize(small, labels, size, 0, 0, cv::INTER_NEAREST);
    labels.col(0) = ignored;
    return labels;
}

std::string withoutTimes(nlohmann::json report) {
    dropTimes(report);
    return report.dump();
}

EvalSet::EvalSet(int images) {
    writeSmallModel(path("model.onnx"));
    for (const char* folder : {"val/images", "val/labels"})
        fs::create_directories(path(folder));
    std::ofstream(path("classes.json"))
        << R"([{"name":"a","color":[1,2,3]},{"name":"b","color":[4,5,6]},{"name":"c","color":[7,8,9]}])";
    const std::vector<cv::Size> sizes = {{48, 32}, {96, 64}, {70, 31}, {33, 90}, {48, 33}};
    for (int i = 0; i < images; ++i) {
        const std::string file = cv::format("/p%03d.png", i);
        const cv::Size size = sizes[static_cast<size_t>(i) % sizes.size()];
        cv::imwrite(path("val/images" + file), testImage(i, size));
        cv::imwrite(path("val/labels" + file), blobs(i, size, 3, 255));
    }
}

std::vector<std::string> EvalSet::words(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"eval",   path("model.onnx"), "--dataset",
                                      "folder", "--root",           m_folder.path()};
    if (std::find(more.begin(), more.end(), "--compare") == more.end())
        words.insert(words.end(), {"--compare", "none,mpm,tome:r=2"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

void EvalSet::damage(const std::string& stem) const {
    std::ofstream(path("val/images/" + stem + ".png")) << "damaged";
}

}  // namespace mpm::test
