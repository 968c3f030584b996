#include "python/src/segmenter.hpp"

#include <algorithm>
#include <iterator>

#include <opencv2/imgproc.hpp>

#include "base/stopwatch.hpp"
#include "pipeline/draw/boxes.hpp"
#include "pipeline/draw/labels.hpp"
#include "pipeline/draw/merge_map.hpp"
#include "pipeline/objects/frame_objects.hpp"
#include "pipeline/segment/names.hpp"

namespace mpm::python {

using pipeline::OutputKind;

namespace {

/// Returns a copy of the output for image `index` of a batch, without the batch axis. The copy is needed,
/// because the next forward overwrites the network's output.
cv::Mat featuresOf(const cv::Mat& output, int index) {
    std::vector<cv::Range> one(output.dims, cv::Range::all());
    one[0] = {index, index + 1};
    const cv::Mat features = output(one).clone();
    std::vector<int> sizes(features.size.p + 1, features.size.p + features.dims);
    if (sizes.empty()) return features;
    if (sizes.size() == 1) sizes.insert(sizes.begin(), 1);
    return features.reshape(1, sizes);
}

}  // namespace

Objects::Objects(std::vector<Detection> sorted) : found(std::move(sorted)) {
    const int count = static_cast<int>(found.size());
    boxes.create(count, 4, CV_32F), scores.create(count, 1, CV_32F), ids.create(count, 1, CV_32S);
    for (int i = 0; i < count; ++i) {
        const Detection& one = found[static_cast<size_t>(i)];
        const float corners[] = {one.box.x, one.box.y, one.box.x + one.box.width, one.box.y + one.box.height};
        std::copy(std::begin(corners), std::end(corners), boxes.ptr<float>(i));
        scores.at<float>(i) = one.score;
        ids.at<int>(i) = one.label;
    }
}

cv::Mat Result::overlay(const cv::Mat& image) const {
    if (objects && !tracks)
        return pipeline::drawBoxes(image, pipeline::drawnBoxes(objects->found, classes, palette));
    if (labels.empty() && !tracks) return pipeline::drawMergeMap(image, tokens.map, grid);
    const cv::Mat base = labels.empty() ? image : pipeline::drawOverlay(image, labels, palette);
    return tracks ? pipeline::drawBoxes(base, pipeline::drawnTracks(*tracks, classes, palette)) : base;
}

Segmenter::Segmenter(const std::string& model, cv::Size size) : m_network(model, size) {
    threshold = pipeline::usualThreshold(m_network.detects());
}

Result Segmenter::resultOf(const cv::Mat& output, int index, const cv::Mat& image, const mpm::Report& report,
                           cv::Mat* scores) {
    Result result;
    Stopwatch watch;
    const OutputKind kind = m_network.detects() ? OutputKind::Unknown : m_network.kindOf(output);
    if (kind == OutputKind::Labels || kind == OutputKind::Logits) {
        const auto wish = scores ? pipeline::Scores::Coarse : pipeline::Scores::None;
        const cv::Mat ids = pipeline::labelsOf(output, index, info().size, wish, scores);
        cv::resize(ids, result.labels, image.size(), 0, 0, cv::INTER_NEAREST);
        if (scores && !scores->empty()) cv::resize(*scores, *scores, image.size(), 0, 0, cv::INTER_NEAREST);
        double most = 0;
        cv::minMaxLoc(ids, nullptr, &most);
        const int classes = std::max(output.size[1], static_cast<int>(most) + 1);
        result.palette = pipeline::paletteOf(info().palette, info().labels, classes);
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

void Segmenter::addObjects(const std::vector<cv::Mat>& outputs, int index, cv::Size image,
                           const Follow& follow, Result& result) {
    const Stopwatch watch;
    pipeline::DetectionChoice choice;
    choice.threshold = follow.tracker ? pipeline::trackRules(threshold).low : static_cast<float>(threshold);
    choice.nms = nms;
    std::vector<Detection> found = pipeline::objectsOf(m_network, outputs, index, image, choice);
    if (follow.tracker) addTracks(found, image, follow, result);
    const auto isWeak = [&](const Detection& one) { return one.score <= static_cast<float>(threshold); };
    found.erase(std::remove_if(found.begin(), found.end(), isWeak), found.end());
    result.objects.emplace(std::move(found));
    result.objects->masks = !info().detections->masks.empty();
    result.palette =
        pipeline::paletteOf(info().palette, info().labels, static_cast<int>(info().labels.size()));
    result.times.labels = watch.milliseconds();
}

void Segmenter::addTracks(std::vector<Detection> found, cv::Size image, const Follow& follow,
                          Result& result) const {
    pipeline::keepClasses(found, pipeline::classesNamed(info().labels, objects));
    if (!*follow.tracker) follow.tracker->emplace(pipeline::trackRules(threshold));
    result.tracks = (*follow.tracker)->update(found, follow.seconds, image);
}

int Segmenter::idOf(const std::string& stream) {
    constexpr size_t kMostStreams = 64;  // the encoder keeps the state of 64 streams
    const auto known = std::find_if(m_streams.begin(), m_streams.end(),
                                    [&](const auto& entry) { return entry.first == stream; });
    if (known == m_streams.end())
        m_streams.emplace_front(stream, ++m_lastStream);
    else
        m_streams.splice(m_streams.begin(), m_streams, known);
    if (m_streams.size() > kMostStreams) m_streams.pop_back();
    return m_streams.front().second;
}

void Segmenter::forget(const std::string& stream) {
    with([&](pipeline::Network& network) {
        for (const auto& [name, id] : m_streams)
            if (name == stream) network.encoder().forget(id);
    });
}

std::vector<Result> Segmenter::run(const std::vector<cv::Mat>& images,
                                   const std::vector<std::string>& streams,
                                   const std::vector<Follow>& follow) {
    return with([&](pipeline::Network& network) {
        constexpr int kPadding = 1 << 19;  // ids from here on are for images that only fill a batch
        std::vector<int> ids;
        for (size_t i = 0; i < images.size(); ++i)
            ids.push_back(streams.empty() ? static_cast<int>(i) : idOf(streams[i]));
        const size_t group = network.batch() > 0 ? static_cast<size_t>(network.batch()) : images.size();
        std::vector<Result> results;
        for (size_t first = 0; first < images.size(); first += group) {
            const size_t end = std::min(images.size(), first + group);
            std::vector<cv::Mat> some(images.begin() + first, images.begin() + end);
            std::vector<int> theirs(ids.begin() + first, ids.begin() + end);
            some.resize(group, some.back());
            for (size_t i = end - first; i < group; ++i)
                theirs.push_back(kPadding + static_cast<int>(i));
            network.encoder().setStreams(theirs);
            std::vector<Follow> followed(group);
            if (!follow.empty()) std::copy(follow.begin() + first, follow.begin() + end, followed.begin());
            std::vector<Result> found = runBatch(network, some, followed);
            std::move(found.begin(), found.begin() + (end - first), std::back_inserter(results));
        }
        return results;
    });
}

std::vector<Result> Segmenter::runBatch(pipeline::Network& network, const std::vector<cv::Mat>& images,
                                        const std::vector<Follow>& follow) {
    Stopwatch watch;
    const cv::Mat blob = network.blob(images);
    const double prepare = watch.milliseconds();
    watch.restart();
    std::vector<cv::Size> sizes;
    for (const cv::Mat& image : images)
        sizes.push_back(image.size());
    const std::vector<cv::Mat> outputs = network.detects() ? network.forwardDetector(blob, sizes)
                                                           : std::vector<cv::Mat>{network.forward(blob)};
    const cv::Mat& output = outputs.front();
    const double forward = watch.milliseconds();
    if (output.dims < 2 || output.size[0] != static_cast<int>(images.size()))
        CV_Error(cv::Error::StsBadArg, "mpm: the network's output has no entry for each image");
    const mpm::Report report = network.encoder().report();
    std::vector<Result> results;
    for (size_t i = 0; i < images.size(); ++i) {
        const bool regions = !network.detects() && follow[i].tracker && !objects.empty();
        cv::Mat scores;
        results.push_back(
            resultOf(output, static_cast<int>(i), images[i], report, regions ? &scores : nullptr));
        Result& result = results.back();
        if (network.detects())
            addObjects(outputs, static_cast<int>(i), sizes[i], follow[i], result);
        else if (regions && !result.labels.empty())
            addTracks(pipeline::regionObjects(result.labels, pipeline::classesNamed(info().labels, objects),
                                              0, scores),
                      sizes[i], follow[i], result);
        results.back().times.prepare = prepare;
        results.back().times.network = forward;
    }
    return results;
}

}  // namespace mpm::python
