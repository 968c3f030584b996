#include "faults/trial.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLimit{120};

std::string bytesOf(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Returns whether GDAL wrote the line, for example "ERROR 2: Cannot allocate CPLXMLNode".
bool isOfGdal(const std::string& line) {
    return line.compare(0, 6, "ERROR ") == 0 && line.size() > 7 && std::isdigit(line[6]) && line[7] == ':';
}

std::string replaced(std::string text, const std::string& folder) {
    for (size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += folder.size())
        text.replace(at, 1, folder);
    return text;
}

/// A library that ends the program if an allocation fails. This project cannot fix these libraries. A crash
/// is accepted only if the stack of the failed call has one of the names.
struct Excused {
    const char* name;  ///< in the stack of the failed call
    const char* why;
};
const Excused kExcused[] = {
    {"libgdal.so", "GDAL, which OpenCV makes ready for its first image, uses memory that it did not get"},
    {"libdnnl.so", "oneDNN, which multiplies for LibTorch, uses memory that it did not get"},
#ifdef MPM_FREETYPE_GIVES_UP
    {"libfreetype.so", "FreeType's hinting uses memory that it did not get"},
#endif
    {"libQt6Core.so", "Qt's texts and lists use memory that they did not get"},
    {"__cxa_thread_atexit", "glibc ends the program where it cannot note the end of a thread's variable"},
    {"json_value::destroy", "nlohmann's JSON takes memory in its destructor, which may not throw"},
};

/// Returns the stack with the names of the program's functions, taken from the symbol table.
std::string withNames(const std::string& stack, const std::string& program) {
    std::string offsets;
    std::istringstream lines(stack);
    for (std::string line; std::getline(lines, line);) {
        const size_t at = line.find("(+0x");
        if (at != std::string::npos && line.compare(0, at, program) == 0)
            offsets += ' ' + line.substr(at + 2, line.find(')', at) - at - 2);
    }
    std::string names = stack;
    const std::string command = "addr2line -Cfe '" + program + "'" + offsets;
    std::FILE* const pipe = offsets.empty() ? nullptr : popen(command.c_str(), "r");
    char text[1024];
    while (pipe != nullptr && std::fgets(text, sizeof text, pipe) != nullptr)
        if (text[0] != '?') names += text;
    if (pipe != nullptr) pclose(pipe);
    return names;
}

const Excused* excuse(const std::string& stack) {
    const auto isIn = [&](const Excused& excused) { return stack.find(excused.name) != std::string::npos; };
    const auto found = std::find_if(std::begin(kExcused), std::end(kExcused), isIn);
    return found != std::end(kExcused) ? found : nullptr;
}

void readReport(const fs::path& path, Ending& ending) {
    std::istringstream report(bytesOf(path));
    for (std::string line; std::getline(report, line);) {
        const size_t space = line.find(' ');
        const bool count = space != std::string::npos && line.find_first_of("/(") == std::string::npos;
        if (count)
            ending.counts[line.substr(0, space)] = std::stol(line.substr(space));
        else
            ending.struck += line + '\n';
    }
}

[[noreturn]] void become(const Faulty& program, const std::string& fault, const fs::path& folder,
                         const fs::path& report, int out, int err) {
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    for (const std::string& variable : program.environment) {
        const size_t equals = variable.find('=');
        setenv(variable.substr(0, equals).c_str(),
               replaced(variable.substr(equals + 1), folder.string()).c_str(), 1);
    }
    setenv("MPM_FAULT", fault.c_str(), 1);
    // The program's inputs are in other folders mpm-test-*, and calls on these inputs must count, too.
    setenv("MPM_FAULT_UNDER", (fs::temp_directory_path() / "mpm-test-").c_str(), 1);
    setenv("MPM_FAULT_REPORT", report.c_str(), 1);
    setenv("LD_PRELOAD", MPM_FAULT_SHIM, 1);
    std::vector<std::string> words;
    for (const std::string& word : program.command)
        words.push_back(replaced(word, folder.string()));
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
}

void gather(int child, int (&pipes)[2], Ending& ending) {
    const auto end = Clock::now() + kLimit;
    std::string* texts[2] = {&ending.out, &ending.err};
    pollfd waiting[2] = {{pipes[0], POLLIN, 0}, {pipes[1], POLLIN, 0}};
    for (int open = 2; open > 0;) {
        if (poll(waiting, 2, 200) <= 0 && Clock::now() > end) {
            ending.late = true;
            kill(child, SIGKILL);
            break;
        }
        for (int i = 0; i < 2; ++i) {
            char part[4096];
            if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
            const ssize_t count = read(waiting[i].fd, part, sizeof part);
            if (count > 0) texts[i]->append(part, static_cast<size_t>(count));
            if (count > 0) continue;
            waiting[i].fd = -1;
            --open;
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) ending.status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
}

/// Runs a program without a fault, then with faults, and compares the files.
class Trial {
public:
    explicit Trial(const Faulty& program) : m_program(program) {}

    bool begin();
    int run(int points);

private:
    std::vector<std::string> choose(int points) const;
    void spread(std::vector<std::string>& faults, const std::string& kind, long most) const;
    std::string wrong(const std::string& fault, const Ending& ending) const;
    std::string wrongWords(const Ending& ending) const;
    std::string wrongFile(const Written& written, const Ending& ending, bool killed) const;
    std::string strayFile(bool killed) const;
    void prepare(bool old) const;
    fs::path folder() const { return fs::path(m_root.path()) / "work"; }

    const Faulty& m_program;
    TempFolder m_root;
    std::map<std::string, std::string> m_good;
    mutable std::map<std::string, std::string> m_old;
    std::map<std::string, long> m_counts;
};

void Trial::prepare(bool old) const {
    fs::remove_all(folder());
    fs::create_directories(folder());
    if (m_program.prepare) m_program.prepare(folder(), old);
    m_old.clear();
    for (const Written& written : m_program.writes) {
        const fs::path path = folder() / written.path;
        if (old && !fs::exists(path)) {
            fs::create_directories(path.parent_path());
            std::ofstream(path) << "old";
        }
        if (fs::exists(path)) m_old[written.path] = bytesOf(path);
    }
}

bool Trial::begin() {
    for (const bool old : {true, false}) {
        prepare(old);
        const Ending good = runWith(m_program, "", folder());
        EXPECT_EQ(good.status, 0) << m_program.name << ": " << good.err << good.out;
        const std::string judged = m_program.judge ? m_program.judge(folder(), good) : "";
        EXPECT_EQ(judged, "");
        if (good.status != 0 || !judged.empty()) return false;
        m_counts = good.counts;
    }
    for (const Written& written : m_program.writes)
        m_good[written.path] = bytesOf(folder() / written.path);
    return true;
}

void Trial::spread(std::vector<std::string>& faults, const std::string& kind, long most) const {
    const auto found = m_counts.find(kind);
    const long count = found == m_counts.end() ? 0 : found->second;
    const long taken = std::min(count, most);
    for (long i = 0; i < taken; ++i) {
        const long at = taken == count ? i + 1 : 1 + (2 * i + 1) * count / (2 * taken);
        faults.push_back(kind + ':' + std::to_string(at));
    }
}

/// Chooses the faults. About a third are failed allocations, or more if there are few calls on files.
std::vector<std::string> Trial::choose(int points) const {
    const std::vector<std::string> kinds = {"open",  "read",   "write", "sync",      "rename", "truncate",
                                            "close", "folder", "short", "interrupt", "kill"};
    std::vector<std::string> faults;
    for (const std::string& kind : kinds)
        spread(faults, kind, std::max<long>(points < 20 ? 1 : 2, points / 16));
    const size_t single = faults.size();
    for (size_t i = 0; i < single; ++i)  // adds faults of a disk that stays full
        if (faults[i].compare(0, 6, "write:") == 0 || faults[i].compare(0, 5, "sync:") == 0)
            faults.push_back(faults[i] + '+');
    spread(faults, "alloc", std::max<long>(points / 3, points - static_cast<long>(faults.size())));
    return faults;
}

std::string Trial::wrongWords(const Ending& ending) const {
    int complaints = 0;
    std::istringstream lines(ending.err);
    for (std::string line; std::getline(lines, line);) {
        // OpenCV tries GDAL ("ERROR 2: ..."), libpng and libheif on images. These libraries print messages
        // if an allocation fails.
        if (isOfGdal(line) || line.compare(0, 7, "libpng ") == 0 || line.compare(0, 8, "dlopen: ") == 0)
            continue;
        if (line.compare(0, m_program.prefix.size(), m_program.prefix) != 0)
            return "says a line that is not its own: " + line;
        complaints += line.compare(0, m_program.prefix.size() + 8, m_program.prefix + "warning:") != 0;
    }
    if (ending.status == 0 || (complaints > 0 && !m_program.oneLine) || complaints == 1) return {};
    return "says " + std::to_string(complaints) + " lines of what is wrong";
}

std::string Trial::wrongFile(const Written& written, const Ending& ending, bool killed) const {
    const fs::path path = folder() / written.path;
    const std::string& good = m_good.at(written.path);
    const auto isWhole = [&](const std::string& bytes) {
        return written.isWhole ? written.isWhole(bytes, good) : bytes == good;
    };
    if (!fs::exists(path)) {
        if (ending.status == 0) return written.path + " is not there";
        return m_old.count(written.path) > 0 ? written.path + " was there and is gone" : "";
    }
    const std::string bytes = bytesOf(path);
    const bool kept = m_old.count(written.path) > 0 && m_old.at(written.path) == bytes;
    if (kept && (ending.status != 0 || bytes == good)) return {};
    if (kept) return written.path + " is the old one still";
    if (const auto old = m_old.find(written.path); written.continues && old != m_old.end())
        if (bytes.compare(0, old->second.size(), old->second) != 0)
            return written.path + " lost what it held";
    const bool torn = killed && written.grows;  // an appended row may be incomplete after a kill
    return isWhole(bytes) || torn ? ""
                                  : written.path + " is not whole, " + std::to_string(bytes.size()) +
                                        " bytes of " + std::to_string(good.size());
}

std::string Trial::strayFile(bool killed) const {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder())) {
        if (entry.is_directory()) continue;
        const std::string name = fs::relative(entry.path(), folder()).string();
        const bool expected =
            m_good.count(name) > 0 ||
            std::any_of(m_program.leaves.begin(), m_program.leaves.end(),
                        [&](const std::string& begin) { return name.compare(0, begin.size(), begin) == 0; });
        // If the program is killed between the two calls that replace a file, the temporary file remains.
        const bool replacing = killed && entry.path().filename().string().compare(0, 5, ".mpm-") == 0;
        if (!expected && !replacing) return name + " is left behind";
    }
    return {};
}

