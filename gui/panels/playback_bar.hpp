// The controls of a video: position, steps, speed, repetition. The bar is hidden for any other source.
#pragma once

#include <QElapsedTimer>
#include <QWidget>

#include "gui/engine/analysis.hpp"
#include "pipeline/store/day_night_statistics.hpp"

class QCheckBox;
class QComboBox;
class QLabel;
class QSlider;
class QToolButton;

namespace mpm::gui {

class PlaybackBar : public QWidget {
    Q_OBJECT
public:
    explicit PlaybackBar(QWidget* parent = nullptr);

    void setReport(const SourceReport& report, bool paused);
    /// Adds a reading to the mean of the current pass of the video.
    void add(const pipeline::Measurement& measurement);
    void clear();

signals:
    void pauseWanted(bool paused);
    void stepWanted(int direction);
    /// Emitted if the user chooses another position, speed or repetition.
    void commanded(const std::function<void(pipeline::Reader&)>& command);

private:
    void showTime(qint64 frame);

    QToolButton* m_play;
    QSlider* m_position;
    QLabel *m_time, *m_pass;
    QComboBox* m_speed;
    QCheckBox* m_loop;
    bool m_paused = false;
    double m_rate = 0;
    QElapsedTimer m_sinceSeek;  // since the last command; reports show the effect only later
    pipeline::RunningMean m_kept;
    int m_passShown = -1;
    pipeline::Setup m_setup;
};

}  // namespace mpm::gui
