#include "gui/widgets/empty_hint.hpp"

#include <QAbstractItemView>
#include <QEvent>

namespace mpm::gui {

EmptyHint::EmptyHint(const QString& text, QAbstractItemView* view) : QLabel(view->viewport()), m_view(view) {
    setTextFormat(Qt::PlainText);
    setText(text);
    setObjectName(QStringLiteral("muted"));
    setAlignment(Qt::AlignCenter);
    setWordWrap(true);
    setMargin(12);
    setAttribute(Qt::WA_TransparentForMouseEvents);
    view->viewport()->installEventFilter(this);
    connect(view->model(), &QAbstractItemModel::rowsInserted, this, &EmptyHint::update);
    connect(view->model(), &QAbstractItemModel::rowsRemoved, this, &EmptyHint::update);
    connect(view->model(), &QAbstractItemModel::modelReset, this, &EmptyHint::update);
    update();
}

void EmptyHint::update() {
    setGeometry(m_view->viewport()->rect());
    setVisible(m_view->model()->rowCount() == 0);
}

bool EmptyHint::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize) update();
    return QLabel::eventFilter(watched, event);
}

}  // namespace mpm::gui
