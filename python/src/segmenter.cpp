#include "python/src/segmenter.hpp"

#include <opencv2/imgproc.hpp>

#include "base/stopwatch.hpp"
#include "pipeline/draw/labels.hpp"
#include "pipeline/draw/merge_map.hpp"
#include "pipeline/segment/names.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace mpm::python {

namespace {

/// Image `index` of a batch, without the axis of the batch. A copy: the network writes over its output at the
/// next forward.
cv::Mat featuresOf(const cv::Mat& output, int index) {
    std::vector<cv::Range> one(output.dims, cv::Range::all());
    one[0] = {index, index + 1};
    const cv::Mat features = output(one).clone();
    std::vector<int> sizes(features.size.p + 1, features.size.p + features.dims);
    if (sizes.empty()) return features;
    if (sizes.size() == 1) sizes.insert(sizes.begin(), 1);
    return features.reshape(1, sizes);
}

bool isSegmentation(const cv::Mat& output) {
    if (output.dims != 4) return false;
    return output.size[1] == 1 ? pipeline::hasIds(output) : output.type() == CV_32F;
}

}  // namespace

cv::Mat Result::overlay(const cv::Mat& image) const {
    if (labels.empty()) return pipeline::drawMergeMap(image, tokens.map, grid);
    return pipeline::drawOverlay(image, labels, palette);
}

Segmenter::Segmenter(const std::string& model, cv::Size size) : m_network(model, size) {}

Result Segmenter::resultOf(const cv::Mat& output, int index, const cv::Mat& image,
                           const mpm::Report& report) {
    Result result;
    Stopwatch watch;
    if (isSegmentation(output)) {
        const cv::Mat ids = pipeline::labelsOf(output, index, info().size);
        cv::resize(ids, result.labels, image.size(), 0, 0, cv::INTER_NEAREST);
        double most = 0;
        cv::minMaxLoc(ids, nullptr, &most);
        const int classes = std::max(output.size[1], static_cast<int>(most) + 1);
        result.palette = pipeline::completePalette(info().palette, classes);
    }
    result.times.labels = watch.milliseconds();
    result.features = featuresOf(output, index);
    result.tokens = report.images.at(index);
    result.grid = pipeline::tokenGrid(static_cast<int>(result.tokens.map.total()), info().size);
    result.classes = info().labels;
    result.times.encoder = report.times.whole;
    result.times.merge = report.times.merge;
    result.times.restore = report.times.restore;
    result.device = pipeline::deviceName(report.device);
    result.precision = pipeline::precisionName(report.precision);
    return result;
}

std::vector<Result> Segmenter::run(const std::vector<cv::Mat>& images) {
    return with([&](pipeline::Network& network) {
        Stopwatch watch;
        const cv::Mat blob = network.blob(images);
        const double prepare = watch.milliseconds();
        watch.restart();
        const cv::Mat output = network.forward(blob);
        const double forward = watch.milliseconds();
        if (output.dims < 2 || output.size[0] != static_cast<int>(images.size()))
            CV_Error(cv::Error::StsBadArg, "mpm: the network's output has no entry for each image");
        const mpm::Report report = network.encoder().report();
        std::vector<Result> results;
        for (size_t i = 0; i < images.size(); ++i) {
            results.push_back(resultOf(output, static_cast<int>(i), images[i], report));
            results.back().times.prepare = prepare;
            results.back().times.network = forward;
        }
        return results;
    });
}

}  // namespace mpm::python
