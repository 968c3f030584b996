#include "pipeline/segment/protocol.hpp"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

#include "base/loops.hpp"
#include "base/stopwatch.hpp"
#include "pipeline/segment/model_file.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace mpm::pipeline {

namespace {

std::vector<int> starts(int length, int window, int stride) {
    std::vector<int> found;
    const int count = std::max(0, length - window + stride - 1) / stride + 1;
    for (int i = 0; i < count; ++i)
        found.push_back(std::max(0, std::min(i * stride, length - window)));
    return found;
}

/// Copies the part of `image` inside `window` to the upper left corner of a black image of the window's size.
cv::Mat cut(const cv::Mat& image, const cv::Rect& window) {
    cv::Mat canvas = cv::Mat::zeros(window.size(), image.type());
    const cv::Rect seen = window & cv::Rect({0, 0}, image.size());
    image(seen).copyTo(canvas(cv::Rect({0, 0}, seen.size())));
    return canvas;
}

/// Sets the padding of an image to 0 after normalisation, as mmsegmentation does.
void blankPadding(cv::Mat& blob, int image, cv::Size seen) {
    for (int c = 0; c < blob.size[1]; ++c) {
        cv::Mat plane(blob.size[2], blob.size[3], CV_32F, blob.ptr<float>(image, c));
        plane.colRange(seen.width, plane.cols) = 0;
        plane.rowRange(seen.height, plane.rows) = 0;
    }
}

}  // namespace

/// A window of an image of the batch.
struct ProtocolSegmenter::Window {
    size_t image;
    int number;  ///< index among the windows of the image
    cv::Rect place;
    cv::Mat pixels;
    cv::Size seen;  ///< size without padding
};

/// Sums of the windows' logits on a scaled image (a plane for each class), and the number of windows that
/// cover each pixel.
struct ProtocolSegmenter::Canvas {
    cv::Size size;
    std::vector<cv::Mat> planes;
    cv::Mat counts;
    cv::Mat labels;  ///< for models that give labels instead of logits

    void add(const cv::Mat& output, int index, const Window& window) {
        const cv::Rect from({0, 0}, window.seen), to(window.place.tl(), window.seen);
        if (planes.empty()) {
            planes.assign(output.size[1], cv::Mat());
            for (cv::Mat& plane : planes)
                plane = cv::Mat::zeros(size, CV_32F);
            counts = cv::Mat::zeros(size, CV_32F);
        }
        parallelRanges(static_cast<int>(planes.size()), [&](const cv::Range& range) {
            cv::Mat stretched;
            for (int c = range.start; c < range.end; ++c) {
                const cv::Mat plane(output.size[2], output.size[3], CV_32F,
                                    const_cast<float*>(output.ptr<float>(index, c)));
                cv::resize(plane, stretched, window.pixels.size(), 0, 0, cv::INTER_LINEAR);
                planes[c](to) += stretched(from);
            }
        });
        counts(to) += 1;
    }

    cv::Mat ids(cv::Size wanted) {
        const int shape[] = {static_cast<int>(planes.size()), size.height, size.width};
        cv::Mat logits(3, shape, CV_32F);
        for (int c = 0; c < shape[0]; ++c) {
            cv::Mat plane(size, CV_32F, logits.ptr<float>(c));
            cv::divide(planes[c], counts, plane);
        }
        return argmaxStretched(logits, wanted).ids;
    }
};

std::vector<cv::Rect> slidingWindows(cv::Size image, cv::Size window, cv::Size stride) {
    CV_Check(stride.area(), !stride.empty(), "stride: expected at least one pixel");
    std::vector<cv::Rect> windows;
    for (int y : starts(image.height, window.height, stride.height))
        for (int x : starts(image.width, window.width, stride.width))
            windows.push_back({{x, y}, window});
    return windows;
}

cv::Size scaledSize(cv::Size image, int shortSide) {
    if (shortSide <= 0) return image;
    const double scale = double(shortSide) / std::min(image.width, image.height);
    return {int(image.width * scale + 0.5), int(image.height * scale + 0.5)};
}

ProtocolSegmenter::ProtocolSegmenter(Network& network, const Protocol& protocol, int batch)
    : m_network(network), m_protocol(protocol), m_batch(batch) {
    if (m_protocol.stride.empty()) m_protocol.stride = network.info().size;
}

void ProtocolSegmenter::forward(const std::vector<Window>& windows, std::vector<Canvas>& canvases,
                                std::vector<ProtocolResult>& results, const Prepare& prepare) {
    std::vector<cv::Mat> pixels;
    for (const Window& window : windows)
        pixels.push_back(window.pixels);
    // Fills the batch with copies of the last window, because the model may have a fixed batch size. Ignores
    // the results of the copies.
    while (static_cast<int>(pixels.size()) < m_batch)
        pixels.push_back(windows.back().pixels);
    cv::Mat blob = m_network.blob(pixels);
    for (size_t i = 0; i < windows.size(); ++i)
        blankPadding(blob, static_cast<int>(i), windows[i].seen);
    if (m_protocol.frames) m_network.encoder().setStreams({windows.front().number});
    if (prepare) {
        std::vector<WindowPlace> places;
        for (size_t i = 0; i < pixels.size(); ++i) {
            const Window& window = windows[std::min(i, windows.size() - 1)];
            places.push_back({window.image, window.number, window.place, canvases[window.image].size});
        }
        prepare(places);
    }
    const Stopwatch watch;
    const cv::Mat output = m_network.forward(blob);
    m_times.network += watch.milliseconds();
    m_times.images += static_cast<std::int64_t>(windows.size());
    const OutputKind kind = m_network.kindOf(output);
    if (kind != OutputKind::Logits && kind != OutputKind::Labels)
        throw ModelError(m_network.hasQueries()
                             ? kQueriesAdvice
                             : "the model has no classes: its output is neither logits (BxCxHxW) nor labels "
                               "(Bx1xHxW); 'mpm run' without --window shows its features");
    const mpm::Report report = m_network.encoder().report();
    m_times.encoder += report.times.whole;
    m_times.merge += report.times.merge;
    m_times.restore += report.times.restore;
    for (size_t i = 0; i < windows.size(); ++i) {
        const Window& window = windows[i];
        Canvas& canvas = canvases[window.image];
        results[window.image].windows.push_back(report.images.at(i));
        if (output.size[1] > 1) {
            canvas.add(output, static_cast<int>(i), window);
        } else {
            if (window.seen != canvas.size)
                throw ModelError(
                    "the model gives labels, which cannot be averaged over windows; convert it with --output "
                    "logits");
            canvas.labels =
                labelsOf(output, static_cast<int>(i), window.place.size())(cv::Rect({0, 0}, window.seen))
                    .clone();
        }
    }
}

