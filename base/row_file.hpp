// A file that grows by whole rows: tables and protocols that are worth having before they are finished.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mpm {

/// A row is there whole or not at all, unless the program is killed within the write of it. A device or a
/// pipe takes the rows and stays what it is. Throws cv::Exception that names the file and the system's
/// reason.
class RowFile {
public:
    /// Begins a new file with these rows; one that was there before goes only when they are written.
    RowFile(const std::string& path, std::string_view rows);
    /// Goes on with a file, whose first `length` bytes are kept.
    RowFile(const std::string& path, std::uintmax_t length);
    ~RowFile();
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;

    void add(std::string_view row);
    void sync() const;  ///< what was added outlives a power cut

private:
    [[noreturn]] void refuse(int reason) const;

    const std::string m_path;
    int m_file = -1;
    std::uintmax_t m_length = 0;
};

}  // namespace mpm
