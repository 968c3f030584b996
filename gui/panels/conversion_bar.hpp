// A bar with the elapsed time and a cancel button, shown while a model is converted or tuned.
#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;

namespace mpm::gui {

class ConversionBar : public QWidget {
    Q_OBJECT
public:
    enum class Task { Conversion, Collection, Tuning };  ///< tuning needs images, which are collected first

    explicit ConversionBar(QWidget* parent = nullptr);

    void begin(Task task, const QString& file);
    void end();
    /// Returns whether a model is being tuned, or images for tuning are being collected.
    bool tunes() const { return busy() && m_task != Task::Conversion; }
    bool busy() const { return m_second.isActive(); }

signals:
    void cancelWanted();

private:
    void showTime();

    Task m_task = Task::Conversion;
    QLabel* m_time;
    QProgressBar* m_progress;
    QPushButton* m_cancel;
    QElapsedTimer m_since;
    QTimer m_second;
};

}  // namespace mpm::gui
