#include "gui/engine/render_worker.hpp"

namespace mpm::gui {

namespace {

pipeline::Palette paletteFor(const RenderStyle& style, const Analysis& analysis) {
    return pipeline::completePalette(style.palette.empty() ? analysis.model->palette : style.palette,
                                     static_cast<int>(analysis.shares.size()));
}

QImage overlayOf(const cv::Mat& image, const cv::Mat& labels, const RenderStyle& style,
                 const Analysis& analysis) {
    return toImage(pipeline::drawOverlay(image, labels, paletteFor(style, analysis), style.overlay));
}

QImage mergeMapOf(const cv::Mat& image, const pipeline::Segmentation& found, const RenderStyle& style) {
    const cv::Mat map = mapAfter(found.tokens, style.stage);
    return toImage(pipeline::drawMergeMap(image, map, found.grid, style.merge));
}

RenderedFrame drawFrame(const AnalysisPtr& analysis, const RenderStyle& style) {
    const Steady::time_point start = Steady::now();
    RenderedFrame drawn;
    drawn.analysis = analysis;
    drawn.overlay = overlayOf(analysis->frame.pixels, analysis->merged.labels, style, *analysis);
    drawn.grey = analysis->frame.image.convertToFormat(QImage::Format_Grayscale8);
    drawn.drawMs = std::chrono::duration<double, std::milli>(Steady::now() - start).count();
    return drawn;
}

RenderedComparison drawComparison(const ComparisonPtr& comparison, const RenderStyle& style) {
    const Analysis& analysis = *comparison->analysis;
    return {comparison, overlayOf(analysis.frame.pixels, comparison->whole.labels, style, analysis),
            overlayOf(analysis.frame.pixels, analysis.merged.labels, style, analysis)};
}

RenderedNight drawNight(const NightPairPtr& pair, const RenderStyle& style) {
    const Analysis& day = *pair->analysis;
    switch (style.pair) {
        case RenderStyle::Pair::MergeMaps:
            return {pair, mergeMapOf(day.frame.pixels, day.merged, style),
                    mergeMapOf(pair->pixels, pair->night, style)};
        case RenderStyle::Pair::Overlays:
            return {pair, overlayOf(day.frame.pixels, day.merged.labels, style, day),
                    overlayOf(pair->pixels, pair->night.labels, style, day)};
        default:
            return {pair, day.frame.image, toImage(pair->pixels)};
    }
}

}  // namespace

RenderWorker::RenderWorker(QObject* parent) : Worker("render", parent) {}

RenderWorker::~RenderWorker() {
    finish();
}

void RenderWorker::show(AnalysisPtr analysis) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_todo.analysis = std::move(analysis);
    m_changed.notify_all();
}

void RenderWorker::show(ComparisonPtr comparison) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_todo.comparison = std::move(comparison);
    m_changed.notify_all();
}

void RenderWorker::show(NightPairPtr pair) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_todo.night = std::move(pair);
    m_changed.notify_all();
}

void RenderWorker::setStyle(const RenderStyle& style) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_style = style;
    // The images on the screen are drawn again, unless newer ones wait.
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

void RenderWorker::wake() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_changed.notify_all();
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
        if (m_frames.put(std::move(drawn)) == Mailbox<RenderedFrame>::Put::First) emit frameRendered();
    }
    if (todo.comparison) {
        if (m_comparisons.put(drawComparison(todo.comparison, style)) ==
            Mailbox<RenderedComparison>::Put::First)
            emit comparisonRendered();
    }
    if (todo.night) {
        if (m_nights.put(drawNight(todo.night, style)) == Mailbox<RenderedNight>::Put::First)
            emit nightRendered();
    }
}

}  // namespace mpm::gui