std::vector<ProtocolResult> ProtocolSegmenter::segment(const std::vector<cv::Mat>& images,
                                                       const Prepare& prepare) {
    std::vector<ProtocolResult> results(images.size());
    std::vector<Canvas> canvases(images.size());
    std::vector<Window> waiting;
    for (size_t i = 0; i < images.size(); ++i) {
        canvases[i].size = scaledSize(images[i].size(), m_protocol.shortSide);
        cv::Mat scaled = images[i];
        if (canvases[i].size != scaled.size())
            cv::resize(images[i], scaled, canvases[i].size, 0, 0, cv::INTER_LINEAR);
        int number = 0;
        for (const cv::Rect& place :
             slidingWindows(scaled.size(), m_network.info().size, m_protocol.stride)) {
            const cv::Size seen = (place & cv::Rect({0, 0}, scaled.size())).size();
            waiting.push_back({i, number++, place, cut(scaled, place), seen});
            if (static_cast<int>(waiting.size()) < m_batch) continue;
            forward(waiting, canvases, results, prepare);
            waiting.clear();
        }
    }
    if (!waiting.empty()) forward(waiting, canvases, results, prepare);
    for (size_t i = 0; i < images.size(); ++i) {
        if (canvases[i].labels.empty())
            results[i].labels = canvases[i].ids(images[i].size());
        else
            cv::resize(canvases[i].labels, results[i].labels, images[i].size(), 0, 0, cv::INTER_NEAREST);
    }
    return results;
}

namespace {

/// Appends the map `more` to `map`. Adds `clusters` to the ids in `more`, so that ids do not repeat.
void appendMap(cv::Mat& map, int clusters, const cv::Mat& more) {
    const cv::Mat numbered = more + clusters;
    if (map.empty())
        map = numbered.clone();
    else
        cv::hconcat(map, numbered, map);
}

void append(mpm::ImageReport& sum, int clusters, const mpm::ImageReport& more) {
    const bool first = sum.tokens.empty();
    appendMap(sum.map, clusters, more.map);
    sum.tokens.resize(more.tokens.size(), 0);
    for (size_t block = 0; block < more.tokens.size(); ++block)
        sum.tokens[block] += more.tokens[block];
    if (first) sum.stages.resize(more.stages.size());
    for (size_t stage = 0; stage < more.stages.size(); ++stage) {
        appendMap(sum.stages[stage].map, sum.stages[stage].tokens, more.stages[stage].map);
        sum.stages[stage].block = more.stages[stage].block;
        sum.stages[stage].tokens += more.stages[stage].tokens;
    }
}

int clustersOf(const mpm::ImageReport& report) {
    return report.stages.empty() ? static_cast<int>(report.map.total()) : report.stages.back().tokens;
}

}  // namespace

WindowSegmenter::WindowSegmenter(Network& network, cv::Size stride)
    : m_network(network), m_stride(stride), m_protocol(network, {0, stride}, 1) {
    const cv::Size window = network.info().size;
    CV_Check(stride.width, stride.width > 0 && stride.width <= window.width,
             "stride: expected 1 to the window's width");
    CV_Check(stride.height, stride.height > 0 && stride.height <= window.height,
             "stride: expected 1 to the window's height");
    network.encoder().setReuse(std::nullopt);  // windows must not reuse tokens of other windows
}

Segmentation WindowSegmenter::segment(const cv::Mat& image) {
    const Stopwatch watch;
    const ProtocolResult result = m_protocol.segment({image}).front();
    const double all = watch.milliseconds();
    const ProtocolTimes times = m_protocol.takeTimes();
    Segmentation segmentation;
    segmentation.labels = result.labels;
    const std::vector<cv::Rect> places = slidingWindows(image.size(), m_network.info().size, m_stride);
    int clusters = 0;
    for (size_t i = 0; i < places.size(); ++i) {
        const mpm::ImageReport& window = result.windows.at(i);
        append(segmentation.tokens, clusters, window);
        clusters += clustersOf(window);
        const cv::Size grid = tokenGrid(static_cast<int>(window.map.total()), m_network.info().size);
        segmentation.windows.push_back({places[i], window.map, grid});
    }
    segmentation.encoder = {times.merge, times.restore, times.encoder};
    const mpm::Report report = m_network.encoder().report();
    segmentation.device = report.device;
    segmentation.precision = report.precision;
    segmentation.networkMs = times.network;
    segmentation.labelsMs = all - times.network;  // time to cut windows, average logits and choose labels
    return segmentation;
}

}  // namespace mpm::pipeline
