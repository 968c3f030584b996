#include "gui/engine/render_worker.hpp"

#include <algorithm>

#include <opencv2/imgproc.hpp>

#include "base/printable.hpp"
#include "pipeline/draw/boxes.hpp"
#include "pipeline/draw/merge_map.hpp"

namespace mpm::gui {

namespace {

pipeline::Palette paletteFor(const RenderStyle& style, const Analysis& analysis) {
    return pipeline::completePalette(style.palette.empty() ? analysis.model->palette : style.palette,
                                     static_cast<int>(analysis.shares.size()));
}

QImage mergeMapOf(const cv::Mat& image, const pipeline::Segmentation& found, const RenderStyle& style,
                  const cv::Mat& seen) {
    const cv::Mat map = mapAfter(found.tokens, style.stage);
    cv::Mat drawn = pipeline::drawMergeMap(image, map, found.grid, style.merge);
    pipeline::drawMasked(drawn, seen);
    return toImage(drawn);
}

/// Draws a map of the computed tokens. If reuse is suspended, draws all tokens as computed.
QImage reuseMapOf(const Analysis& analysis, const cv::Mat& seen) {
    const ReuseReport& reuse = analysis.reuse();
    if (reuse.state == ReuseState::Off) return {};
    const cv::Size grid = analysis.merged.grid;
    cv::Mat reasons = reuse.reasons;
    if (reasons.empty())
        reasons = cv::Mat(1, grid.area(), CV_8U, cv::Scalar(static_cast<int>(ReuseReason::Changed)));
    cv::Mat drawn = pipeline::drawReuseMap(analysis.frame.pixels, reasons, grid);
    pipeline::drawMasked(drawn, seen);
    return toImage(drawn);
}

/// Draws the path, box, mask, name and id of each object that is visible in the frame.
cv::Mat withObjects(cv::Mat image, const Analysis& analysis, const pipeline::Palette& palette,
                    double opacity) {
    std::vector<pipeline::DrawnBox> boxes;
    for (const pipeline::TrackedObject& one : analysis.objects->objects) {
        if (!one.seen) continue;
        const cv::Vec3b colour = pipeline::classColour(palette, one.label);
        const auto& found = analysis.merged.detections;
        const auto own = std::find_if(found.begin(), found.end(), [&](const Detection& detection) {
            return detection.label == one.label && detection.box == one.box;
        });
        boxes.push_back({one.box,
                         printable(pipeline::className(analysis.model->labels, one.label), 40) + " #" +
                             std::to_string(one.id),
                         colour, own != found.end() ? own->mask : cv::Mat()});
        const std::vector<cv::Point> path(one.path.begin(), one.path.end());
        cv::polylines(image, path, false, cv::Scalar(colour[2], colour[1], colour[0]), 2, cv::LINE_AA);
    }
    return pipeline::drawBoxes(image, boxes, opacity);
}

}  // namespace

cv::Mat RenderWorker::featuresOver(const cv::Mat& image, const pipeline::Segmentation& found,
                                   const Analysis& analysis, double opacity) {
    if (m_model != analysis.model || m_generation != analysis.frame.generation) {
        m_model = analysis.model;
        m_generation = analysis.frame.generation;
        m_learned = -1;
        m_colours = {};
    }
    // `m_colours` learns from each frame only once, even if the frame is drawn again in another style.
    const bool fresh = &found == &analysis.merged && analysis.frame.number != m_learned;
    if (fresh) m_learned = analysis.frame.number;
    return pipeline::drawFeatures(image, m_colours.colours(found.features, found.grid, fresh), opacity);
}

/// Draws labels, objects or features over an image. Masked pixels belong to no class.
QImage RenderWorker::overlayOf(const cv::Mat& image, const pipeline::Segmentation& found,
                               const RenderStyle& style, const Analysis& analysis, bool objects) {
    cv::Mat drawn =
        found.detector && objects ? image.clone()
        : found.detector          ? pipeline::drawBoxes(image,
                                                        pipeline::drawnBoxes(found.detections, analysis.model->labels,
                                                                             analysis.model->palette),
                                                        style.overlay.opacity)
        : found.labels.empty()    ? featuresOver(image, found, analysis, style.overlay.opacity)
                                  : pipeline::drawOverlay(image, found.labels, paletteFor(style, analysis),
                                                          style.overlay, found.scores);
    if (objects) drawn = withObjects(drawn, analysis, paletteFor(style, analysis), style.overlay.opacity);
    pipeline::drawMasked(drawn, pipeline::seenThrough(analysis.frame.masks, drawn.size()));
    return toImage(drawn);
}

RenderedFrame RenderWorker::drawFrame(const AnalysisPtr& analysis, const RenderStyle& style) {
    const Steady::time_point start = Steady::now();
    RenderedFrame drawn;
    drawn.analysis = analysis;
    drawn.style = style;
    drawn.overlay =
        overlayOf(analysis->frame.pixels, analysis->merged, style, *analysis, analysis->objects != nullptr);
    drawn.grey = analysis->frame.image.convertToFormat(QImage::Format_Grayscale8);
    drawn.map = mapAfter(analysis->merged.tokens, style.stage);
    drawn.clusters = pipeline::clusterColours(analysis->frame.pixels, drawn.map, analysis->merged.grid,
                                              style.merge.colours);
    drawn.reuse =
        reuseMapOf(*analysis, pipeline::seenThrough(analysis->frame.masks, analysis->frame.pixels.size()));
    drawn.drawMs = std::chrono::duration<double, std::milli>(Steady::now() - start).count();
    return drawn;
}

RenderedComparison RenderWorker::drawComparison(const ComparisonPtr& comparison, const RenderStyle& style) {
    const Analysis& analysis = *comparison->analysis;
    const cv::Mat& pixels = analysis.frame.pixels;
    return {comparison, overlayOf(pixels, comparison->whole, style, analysis),
            overlayOf(pixels, analysis.merged, style, analysis)};
}

RenderedNight RenderWorker::drawNight(const NightPairPtr& pair, const RenderStyle& style) {
    const Analysis& day = *pair->analysis;
    const cv::Mat& pixels = day.frame.pixels;
    const cv::Mat seen = pipeline::seenThrough(day.frame.masks, pixels.size());
    switch (style.pair) {
        case RenderStyle::Pair::MergeMaps:
            return {pair, mergeMapOf(pixels, day.merged, style, seen),
                    mergeMapOf(pair->pixels, pair->night, style, seen)};
        case RenderStyle::Pair::Overlays:
            return {pair, overlayOf(pixels, day.merged, style, day),
                    overlayOf(pair->pixels, pair->night, style, day)};
        default:
            return {pair, day.frame.image, toImage(pair->pixels)};
    }
}

void RenderWorker::show(AnalysisPtr analysis) {
    change([&] { m_todo.analysis = std::move(analysis); });
}

void RenderWorker::show(ComparisonPtr comparison) {
    change([&] { m_todo.comparison = std::move(comparison); });
}

void RenderWorker::show(NightPairPtr pair) {
    change([&] { m_todo.night = std::move(pair); });
}

void RenderWorker::setStyle(const RenderStyle& style) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_style = style;
    // Redraws the images that are on the screen. If newer images wait, draws the newer images instead.
    if (!m_todo.analysis) m_todo.analysis = m_current.analysis;
    if (!m_todo.comparison) m_todo.comparison = m_current.comparison;
    if (!m_todo.night) m_todo.night = m_current.night;
    m_changed.notify_all();
}

void RenderWorker::forget() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_todo = {};
    m_current = {};
    m_frames.take();
    m_comparisons.take();
    m_nights.take();
}

void RenderWorker::work() {
    while (!stopping()) {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait(lock, [this] { return stopping() || !m_todo.empty(); });
        if (stopping()) return;
        const Todo todo = std::exchange(m_todo, {});
        const RenderStyle style = m_style;
        if (todo.analysis) m_current.analysis = todo.analysis;
        if (todo.comparison) m_current.comparison = todo.comparison;
        if (todo.night) m_current.night = todo.night;
        lock.unlock();
        render(todo, style);
    }
}

void RenderWorker::render(const Todo& todo, const RenderStyle& style) {
    if (todo.analysis) {
        RenderedFrame drawn = drawFrame(todo.analysis, style);
        m_drawMs = drawn.drawMs;
        if (m_frames.put(std::move(drawn))) emit frameRendered();
    }
    if (todo.comparison && m_comparisons.put(drawComparison(todo.comparison, style)))
        emit comparisonRendered();
    if (todo.night && m_nights.put(drawNight(todo.night, style))) emit nightRendered();
}

}  // namespace mpm::gui
