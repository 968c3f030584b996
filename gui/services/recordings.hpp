// Recorded videos in a folder, and the recording that shows a moment.
#pragma once

#include <vector>

#include <QString>

#include "pipeline/store/reading.hpp"

namespace mpm::gui {

/// Times are milliseconds since 1970.
struct Recording {
    QString file;
    QString source;           ///< as file names have it: topicWord() of its name
    qint64 from = 0, to = 0;  ///< begun, by the name of the file, and last written
    qint64 bytes = 0;
};

/// Newest first. Files of other names count by the time of the file.
std::vector<Recording> recordingsIn(const QString& folder);

/// The recording that shows `time` of a source; empty: there is none.
QString recordingOf(const std::vector<Recording>& recordings, const QString& source, qint64 time);

/// An alert as its event has it: "RULE: WHAT: VALUE". A rule of `known` is preferred, since names may hold
/// a colon.
struct AlertText {
    QString rule, what, value;
};
AlertText alertText(const QString& text, const QStringList& known);

/// The rule that began a recording; empty: it was begun by hand, or its event is gone.
QString ruleOf(const Recording& recording, const std::vector<pipeline::StoredEvent>& events,
               const QStringList& known);

}  // namespace mpm::gui
