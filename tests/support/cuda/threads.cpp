#include "support/cuda/threads.hpp"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulated {
namespace {

constexpr size_t kStackBytes = 128 << 10;
// The 320 bytes shift each stack, because stacks at the same offset in a page would use the same cache lines.
constexpr size_t kStackStep = kStackBytes + 320;

enum class State { Ready, InWarp, AtBarrier, Done };

struct Fiber {
    jmp_buf place;
    ucontext_t start;
    bool started = false;
    State state = State::Ready;
    uint3 index{};
    unsigned char* stack = nullptr;
    PendingCopies copies;
    void* fakeStack = nullptr;  ///< fake stack of the address sanitizer
};

struct Warp {
    const char* operation = nullptr;
    int arrived = 0;
    unsigned meetings = 0;
    Lane lanes[2][kWarp];  ///< of this and of the previous operation, which slower lanes may still read
};

void enterFiber();
void onFault(int, siginfo_t*, void*);

class Multiprocessor {
public:
    Multiprocessor();

    std::string run(dim3 grid, dim3 block, size_t sharedBytes, const std::function<void()>& thread);
    [[noreturn]] void fail(const char* why, const char* detail);
    void runFiber();
    void leave();
    bool inKernel() const { return m_current != &m_scheduler; }
    const Lane* meet(const char* operation, const void* own, size_t bytes, void (*together)(Lane*));
    void barrier();
    bool copiesEarly() const { return m_order >> 30 & 1u; }
    int number() const { return static_cast<int>(m_current - m_fibers.get()); }
    Fiber& current() { return *m_current; }
    unsigned char* shared() const { return m_sharedEnd - m_sharedBytes; }
    void checkShared(const void* address, size_t bytes);

private:
    void prepareFibers();
    void runBlock();
    std::string release();
    void resume(Fiber& to);
    void afterSwitch();
    int inOrder(int number, int count) const { return m_backwards ? count - 1 - number : number; }

