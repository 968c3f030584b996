// This library is loaded before the C library (LD_PRELOAD). It makes the n-th call of a kind fail, or kills
// the program at that call.
//
//   MPM_FAULT=KIND:N      the N-th call fails; KIND:N+ that call and all later calls, as on a full disk
//   MPM_FAULT_UNDER=DIR   only files below DIR and allocations count
//   MPM_FAULT_REPORT=FILE gets the number of calls of each kind, and the stack of the call that failed
//
// Calls count only while main runs, because this project cannot fix the loader and the constructors of
// libraries. Writes of the C library's streams (FILE) do not count, but fopen and fclose do.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "faults/fault_counts.hpp"

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

using namespace faults;

constexpr int kMostFiles = 4096;
std::atomic<bool> g_ours[kMostFiles];  ///< true at the index of a descriptor whose calls count

bool oursByNumber(int file) {
    return file >= 0 && file < kMostFiles && g_ours[file];
}

bool ours(const char* path) {
    const char own[] = "/proc/self/fd/";
    if (std::strncmp(path, own, sizeof own - 1) == 0) return oursByNumber(std::atoi(path + sizeof own - 1));
    const char* const under = watchedFolder();
    const size_t length = std::strlen(under);
    return path[0] != '/' || (length > 0 && std::strncmp(path, under, length) == 0);
}

int opened(int file) {
    if (file >= 0 && file < kMostFiles) g_ours[file] = true;
    return file;
}

int reasonToOpen(int flags) {
    const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return makes ? ENOSPC : EMFILE;
}

template <class Do>
int openBy(const char* path, int flags, const Do& work) {
    if (!counting() || !ours(path)) return work();
    if (fails(Open, reasonToOpen(flags))) return -1;
    return opened(work());
}

template <class Do>
std::FILE* openStream(const char* path, const Do& work) {
    if (!counting() || !ours(path)) return work();
    if (fails(Open, EMFILE)) return nullptr;
    std::FILE* const stream = work();
    if (stream != nullptr) opened(fileno(stream));
    return stream;
}

template <class Do>
ssize_t readBy(int file, const Do& work) {
    if (!oursByNumber(file)) return work();
    if (strikes(Interrupt)) return errno = EINTR, -1;
    if (strikes(Read)) return errno = EIO, -1;
    return work();
}

/// Calls `work(count)`, which writes `count` bytes. If a fault is due, writes fewer bytes or fails instead.
template <class Do>
ssize_t writeBy(int file, size_t count, const Do& work) {
    if (!oursByNumber(file)) return work(count);
    if (strikes(Kill)) {
        work(count / 2);
        die();
    }
    if (strikes(Interrupt)) return errno = EINTR, -1;
    if (strikes(Write)) {
        // A full disk first accepts the part that fits, then nothing.
        if (firstOfMany(Write) && count > 1) return work(count / 2);
        return errno = ENOSPC, -1;
    }
    if (count > 1 && strikes(Short)) return work(count / 2);
    return work(count);
}

/// Never fails with EINTR: signals do not interrupt sync on a local disk, and SQLite reports EINTR as an
/// error.
template <class Do>
int syncBy(int file, const Do& work) {
    if (!oursByNumber(file)) return work();
    return fails(Sync, EIO) ? -1 : work();
}

template <class Do>
int renameBy(const char* to, const Do& work) {
    if (!counting() || !ours(to)) return work();
    return fails(Rename, ENOSPC) ? -1 : work();
}

template <class Do>
void* allocate(const Do& work) {
    if (!strikes(Alloc)) return work();
    errno = ENOMEM;
    return nullptr;
}

int (*g_main)(int, char**, char**);

int startedMain(int argc, char** argv, char** environment) {
    return watchedMain(g_main, argc, argv, environment);
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(),
                               void (*fini)(), void (*loaderFini)(), void* stack) {
    g_main = main;
    using Start =
        int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
    return real<Start>("__libc_start_main")(startedMain, argc, argv, init, fini, loaderFini, stack);
}

