// A bar for a level between 0 and 1, with the two thresholds that separate night from day.
#pragma once

#include <QWidget>

namespace mpm::gui {

class LevelBar : public QWidget {
    Q_OBJECT
public:
    explicit LevelBar(const QString& name, QWidget* parent = nullptr);

    void setThresholds(double night, double day);
    void setLevel(double level);
    double level() const { return m_level; }
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    double m_night = 0, m_day = 0;
    double m_level = -1;  // negative: not known yet
};

}  // namespace mpm::gui
