#include "gui/panels/conversion_bar.hpp"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QProgressBar>
#include <QPushButton>

#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

ConversionBar::ConversionBar(QWidget* parent)
    : QWidget(parent),
      m_time(plainLabel()),
      m_progress(new QProgressBar),
      m_cancel(new QPushButton(tr("Cancel"))) {
    m_progress->setRange(0, 0);  // the amount of work is unknown
    m_progress->setTextVisible(false);
    m_progress->setMaximumWidth(80);
    m_cancel->setObjectName(QStringLiteral("cancelConversion"));
    connect(m_cancel, &QPushButton::clicked, this, &ConversionBar::cancelWanted);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    for (QWidget* part : std::initializer_list<QWidget*>{m_time, m_progress, m_cancel})
        row->addWidget(part);
    connect(&m_second, &QTimer::timeout, this, &ConversionBar::showTime);
    hide();
}

void ConversionBar::begin(Task task, const QString& file) {
    m_task = task;
    const bool converts = task == Task::Conversion;
    m_progress->setAccessibleName(converts ? tr("Converting a model") : tr("Finding the best speed"));
    m_cancel->setAccessibleName(converts ? tr("Cancel the conversion") : tr("Cancel the search"));
    setPlainToolTip(this, QFileInfo(file).fileName());
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
    const QString words = m_task == Task::Conversion   ? tr("Converting: %1 s")
                          : m_task == Task::Collection ? tr("Collecting images: %1 s")
                                                       : tr("Finding the best speed: %1 s");
    m_time->setText(words.arg(m_since.elapsed() / 1000));
}

}  // namespace mpm::gui
