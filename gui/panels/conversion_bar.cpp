#include "gui/panels/conversion_bar.hpp"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QProgressBar>
#include <QPushButton>

#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

ConversionBar::ConversionBar(QWidget* parent) : QWidget(parent), m_time(plainLabel()) {
    auto* progress = new QProgressBar;
    progress->setRange(0, 0);  // the amount of work is unknown
    progress->setTextVisible(false);
    progress->setMaximumWidth(80);
    progress->setAccessibleName(tr("Converting a model"));
    auto* cancel = new QPushButton(tr("Cancel"));
    cancel->setAccessibleName(tr("Cancel the conversion"));
    cancel->setObjectName(QStringLiteral("cancelConversion"));
    connect(cancel, &QPushButton::clicked, this, &ConversionBar::cancelWanted);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    for (QWidget* part : std::initializer_list<QWidget*>{m_time, progress, cancel})
        row->addWidget(part);
    connect(&m_second, &QTimer::timeout, this, &ConversionBar::showTime);
    hide();
}

void ConversionBar::begin(const QString& file) {
    setToolTip(QFileInfo(file).fileName().toHtmlEscaped());  // a tool tip may be rich text
    m_since.start();
    m_second.start(1000);
    showTime();
    show();
}

void ConversionBar::end() {
    m_second.stop();
    hide();
}

void ConversionBar::showTime() {
    m_time->setText(tr("Converting: %1 s").arg(m_since.elapsed() / 1000));
}

}  // namespace mpm::gui
