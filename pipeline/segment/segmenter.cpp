#include "pipeline/segment/segmenter.hpp"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

#include "base/stopwatch.hpp"
#include "pipeline/segment/model_file.hpp"

namespace mpm::pipeline {

namespace {

cv::Mat imageOf(const cv::Mat& output, int index) {
    std::vector<cv::Range> ranges(output.dims, cv::Range::all());
    ranges[0] = cv::Range(index, index + 1);
    return output(ranges);
}

/// Converts ids of any type to CV_8U, or to CV_16U if an id is above 255.
cv::Mat toIds(const cv::Mat& image, int rows, int cols) {
    const cv::Mat plane(rows, cols, image.type(), image.data);
    double most = 0;
    cv::minMaxLoc(plane, nullptr, &most);
    cv::Mat ids;
    plane.convertTo(ids, most < 256 ? CV_8U : CV_16U);
    return ids;
}

}  // namespace

cv::Mat labelsOf(const cv::Mat& output, int index, cv::Size input, Scores scores, cv::Mat* probabilities) {
    const bool labels = hasIds(output);
    const bool logits = output.dims == 4 && output.size[1] > 1 && output.type() == CV_32F;
    if (labels) return toIds(imageOf(output, index), output.size[2], output.size[3]);
    if (!logits)
        throw ModelError(
            "the model's output is neither logits (BxCxHxW) nor labels (Bx1xHxW), and it has no features of "
            "image tokens (BxRxD); it cannot be shown");
    const cv::Size size(std::max(output.size[3], input.width), std::max(output.size[2], input.height));
    Labels found = argmaxStretched(imageOf(output, index), size, scores);
    if (probabilities != nullptr) *probabilities = found.scores;
    return found.ids;
}

cv::Size tokenGrid(int tokens, cv::Size input) {
    CV_CheckGT(tokens, 0, "tokens: expected at least one");
    CV_Check(input.area(), !input.empty(), "input: expected the size of the network's input");
    const double wanted = static_cast<double>(input.width) / input.height;
    cv::Size best;
    double bestError = 1e300;
    for (int rows = 1; rows <= tokens; ++rows) {
        if (tokens % rows != 0) continue;
        const double error = std::abs(std::log(double(tokens / rows) / rows / wanted));
        if (error < bestError) bestError = error, best = {tokens / rows, rows};
    }
    return best;
}

Segmentation Segmenter::segment(const cv::Mat& image, Scores scores) {
    return std::move(segment(std::vector<cv::Mat>{image}, scores).front());
}

namespace {

/// Returns the objects without duplicates: leaves out an object if its intersection over union with a better
/// object of the same class exceeds `most`.
std::vector<Detection> withoutDoubles(const std::vector<Detection>& sorted, double most) {
    std::vector<Detection> kept;
    for (const Detection& one : sorted) {
        const bool isDouble = std::any_of(kept.begin(), kept.end(), [&](const Detection& better) {
            const double both = (better.box & one.box).area();
            return better.label == one.label && both > most * (better.box.area() + one.box.area() - both);
        });
        if (!isDouble) kept.push_back(one);
    }
    return kept;
}

}  // namespace

std::vector<Detection> objectsOf(const Network& network, const std::vector<cv::Mat>& outputs, int index,
                                 cv::Size image, const DetectionChoice& choice) {
    const bool all = choice.nms >= 1;
    const int most = all ? choice.most : std::numeric_limits<int>::max();
    std::vector<Detection> objects;
    try {
        objects = mpm::detections(outputs, network.detectorOutputs(), network.info(), image, choice.threshold,
                                  index, most);
    } catch (const cv::Exception& error) {
        throw ModelError("its outputs are not as its metadata mpm.detections describes them (" + error.err +
                         "); convert it again with --detections");
    }
    if (all) return objects;
    objects = withoutDoubles(objects, choice.nms);
    if (static_cast<int>(objects.size()) > choice.most) objects.resize(static_cast<size_t>(choice.most));
    return objects;
}

void Segmenter::addReport(const mpm::Report& report, size_t image, Segmentation& result) const {
    result.tokens = report.images.at(image);
    result.grid = tokenGrid(static_cast<int>(result.tokens.map.total()), info().size);
    result.encoder = report.times;
    result.device = report.device;
    result.precision = report.precision;
}

std::vector<Segmentation> Segmenter::segment(const std::vector<cv::Mat>& images, Scores scores) {
    Stopwatch watch;
    const cv::Mat blob = m_network.blob(images);
    const double prepareMs = watch.milliseconds();
    const bool detects = m_network.detects();
    std::vector<cv::Size> sizes;
    for (const cv::Mat& image : images)
        sizes.push_back(image.size());
    watch.restart();
    std::vector<cv::Mat> outputs =
        detects ? m_network.forwardDetector(blob, sizes) : std::vector<cv::Mat>{m_network.forward(blob)};
    double networkMs = watch.milliseconds();
    OutputKind kind = detects ? OutputKind::Unknown : m_network.kindOf(outputs.front());
    if (!detects && kind == OutputKind::Unknown && m_network.useFeatures(blob)) {
        watch.restart();
        outputs = {m_network.forward(blob)};
        networkMs = watch.milliseconds();
        kind = OutputKind::Features;
    }
    const mpm::Report report = encoder().report();
    std::vector<Segmentation> results(images.size());
    for (size_t i = 0; i < images.size(); ++i) {
        watch.restart();
        Segmentation& result = results[i];
        const int index = static_cast<int>(i);
        if (detects) {
            result.detector = true;
            result.detections = objectsOf(m_network, outputs, index, sizes[i], m_choice);
        } else if (kind == OutputKind::Features) {
            result.features = featuresOf(outputs.front(), index, m_network.outputFacts());
        } else {
            const cv::Mat ids = labelsOf(outputs.front(), index, info().size, scores, &result.scores);
            cv::resize(ids, result.labels, sizes[i], 0, 0, cv::INTER_NEAREST);
            const int way = scores == Scores::Coarse ? cv::INTER_NEAREST : cv::INTER_LINEAR;
            if (!result.scores.empty()) cv::resize(result.scores, result.scores, sizes[i], 0, 0, way);
        }
        addReport(report, i, result);
        result.prepareMs = prepareMs;
        result.networkMs = networkMs;
        result.labelsMs = watch.milliseconds();
    }
    return results;
}

}  // namespace mpm::pipeline
