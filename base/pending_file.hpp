// A file that is written atomically.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mpm {

/// Who may read a new file.
enum class Access {
    Owner,  ///< 0600, folders 0700: settings, measurements, images of a camera
    Umask,  ///< 0666 without the umask: models, reports, plots
};

/// An open file in `folder` with an unpredictable name; removed with the object unless it was moved. The next
/// program that writes to the folder removes the files of killed programs: only files in use are locked. If a
/// function returns false, errno has the reason.
class ScratchFile {
public:
    explicit ScratchFile(const std::string& folder, Access access = Access::Owner);
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    bool isOpen() const { return m_descriptor >= 0; }
    int descriptor() const { return m_descriptor; }     ///< for reading, and for appending
    const std::string& path() const { return m_path; }  ///< other code may write to it, or replace it
    bool setMode(unsigned mode) const;
    bool write(std::string_view bytes) const;  ///< appends all bytes
    bool flush() const;                        ///< reports errors that only a close would report
    bool sync() const;                         ///< to the disk, if the file system supports it
    bool copyTo(int file) const;               ///< the whole file, from the beginning
    bool moveTo(const std::string& target);    ///< in the same folder; replaces an existing file

private:
    bool create(const std::string& folder, Access access);

    std::string m_path;  ///< empty once it was moved
    int m_descriptor = -1;
};

/// Writes all bytes, in as many steps as needed; false: errno has the reason.
bool writeAll(int file, std::string_view bytes);

/// False if the disk reports an error; a file system without support is not an error.
bool syncFile(int file);

/// Makes new names in the folder survive a power failure. A folder without the right to read cannot be
/// synced; this is not an error.
bool syncFolder(const std::string& folder);

/// Throws cv::Exception for an error of the operating system: the file, the reason, and a remedy.
[[noreturn]] void failWriting(const std::string& name, int reason);

/// Which files must survive a power failure.
enum class Sync {
    Always,     ///< state and expensive results: on the disk when keep() returns
    Replacing,  ///< files that replace an older one; a new file may be lost. For thousands of images.
};

/// Writes to a temporary file with an unpredictable name; keep() renames this file, otherwise it is removed.
/// A new file has the mode of `access`, a replaced file keeps its mode. Links are followed and their target
/// is replaced. A device, a pipe or the program's output receives the content and is not replaced.
class PendingFile {
public:
    /// Throws cv::Exception with `target` and the system's reason if the file cannot be written; with
    /// StsBadArg if `target` is a folder.
    explicit PendingFile(const std::string& target, Access access = Access::Owner);
    PendingFile(const PendingFile&) = delete;
    PendingFile& operator=(const PendingFile&) = delete;

    const std::string& name() const { return m_name; }  ///< as requested
    /// The file to write to before keep(), without an extension.
    const std::string& path() const { return m_scratch->path(); }
    const std::string& folder() const { return m_folder; }      ///< the folder of path()
    int descriptor() const { return m_scratch->descriptor(); }  ///< of the same file, to append
    void write(std::string_view bytes);                         ///< appends; throws cv::Exception
    void keep(Sync sync = Sync::Always);                        ///< throws cv::Exception

    /// Throws cv::Exception for an error of the operating system, for callers that write to path()
    /// themselves.
    [[noreturn]] void refuse(int reason) const;

private:
    void copyThrough() const;

    const std::string m_name;
    std::string m_target, m_folder;
    bool m_exists = false;
    bool m_through = false;  ///< the target is written directly: a rename must not replace it
    int m_stream = -1;       ///< standard output or error, if it is the target
    std::optional<ScratchFile> m_scratch;
};

}  // namespace mpm
