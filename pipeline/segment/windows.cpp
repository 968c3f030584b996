#include "pipeline/segment/protocol.hpp"

#include "base/stopwatch.hpp"

namespace mpm::pipeline {

namespace {

/// The next tokens and clusters are numbered on from those that are there.
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
    segmentation.labelsMs = all - times.network;  // cutting, averaging, choosing
    return segmentation;
}

}  // namespace mpm::pipeline
