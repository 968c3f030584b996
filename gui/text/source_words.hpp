// What a source says of itself, in the language of the window.
#pragma once

#include <string>

#include <QString>

namespace mpm::gui {

/// The errors of pipeline/source come from a fixed set of sentences, after the source's name. One that is not
/// known stays as it is.
QString sourceWords(const QString& message);
inline QString sourceWords(const std::string& message) {
    return sourceWords(QString::fromStdString(message));
}

}  // namespace mpm::gui
