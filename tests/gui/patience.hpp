// How long a test waits for what must come.
#pragma once

namespace mpm::gui::test {

/// Milliseconds. A build that watches every access to memory takes its time for the same thing, and what is
/// late there is no fault.
constexpr int patience(int milliseconds) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return milliseconds * 6;
#else
    return milliseconds;
#endif
}

}  // namespace mpm::gui::test
