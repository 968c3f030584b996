// consumer MODEL: runs the five lines of the README on an image of noise, with and without merging. Prints a
// line per run: schedule, tokens that entered the last block, mean of the output. The exit status is 1 if the
// library's reports contradict each other.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>
#include <opencv2/dnn.hpp>

namespace {

int fail(const std::string& what) {
    std::cerr << "consumer: " << what << "\n";
    return EXIT_FAILURE;
}

cv::Mat noise(int rows, int cols, int type) {
    cv::Mat image(rows, cols, type);
    cv::RNG random(7);
    random.fill(image, cv::RNG::UNIFORM, 0, 256);
    return image;
}

/// Returns whether restoreTokens() returns as many tokens as mergeTokens() got.
bool methodHolds() {
    cv::Mat tokens(10, 4, CV_32F);
    cv::RNG random(7);
    random.fill(tokens, cv::RNG::NORMAL, 0, 1);
    const mpm::Merged merged = mpm::mergeTokens(tokens, 1);
    const cv::Mat full = mpm::restoreTokens(merged.tokens, merged.map, 1);
    return merged.tokens.rows < tokens.rows && full.size() == tokens.size() && merged.map.cols == 9;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return fail("one argument wanted, a model");
    const std::string path = argv[1];

    mpm::registerLayers();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
    mpm::Encoder encoder = mpm::encoder(net);
    const cv::Mat blob = mpm::blobFromImage(noise(48, 64, CV_8UC3), mpm::modelInfo(path));

    for (const std::vector<int>& schedule : {std::vector<int>{}, std::vector<int>{1}}) {
        encoder.setSchedule(schedule);
        net.setInput(blob);
        const cv::Mat out = net.forward();
        const mpm::Report report = encoder.report();
        if (out.empty() || !cv::checkRange(out.reshape(1, 1)))
            return fail("the output is empty or not finite");
        if (report.images.size() != 1) return fail("the report is not of one image");
        const std::vector<int>& tokens = report.images[0].tokens;
        if (encoder.tokens() != tokens) return fail("tokens() is not the report's");
        if (int(tokens.size()) != encoder.blocks()) return fail("the report does not count every block");
        if ((tokens.back() < tokens.front()) == schedule.empty())
            return fail("merging does not follow the schedule");
        std::cout << (schedule.empty() ? "none" : "1") << " " << tokens.back() << " "
                  << cv::mean(out.reshape(1, 1))[0] << "\n";
    }
    return methodHolds() ? EXIT_SUCCESS : fail("mergeTokens and restoreTokens do not fit together");
}
