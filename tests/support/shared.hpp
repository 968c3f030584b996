// Folders of exports and images outside the project, for tests that use them if they exist.
#pragma once

#include <cstdlib>
#include <string>

namespace mpm::test {

/// Returns $MPM_SHARED_DIR if it is set, else the folder beside the project's folder.
inline std::string sharedDir() {
    const char* other = std::getenv("MPM_SHARED_DIR");
    return other ? other : MPM_SHARED_DIR;
}

}  // namespace mpm::test
