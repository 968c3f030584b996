// Lanes of classes in the timeline: chosen in the legend, filled from the store day by day.
#pragma once

#include "gui/window/parts.hpp"

namespace mpm::gui {

class FrontSource;

class LaneControl : public QObject {
    Q_OBJECT
public:
    LaneControl(const Parts& parts, FrontSource* front);

    /// Adds a lane, or removes it.
    void toggle(int classId);
    void clear();
    /// The source in front, or its history, is another one.
    void reload();

    static constexpr std::size_t kMost = 6;

signals:
    void messagePosted(const QString& text, bool trouble = false);

private:
    void apply(const std::vector<int>& classes);
    void load(int classId, qint64 before, int days);

    const Parts m_parts;
    FrontSource* m_front;
};

}  // namespace mpm::gui
