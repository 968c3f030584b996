// Runs a fuzz target without libFuzzer. Every run can be repeated, because an input depends only on the seeds
// and the round.
//   TARGET SEEDS...              runs the seeds (files or folders) in this process, for a debugger
//   TARGET --rounds N SEEDS...   runs the seeds and N mutants of each; --at-most S: stops after S seconds
//   TARGET --seconds S --state FILE SEEDS...   runs mutants for S seconds of processor time, from the
//                                              position in FILE
// The second and third form run inputs in a separate process. If this process dies, or takes too much time or
// memory, the input and the report are written to FOLDER/TARGET-HASH (--findings FOLDER), and the next input
// runs. The exit status is 1 if there was such a finding.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <set>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/driver/job.hpp"
#include "fuzz/driver/worker.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fs = std::filesystem;

namespace mpm::fuzz {

namespace {

constexpr std::size_t kReportBytes = 64 * 1024;
constexpr double kMostWaiting = 4;       // limit of wall time / processor time: targets may wait
constexpr double kSecondsToReport = 30;  // a sanitizer needs time to look up names
constexpr std::uint64_t kDeathsAtMost =
    200;  // more deaths repeat known findings, so the remaining time would show nothing new

std::string brief(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
}

std::string hashed(const Bytes& bytes) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const std::uint8_t byte : bytes)
        hash = (hash ^ byte) * 0x100000001B3ULL;
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

/// Keeps the standard error of a worker in memory; if the output is long, only its end.
class Report {
public:
    Report() : m_file(memfd_create("fuzz report", MFD_CLOEXEC)) {}
    ~Report() { close(m_file); }
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;

    void takeStandardError() const {
        fcntl(m_file, F_SETFL, O_APPEND);
        dup2(m_file, STDERR_FILENO);
    }
    /// Empties a large file. Called regularly, so that a target with much output does not fill the memory.
    void trim() const {
        if (lseek(m_file, 0, SEEK_END) > off_t{16} * 1024 * 1024) static_cast<void>(!ftruncate(m_file, 0));
    }
    std::string text() const {
        const off_t size = lseek(m_file, 0, SEEK_END);
        const off_t start = std::max<off_t>(0, size - static_cast<off_t>(kReportBytes));
        std::string text(static_cast<std::size_t>(size - start), '\0');
        const ssize_t got = pread(m_file, text.data(), text.size(), start);
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
        return text;
    }

private:
    int m_file;
};

/// Returns the line of a report that identifies a finding: the sanitizer's summary, or the place of undefined
/// behaviour; `otherwise` if there is no such line.
std::string signature(const std::string& report, const std::string& otherwise) {
    for (const char* mark : {"SUMMARY: ", "runtime error: "}) {
        const std::size_t found = report.find(mark);
        if (found == std::string::npos) continue;
        const std::size_t begin = report.rfind('\n', found) + 1;
        return report.substr(begin, report.find('\n', found) - begin);
    }
    return otherwise;
}

/// Returns the processor time of all workers that have ended.
double secondsOfWorkers() {
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Supervisor {
public:
    Supervisor(Job job, const char* program)
        : m_job(std::move(job)), m_name(fs::path(program).filename()), m_state(State::read(m_job.state)) {
        void* const shared =
            mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) throw std::bad_alloc();
        m_progress = new (shared) Progress;
        sigset_t child;
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child, nullptr);
    }

    int run() {
        const std::uint64_t count = m_job.seeds.inputs.size();
        if (m_job.rounds > 0) runRounds((m_job.rounds + 1) * count);
        if (m_job.seconds > 0) {
            Limits limits;
            limits.seconds = m_job.seconds;
            limits.deadline = now() + kMostWaiting * m_job.seconds;
            stretch(m_state.position, limits);
        }
        std::printf(
            "%s: %llu seeds, %llu runs in %.0f s of processor time, slowest %.2f s (%s), %.0f MiB at most, "
            "%llu findings\n",
            m_name.c_str(), static_cast<unsigned long long>(count),
            static_cast<unsigned long long>(m_state.runs), m_state.seconds, m_state.slowest,
            m_state.slowestName.c_str(), m_state.peak, static_cast<unsigned long long>(m_found));
        return m_found > 0 ? 1 : 0;
    }

private:
    void runRounds(std::uint64_t end) {
        Limits limits;
        limits.end = end;
        if (m_job.atMost > 0) limits.deadline = now() + m_job.atMost;
        stretch(0, limits);
        if (m_progress->position < end)
            std::printf("%s: %llu mutants left out after %s s\n", m_name.c_str(),
                        static_cast<unsigned long long>(end - m_progress->position),
                        brief(m_job.atMost).c_str());
    }

