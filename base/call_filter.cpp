// The filter of system calls (seccomp). It allows calls for computing and for the files of the task; all
// other calls fail.
#include <linux/prctl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/sandbox.hpp"

namespace mpm::detail {

namespace {

/// The allowed calls. The filter skips names that do not exist on this architecture, or that the installed
/// libseccomp does not know.
constexpr const char* kAllowed[] = {
    // Calls on files; Landlock limits which files can be opened.
    "read", "write", "readv", "writev", "pread64", "pwrite64", "lseek", "close", "openat", "open", "fstat",
    "newfstatat", "stat", "lstat", "statx", "fstatfs", "statfs", "access", "faccessat", "faccessat2",
    "readlink", "readlinkat", "getdents", "getdents64", "getcwd", "fcntl", "dup", "dup2", "dup3", "fadvise64",
    "ftruncate", "fallocate", "fchmod", "fsync", "fdatasync", "rename", "renameat", "renameat2", "unlink",
    "unlinkat", "copy_file_range", "sendfile", "umask", "poll", "ppoll", "select", "pselect6",
    // Calls for memory.
    "brk", "mmap", "munmap", "mprotect", "mremap", "madvise", "mincore", "membarrier", "map_shadow_stack",
    "mseal",
    // Calls for threads; addConditions() allows new threads. arch_prctl enables AMX tiles.
    "futex", "futex_waitv", "futex_wake", "futex_wait", "futex_requeue", "set_robust_list", "get_robust_list",
    "rseq", "set_tid_address", "gettid", "getpid", "getppid", "sched_yield", "sched_getaffinity",
    "sched_getparam", "sched_getscheduler", "sched_get_priority_max", "sched_get_priority_min", "getcpu",
    "exit", "exit_group", "arch_prctl",
    // Calls for signal handlers, time, and properties of the machine.
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall", "nanosleep",
    "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time", "times", "getrlimit",
    "getrusage", "sysinfo", "uname", "getrandom", "getuid", "geteuid", "getgid", "getegid"};

/// These calls fail with EPERM (not permitted). Calls that are neither in a list nor in addConditions()
/// fail with ENOSYS, as on a kernel that does not have the call. Libraries then use an older call.
constexpr const char* kForbidden[] = {"socket",
                                      "socketpair",
                                      "connect",
                                      "bind",
                                      "listen",
                                      "accept",
                                      "accept4",
                                      "sendto",
                                      "sendmsg",
                                      "fork",
                                      "vfork",
                                      "execve",
                                      "execveat",
                                      "ptrace",
                                      "process_vm_readv",
                                      "process_vm_writev",
                                      "kill",
                                      "tkill",
                                      "mount",
                                      "umount2",
                                      "pivot_root",
                                      "chroot",
                                      "setns",
                                      "unshare",
                                      "bpf",
                                      "perf_event_open",
                                      "keyctl",
                                      "add_key",
                                      "request_key",
                                      "io_uring_setup",
                                      "userfaultfd",
                                      "setuid",
                                      "setgid",
                                      "mknodat",
                                      "symlinkat",
                                      "linkat"};

constexpr std::uint32_t kDenied = SCMP_ACT_ERRNO(EPERM);

class Filter {
public:
    Filter() : m_context(seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), seccomp_release) {
        if (m_context == nullptr) m_error = ENOMEM;
    }

    void answer(const char* name, std::uint32_t action, std::initializer_list<scmp_arg_cmp> conditions = {}) {
        const int call = seccomp_syscall_resolve_name(name);
        if (m_error != 0 || call < 0) return;
        m_error =
            -seccomp_rule_add_array(m_context.get(), action, call, static_cast<unsigned>(conditions.size()),
                                    conditions.size() > 0 ? conditions.begin() : nullptr);
    }

    /// Loads the filter into the kernel. Returns 0, or the first error of Filter(), answer() or load().
    int load() {
        if (m_error == 0) m_error = -seccomp_attr_set(m_context.get(), SCMP_FLTATR_CTL_TSYNC, 1);
        return m_error != 0 ? m_error : -seccomp_load(m_context.get());
    }

private:
    std::unique_ptr<void, void (*)(scmp_filter_ctx)> m_context;
    int m_error = 0;
};

void addConditions(Filter& filter) {
    // Allows new threads, but no new processes.
    filter.answer("clone", SCMP_ACT_ALLOW, {SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)});
    filter.answer("clone", kDenied, {SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)});
    // Allows the process to read its own resource limits, but not to set any limit.
    filter.answer("prlimit64", SCMP_ACT_ALLOW, {SCMP_A0_32(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0)});
    filter.answer("prlimit64", kDenied, {SCMP_A0_32(SCMP_CMP_NE, 0)});
    filter.answer("prlimit64", kDenied, {SCMP_A2(SCMP_CMP_NE, 0)});
    const auto process = static_cast<std::uint32_t>(getpid());
    filter.answer("tgkill", SCMP_ACT_ALLOW, {SCMP_A0_32(SCMP_CMP_EQ, process)});
    filter.answer("tgkill", kDenied, {SCMP_A0_32(SCMP_CMP_NE, process)});
    for (const std::uint32_t option : {PR_SET_NAME, PR_GET_NAME, PR_SET_VMA})
        filter.answer("prctl", SCMP_ACT_ALLOW, {SCMP_A0_32(SCMP_CMP_EQ, option)});
    filter.answer("ioctl", SCMP_ACT_ALLOW, {SCMP_A1_32(SCMP_CMP_EQ, TCGETS)});  // isatty() makes this call
}

}  // namespace

bool hasCallFilter() {
    return seccomp_api_get() >= 2;  // from level 2 on, a filter also covers running threads
}

std::string enterCallFilter() {
    if (!hasCallFilter()) return "the kernel does not offer it";
    Filter filter;
    for (const char* name : kAllowed)
        filter.answer(name, SCMP_ACT_ALLOW);
    for (const char* name : kForbidden)
        filter.answer(name, kDenied);
    addConditions(filter);
    const int error = filter.load();
    return error == 0 ? std::string() : std::string("it cannot be loaded (") + std::strerror(error) + ")";
}

}  // namespace mpm::detail
