#include "gui/services/recordings.hpp"

#include <algorithm>

#include <QDateTime>
#include <QDir>
#include <QRegularExpression>

#include "gui/services/watch_settings.hpp"

namespace mpm::gui {

namespace {

constexpr qint64 kAlertVideo = 15'000;  // usual length of an alert's video, in ms
constexpr qint64 kNameSteps = 1'500;    // ms; limit from an alert to the time in its video's file name

QString fromStore(const std::string& text) {
    return QString::fromStdString(text);
}

}  // namespace

std::vector<Recording> recordingsIn(const QString& folder) {
    static const QRegularExpression named(QStringLiteral("\\A(.+)-(\\d{8}-\\d{6})(-\\d+)?\\z"));
    std::vector<Recording> found;
    for (const QFileInfo& file : QDir(folder).entryInfoList({QStringLiteral("*.mp4")}, QDir::Files)) {
        Recording recording;
        recording.file = file.absoluteFilePath();
        recording.to = file.lastModified().toMSecsSinceEpoch();
        recording.bytes = file.size();
        const QRegularExpressionMatch match = named.match(file.completeBaseName());
        const QDateTime begun = QDateTime::fromString(match.captured(2), QStringLiteral("yyyyMMdd-HHmmss"));
        recording.source = begun.isValid() ? match.captured(1) : file.completeBaseName();
        recording.from = begun.isValid() ? begun.toMSecsSinceEpoch() : recording.to;
        // If the clock was set back while the file was written, the last write seems earlier than the start.
        if (recording.to < recording.from) recording.to = recording.from + kAlertVideo;
        found.push_back(recording);
    }
    std::sort(found.begin(), found.end(),
              [](const Recording& a, const Recording& b) { return a.from > b.from; });
    return found;
}

QString recordingOf(const std::vector<Recording>& recordings, const QString& source, qint64 time) {
    const QString word = topicWord(source);
    for (const Recording& recording : recordings)
        if (recording.source == word && time >= recording.from - kNameSteps && time <= recording.to)
            return recording.file;
    return {};
}

AlertText alertText(const QString& text, const QStringList& known) {
    const QString colon = QStringLiteral(": ");
    QString rule;
    for (const QString& name : known)
        if (name.size() > rule.size() && text.startsWith(name + colon)) rule = name;
    if (rule.isEmpty()) rule = text.section(colon, 0, 0);
    const QString rest = text.mid(rule.size() + colon.size());
    const qsizetype last = rest.lastIndexOf(colon);
    if (last < 0) return {rule, rest, {}};
    return {rule, rest.left(last), rest.mid(last + colon.size())};
}

QString ruleOf(const Recording& recording, const std::vector<pipeline::StoredEvent>& events,
               const QStringList& known) {
    for (const pipeline::StoredEvent& stored : events) {
        const qint64 time = stored.event.time.count();
        if (stored.event.kind == "alert" && std::abs(time - recording.from) <= kNameSteps &&
            topicWord(fromStore(stored.source)) == recording.source)
            return alertText(fromStore(stored.event.text), known).rule;
    }
    return {};
}

}  // namespace mpm::gui