    /// Runs workers one after the other. Each continues at the position after the previous worker's end.
    void stretch(std::uint64_t from, Limits limits) {
        m_progress->position = from;
        while (m_progress->position < limits.end && now() < limits.deadline && limits.seconds > 0 &&
               m_deaths < kDeathsAtMost) {
            const Report report;
            const double start = secondsOfWorkers();
            const std::uint64_t before = m_progress->runs;
            const std::string death = worker(report, limits);
            const double spent = secondsOfWorkers() - start;
            m_state.seconds += spent;
            limits.seconds -= spent;
            m_state.runs += m_progress->runs - before;
            if (!death.empty()) note(death, report.text());
            if (!death.empty()) ++m_progress->position;
            save();
        }
    }

    /// Runs a worker. Returns how it died; empty if it ended normally.
    std::string worker(const Report& report, const Limits& limits) {
        m_progress->started = 0;
        std::fflush(nullptr);
        const pid_t child = fork();
        if (child == 0) {
            report.takeStandardError();
            _exit(work(m_job, *m_progress, limits));
        }
        return watch(child, report);
    }

    std::string watch(pid_t child, const Report& report) {
        sigset_t ended;
        sigemptyset(&ended);
        sigaddset(&ended, SIGCHLD);
        double aborted = 0;  // time of the signal that makes the worker print a stack
        for (int status = 0;;) {
            const timespec step{1, 0};
            sigtimedwait(&ended, nullptr, &step);
            if (waitpid(child, &status, WNOHANG) == child) return describe(status, aborted != 0);
            report.trim();
            if (aborted != 0 && now() - aborted > kSecondsToReport) kill(child, SIGKILL);
            if (aborted != 0 || !isLate(child)) continue;
            aborted = now();
            kill(child, SIGABRT);
        }
    }

    /// Returns whether an input takes too long. The limit is for processor time, so that a busy machine
    /// causes no findings. For code that waits, there is also a limit of wall time, ten times as high.
    bool isLate(pid_t child) const {
        const double started = m_progress->started, startedCpu = m_progress->startedCpu;
        if (started == 0) return false;
        const double cpu = processorSeconds(child) - startedCpu, waited = now() - started;
        return m_progress->started == started &&
               (cpu > m_job.inputSeconds || waited > 10 * m_job.inputSeconds);
    }

    std::string describe(int status, bool late) const {
        if (late) return "took more than " + brief(m_job.inputSeconds) + " s";
        if (WIFSIGNALED(status)) return std::string("ended by ") + strsignal(WTERMSIG(status));
        switch (WEXITSTATUS(status)) {
            case 0:
                return {};
            case Progress::kTooMuchMemory:
                return "more than " + brief(m_job.mebibytes) + " MiB";
            case Progress::kOpenFiles:
                return "leaves files open, this input or those before it";
            case Progress::kLeak:
                return "leaks memory, in this input or one before it";
            default:
                return "ended with status " + std::to_string(WEXITSTATUS(status));
        }
    }

    /// Writes the input if this call has not yet had a finding with the same signature.
    void note(const std::string& death, const std::string& report) {
        ++m_deaths;
        if (!m_seen.insert(signature(report, death)).second) return;
        ++m_found;
        ++m_state.findings;
        const Input input = inputAt(m_progress->position, m_job.seeds);
        fs::create_directories(m_job.findings);
        const fs::path file = fs::path(m_job.findings) / (m_name + "-" + hashed(input.bytes));
        std::ofstream(file, std::ios::binary)
            .write(reinterpret_cast<const char*>(input.bytes.data()),
                   static_cast<std::streamsize>(input.bytes.size()));
        std::ofstream(file.string() + ".txt") << input.name << ": " << death << "\n" << report;
        std::fprintf(stderr, "%s\n%s: FINDING: %s: %s\n%s: the input is %s\n", report.c_str(), m_name.c_str(),
                     input.name.c_str(), death.c_str(), m_name.c_str(), file.c_str());
    }

    void save() {
        m_state.position = m_progress->position;
        m_state.peak = std::max<double>(m_state.peak, m_progress->peak);
        if (m_progress->slowest > m_state.slowest) {
            m_state.slowest = m_progress->slowest;
            m_state.slowestName = inputAt(m_progress->slowestPosition, m_job.seeds).name;
        }
        m_state.write(m_job.state);
    }

    const Job m_job;
    const std::string m_name;
    State m_state;
    Progress* m_progress = nullptr;  // is never freed
    std::set<std::string> m_seen;
    std::uint64_t m_deaths = 0, m_found = 0;
};

void replayHere(const Seeds& seeds) {
    for (const Bytes& input : seeds.inputs)
        LLVMFuzzerTestOneInput(input.data(), input.size());
    std::printf("%zu seeds, %.0f MiB at most\n", seeds.inputs.size(), peakMebibytes());
}

}  // namespace

}  // namespace mpm::fuzz

int main(int argc, char** argv) {
    setenv("OPENCV_FOR_THREADS_NUM", "1", 0);  // makes runs repeatable
    mpm::fuzz::Job job = mpm::fuzz::parse(argc, argv);
    if (!job.here()) return mpm::fuzz::Supervisor(std::move(job), argv[0]).run();
    mpm::fuzz::replayHere(job.seeds);
    return 0;
}
