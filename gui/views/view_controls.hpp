// The controls over the views: stage of the merge map, opacity, outlines.
#pragma once

#include <vector>

#include <QHBoxLayout>

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
    int stage() const { return m_stage; }  ///< merge map after this stage; -1: after the last
    void setStageVisible(bool visible);
    /// One entry for each merge of the schedule that ran.
    void setSchedule(const std::vector<int>& blocks);

signals:
    void changed();

private:
    QLabel* m_stageLabel;
    QComboBox* m_stages;
    QSlider* m_opacity;
    QCheckBox* m_outlines;
    std::vector<int> m_blocks;
    int m_stage = -1;
};

}  // namespace mpm::gui
