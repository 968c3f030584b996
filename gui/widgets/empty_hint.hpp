// Text in the middle of a list or table that has no rows.
#pragma once

#include <QLabel>

class QAbstractItemView;

namespace mpm::gui {

class EmptyHint : public QLabel {
    Q_OBJECT
public:
    /// The hint belongs to the view, which must have a model.
    EmptyHint(const QString& text, QAbstractItemView* view);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void update();

    QAbstractItemView* m_view;
};

}  // namespace mpm::gui
