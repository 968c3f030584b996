#include "gui/dialogs/recordings_dialog.hpp"

#include <QDialogButtonBox>
#include <QDir>
#include <QListWidget>
#include <QLocale>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/text/safe_text.hpp"
#include "gui/widgets/empty_hint.hpp"

namespace mpm::gui {

RecordingsDialog::RecordingsDialog(const QString& folder, QWidget* parent)
    : QDialog(parent), m_list(new QListWidget) {
    setWindowTitle(tr("Recordings"));
    m_list->setObjectName(QStringLiteral("framed"));
    m_list->setAccessibleName(tr("Recordings, newest first"));
    new EmptyHint(tr("No recording yet. R records the source in front, and alerts can record too."), m_list);
    for (const QFileInfo& file :
         QDir(folder).entryInfoList({QStringLiteral("*.mp4")}, QDir::Files, QDir::Time)) {
        auto* item = new QListWidgetItem(
            tr("%1, %2, %3")
                .arg(QLocale().toString(file.lastModified(), QLocale::ShortFormat),
                     safeText(file.completeBaseName()), QLocale().formattedDataSize(file.size())),
            m_list);
        item->setData(Qt::UserRole, file.absoluteFilePath());
    }
    m_list->setCurrentRow(0);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(m_list);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    auto* playing = buttons->addButton(tr("Play"), QDialogButtonBox::ActionRole);
    playing->setEnabled(m_list->count() > 0);
    layout->addWidget(buttons);
    resize(560, 360);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(playing, &QPushButton::clicked, this, &RecordingsDialog::play);
    connect(m_list, &QListWidget::itemActivated, this, &RecordingsDialog::play);
}

void RecordingsDialog::play() {
    if (m_list->currentItem() == nullptr) return;
    emit playWanted(m_list->currentItem()->data(Qt::UserRole).toString());
    accept();
}

}  // namespace mpm::gui
