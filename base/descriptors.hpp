// File descriptors with a single owner, and a function that makes exec() close descriptors.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace mpm {

/// Owns a descriptor and closes it in the destructor; a negative number means no descriptor.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int file) : m_file(file) {}
    Descriptor(Descriptor&& other) noexcept : m_file(std::exchange(other.m_file, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(m_file, other.m_file);
        return *this;
    }
    ~Descriptor() {
        if (m_file >= 0) close(m_file);
    }
    int get() const { return m_file; }

private:
    int m_file = -1;
};

/// Sets FD_CLOEXEC on all descriptors except the standard streams, so that exec() closes them. Some libraries
/// open sockets without this flag. The function may also be called between fork() and exec().
inline void closeDescriptorsOnExec() noexcept {
    constexpr unsigned kFirst = 3, kCloexecFlag = 4;  // CLOSE_RANGE_CLOEXEC, which old headers lack
#ifdef SYS_close_range
    if (syscall(SYS_close_range, kFirst, ~0U, kCloexecFlag) == 0) return;
#endif
    // Kernels before 5.11 do not support this flag of close_range(), so each descriptor gets FD_CLOEXEC here.
    const long most = sysconf(_SC_OPEN_MAX);
    for (int file = static_cast<int>(kFirst); file < (most > 0 && most < 65536 ? most : 65536); ++file)
        fcntl(file, F_SETFD, FD_CLOEXEC);
}

}  // namespace mpm
