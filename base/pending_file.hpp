// A file that is there whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace mpm {

/// Written aside under an unpredictable name and put in its place by keep(); removed again unless it was
/// kept. A new file is 0600, a replaced one keeps its mode. Links are followed and what they point to is
/// replaced; a device, a pipe or the program's own output takes the content and stays what it is.
class PendingFile {
public:
    /// Throws cv::Exception that names `target` and the system's reason where it cannot be written, with
    /// StsBadArg where `target` can be no file at all.
    explicit PendingFile(const std::string& target);
    ~PendingFile();
    PendingFile(const PendingFile&) = delete;
    PendingFile& operator=(const PendingFile&) = delete;

    const std::string& name() const { return m_name; }  ///< as it was asked for
    const std::string& path() const { return m_path; }  ///< to write to until it is kept
    void write(std::string_view bytes);                 ///< appends to path(); throws cv::Exception
    void keep();                                        ///< syncs and renames; throws cv::Exception

private:
    void copyThrough() const;

    const std::string m_name;
    std::string m_target, m_path;
    bool m_through = false;  ///< nothing that a rename may replace
    int m_stream = -1;       ///< standard output or error, where the target is one of them
};

}  // namespace mpm
