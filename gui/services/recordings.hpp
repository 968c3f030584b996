// Recorded videos in a folder, and the recording that shows a moment.
#pragma once

#include <vector>

#include <QString>

#include "pipeline/store/reading.hpp"

namespace mpm::gui {

/// Times are milliseconds since 1970.
struct Recording {
    QString file;
    QString source;           ///< topicWord() of its address, as in file names
    qint64 from = 0, to = 0;  ///< begin, from the file's name, and last write
    qint64 bytes = 0;
};

/// Newest first. A file with another kind of name counts by its time of change.
std::vector<Recording> recordingsIn(const QString& folder);

/// The recording that shows `time` of a source; empty: there is none.
QString recordingOf(const std::vector<Recording>& recordings, const QString& source, qint64 time);

/// The parts of an alert's event, "RULE: WHAT: VALUE". A rule of `known` is preferred, since names may
/// contain a colon.
struct AlertText {
    QString rule, what, value;
};
AlertText alertText(const QString& text, const QStringList& known);

/// The rule that began a recording; empty: the user began it, or its event is gone.
QString ruleOf(const Recording& recording, const std::vector<pipeline::StoredEvent>& events,
               const QStringList& known);

}  // namespace mpm::gui
