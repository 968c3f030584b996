// A target with deliberate faults. check_driver.sh tests that the driver finds all of these faults.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    static std::vector<std::string> kept;
    if (text.rfind("crash", 0) == 0 && text != "crash only when changed") std::abort();
    for (volatile bool endless = text.rfind("endless", 0) == 0; endless;) {
    }
    if (text.rfind("asleep", 0) == 0) std::this_thread::sleep_for(std::chrono::hours(1));
    if (text.rfind("large", 0) == 0) kept.emplace_back(std::size_t{300} << 20, 'x');
    if (text.rfind("open", 0) == 0)
        if (dup(STDERR_FILENO) < 0) std::abort();
    if (text.rfind("exit", 0) == 0) std::exit(7);
    return 0;
}
