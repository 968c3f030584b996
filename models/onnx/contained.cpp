#include "models/onnx/contained.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include <opencv2/core.hpp>

#include "base/printable.hpp"
#include "base/private_files.hpp"

namespace fs = std::filesystem;

namespace mpm::models {

namespace {

constexpr std::size_t kMostOutput = 8192;

std::int64_t machineMemory() {
    return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

std::vector<std::string> environment() {
    std::vector<std::string> settings{"LANG=C.UTF-8",
                                      "PATH=/usr/bin:/bin",
                                      "MALLOC_ARENA_MAX=4",
                                      "OPENCV_LOG_LEVEL=SILENT",
                                      "MPM_DEVICE=cpu",
                                      "OPENCV_OPENCL_RUNTIME=disabled",
                                      "OPENCV_OPENCL_DEVICE=disabled"};
    // The program may need this variable to find libraries.
    if (const char* libraries = std::getenv("LD_LIBRARY_PATH"); libraries != nullptr)
        settings.push_back(std::string("LD_LIBRARY_PATH=") + libraries);
#ifdef __SANITIZE_ADDRESS__
    // Leak detection uses ptrace, which the sandbox forbids.
    settings.push_back("ASAN_OPTIONS=detect_leaks=0");
#endif
    return settings;
}

/// Returns the result of a child that exited by itself. The child's output is as untrusted as the model, so
/// printable() cleans each line.
Contained resultOf(const ChildEnd& child) {
    Contained result;
    std::istringstream lines(child.output);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t blank = std::min(line.find(' '), line.size());
        const std::string text = printable(std::string_view(line).substr(std::min(blank + 1, line.size())));
        if (line.compare(0, blank, kMissingWord) == 0 && result.missing.size() < 4)
            result.missing.push_back(text);
        if (line.compare(0, blank, kMessageWord) == 0) result.message = text;
    }
    using End = Contained::End;
    const std::map<int, End> ends{
        {kContainedDone, End::Done}, {kContainedRefused, End::Refused}, {kContainedMemory, End::OutOfMemory}};
    if (const auto end = ends.find(child.number); end != ends.end()) result.end = end->second;
    if (result.message.empty())
        result.message = "the converter ended with status " + std::to_string(child.number);
    return result;
}

Contained resultOfSignal(int number, const std::string& output) {
    using End = Contained::End;
    Contained result = resultOf({ChildEnd::How::Exited, 1, output});
    result.message = "the converter crashed (signal " + std::to_string(number) + ")";
    if (number == SIGXCPU) result.end = End::OutOfTime, result.message = "the conversion took too long";
    if (number == SIGXFSZ) result.end = End::TooLarge, result.message = "the converted file is too large";
    return result;
}

Contained resultOfAny(const ChildEnd& child) {
    using How = ChildEnd::How;
    switch (child.how) {
        case How::Exited:
            return resultOf(child);
        case How::Signalled:
            return resultOfSignal(child.number, child.output);
        case How::Stopped:
            return {Contained::End::Stopped, "stopped", {}};
        case How::OutOfTime:
            return resultOfSignal(SIGXCPU, child.output);
        case How::NotStarted:
            break;
    }
    return {Contained::End::Failed,
            std::string("the converter cannot be started (") + std::strerror(child.number) + ")",
            {}};
}

/// Checks that the child's file is a regular file, and moves the file to `output`.
void take(const std::string& made, const std::string& output) {
    const int file = open(made.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const ScratchFile fresh(fs::path(output).parent_path(), Access::Umask);  // `output` gets this file's mode
    struct stat about {
    }, other{};
    const bool isFile = file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                        fstat(fresh.descriptor(), &other) == 0 && fchmod(file, other.st_mode & 0777) == 0 &&
                        fsync(file) == 0;
    if (file >= 0) close(file);
    if (!isFile) CV_Error(cv::Error::StsError, "the converter has written no file");
    if (std::rename(made.c_str(), output.c_str()) != 0)
        CV_Error(cv::Error::StsError, output + ": cannot be written (" + std::strerror(errno) + ")");
}

}  // namespace

ContainedConversion::ContainedConversion(std::string program, ContainedLimits limits)
    : m_program(std::move(program)), m_limits(limits) {
    if (m_limits.memory <= 0) m_limits.memory = machineMemory() / 4 * 3;
}

Contained ContainedConversion::run(const std::string& input, const std::string& output) {
    try {
        const WorkFolder folder(fs::absolute(output).parent_path().string());
        const std::string made = folder.path() + "/model.onnx";
        std::vector<std::string> words{
            "mpm-convert",
            kContainedVerb,
            fs::absolute(input).string(),
            made,
            std::to_string(m_limits.memory),
            std::to_string(static_cast<std::int64_t>(std::max(1.0, m_limits.seconds)))};
        if (!m_limits.landlock) words.push_back(kWithoutLandlock);
        if (!m_limits.filter) words.push_back(kWithoutFilter);
        m_child.start(m_program, words, environment());
        Contained result = resultOfAny(m_child.wait(m_limits.seconds, kMostOutput));
        if (result.end == Contained::End::Done) take(made, fs::absolute(output).string());
        return result;
    } catch (const cv::Exception& error) {
        return {Contained::End::Failed, printable(error.err), {}};
    } catch (const std::exception& error) {
        return {Contained::End::Failed, printable(error.what()), {}};
    }
}

}  // namespace mpm::models
