// At the lower edge while a model is converted: its name, the time so far, and a button to cancel.
#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

class QLabel;

namespace mpm::gui {

class ConversionBar : public QWidget {
    Q_OBJECT
public:
    explicit ConversionBar(QWidget* parent = nullptr);

    void begin(const QString& file);
    void end();

signals:
    void cancelWanted();

private:
    void showTime();

    QLabel* m_time;
    QElapsedTimer m_since;
    QTimer m_second;
};

}  // namespace mpm::gui
