// A filter of system calls (seccomp): calls for computing and for the files of the task work, others fail.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/sandbox.hpp"

namespace mpm::detail {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kProcessor = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kProcessor = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kProcessor = 0;  // unsupported processor
#endif

// Later than the headers of Debian 12; the same numbers on every processor.
constexpr int kMapShadowStack = 453, kFutexWake = 454, kFutexWait = 455, kFutexRequeue = 456, kSeal = 462;
constexpr std::uint32_t kNameMemory = 0x53564d41;  // PR_SET_VMA

constexpr int kAllowed[] = {
    // Open files, and those that Landlock allows.
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_lseek,
    SYS_close,
    SYS_openat,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_fstatfs,
    SYS_statfs,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_fcntl,
    SYS_dup,
    SYS_dup3,
    SYS_fadvise64,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fchmod,
    SYS_fsync,
    SYS_fdatasync,
    SYS_renameat2,
    SYS_unlinkat,
    SYS_copy_file_range,
    SYS_sendfile,
    SYS_umask,
    SYS_ppoll,
    SYS_pselect6,
#ifdef SYS_open
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_getdents,
    SYS_dup2,
    SYS_rename,
    SYS_unlink,
    SYS_poll,
    SYS_select,
#endif
    // Memory.
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_mincore,
    SYS_membarrier,
    kMapShadowStack,
    kSeal,
    // Threads, their order, and the ends of them all. New ones: see below.
    SYS_futex,
    SYS_futex_waitv,
    kFutexWake,
    kFutexWait,
    kFutexRequeue,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_rseq,
    SYS_set_tid_address,
    SYS_gettid,
    SYS_getpid,
    SYS_getppid,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_getcpu,
    SYS_exit,
    SYS_exit_group,
#ifdef SYS_arch_prctl
    SYS_arch_prctl,  // tiles of matrices are switched on by it
#endif
    // Signals to itself, time, and properties of the machine.
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_times,
    SYS_getrusage,
    SYS_sysinfo,
    SYS_uname,
    SYS_getrandom,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
#ifdef SYS_time
    SYS_time,
#endif
#ifdef SYS_renameat  // not where processors are newer than renameat2
    SYS_renameat,
#endif
#ifdef SYS_getrlimit
    SYS_getrlimit,
#endif
};

// Answered with "not permitted". Any other call is answered as missing in the kernel (ENOSYS), so that
// libraries use an older one.
constexpr int kForbidden[] = {
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_sendto,
    SYS_sendmsg,
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kill,
    SYS_tkill,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_io_uring_setup,
    SYS_userfaultfd,
    SYS_setuid,
    SYS_setgid,
    SYS_mknodat,
    SYS_symlinkat,
    SYS_linkat,
};

class Program {
public:
    std::vector<sock_filter> code;

    void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
    void answer(std::uint32_t action) { add(BPF_RET | BPF_K, action); }
    /// The next `count` steps are for `value` only.
    void unlessEqualSkip(std::uint32_t value, std::uint8_t count) {
        code.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, count, value});
    }
    void unlessSetSkip(std::uint32_t bits, std::uint8_t count) {
        code.push_back({BPF_JMP | BPF_JSET | BPF_K, 0, count, bits});
    }
    void answerTo(int call, std::uint32_t action) {
        unlessEqualSkip(static_cast<std::uint32_t>(call), 1);
        answer(action);
    }
    /// `call` only where the low half of its argument `index` is one of `values`.
    void allowWith(int call, size_t index, std::initializer_list<std::uint32_t> values) {
        unlessEqualSkip(static_cast<std::uint32_t>(call), static_cast<std::uint8_t>(2 + 2 * values.size()));
        load(argument(index));
        for (const std::uint32_t value : values) {
            unlessEqualSkip(value, 1);
            answer(SECCOMP_RET_ALLOW);
        }
        answer(kDenied);
    }
    static constexpr std::uint32_t kDenied = SECCOMP_RET_ERRNO | EPERM;
    /// Its low half: both processors are little-endian.
    static size_t argument(size_t index) {
        return offsetof(seccomp_data, args) + index * sizeof(std::uint64_t);
    }

private:
    void add(std::uint16_t operation, std::uint32_t value) { code.push_back({operation, 0, 0, value}); }
};

void addConditions(Program& program) {
    // A thread, but no process.
    program.unlessEqualSkip(SYS_clone, 4);
    program.load(Program::argument(0));
    program.unlessSetSkip(CLONE_THREAD, 1);
    program.answer(SECCOMP_RET_ALLOW);
    program.answer(Program::kDenied);
    // Limits may be read, its own only.
    program.unlessEqualSkip(SYS_prlimit64, 8);
    program.load(Program::argument(0));
    program.unlessEqualSkip(0, 5);
    program.load(Program::argument(2));
    program.unlessEqualSkip(0, 3);
    program.load(Program::argument(2) + sizeof(std::uint32_t));
    program.unlessEqualSkip(0, 1);
    program.answer(SECCOMP_RET_ALLOW);
    program.answer(Program::kDenied);
    program.allowWith(SYS_tgkill, 0, {static_cast<std::uint32_t>(getpid())});
    program.allowWith(SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME, kNameMemory});
    program.allowWith(SYS_ioctl, 1, {TCGETS});  // is it a terminal?
}

Program makeProgram() {
    Program program;
    program.load(offsetof(seccomp_data, arch));
    program.unlessEqualSkip(kProcessor, 1);
    program.code.push_back({BPF_JMP | BPF_JA, 0, 0, 1});
    program.answer(SECCOMP_RET_KILL_PROCESS);  // calls of another processor's numbers
    program.load(offsetof(seccomp_data, nr));
    for (const int call : kAllowed)
        program.answerTo(call, SECCOMP_RET_ALLOW);
    for (const int call : kForbidden)
        program.answerTo(call, Program::kDenied);
    addConditions(program);
    program.answer(SECCOMP_RET_ERRNO | ENOSYS);
    return program;
}

}  // namespace

bool hasCallFilter() {
    const std::uint32_t action = SECCOMP_RET_ERRNO;
    return kProcessor != 0 && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

std::string enterCallFilter() {
    if (kProcessor == 0) return "not known for this processor";
    Program program = makeProgram();
    const sock_fprog filter{static_cast<unsigned short>(program.code.size()), program.code.data()};
    const long entered = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    if (entered == 0) return {};
    return entered > 0 ? std::string("a thread has another one")
                       : std::string("the kernel does not offer it (") + std::strerror(errno) + ")";
}

}  // namespace mpm::detail
