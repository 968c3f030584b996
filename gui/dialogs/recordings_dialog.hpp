// The list of recordings, to be played.
#pragma once

#include <QDialog>

class QListWidget;

namespace mpm::gui {

class RecordingsDialog : public QDialog {
    Q_OBJECT
public:
    explicit RecordingsDialog(const QString& folder, QWidget* parent = nullptr);

    QListWidget* list() const { return m_list; }

signals:
    void playWanted(const QString& file);

private:
    void play();

    QListWidget* m_list;
};

}  // namespace mpm::gui
