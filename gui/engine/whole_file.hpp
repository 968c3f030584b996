// Files are written atomically, readable by their owner only.
#pragma once

#include <exception>

#include <QByteArray>
#include <QString>

#include "base/private_files.hpp"

namespace mpm::gui {

/// False if the file cannot be written; the previous file stays.
inline bool writeWhole(const QString& file, const QByteArray& bytes) {
    try {
        writeAtomically(file.toStdString(), {bytes.constData(), std::size_t(bytes.size())});
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace mpm::gui
