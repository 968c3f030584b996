// The time limits of waiting tests.
#pragma once

namespace mpm::gui::test {

/// Milliseconds. A build that checks every memory access is slower, so it gets more time.
constexpr int patience(int milliseconds) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return milliseconds * 6;
#else
    return milliseconds;
#endif
}

}  // namespace mpm::gui::test
