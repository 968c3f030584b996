// The state of the source as a word and a mark: a dot for live, a triangle for trouble, bars for paused.
#pragma once

#include <QWidget>

#include "gui/models/health_model.hpp"

namespace mpm::gui {

class SourceBadge : public QWidget {
    Q_OBJECT
public:
    explicit SourceBadge(QWidget* parent = nullptr);

    void setState(const QString& text, HealthModel::Level level, bool paused);
    const QString& text() const { return m_text; }
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_text;
    HealthModel::Level m_level = HealthModel::Warning;
    bool m_paused = false;
};

}  // namespace mpm::gui
