#include "base/row_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/pending_file.hpp"

namespace mpm {
namespace {

/// Truncates a regular file; other files remain unchanged.
bool cut(int file, std::uintmax_t length) {
    struct stat there {};
    if (fstat(file, &there) != 0) return false;
    return !S_ISREG(there.st_mode) || ftruncate(file, static_cast<off_t>(length)) == 0;
}

}  // namespace

RowFile::RowFile(const std::string& path, std::string_view rows, Access access) : m_path(path) {
    struct stat there {};
    if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
        m_file = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
        if (m_file < 0) refuse(errno);
        add(rows);
        return;
    }
    PendingFile file(path, access);
    file.write(rows);
    m_file = fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
    if (m_file < 0) refuse(errno);
    m_length = rows.size();
    file.keep(Sync::Replacing);
}

RowFile::RowFile(const std::string& path, std::uintmax_t length) : m_path(path), m_length(length) {
    m_file = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (m_file < 0 || !cut(m_file, length)) refuse(errno);
}

RowFile::~RowFile() {
    if (m_file >= 0) close(m_file);
}

void RowFile::refuse(int reason) const {
    failWriting(m_path, reason);
}

void RowFile::add(std::string_view row) {
    if (!writeAll(m_file, row)) {
        const int reason = errno;
        cut(m_file, m_length);  // removes an incomplete row; truncating works even if the disk is full
        refuse(reason);
    }
    m_length += row.size();
}

void RowFile::sync() const {
    if (!syncFile(m_file)) refuse(errno);
}

}  // namespace mpm
