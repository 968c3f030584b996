// Atomic writing of files that only their owner can read.
#pragma once

#include <exception>

#include <QByteArray>
#include <QString>

#include "base/private_files.hpp"

namespace mpm::gui {

/// Returns false if the file cannot be written; the previous file then remains.
inline bool writeWhole(const QString& file, const QByteArray& bytes) {
    try {
        writeAtomically(file.toStdString(), {bytes.constData(), std::size_t(bytes.size())});
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace mpm::gui
