// segment MODEL IMAGE OVERLAY [BLOCKS...]: writes the image with the colours of its classes, and prints the
// share of each class, the tokens of each block and the times. BLOCKS: the blocks before which tokens merge,
// instead of the blocks in the model file.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>
#include <mpm/read_net.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

/// Returns the class with the largest score at each pixel (CV_32S). `scores`: 1 x classes x rows x columns.
static cv::Mat labelsOf(const cv::Mat& scores) {
    if (scores.dims != 4)
        throw std::runtime_error("the model does not give scores of classes for each pixel");
    cv::Mat best;
    cv::reduceArgMax(scores.reshape(1, scores.size[1]), best, 0);
    return best.reshape(1, scores.size[2]);
}

static void segment(const std::string& path, const std::string& file, const std::string& overlay,
                    const std::vector<int>& blocks) {
    const cv::Mat image = cv::imread(file);
    if (image.empty()) throw std::runtime_error("no image: " + file);
    const mpm::ModelInfo info = mpm::modelInfo(path);
    cv::dnn::Net net = mpm::readNet(path);
    mpm::Encoder encoder = mpm::encoder(net);
    if (!blocks.empty()) encoder.setSchedule(blocks);
    encoder.setPrecision(mpm::Precision::Auto);  // bf16 if the processor has it, else f32

    net.setInput(mpm::blobFromImage(image, info));
    const cv::Mat labels = labelsOf(net.forward());

    cv::Mat colours(labels.size(), CV_8UC3, cv::Scalar::all(0));
    for (int id = 0; id < int(info.labels.size()); ++id) {
        const cv::Mat inside = labels == id;
        const cv::Vec3b rgb = id < int(info.palette.size()) ? info.palette[id] : cv::Vec3b::all(255);
        colours.setTo(cv::Scalar(rgb[2], rgb[1], rgb[0]), inside);
        if (const int pixels = cv::countNonZero(inside))
            std::printf("%5.1f %%  %s\n", 100.0 * pixels / labels.total(), info.labels[id].c_str());
    }
    cv::resize(colours, colours, image.size(), 0, 0, cv::INTER_NEAREST);
    cv::addWeighted(image, 0.5, colours, 0.5, 0, colours);
    if (!cv::imwrite(overlay, colours)) throw std::runtime_error("cannot write " + overlay);

    const mpm::Report report = encoder.report();
    std::printf("tokens entering each block:");
    for (const int tokens : report.images[0].tokens)
        std::printf(" %d", tokens);
    std::printf("\n%.1f ms in the encoder, %.1f ms of it merging\n", report.times.whole, report.times.merge);
}

int main(int count, char** arguments) {
    if (count < 4) return std::fprintf(stderr, "usage: segment MODEL IMAGE OVERLAY [BLOCKS...]\n"), 2;
    std::vector<int> blocks;
    for (int i = 4; i < count; ++i)
        blocks.push_back(std::atoi(arguments[i]));
    try {
        segment(arguments[1], arguments[2], arguments[3], blocks);
    } catch (const std::exception& error) {
        return std::fprintf(stderr, "segment: %s\n", error.what()), 1;
    }
}
