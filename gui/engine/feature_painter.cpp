#include "gui/engine/feature_painter.hpp"

namespace mpm::gui {

cv::Mat FeaturePainter::overlay(const cv::Mat& image, const pipeline::Segmentation& found,
                                const Analysis& analysis, double opacity) {
    if (m_model != analysis.model || m_generation != analysis.frame.generation) {
        m_model = analysis.model;
        m_generation = analysis.frame.generation;
        m_learned = -1;
        m_colours = {};
    }
    // A frame that is drawn again, for another style, is learned from once.
    const bool fresh = &found == &analysis.merged && analysis.frame.number != m_learned;
    if (fresh) m_learned = analysis.frame.number;
    return pipeline::drawFeatures(image, m_colours.colours(found.features, found.grid, fresh), opacity);
}

}  // namespace mpm::gui
