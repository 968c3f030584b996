// A dialog of past events from the store, which the user can show, play and delete.
#pragma once

#include <QDialog>

#include "gui/dialogs/event_model.hpp"

class QComboBox;
class QLabel;
class QPushButton;
class QTableView;

namespace mpm::gui {

class EventsDialog : public QDialog {
    Q_OBJECT
public:
    EventsDialog(EventModel::FindImage image, EventModel::Title title, const QStringList& rules,
                 QWidget* parent = nullptr);

    /// Replaces the events. Keeps the selection if the selected event still exists, and each filter whose
    /// value still exists.
    void setEvents(const std::vector<pipeline::StoredEvent>& events,
                   const std::vector<Recording>& recordings);
    QTableView* table() const { return m_table; }
    QComboBox* filter(EventModel::Column column) const { return m_filters.at(column); }

    static constexpr int kMost = 5'000;  ///< limit of the list; if there are more events, shows the newest

signals:
    void momentWanted(const QString& source, qint64 time);
    void playWanted(const QString& file, const QString& title);
    void removeWanted(const std::vector<std::int64_t>& ids);

private:
    void addFilter(QLayout* row, EventModel::Column column, const QString& all, const QString& name);
    void fillFilters();
    void updateButtons();
    void showImage();
    void play();
    void remove();
    QVariant chosen(int role) const;

    EventModel m_events;
    EventFilter m_shown;
    std::map<int, QComboBox*> m_filters;
    QTableView* m_table;
    QLabel* m_count;
    QPushButton *m_show, *m_play, *m_remove;
};

}  // namespace mpm::gui
