// A file that is there whole or not at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/scratch_file.hpp"

namespace mpm {

/// Throws the cv::Exception of an error of the system's: what could not be written, why, and what to do.
[[noreturn]] void failWriting(const std::string& name, int reason);

/// What a power cut must not take.
enum class Sync {
    Always,     ///< state, and what took long: on the disk when keep() returns
    Replacing,  ///< a file that was there before; what is new may go. One of thousands of images.
};

/// Written aside under an unpredictable name and put in its place by keep(); removed again unless it was
/// kept. A new file is 0600, a replaced one keeps its mode. Links are followed and what they point to is
/// replaced; a device, a pipe or the program's own output takes the content and stays what it is.
class PendingFile {
public:
    /// Throws cv::Exception that names `target` and the system's reason where it cannot be written, with
    /// StsBadArg where `target` can be no file at all.
    explicit PendingFile(const std::string& target);
    PendingFile(const PendingFile&) = delete;
    PendingFile& operator=(const PendingFile&) = delete;

    const std::string& name() const { return m_name; }  ///< as it was asked for
    /// To write to until it is kept; has no ending to tell a format by.
    const std::string& path() const { return m_scratch->path(); }
    const std::string& folder() const { return m_folder; }      ///< that path() lies in
    int descriptor() const { return m_scratch->descriptor(); }  ///< likewise, to append
    void write(std::string_view bytes);                         ///< appends; throws cv::Exception
    void keep(Sync sync = Sync::Always);                        ///< throws cv::Exception

    /// Throws the cv::Exception of an error of the system's, for those who write to path() themselves.
    [[noreturn]] void refuse(int reason) const;

private:
    void copyThrough() const;

    const std::string m_name;
    std::string m_target, m_folder;
    bool m_exists = false;
    bool m_through = false;  ///< nothing that a rename may replace
    int m_stream = -1;       ///< standard output or error, where the target is one of them
    std::optional<ScratchFile> m_scratch;
};

}  // namespace mpm
