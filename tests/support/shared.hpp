// Folders of exports and images outside the project, for tests that use them if they exist.
#pragma once

#include <cstdlib>
#include <string>

namespace mpm::test {

/// The folder beside the project's, or $MPM_SHARED_DIR.
inline std::string sharedDir() {
    const char* other = std::getenv("MPM_SHARED_DIR");
    return other ? other : MPM_SHARED_DIR;
}

}  // namespace mpm::test
