#include "faults/fault_counts.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace faults {

thread_local bool t_inside = false;

namespace {

const char* const kNames[Kinds] = {"alloc",    "open",  "read",   "write", "sync",      "rename",
                                   "truncate", "close", "folder", "short", "interrupt", "kill"};

std::atomic<bool> g_armed{false}, g_fired{false};
std::atomic<long> g_counts[Kinds];
int g_kind = Kinds;
long g_nth = LONG_MAX;
bool g_onwards = false;
char g_under[PATH_MAX], g_report[PATH_MAX];

int reportFile() {
    static const auto next = real<int (*)(const char*, int, ...)>("open");
    return next(g_report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

void put(int file, const char* text) {
    static const auto next = real<ssize_t (*)(int, const void*, size_t)>("write");
    static_cast<void>(!next(file, text, std::strlen(text)));
}

void reportStrike() {
    if (g_report[0] == 0) return;
    const int reason = errno, file = reportFile();
    void* frames[64];
    put(file, "struck\n");
    backtrace_symbols_fd(frames, backtrace(frames, 64), file);
    static const auto next = real<int (*)(int)>("close");
    next(file);
    errno = reason;
}

void readOrders() {
    const auto copy = [](char* to, const char* name) {
        if (const char* value = std::getenv(name)) std::snprintf(to, PATH_MAX, "%s", value);
        unsetenv(name);
    };
    char fault[PATH_MAX] = "";
    copy(fault, "MPM_FAULT");
    copy(g_under, "MPM_FAULT_UNDER");
    copy(g_report, "MPM_FAULT_REPORT");
    unsetenv("LD_PRELOAD");  // children run without the shim
    char* const colon = std::strchr(fault, ':');
    if (colon == nullptr) return;
    *colon = 0;
    for (int kind = 0; kind < Kinds; ++kind)
        if (std::strcmp(fault, kNames[kind]) == 0) g_kind = kind;
    char* end = nullptr;
    g_nth = std::strtol(colon + 1, &end, 10);
    g_onwards = *end == '+';
}

__attribute__((destructor)) void reportCounts() {
    g_armed = false;
    if (g_report[0] == 0) return;
    const int file = reportFile();
    char line[64];
    for (int kind = 0; kind < Kinds; ++kind) {
        std::snprintf(line, sizeof line, "%s %ld\n", kNames[kind], g_counts[kind].load());
        put(file, line);
    }
}

}  // namespace

bool counting() {
    return g_armed && !t_inside;
}

bool strikes(Kind kind) {
    if (!counting()) return false;
    const long number = ++g_counts[kind];
    if (kind != g_kind || number < g_nth || (number > g_nth && !g_onwards)) return false;
    t_inside = true;
    if (!g_fired.exchange(true)) reportStrike();
    t_inside = false;
    return true;
}

bool firstOfMany(Kind kind) {
    return g_onwards && g_counts[kind] == g_nth;
}

const char* watchedFolder() {
    return g_under;
}

void die() {
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

bool fails(Kind kind, int reason) {
    if (strikes(Kill)) die();
    if (!strikes(kind)) return false;
    errno = reason;
    return true;
}

int watchedMain(int (*main)(int, char**, char**), int argc, char** argv, char** environment) {
    readOrders();
    void* frames[4];
    backtrace(frames, 4);  // loads the library that backtrace needs, before calls count
    g_armed = true;
    const int status = main(argc, argv, environment);
    g_armed = false;
    return status;
}

}  // namespace faults
