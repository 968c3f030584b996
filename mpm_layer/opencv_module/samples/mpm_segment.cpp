// example_mpm_mpm_segment MODEL IMAGE [BLOCKS]: prints the share of each class in an image, and the tokens of
// each block.
#include <iostream>

#include <opencv2/dnn.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/mpm.hpp>

int main(int count, char** arguments) {
    if (count < 3) return std::cerr << "usage: mpm_segment MODEL IMAGE [BLOCKS]\n", 2;
    const std::string model = arguments[1];
    if (count > 3) cv::mpm::set("blocks", arguments[3]);
    cv::dnn::Net net = cv::mpm::readNet(model);
    net.setInput(cv::mpm::blobFromImage(cv::imread(arguments[2]), model));
    const cv::Mat scores = net.forward();
    cv::Mat best;
    cv::reduceArgMax(scores.reshape(1, scores.size[1]), best, 0);
    const std::vector<std::string> labels = cv::mpm::labels(model);
    for (int id = 0; id < int(labels.size()); ++id)
        std::cout << 100.0 * cv::countNonZero(best == id) / double(best.total()) << " % " << labels[id]
                  << "\n";
    for (const int tokens : cv::mpm::tokens())
        std::cout << tokens << " ";
    std::cout << "\n";
}