    Fiber m_scheduler;
    Fiber* m_current = &m_scheduler;
    std::unique_ptr<Fiber[]> m_fibers;
    std::unique_ptr<Warp[]> m_warps;
    unsigned char* m_sharedEnd = nullptr;
    size_t m_sharedBytes = 0;
    int m_threads = 0;
    std::uint32_t m_order = 1;
    bool m_backwards = false;
    const std::function<void()>* m_thread = nullptr;
    std::string m_failure;
    Fiber* m_previous = nullptr;
    const void* m_schedulerStack = nullptr;
    size_t m_schedulerBytes = 0;
};

Multiprocessor& multiprocessor() {
    static Multiprocessor& one = *new Multiprocessor;
    return one;
}

std::string text(const uint3& at) {
    return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + ")";
}

unsigned char* reserve(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    return static_cast<unsigned char*>(memory);
}

Multiprocessor::Multiprocessor()
    : m_fibers(new Fiber[kMostThreads]), m_warps(new Warp[kMostThreads / kWarp]) {
    unsigned char* stacks = reserve(kMostThreads * kStackStep);
    for (unsigned i = 0; i < kMostThreads; ++i)
        m_fibers[i].stack = stacks + i * kStackStep;
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = (kMostSharedBytes + page - 1) / page * page;
    m_sharedEnd = reserve(bytes + page) + bytes;
    mprotect(m_sharedEnd, page, PROT_NONE);
    m_scheduler.started = true;
    prepareFibers();
}

void Multiprocessor::resume(Fiber& to) {
    Fiber& from = *m_current;
    m_current = &to;
    threadIdx = to.index;
    m_previous = &from;
#if defined(__SANITIZE_ADDRESS__)
    const bool back = &to == &m_scheduler;
    __sanitizer_start_switch_fiber(&from.fakeStack, back ? m_schedulerStack : to.stack,
                                   back ? m_schedulerBytes : kStackBytes);
#endif
    if (_setjmp(from.place) == 0) {
        if (to.started) _longjmp(to.place, 1);
        to.started = true;
        setcontext(&to.start);
    }
    afterSwitch();
}

void Multiprocessor::afterSwitch() {
#if defined(__SANITIZE_ADDRESS__)
    const void* stack = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(m_current->fakeStack, &stack, &bytes);
    if (m_previous == &m_scheduler) m_schedulerStack = stack, m_schedulerBytes = bytes;
#endif
}

// Prepares all fibers to start. If a kernel failed before, its stacks are abandoned.
void Multiprocessor::prepareFibers() {
    for (unsigned i = 0; i < kMostThreads; ++i) {
        Fiber& fiber = m_fibers[i];
        fiber.started = false;
        getcontext(&fiber.start);
        fiber.start.uc_stack.ss_sp = fiber.stack;
        fiber.start.uc_stack.ss_size = kStackBytes;
        fiber.start.uc_link = nullptr;
        makecontext(&fiber.start, enterFiber, 0);
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(fiber.stack, kStackBytes);
#endif
    }
    for (unsigned w = 0; w < kMostThreads / kWarp; ++w)
        m_warps[w].arrived = 0;
}

// A fiber starts once, and then runs a thread of every block.
void Multiprocessor::runFiber() {
    afterSwitch();
    for (;;) {
        (*m_thread)();
        m_current->state = State::Done;
        leave();
    }
}

void enterFiber() {
    multiprocessor().runFiber();
}

// Objects on the fiber's stack are never destroyed, so the stack must not have objects that own memory.
void Multiprocessor::fail(const char* why, const char* detail) {
    m_failure = "thread " + text(threadIdx) + " " + why + detail;
    resume(m_scheduler);
    std::abort();  // not reached: a kernel that failed does not continue
}

// Switches to the next lane of the warp that can run, so that most switches need no scheduler.
void Multiprocessor::leave() {
    const int first = number() / kWarp * kWarp, lane = number() % kWarp;
    const int step = m_backwards ? kWarp - 1 : 1;
    for (int other = (lane + step) % kWarp; other != lane; other = (other + step) % kWarp)
        if (m_fibers[first + other].state == State::Ready) return resume(m_fibers[first + other]);
    resume(m_scheduler);
}

const Lane* Multiprocessor::meet(const char* operation, const void* own, size_t bytes,
                                 void (*together)(Lane*)) {
    Warp& warp = m_warps[number() / kWarp];
    if (warp.arrived == 0) warp.operation = operation;
    if (std::strcmp(warp.operation, operation) != 0)
        fail("meets lanes of its warp that are in another operation: ", warp.operation);
    Lane* lanes = warp.lanes[warp.meetings % 2];
    std::memcpy(lanes[number() % kWarp].bytes, own, bytes);
    if (++warp.arrived < kWarp) {
        m_current->state = State::InWarp;
        leave();
        return lanes;
    }
    warp.arrived = 0;
    ++warp.meetings;
    if (together) together(lanes);
    const int first = number() / kWarp * kWarp;
    for (int lane = 0; lane < kWarp; ++lane)
        m_fibers[first + lane].state = State::Ready;
    return lanes;
}

void Multiprocessor::barrier() {
    m_current->state = State::AtBarrier;
    leave();
}

void Multiprocessor::checkShared(const void* address, size_t bytes) {
    const auto* first = static_cast<const unsigned char*>(address);
    if (first < shared() || first + bytes > m_sharedEnd)
        fail("uses an address outside of dynamic shared memory", "");
    if (reinterpret_cast<uintptr_t>(first) % 16 != 0)
        fail("uses an address that is not a multiple of 16", "");
}

/// Called when no thread can run. Opens the barrier, or returns why the barrier cannot open.
std::string Multiprocessor::release() {
    int waiting = 0, done = 0;
    for (int i = 0; i < m_threads; ++i) {
        const Fiber& fiber = m_fibers[i];
        if (fiber.state == State::InWarp)
            return std::string("some lanes of a warp do not reach ") + m_warps[i / kWarp].operation;
        waiting += fiber.state == State::AtBarrier;
        done += fiber.state == State::Done;
    }
    if (waiting > 0 && done > 0)
        return std::to_string(waiting) + " of " + std::to_string(m_threads) +
               " threads reach __syncthreads()";
    if (done > 0) return "";
    for (int i = 0; i < m_threads; ++i)
        m_fibers[i].state = State::Ready;
    return "";
}

void Multiprocessor::runBlock() {
    // Fills shared memory with bytes that are NaN in f16, bf16 and f32, to find reads of values never
    // written.
    std::memset(shared(), 0xff, m_sharedBytes);
    for (int i = 0; i < m_threads; ++i) {
        m_fibers[i].state = State::Ready;
        m_fibers[i].copies.copies.clear();
        m_fibers[i].copies.groups = 0;
    }
    // Varies the order of threads, because the result of a race depends on it. Every run has the same orders.
    m_order = m_order * 1664525u + 1013904223u;
    m_backwards = m_order >> 31;
    for (;;) {
        bool ran = false;
        for (int position = 0; position < m_threads; ++position) {
            Fiber& fiber = m_fibers[inOrder(position, m_threads)];
            if (fiber.state != State::Ready) continue;
            ran = true;
            resume(fiber);
            if (!m_failure.empty()) return;
        }
        if (!ran) return;
        m_failure = release();
        if (!m_failure.empty()) return;
    }
}

std::string Multiprocessor::run(dim3 grid, dim3 block, size_t sharedBytes,
                                const std::function<void()>& thread) {
    m_thread = &thread;
    m_threads = static_cast<int>(block.x * block.y * block.z);
    m_sharedBytes = (sharedBytes + 15) / 16 * 16;
    m_failure.clear();
    gridDim = grid, blockDim = block;
    for (unsigned i = 0; i < static_cast<unsigned>(m_threads); ++i)
        m_fibers[i].index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
    struct sigaction ours {
    }, before{};
    ours.sa_sigaction = onFault;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &ours, &before);
    for (blockIdx.z = 0; blockIdx.z < grid.z && m_failure.empty(); ++blockIdx.z) {
        for (blockIdx.y = 0; blockIdx.y < grid.y && m_failure.empty(); ++blockIdx.y) {
            for (blockIdx.x = 0; blockIdx.x < grid.x && m_failure.empty(); ++blockIdx.x) {
                runBlock();
                if (!m_failure.empty()) m_failure = "block " + text(blockIdx) + ": " + m_failure;
            }
        }
    }
    sigaction(SIGSEGV, &before, nullptr);
    if (!m_failure.empty()) prepareFibers();
    return m_failure;
}

