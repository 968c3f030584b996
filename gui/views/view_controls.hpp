// The controls over the views: stage and colours of the merge map, opacity, outlines.
#pragma once

#include <vector>

#include <QHBoxLayout>

#include "pipeline/draw/merge_map.hpp"

class QCheckBox;
class QComboBox;
class QLabel;
class QSlider;

namespace mpm::gui {

class ViewControls : public QHBoxLayout {
    Q_OBJECT
public:
    ViewControls();

    double opacity() const;
    void setOpacity(double opacity);
    bool outlines() const;
    void setOutlines(bool outlines);
    using MapColours = pipeline::MergeMapStyle::Colours;
    MapColours mapColours() const;
    void setMapColours(MapColours colours);
    /// Of the merge map: the index of a merge, kLastStage or kUnmerged.
    int stage() const;
    /// A merge on, or back.
    void stepStage(int steps);
    void setStageVisible(bool visible);
    /// The schedule on the left of the split view; empty: all tokens.
    std::vector<int> other() const;
    void setOther(int index);
    void setOtherEnabled(bool enabled);
    void setOtherVisible(bool visible);
    /// An entry for each merge of the schedule that ran.
    void setSchedule(const std::vector<int>& blocks);

signals:
    void changed();
    void otherChanged();

private:
    void showStage();
    QLabel* m_stageLabel;
    QSlider* m_stages;  // 0: no merge; else so many merges
    QLabel* m_stageText;
    QComboBox* m_colours;
    QComboBox* m_other;
    QSlider* m_opacity;
    QCheckBox* m_outlines;
    std::vector<int> m_blocks;
    std::vector<std::vector<int>> m_others;  // schedules of m_other, entry by entry
};

}  // namespace mpm::gui
