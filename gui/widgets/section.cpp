#include "gui/widgets/section.hpp"

#include <QVBoxLayout>

#include "gui/widgets/theme.hpp"

namespace mpm::gui {

Section::Section(const QString& title, QWidget* content, QWidget* parent)
    : QFrame(parent), m_head(new QToolButton), m_content(content) {
    setObjectName(QStringLiteral("card"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(10, 4, 10, 8);
    layout->setSpacing(2);
    m_head->setObjectName(QStringLiteral("flat"));
    m_head->setText(title);
    m_head->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_head->setFont(bold(font()));
    m_head->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    layout->addWidget(m_head, 0, Qt::AlignLeft);
    layout->addWidget(content);
    connect(m_head, &QToolButton::clicked, this, [this] { setOpen(!open()); });
    setOpen(true);
}

void Section::setOpen(bool open) {
    m_head->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
    m_content->setVisible(open);
}

}  // namespace mpm::gui
