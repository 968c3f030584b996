#include "gui/dialogs/recordings_dialog.hpp"

#include <QDateTime>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QListWidget>
#include <QLocale>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/text/numbers.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/widgets/empty_hint.hpp"

namespace mpm::gui {

RecordingsDialog::RecordingsDialog(const QString& folder, std::map<QString, QString> names, QWidget* parent)
    : QDialog(parent), m_names(std::move(names)), m_list(new QListWidget) {
    setWindowTitle(tr("Recordings"));
    m_list->setObjectName(QStringLiteral("framed"));
    m_list->setAccessibleName(tr("Recordings, newest first"));
    m_list->setIconSize({Previews::kWidth, Previews::kWidth * 3 / 4});
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setTextElideMode(Qt::ElideRight);
    new EmptyHint(tr("No recording yet. R records the source in front, and alerts can record too."), m_list);
    QStringList files;
    for (const Recording& recording : recordingsIn(folder)) {
        m_entries.push_back({recording, {}, 0});
        files << recording.file;
        m_list->addItem(QString());
        updateText(m_list->count() - 1);
    }
    m_list->setCurrentRow(0);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(m_list);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    auto* playing = buttons->addButton(tr("Play"), QDialogButtonBox::ActionRole);
    playing->setEnabled(m_list->count() > 0);
    layout->addWidget(buttons);
    resize(600, 400);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(playing, &QPushButton::clicked, this, &RecordingsDialog::play);
    connect(m_list, &QListWidget::itemActivated, this, &RecordingsDialog::play);
    m_previews = std::make_unique<Previews>(files);
    connect(m_previews.get(), &Previews::found, this,
            [this, files](const QString& file, const QImage& image, double seconds) {
                const int row = static_cast<int>(files.indexOf(file));
                m_entries[static_cast<std::size_t>(row)].seconds = seconds;
                m_list->item(row)->setIcon(QPixmap::fromImage(image));
                updateText(row);
            });
    m_previews->start();
}

void RecordingsDialog::setEvents(const std::vector<pipeline::StoredEvent>& events, const QStringList& rules) {
    for (int row = 0; row < m_list->count(); ++row) {
        Entry& entry = m_entries[static_cast<std::size_t>(row)];
        entry.rule = ruleOf(entry.recording, events, rules);
        updateText(row);
    }
}

/// Returns the name of the source or, if the source has no name, the file's name.
QString RecordingsDialog::titleOf(const Recording& recording) const {
    const auto named = m_names.find(recording.source);
    return named != m_names.end() ? named->second : safeText(QFileInfo(recording.file).completeBaseName());
}

/// Shows the rule that began the recording or, if there is none, the source. Shows other facts below.
void RecordingsDialog::updateText(int row) {
    const auto& [recording, rule, seconds] = m_entries[static_cast<std::size_t>(row)];
    const QString name = titleOf(recording);
    const QString time =
        QLocale().toString(QDateTime::fromMSecsSinceEpoch(recording.from), QLocale::ShortFormat);
    QStringList facts{time, QLocale().formattedDataSize(recording.bytes)};
    if (seconds > 0) facts.insert(1, tr("%1 s").arg(readable(seconds, 1)));
    if (!rule.isEmpty()) facts << name;
    m_list->item(row)->setText((rule.isEmpty() ? name : rule) + QLatin1Char('\n') +
                               facts.join(QStringLiteral(", ")));
}

void RecordingsDialog::play() {
    const int row = m_list->currentRow();
    if (row < 0) return;
    const Entry& entry = m_entries[static_cast<std::size_t>(row)];
    emit playWanted(entry.recording.file, entry.rule.isEmpty() ? titleOf(entry.recording) : entry.rule);
}

}  // namespace mpm::gui
