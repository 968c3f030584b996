// A file that is written atomically.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mpm {

/// Who may read a new file.
enum class Access {
    Owner,  ///< 0600, folders 0700: settings, measurements, images of a camera
    Umask,  ///< 0666 minus the umask: models, reports, plots
};

/// An open temporary file in `folder` with an unpredictable name. The destructor removes the file unless
/// moveTo() has moved it. The file is locked while in use. So if a program is killed, a later program that
/// writes to the folder finds the file without a lock and removes it. If a function returns false, errno has
/// the reason.
class ScratchFile {
public:
    explicit ScratchFile(const std::string& folder, Access access = Access::Owner);
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    bool isOpen() const { return m_descriptor >= 0; }
    int descriptor() const { return m_descriptor; }     ///< for reading, and for appending
    const std::string& path() const { return m_path; }  ///< for code that writes or replaces the file
    bool setMode(unsigned mode) const;
    bool write(std::string_view bytes) const;  ///< appends all bytes
    bool flush() const;                        ///< reports errors that the system reports on close()
    bool sync() const;            ///< makes the file survive a power failure, if the file system can
    bool copyTo(int file) const;  ///< copies the whole file, from the beginning
    bool moveTo(const std::string& target);  ///< within the folder; replaces an existing file

private:
    bool create(const std::string& folder, Access access);

    std::string m_path;  ///< empty after moveTo()
    int m_descriptor = -1;
};

/// Writes all bytes, in as many steps as needed. If the function returns false, errno has the reason.
bool writeAll(int file, std::string_view bytes);

/// Makes the file survive a power failure, if the file system can. Returns false only if the disk reports an
/// error.
bool syncFile(int file);

/// Makes new names in the folder survive a power failure. Returns false if the sync fails. If the user cannot
/// read the folder, does not sync the folder, and returns true.
bool syncFolder(const std::string& folder);

/// Throws cv::Exception with the file, the reason (an errno) and a remedy.
[[noreturn]] void failWriting(const std::string& name, int reason);

/// Which files must survive a power failure.
enum class Sync {
    Always,     ///< each file is on the disk when keep() returns: for state and expensive results
    Replacing,  ///< only a file that replaces another; a new file may be lost
};

/// Writes to a temporary file with an unpredictable name, which keep() moves to the target. If keep() is not
/// called, the destructor removes the temporary file. A new file has the mode of `access`, a replaced file
/// keeps the old mode. If the target is a link, the file behind the link is replaced. If the target is a
/// device, a pipe or the program's output, the content is written to the target.
class PendingFile {
public:
    /// Throws cv::Exception with `target` and the system's reason if the file cannot be written, or with
    /// StsBadArg if `target` is a folder.
    explicit PendingFile(const std::string& target, Access access = Access::Owner);
    PendingFile(const PendingFile&) = delete;
    PendingFile& operator=(const PendingFile&) = delete;

    const std::string& name() const { return m_name; }  ///< the target, as the caller named it
    /// The path of the file to write to before keep(). The path does not have the target's extension.
    const std::string& path() const { return m_scratch->path(); }
    const std::string& folder() const { return m_folder; }      ///< the folder of path()
    int descriptor() const { return m_scratch->descriptor(); }  ///< open for appending to the file at path()
    void write(std::string_view bytes);                         ///< appends; throws cv::Exception
    void keep(Sync sync = Sync::Always);                        ///< throws cv::Exception

    /// Throws cv::Exception for `reason`, an errno. Callers that write to the file at path() without write()
    /// report their errors with this function.
    [[noreturn]] void refuse(int reason) const;

private:
    void copyThrough() const;

    const std::string m_name;
    std::string m_target, m_folder;
    bool m_exists = false;
    bool m_through = false;  ///< the content is copied to the target, which must not be replaced
    int m_stream = -1;       ///< descriptor of standard output or error if it is the target, else -1
    std::optional<ScratchFile> m_scratch;
};

}  // namespace mpm