// Handles SIGSEGV: device memory is surrounded by pages without access, so the kernel has accessed other
// memory.
void onFault(int, siginfo_t*, void*) {
    if (multiprocessor().inKernel()) fail("reads or writes outside of its memory");
    signal(SIGSEGV, SIG_DFL);
}

}  // namespace

std::string runGrid(dim3 grid, dim3 block, size_t sharedBytes, const std::function<void()>& thread) {
    return multiprocessor().run(grid, block, sharedBytes, thread);
}

void fail(const char* why, const char* detail) {
    multiprocessor().fail(why, detail);
}

const Lane* meetWarp(const char* operation, const void* own, size_t bytes, void (*together)(Lane*)) {
    return multiprocessor().meet(operation, own, bytes, together);
}

bool copiesEarly() {
    return multiprocessor().copiesEarly();
}

PendingCopies& copiesOfThread() {
    return multiprocessor().current().copies;
}

unsigned char* sharedMemory() {
    return multiprocessor().shared();
}

void checkShared(const void* address, size_t bytes) {
    multiprocessor().checkShared(address, bytes);
}

int laneOfThread() {
    return multiprocessor().number() % kWarp;
}

std::uint64_t exchange(unsigned mask, const char* operation, std::uint64_t own, int lane) {
    if (mask != 0xffffffffu) fail("uses a part of its warp, which is not emulated, in ", operation);
    std::uint64_t result;
    std::memcpy(&result, meetWarp(operation, &own, sizeof own)[lane].bytes, sizeof result);
    return result;
}

}  // namespace emulated

void __syncthreads() {
    emulated::multiprocessor().barrier();
}

void __syncwarp() {
    emulated::meetWarp("__syncwarp", "", 0);
}
