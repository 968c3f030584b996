// The controls above the views: stage and colours of the merge map, schedule to compare, opacity, outlines.
#pragma once

#include <vector>

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QSlider>

#include "pipeline/draw/merge_map.hpp"

class QLabel;

namespace mpm::gui {

class ViewControls : public QHBoxLayout {
    Q_OBJECT
public:
    ViewControls();

    double opacity() const { return m_opacity->value() / 100.0; }
    void setOpacity(double opacity) { m_opacity->setValue(static_cast<int>(opacity * 100 + 0.5)); }
    bool outlines() const { return m_outlines->isChecked(); }
    void setOutlines(bool outlines) { m_outlines->setChecked(outlines); }
    using MapColours = pipeline::MergeMapStyle::Colours;
    MapColours mapColours() const { return static_cast<MapColours>(m_colours->currentIndex()); }
    void setMapColours(MapColours colours) { m_colours->setCurrentIndex(static_cast<int>(colours)); }
    /// Returns the stage of the merge map: the index of a merge, kLastStage or kUnmerged.
    int stage() const;
    /// Moves the stage by `steps` merges, which may be negative.
    void stepStage(int steps) { m_stages->setValue(m_stages->value() + steps); }
    void setStageVisible(bool visible);
    /// Returns the schedule on the left of the split view; empty: all tokens.
    std::vector<int> other() const;
    void setOther(int index) { m_other->setCurrentIndex(index); }
    void setOtherEnabled(bool enabled) { m_other->setEnabled(enabled); }
    void setOtherVisible(bool visible) { m_other->setVisible(visible); }
    /// Sets the schedule that ran. The slider has a step for each merge.
    void setSchedule(const std::vector<int>& blocks);

signals:
    void changed();
    void otherChanged();

private:
    void showStage();
    QLabel* m_stageLabel;
    QSlider* m_stages;  // value: number of merges shown
    QLabel* m_stageText;
    QComboBox* m_colours;
    QComboBox* m_other;
    QSlider* m_opacity;
    QCheckBox* m_outlines;
    std::vector<int> m_blocks;
    std::vector<std::vector<int>> m_others;  // the schedule of each entry of m_other
};

}  // namespace mpm::gui
