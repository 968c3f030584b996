// A dialog that lists the recordings with image, rule, source, time and duration, and plays them.
#pragma once

#include <QDialog>

#include "gui/dialogs/previews.hpp"
#include "gui/services/recordings.hpp"

class QListWidget;

namespace mpm::gui {

class RecordingsDialog : public QDialog {
    Q_OBJECT
public:
    /// `names`: names of sources; the key is topicWord() of the address.
    explicit RecordingsDialog(const QString& folder, std::map<QString, QString> names,
                              QWidget* parent = nullptr);

    QListWidget* list() const { return m_list; }
    /// Shows the rule that began each recording. `rules`: names of the current rules.
    void setEvents(const std::vector<pipeline::StoredEvent>& events, const QStringList& rules);

signals:
    void playWanted(const QString& file, const QString& title);

private:
    void play();
    void updateText(int row);
    QString titleOf(const Recording& recording) const;

    struct Entry {
        Recording recording;
        QString rule;
        double seconds = 0;
    };
    const std::map<QString, QString> m_names;
    std::vector<Entry> m_entries;
    QListWidget* m_list;
    std::unique_ptr<Previews> m_previews;
};

}  // namespace mpm::gui