std::string Trial::wrong(const std::string& fault, const Ending& ending) const {
    const bool excused = ending.signal != 0 && excuse(ending.struck) != nullptr;
    const bool killed = excused || fault.compare(0, 5, "kill:") == 0;
    if (ending.late) return "hangs";
    if (ending.signal != 0 && !killed) return "dies of signal " + std::to_string(ending.signal);
    if (!killed && (ending.status < 0 || ending.status > 3))
        return "leaves with status " + std::to_string(ending.status);
    const bool survivable = fault.compare(0, 6, "short:") == 0 || fault.compare(0, 10, "interrupt:") == 0;
    if (survivable && ending.status != 0) return "does not survive it";
    if (std::string text = killed ? "" : wrongWords(ending); !text.empty()) return text;
    for (const Written& written : m_program.writes)
        if (std::string text = wrongFile(written, ending, killed); !text.empty()) return text;
    if (std::string text = strayFile(killed); !text.empty()) return text;
    return m_program.judge ? m_program.judge(folder(), ending) : "";
}

int Trial::run(int points) {
    int tried = 0, excusedCount = 0, spoilt = 0;
    for (const std::string& fault : choose(points)) {
        const bool old = tried % 2 == 0;
        prepare(old);
        Ending ending = runWith(m_program, fault, folder());
        ++tried;
        const bool died = ending.signal != 0 && fault.compare(0, 5, "kill:") != 0;
        if (died) ending.struck = withNames(ending.struck, m_program.command[0]);
        const std::string text = wrong(fault, ending);
        if (const Excused* excused = died ? excuse(ending.struck) : nullptr; excused && text.empty()) {
            ++excusedCount;
            std::cout << m_program.name << ", " << fault << ": " << excused->why << '\n';
        }
        if (text.empty()) continue;
        ++spoilt;
        ADD_FAILURE() << m_program.name << ", " << fault << (old ? ", old files there" : "") << ": it "
                      << text << "\nstatus " << ending.status << ", said: " << ending.err << ending.struck;
        if (spoilt >= 40) break;
    }
    std::cout << m_program.name << ": " << tried << " faults, " << excusedCount
              << " in libraries that give up";
    for (const auto& [kind, count] : m_counts)
        std::cout << ", " << kind << ' ' << count;
    std::cout << std::endl;
    return tried;
}

}  // namespace

Ending runWith(const Faulty& program, const std::string& fault, const fs::path& folder) {
    const fs::path report = folder.parent_path() / "report";
    fs::remove(report);
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    const int child = fork();
    if (child == 0) become(program, fault, folder, report, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    Ending ending;
    int pipes[2] = {out[0], err[0]};
    gather(child, pipes, ending);
    close(out[0]);
    close(err[0]);
    readReport(report, ending);
    return ending;
}

int tryFaults(const Faulty& program, int points) {
    Trial trial(program);
    return trial.begin() ? trial.run(points) : 0;
}

int faultPoints(int few) {
    const char* const points = std::getenv("MPM_FAULT_POINTS");
    return points != nullptr ? std::atoi(points) : few;
}

}  // namespace mpm::test
