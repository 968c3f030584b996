// The child process of ContainedConversion, which converts a model in a sandbox.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>
#include <thread>

#include <opencv2/core/utils/logger.hpp>

#include "base/budget.hpp"
#include "base/sandbox.hpp"
#include "models/onnx/contained.hpp"
#include "models/onnx/convert.hpp"

namespace fs = std::filesystem;

namespace mpm::models {

namespace {

enum Word { Program, Verb, Input, Output, Memory, Seconds, Further };

void report(const char* word, const std::string& text) {
    std::string line = std::string(word) + " " + text.substr(0, 2000);
    for (char& c : line)
        if (c == '\n' || c == '\r') c = ' ';
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

bool has(int argc, char** argv, const char* word) {
    for (int i = Further; i < argc; ++i)
        if (std::strcmp(argv[i], word) == 0) return true;
    return false;
}

/// Lowers the processor priority, and lets the kernel kill this process first if memory runs out.
void lowerPriority() {
    static_cast<void>(setpriority(PRIO_PROCESS, 0, 10));
    const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    [[maybe_unused]] const ssize_t written = write(file, "1000", 4);
    close(file);
}

Sandbox sandboxFor(int argc, char** argv) {
    Sandbox sandbox = conversionSandbox(argv[Input], fs::path(argv[Output]).parent_path().string());
    sandbox.memory = std::atoll(argv[Memory]);
    sandbox.fileSize = sandbox.memory;
    sandbox.seconds = std::atof(argv[Seconds]) * std::max(1U, std::thread::hardware_concurrency());
    sandbox.landlock = !has(argc, argv, kWithoutLandlock);
    sandbox.filter = !has(argc, argv, kWithoutFilter);
    return sandbox;
}

int fail(int status, const std::string& message) {
    report(kMessageWord, message);
    return status;
}

/// The handler that `new` calls, in any thread, if an allocation fails.
[[noreturn]] void endWithoutMemory() {
    _exit(kContainedMemory);
}

int convert(char** argv) {
    try {
        convertModel(argv[Input], argv[Output], {});
        return kContainedDone;
    } catch (const Refusal& refusal) {
        return fail(kContainedRefused, refusal.what());
    } catch (const BudgetError& error) {
        return fail(kContainedRefused, error.err);
    } catch (const cv::Exception& error) {
        const bool memory = error.code == cv::Error::StsNoMem;
        return fail(memory ? kContainedMemory : kContainedFailed, error.err);
    } catch (const std::bad_alloc&) {
        return kContainedMemory;
    } catch (const std::system_error& error) {
        const bool thread = error.code() == std::errc::resource_unavailable_try_again;
        return fail(thread ? kContainedMemory : kContainedFailed, error.what());
    } catch (const std::exception& error) {
        return fail(kContainedFailed, error.what());
    }
}

}  // namespace

Sandbox conversionSandbox(const std::string& input, const std::string& folder) {
    Sandbox sandbox;
    sandbox.readable = visibleEntries(fs::absolute(input).parent_path().string());
    // Adds these files by name, because visibleEntries() skips links and returns only part of a very large
    // folder.
    for (const char* ending : {"", ".data", "_data"})
        sandbox.readable.push_back(input + ending);
    // Libraries read these paths when they are first used.
    for (const char* path : {"/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/ssl/openssl.cnf",
                             "/sys/devices/system", "/proc/cpuinfo", "/proc/meminfo"})
        sandbox.readable.push_back(path);
    sandbox.writable = {folder};
    return sandbox;
}

bool isContainedCall(int argc, char** argv) {
    return argc >= Further && std::strcmp(argv[Verb], kContainedVerb) == 0;
}

int containedMain(int argc, char** argv) {
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    lowerPriority();
    // Makes OpenCV read the number of processors before the process enters the sandbox.
    static_cast<void>(cv::getNumThreads());
    try {
        for (const std::string& line : enterSandbox(sandboxFor(argc, argv)))
            report(kMissingWord, line);
    } catch (const cv::Exception& error) {
        return fail(kContainedFailed, error.err);
    }
    std::set_new_handler(endWithoutMemory);
    const int status = convert(argv);
    std::fflush(stdout);
    _exit(status);  // skips the destructors of the model's data
}

}  // namespace mpm::models
