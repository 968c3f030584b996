// A thread that draws the network's results into images, so that the window only has to paint them.
#pragma once

#include <atomic>

#include "gui/engine/analysis.hpp"
#include "gui/engine/mailbox.hpp"
#include "gui/engine/worker.hpp"
#include "pipeline/draw/feature_colours.hpp"
#include "pipeline/draw/labels.hpp"
#include "pipeline/draw/merge_map.hpp"

namespace mpm::gui {

struct RenderStyle {
    pipeline::OverlayStyle overlay;
    pipeline::Palette palette;  ///< empty: the model's palette is used
    pipeline::MergeMapStyle merge;
    int stage = kLastStage;  ///< of the merge map: an index, kLastStage or kUnmerged
    enum class Pair { MergeMaps, Overlays, Images } pair = Pair::MergeMaps;  ///< images in the night view
};

/// The images drawn from an analysis.
struct RenderedFrame {
    AnalysisPtr analysis;
    QImage overlay;
    QImage grey;                 ///< the background on which the view paints the merge map
    cv::Mat map;                 ///< CV_32S 1xN: the merge map after the chosen stage
    pipeline::Palette clusters;  ///< colour of each cluster
    QImage reuse;                ///< the tokens that were computed; null while reuse is off
    RenderStyle style;
    double drawMs = 0;
};

struct RenderedComparison {
    ComparisonPtr comparison;
    QImage whole, merged;
};

struct RenderedNight {
    NightPairPtr pair;
    QImage day, night;
};

class RenderWorker : public Worker {
    Q_OBJECT
public:
    RenderWorker() : Worker("render", 0) {}
    ~RenderWorker() override { finish(); }

    void show(AnalysisPtr analysis);
    void show(ComparisonPtr comparison);
    void show(NightPairPtr pair);
    void setStyle(const RenderStyle& style);
    /// Drops all images drawn so far, for privacy.
    void forget();

    std::optional<RenderedFrame> takeFrame() { return m_frames.take(); }
    std::optional<RenderedComparison> takeComparison() { return m_comparisons.take(); }
    std::optional<RenderedNight> takeNight() { return m_nights.take(); }
    double drawMs() const { return m_drawMs; }

signals:
    void frameRendered();
    void comparisonRendered();
    void nightRendered();

protected:
    void work() override;

private:
    struct Todo {
        AnalysisPtr analysis;
        ComparisonPtr comparison;
        NightPairPtr night;
        bool empty() const { return !analysis && !comparison && !night; }
    };
    void render(const Todo& todo, const RenderStyle& style);
    QImage overlayOf(const cv::Mat& image, const pipeline::Segmentation& found, const RenderStyle& style,
                     const Analysis& analysis, bool objects = false);
    /// Draws the features of a model without classes. With the same source and model, similar features have
    /// the same colour in all frames after the first few. `found`: from `analysis`, or from another run of
    /// the frame. `image`: the frame, or its night version (NightPair::pixels).
    cv::Mat featuresOver(const cv::Mat& image, const pipeline::Segmentation& found, const Analysis& analysis,
                         double opacity);
    RenderedFrame drawFrame(const AnalysisPtr& analysis, const RenderStyle& style);
    RenderedComparison drawComparison(const ComparisonPtr& comparison, const RenderStyle& style);
    RenderedNight drawNight(const NightPairPtr& pair, const RenderStyle& style);

    RenderStyle m_style;
    Todo m_todo;     // not drawn yet
    Todo m_current;  // drawn; drawn again if the style changes
    Mailbox<RenderedFrame> m_frames;
    Mailbox<RenderedComparison> m_comparisons;
    Mailbox<RenderedNight> m_nights;
    ModelFactsPtr m_model;  // m_model to m_colours: used only by the thread
    int m_generation = -1;
    std::int64_t m_learned = -1;  // number of the newest frame from which colours were learned
    pipeline::FeatureColours m_colours;
    std::atomic<double> m_drawMs{0};
};

}  // namespace mpm::gui
