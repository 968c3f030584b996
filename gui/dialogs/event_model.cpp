#include "gui/dialogs/event_model.hpp"

#include <algorithm>

#include <QDateTime>
#include <QIcon>
#include <QLocale>
#include <QPixmapCache>

#include "gui/text/plain_text.hpp"
#include "gui/text/safe_text.hpp"

namespace mpm::gui {

namespace {

/// Returns the words for a kind of event. Returns an unknown kind, perhaps from a newer version, unchanged.
QString kindText(const std::string& kind) {
    if (kind == "day") return EventModel::tr("Day begins");
    if (kind == "night") return EventModel::tr("Night begins");
    if (kind == "source") return EventModel::tr("State of the source");
    if (kind == "schedule") return EventModel::tr("Schedule");
    if (kind == "model") return EventModel::tr("Model");
    return safeText(kind);
}

QString dateText(qint64 time) {
    return QLocale().toString(QDateTime::fromMSecsSinceEpoch(time).date(), QLocale::ShortFormat);
}

}  // namespace

EventModel::EventModel(FindImage image, Title title, const QStringList& rules)
    : m_image(std::move(image)), m_title(std::move(title)), m_rules(rules) {}

void EventModel::setEvents(const std::vector<pipeline::StoredEvent>& events,
                           const std::vector<Recording>& recordings) {
    beginResetModel();
    m_rows.clear();
    for (const pipeline::StoredEvent& stored : events) {
        const QString text = safeText(stored.event.text), source = safeText(stored.source);
        const qint64 time = stored.event.time.count();
        Row row{stored.id, time, source, kindText(stored.event.kind), text, {}};
        if (stored.event.kind == "alert") {
            const AlertText alert = alertText(text, m_rules);
            row.rule = alert.rule;
            row.value =
                alert.value.isEmpty() ? alert.what : QStringLiteral("%1 (%2)").arg(alert.value, alert.what);
        }
        row.file = recordingOf(recordings, source, time);
        m_rows.push_back(row);
    }
    endResetModel();
}

QVariant EventModel::textOf(const Row& row, int column) const {
    switch (column) {
        case Time: {
            const QDateTime time = QDateTime::fromMSecsSinceEpoch(row.time);
            return dateText(row.time) + QLatin1Char('\n') +
                   QLocale().toString(time.time(), QStringLiteral("HH:mm:ss"));
        }
        case Source:
            return m_title ? m_title(row.source) : row.source;
        case Rule:
            return row.rule;
        case Value:
            return row.value;
        case Play:
            return row.file.isEmpty() ? QString() : tr("▶ Play");
        default:
            return {};
    }
}

/// Returns the image of an event. QPixmapCache keeps scaled images, up to its limit.
QVariant EventModel::iconOf(const Row& row) const {
    const QString file = m_image ? m_image(row.source, row.time) : QString();
    if (file.isEmpty()) return {};
    QPixmap pixmap;
    if (!QPixmapCache::find(file, &pixmap)) {
        pixmap = QPixmap(file);
        if (pixmap.isNull()) return {};
        pixmap = pixmap.scaledToHeight(kImageHeight, Qt::SmoothTransformation);
        QPixmapCache::insert(file, pixmap);
    }
    QIcon icon(pixmap);
    icon.addPixmap(pixmap, QIcon::Selected);  // otherwise Qt tints the image
    return icon;
}

QVariant EventModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    switch (role) {
        case Qt::DisplayRole:
            return textOf(row, index.column());
        case Qt::DecorationRole:
            return index.column() == Image ? iconOf(row) : QVariant();
        case Qt::ToolTipRole:
            return plainToolTip(textOf(row, index.column()).toString());
        case MomentRole:
            return row.time;
        case IdRole:
            return qint64(row.id);
        case FileRole:
            return row.file;
        case SourceRole:
            return row.source;
        default:
            return {};
    }
}

QVariant EventModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    const QString names[Columns] = {{}, tr("Time"), tr("Source"), tr("Rule"), tr("Value"), {}};
    return section >= 0 && section < Columns ? names[section] : QVariant();
}

QStringList EventModel::valuesOf(Column column) const {
    QStringList values;
    for (const Row& row : m_rows)
        values << (column == Time ? dateText(row.time) : textOf(row, column).toString());
    values.removeDuplicates();
    return values;
}

void EventFilter::setWanted(EventModel::Column column, const QString& text) {
    m_wanted[column] = text;
    invalidateFilter();
}

bool EventFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
    return std::all_of(m_wanted.begin(), m_wanted.end(), [&](const auto& wanted) {
        const auto& [column, text] = wanted;
        const QString has = sourceModel()->index(row, column, parent).data().toString();
        return text.isEmpty() ||
               (column == EventModel::Time ? has.section(QLatin1Char('\n'), 0, 0) : has) == text;
    });
}

}  // namespace mpm::gui
