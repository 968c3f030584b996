// A file that grows by complete rows: tables and logs that can be read before they are finished.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/pending_file.hpp"
#include "base/printable.hpp"

namespace mpm {

/// A row is written completely or not at all, unless the program is killed during the write. A device or a
/// pipe receives the rows and is not replaced. Functions throw cv::Exception that names the file and the
/// system's reason.
class RowFile {
public:
    /// Begins a new file with these rows. Replaces an existing file only after the rows are written.
    RowFile(const std::string& path, std::string_view rows, Access access = Access::Owner);
    /// Continues an existing file: truncates it to `length` bytes, then appends rows.
    RowFile(const std::string& path, std::uintmax_t length);
    ~RowFile();
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;

    void add(std::string_view row);
    void sync() const;  ///< makes the added rows survive a power failure

private:
    [[noreturn]] void refuse(int reason) const;

    const std::string m_path;
    int m_file = -1;
    std::uintmax_t m_length = 0;
};

/// Returns `text` as a field of a CSV file (RFC 4180): on a single line, quoted if necessary. Spreadsheets
/// run text that begins with = + - @ as a formula. So such text gets a ' in front, which spreadsheets do not
/// show.
inline std::string csvField(std::string_view text) {
    std::string field = printable(text);
    const std::size_t first = field.find_first_not_of(' ');
    if (first != std::string::npos && std::string_view("=+-@").find(field[first]) != std::string_view::npos)
        field.insert(0, 1, '\'');
    if (field.find_first_of(",;\"'\\ ") == std::string::npos) return field;
    std::string quoted = "\"";
    for (const char c : field)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

}  // namespace mpm
