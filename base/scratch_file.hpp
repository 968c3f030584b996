// A temporary file that is renamed later.
#pragma once

#include <string>
#include <string_view>

namespace mpm {

/// Who may read a new file.
enum class Access {
    Owner,  ///< 0600, folders 0700: settings, measurements, images of a camera
    Umask,  ///< as the user's umask has it: models, reports, plots
};

/// An open file in `folder` with an unpredictable name; removed with the object unless it was moved. Files of
/// killed programs are removed by the next program that writes to the folder: a file in use is locked. False
/// means that errno has the reason.
class ScratchFile {
public:
    explicit ScratchFile(const std::string& folder, Access access = Access::Owner);
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    bool isOpen() const { return m_descriptor >= 0; }
    int descriptor() const { return m_descriptor; }     ///< for reading, and for appending
    const std::string& path() const { return m_path; }  ///< others may write to it, or replace it
    bool setMode(unsigned mode) const;
    bool write(std::string_view bytes) const;  ///< appends all bytes
    bool flush() const;                        ///< reports errors that only a close would report
    bool sync() const;                         ///< to the disk, if the file system supports it
    bool copyTo(int file) const;               ///< all of it, from the beginning
    bool moveTo(const std::string& target);    ///< in the same folder; replaces an existing file

private:
    bool create(const std::string& folder, Access access);

    std::string m_path;  ///< empty once it was moved
    int m_descriptor = -1;
};

/// Writes all bytes, in as many steps as needed; false: errno has the reason.
bool writeAll(int file, std::string_view bytes);

/// False if the disk reports an error; file systems without support are no error.
bool syncFile(int file);

/// Makes new names in the folder survive a power failure. A folder that may not be read cannot be synced: no
/// error.
bool syncFolder(const std::string& folder);

}  // namespace mpm
