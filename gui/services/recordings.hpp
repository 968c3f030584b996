// Lists the recorded videos in a folder, and finds the video that shows a moment.
#pragma once

#include <vector>

#include <QString>

#include "pipeline/store/reading.hpp"

namespace mpm::gui {

/// Times are in milliseconds since 1970.
struct Recording {
    QString file;
    QString source;           ///< topicWord() of the source's address, as in the file name
    qint64 from = 0, to = 0;  ///< start (from the file's name) and last write
    qint64 bytes = 0;
};

/// Returns the recordings, newest first. If a file's name has no time, the time of its last change is used.
std::vector<Recording> recordingsIn(const QString& folder);

/// Returns the file of the recording that shows a source at `time`; empty if there is none.
QString recordingOf(const std::vector<Recording>& recordings, const QString& source, qint64 time);

/// The parts of the text of an alert's event, "RULE: WHAT: VALUE". A rule's name may contain a colon, so
/// alertText() first compares the text with the names in `known`.
struct AlertText {
    QString rule, what, value;
};
AlertText alertText(const QString& text, const QStringList& known);

/// Returns the rule that began a recording; empty if the user began it or the alert's event was deleted.
QString ruleOf(const Recording& recording, const std::vector<pipeline::StoredEvent>& events,
               const QStringList& known);

}  // namespace mpm::gui
