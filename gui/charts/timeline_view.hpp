// The timeline: curves in front of bands that show day and night. The wheel zooms, dragging pans, and the
// pointer shows values.
#pragma once

#include <QTimer>
#include <QWidget>

#include "gui/charts/lane.hpp"

namespace mpm::gui {

class TimelineView : public QWidget {
    Q_OBJECT
public:
    using Time = TimelineData::Time;

    explicit TimelineView(const TimelineData* data, QWidget* parent = nullptr);

    /// Shows the last `length` milliseconds and scrolls with the clock. If `length` is 0, shows all data.
    void follow(Time length);
    bool following() const { return m_following; }
    Time followedLength() const { return m_length; }
    /// Returns the length of the range shown; less than followedLength() if the data cover less time.
    Time shownLength() const { return m_to - m_from; }
    Time from() const { return m_from; }
    Time to() const { return m_to; }
    void setRange(Time from, Time to);
    /// `blocks`: the blocks before which tokens merge; curves are named after these blocks ("before block
    /// 2"). If `reuse`, no tokens merge, and the curve shows the computed tokens.
    void setStages(const std::vector<int>& blocks, bool reuse = false);
    /// Sets the lanes below the tokens. If the height is too small for all lanes, only the last lanes are
    /// shown.
    void setLanes(const std::vector<Lane>& lanes);
    const std::vector<Lane>& lanes() const { return m_lanes; }
    /// If `paused`, the timeline does not scroll, because nothing new is measured.
    void setPaused(bool paused);
    /// Shows the five minutes around `time`, and the values at `time`, as if the mouse pointer were at
    /// `time`.
    void showMoment(Time time);
    /// Returns the readings at a position as text; empty if nothing was measured there.
    QString describe(int x) const;

    QSize sizeHint() const override { return {800, 190}; }
    QSize minimumSizeHint() const override { return {300, 80}; }

signals:
    void rangeChanged();
    /// Emitted if the user clicks at `time` or near an event at `time`.
    void momentChosen(qint64 time);

protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    /// The place and the axis of a lane; the height is 0 if the lane is hidden.
    struct Place {
        QRectF area;
        double least = 0, most = 1;
        double y(double value) const {
            return area.bottom() - (value - least) / std::max(1e-9, most - least) * area.height();
        }
    };
    using Columns = std::vector<TimelineColumn>;

    QRectF plot() const;
    /// The place of the tokens' plot, followed by the place of each lane.
    using Places = std::vector<Place>;
    void placeLanes(Places& places) const;
    Places places(const Columns& columns) const;
    Time timeAt(double x) const;
    double xOf(Time time) const;
    QString describe(const TimelineColumn& column, Time time) const;
    Columns columns() const;
    int gapAllowed(const Columns& columns) const;
    void zoomAt(double factor, double x);
    void chooseMoment(double x);
    void moveOn();
    void moveOnByPixels();

    void paintBands(QPainter& painter, const Columns& columns) const;
    void paintGrid(QPainter& painter, const Places& places) const;
    void paintTimes(QPainter& painter) const;
    void paintTokens(QPainter& painter, const Columns& columns, const Place& place) const;
    void paintLane(QPainter& painter, const Columns& columns, const Lane& lane, const Place& place) const;
    template <typename Of>
    void paintCurve(QPainter& painter, const Columns& columns, const Place& place, const QPen& pen,
                    Of of) const;
    void paintSpread(QPainter& painter, const Columns& columns, const Place& place,
                     const QColor& colour) const;
    void paintEvents(QPainter& painter) const;
    void paintHover(QPainter& painter, const Columns& columns) const;
    void paintLegend(QPainter& painter, const Columns& columns) const;

    const TimelineData* m_data;
    std::vector<Lane> m_lanes;
    std::vector<int> m_blocks;
    bool m_reuse = false;
    Time m_from = 0, m_to = 60'000;
    Time m_length = 120'000;  // length of the range that follows the clock; 0: all data
    Time m_shownLength = 0;
    bool m_following = true;
    std::optional<Time> m_pausedAt;
    double m_hover = -1;
    std::optional<double> m_dragFrom, m_pressed;
    QTimer m_clock;
};

}  // namespace mpm::gui
