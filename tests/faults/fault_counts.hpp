// The calls that the shim counts, and the call that is to fail; shim.cpp describes MPM_FAULT and the like.
#pragma once

#include <dlfcn.h>

#include <cstddef>

namespace faults {

enum Kind { Alloc, Open, Read, Write, Sync, Rename, Truncate, Close, Folder, Short, Interrupt, Kill, Kinds };

/// Calls of the shim itself must not count.
extern thread_local bool t_inside __attribute__((tls_model("initial-exec")));

/// The C library's function of that name.
template <class Function>
Function real(const char* name) {
    const bool before = t_inside;
    t_inside = true;
    void* const found = dlsym(RTLD_NEXT, name);
    t_inside = before;
    return reinterpret_cast<Function>(found);
}

/// Whether calls of this thread count now.
bool counting();
/// Counts a call; true if it is to fail.
bool strikes(Kind kind);
/// The same, and sets errno to `reason`; ends the program if that is the fault.
bool fails(Kind kind, int reason);
/// Whether this call is the first of several that fail, as on a disk that becomes full.
bool firstOfMany(Kind kind);
[[noreturn]] void die();

/// MPM_FAULT_UNDER; empty if it is not set.
const char* watchedFolder();

/// Reads the environment; runs `main` and counts meanwhile.
int watchedMain(int (*main)(int, char**, char**), int argc, char** argv, char** environment);

}  // namespace faults
