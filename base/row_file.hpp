// A file that grows by whole rows: tables and logs that are useful before they are finished.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/pending_file.hpp"

namespace mpm {

/// A row is written completely or not at all, unless the program is killed during the write. A device or a
/// pipe receives the rows and is not replaced. Throws cv::Exception that names the file and the system's
/// reason.
class RowFile {
public:
    /// Begins a new file with these rows; an existing file is replaced only when they are written.
    RowFile(const std::string& path, std::string_view rows, Access access = Access::Owner);
    /// Continues a file, whose first `length` bytes are kept.
    RowFile(const std::string& path, std::uintmax_t length);
    ~RowFile();
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;

    void add(std::string_view row);
    void sync() const;  ///< added rows survive a power failure

private:
    [[noreturn]] void refuse(int reason) const;

    const std::string m_path;
    int m_file = -1;
    std::uintmax_t m_length = 0;
};

}  // namespace mpm
