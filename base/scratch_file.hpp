// A file that is not yet what it will be called.
#pragma once

#include <string>
#include <string_view>

namespace mpm {

/// An open file in `folder` that only its owner may read, under a name that nobody can foresee; gone with the
/// object unless it was moved. What killed programs left behind so is removed by the next one that writes to
/// the folder: a file in use is locked. False means that errno has the reason.
class ScratchFile {
public:
    explicit ScratchFile(const std::string& folder);
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    bool isOpen() const { return m_descriptor >= 0; }
    int descriptor() const { return m_descriptor; }     ///< for reading, and for appending
    const std::string& path() const { return m_path; }  ///< others may write to it, or replace it
    bool setMode(unsigned mode) const;                  ///< 0600 before
    bool write(std::string_view bytes) const;           ///< appends all of them
    bool flush() const;                                 ///< what only a close would tell is told here
    bool sync() const;                                  ///< on the disk, where the file system can tell
    bool copyTo(int file) const;                        ///< all of it, from its beginning
    bool moveTo(const std::string& target);             ///< in the same folder; replaces what is there

private:
    bool create(const std::string& folder);

    std::string m_path;  ///< empty once it was moved
    int m_descriptor = -1;
};

/// All bytes, whatever the system takes at once; false: errno says why.
bool writeAll(int file, std::string_view bytes);

/// False where the disk reports an error; file systems that cannot tell are no error.
bool syncFile(int file);

/// So that a new name in it outlives a power cut. A folder that may not be read cannot be synced: no error.
bool syncFolder(const std::string& folder);

}  // namespace mpm
