// The calls that the shim counts, and the call that must fail. shim.cpp describes MPM_FAULT and the other
// environment variables.
#pragma once

#include <dlfcn.h>

#include <cstddef>

namespace faults {

enum Kind { Alloc, Open, Read, Write, Sync, Rename, Truncate, Close, Folder, Short, Interrupt, Kill, Kinds };

/// True inside the shim, whose own calls must not count.
extern thread_local bool t_inside __attribute__((tls_model("initial-exec")));

/// Returns the C library's function of this name.
template <class Function>
Function real(const char* name) {
    const bool before = t_inside;
    t_inside = true;
    void* const found = dlsym(RTLD_NEXT, name);
    t_inside = before;
    return reinterpret_cast<Function>(found);
}

/// Returns whether calls by this thread count now.
bool counting();
/// Counts a call. Returns true if the call must fail.
bool strikes(Kind kind);
/// Like strikes(), but also sets errno to `reason`. Ends the program if the chosen fault is a kill.
bool fails(Kind kind, int reason);
/// Returns whether this call is the first of several that fail, as on a disk that becomes full.
bool firstOfMany(Kind kind);
[[noreturn]] void die();

/// Returns MPM_FAULT_UNDER; empty if it is not set.
const char* watchedFolder();

/// Reads the environment, then runs `main` and counts the calls.
int watchedMain(int (*main)(int, char**, char**), int argc, char** argv, char** environment);

}  // namespace faults
