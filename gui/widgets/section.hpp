// A part of the side panel that the user can fold.
#pragma once

#include <QFrame>
#include <QToolButton>

namespace mpm::gui {

class Section : public QFrame {
    Q_OBJECT
public:
    Section(const QString& title, QWidget* content, QWidget* parent = nullptr);

    bool open() const { return m_head->arrowType() == Qt::DownArrow; }
    void setOpen(bool open);

private:
    QToolButton* m_head;
    QWidget* m_content;
};

}  // namespace mpm::gui
