// Exports of the image shown, of the timeline and of measurements.
#pragma once

#include "gui/window/parts.hpp"

namespace mpm::gui {

class FrontSource;

class Exports : public QObject {
    Q_OBJECT
public:
    Exports(const Parts& parts, const FrontSource* front) : m_parts(parts), m_front(front) {}

    /// The extension of `file` determines the format: PNG, SVG and others for images, JSON or CSV for
    /// measurements.
    void image(const QString& file);
    void timeline(const QString& file);
    /// Exports the measurements in the span that the timeline shows.
    void shownMeasurements(const QString& file);
    void allMeasurements(const QString& file);

signals:
    void messagePosted(const QString& text, bool trouble = false);

private:
    QString origin(const QString& time) const;
    void measurements(const QString& file, pipeline::Millis from, pipeline::Millis to);

    const Parts m_parts;
    const FrontSource* m_front;
};

}  // namespace mpm::gui