EXPORTED void* malloc(size_t size) {
    return allocate([&] { return __libc_malloc(size); });
}

EXPORTED void* calloc(size_t count, size_t size) {
    return allocate([&] { return __libc_calloc(count, size); });
}

EXPORTED void* realloc(void* block, size_t size) {
    return allocate([&] { return __libc_realloc(block, size); });
}

EXPORTED void* memalign(size_t alignment, size_t size) {
    return allocate([&] { return __libc_memalign(alignment, size); });
}

EXPORTED void* aligned_alloc(size_t alignment, size_t size) {
    return allocate([&] { return __libc_memalign(alignment, size); });
}

EXPORTED int posix_memalign(void** block, size_t alignment, size_t size) {
    void* const got = allocate([&] { return __libc_memalign(alignment, size); });
    if (got == nullptr) return ENOMEM;
    *block = got;
    return 0;
}

// Defines the functions that open files, with variants for large files and for fortified builds.
#define OPEN(name)                                                            \
    EXPORTED int name(const char* path, int flags, ...) {                     \
        va_list rest;                                                         \
        va_start(rest, flags);                                                \
        const auto mode = va_arg(rest, mode_t);                               \
        va_end(rest);                                                         \
        static const auto next = real<int (*)(const char*, int, ...)>(#name); \
        return openBy(path, flags, [&] { return next(path, flags, mode); });  \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                 \
    EXPORTED int name(int folder, const char* path, int flags, ...) {                \
        va_list rest;                                                                \
        va_start(rest, flags);                                                       \
        const auto mode = va_arg(rest, mode_t);                                      \
        va_end(rest);                                                                \
        static const auto next = real<int (*)(int, const char*, int, ...)>(#name);   \
        return openBy(path, flags, [&] { return next(folder, path, flags, mode); }); \
    }
OPENAT(openat)
OPENAT(openat64)

#define OPEN_2(name)                                                     \
    EXPORTED int name(const char* path, int flags) {                     \
        static const auto next = real<int (*)(const char*, int)>(#name); \
        return openBy(path, flags, [&] { return next(path, flags); });   \
    }
OPEN_2(__open_2)
OPEN_2(__open64_2)

#define FOPEN(name)                                                                     \
    EXPORTED std::FILE* name(const char* path, const char* mode) {                      \
        static const auto next = real<std::FILE* (*)(const char*, const char*)>(#name); \
        return openStream(path, [&] { return next(path, mode); });                      \
    }
FOPEN(fopen)
FOPEN(fopen64)

EXPORTED ssize_t read(int file, void* to, size_t count) {
    static const auto next = real<ssize_t (*)(int, void*, size_t)>("read");
    return readBy(file, [&] { return next(file, to, count); });
}

#define PREAD(name)                                                                     \
    EXPORTED ssize_t name(int file, void* to, size_t count, off64_t at) {               \
        static const auto next = real<ssize_t (*)(int, void*, size_t, off64_t)>(#name); \
        return readBy(file, [&] { return next(file, to, count, at); });                 \
    }
PREAD(pread)
PREAD(pread64)

EXPORTED ssize_t write(int file, const void* from, size_t count) {
    static const auto next = real<ssize_t (*)(int, const void*, size_t)>("write");
    return writeBy(file, count, [&](size_t part) { return next(file, from, part); });
}

#define PWRITE(name)                                                                          \
    EXPORTED ssize_t name(int file, const void* from, size_t count, off64_t at) {             \
        static const auto next = real<ssize_t (*)(int, const void*, size_t, off64_t)>(#name); \
        return writeBy(file, count, [&](size_t part) { return next(file, from, part, at); }); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

EXPORTED ssize_t writev(int file, const iovec* parts, int count) {
    static const auto next = real<ssize_t (*)(int, const iovec*, int)>("writev");
    size_t all = 0;
    for (int i = 0; i < count; ++i)
        all += parts[i].iov_len;
    return writeBy(file, all, [&](size_t wanted) {
        if (wanted == all) return next(file, parts, count);
        const iovec part{parts[0].iov_base, parts[0].iov_len / 2};
        return next(file, &part, 1);
    });
}

EXPORTED int fsync(int file) {
    static const auto next = real<int (*)(int)>("fsync");
    return syncBy(file, [&] { return next(file); });
}

EXPORTED int fdatasync(int file) {
    static const auto next = real<int (*)(int)>("fdatasync");
    return syncBy(file, [&] { return next(file); });
}

#define FTRUNCATE(name)                                              \
    EXPORTED int name(int file, off64_t length) noexcept {           \
        static const auto next = real<int (*)(int, off64_t)>(#name); \
        if (oursByNumber(file) && fails(Truncate, EIO)) return -1;   \
        return next(file, length);                                   \
    }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

#define TRUNCATE(name)                                                       \
    EXPORTED int name(const char* path, off64_t length) noexcept {           \
        static const auto next = real<int (*)(const char*, off64_t)>(#name); \
        if (counting() && ours(path) && fails(Truncate, EIO)) return -1;     \
        return next(path, length);                                           \
    }
TRUNCATE(truncate)
TRUNCATE(truncate64)

EXPORTED int close(int file) {
    static const auto next = real<int (*)(int)>("close");
    const bool counts = oursByNumber(file) && !t_inside;
    if (counts) g_ours[file] = false;
    const bool failing = counts && fails(Close, EIO);
    const int status = next(file);
    if (!failing) return status;
    errno = EIO;
    return -1;
}

EXPORTED int fclose(std::FILE* stream) {
    static const auto next = real<int (*)(std::FILE*)>("fclose");
    const int file = fileno(stream);
    const bool counts = oursByNumber(file) && !t_inside;
    if (counts) g_ours[file] = false;
    const bool failing = counts && fails(Close, EIO);
    const int status = next(stream);
    if (!failing) return status;
    errno = EIO;
    return EOF;
}

// If calls on a descriptor count, calls on a duplicate count, too.
EXPORTED int dup(int file) noexcept {
    static const auto next = real<int (*)(int)>("dup");
    const int second = next(file);
    return oursByNumber(file) ? opened(second) : second;
}

#define FCNTL(name)                                                       \
    EXPORTED int name(int file, int order, ...) {                         \
        va_list rest;                                                     \
        va_start(rest, order);                                            \
        void* const argument = va_arg(rest, void*);                       \
        va_end(rest);                                                     \
        static const auto next = real<int (*)(int, int, ...)>(#name);     \
        const int answer = next(file, order, argument);                   \
        const bool second = order == F_DUPFD || order == F_DUPFD_CLOEXEC; \
        return second && oursByNumber(file) ? opened(answer) : answer;    \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

EXPORTED int rename(const char* from, const char* to) noexcept {
    static const auto next = real<int (*)(const char*, const char*)>("rename");
    return renameBy(to, [&] { return next(from, to); });
}

EXPORTED int renameat(int folder, const char* from, int other, const char* to) noexcept {
    static const auto next = real<int (*)(int, const char*, int, const char*)>("renameat");
    return renameBy(to, [&] { return next(folder, from, other, to); });
}

EXPORTED int renameat2(int folder, const char* from, int other, const char* to, unsigned flags) noexcept {
    static const auto next = real<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
    return renameBy(to, [&] { return next(folder, from, other, to, flags); });
}

EXPORTED int link(const char* from, const char* to) noexcept {
    static const auto next = real<int (*)(const char*, const char*)>("link");
    return renameBy(to, [&] { return next(from, to); });
}

EXPORTED int linkat(int folder, const char* from, int other, const char* to, int flags) noexcept {
    static const auto next = real<int (*)(int, const char*, int, const char*, int)>("linkat");
    return renameBy(to, [&] { return next(folder, from, other, to, flags); });
}

EXPORTED int mkdir(const char* path, mode_t mode) noexcept {
    static const auto next = real<int (*)(const char*, mode_t)>("mkdir");
    if (counting() && ours(path) && fails(Folder, ENOSPC)) return -1;
    return next(path, mode);
}
