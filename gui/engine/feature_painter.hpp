// Overlays of models without classes.
#pragma once

#include "gui/engine/analysis.hpp"
#include "pipeline/draw/feature_colours.hpp"

namespace mpm::gui {

/// Colours mean the same on every frame of one source and model.
class FeaturePainter {
public:
    /// `image`: the analysed one, or another view of it. `found`: of `analysis`, or of another run on it.
    cv::Mat overlay(const cv::Mat& image, const pipeline::Segmentation& found, const Analysis& analysis,
                    double opacity);

private:
    ModelFactsPtr m_model;
    int m_generation = -1;
    std::int64_t m_learned = -1;  // number of the newest frame learned from
    pipeline::FeatureColours m_colours;
};

}  // namespace mpm::gui
