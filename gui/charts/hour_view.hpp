// A heat map of a curve's mean in each hour, by date and hour of the day. Marks unusual hours.
#pragma once

#include <optional>

#include <QTimer>
#include <QWidget>

#include "gui/charts/lane.hpp"
#include "gui/models/hour_map.hpp"

namespace mpm::gui {

class HourView : public QWidget {
    Q_OBJECT
public:
    explicit HourView(const TimelineData* data, QWidget* parent = nullptr);

    const HourMap& map() const { return m_map; }
    void setCurve(const Curve& curve);
    /// Returns the text for a position; empty if nothing was measured there.
    QString describe(QPointF at) const;
    QSize sizeHint() const override { return {800, 190}; }
    QSize minimumSizeHint() const override { return {300, 80}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void showEvent(QShowEvent*) override { refresh(); }

private:
    QRectF plot() const;
    QRectF cell(int day, int hour) const;
    int firstDay() const;
    void refresh();
    void paintCells(QPainter& painter) const;
    void paintAxes(QPainter& painter) const;
    void paintScale(QPainter& painter) const;

    const TimelineData* m_data;
    Curve m_curve = tokensCurve();
    HourMap m_map;
    QTimer m_again;
    std::optional<QPointF> m_hover;
    int m_back = 0;  // days between the last column shown and the newest day
};

}  // namespace mpm::gui
