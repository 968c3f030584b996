// mpm: a program with verbs. docs/reference/cli.md describes options and exit statuses.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include <opencv2/core/utils/logger.hpp>

#include "base/budget.hpp"
#include "cli/common/error.hpp"
#include "cli/common/terminal.hpp"
#include "cli/common/verbs.hpp"
#include "cli/docs/documents.hpp"
#include "pipeline/measure/watcher.hpp"
#include "pipeline/source/patient.hpp"
#include "pipeline/source/video_file.hpp"

#include <mpm/mpm.hpp>

namespace mpm::cli {

namespace {

/// Returns whether the word after `--night` is the option's value, which may be missing. A value begins like
/// a number and is not the name of a file. A single number could mean a camera, but this function treats the
/// number as a value. The parser then rejects the number, because a value has three numbers.
bool isNightValue(const std::string& word) {
    const std::string digits = "0123456789", numbers = digits + ".,;:eE+-";
    const bool begins = !word.empty() && (digits + ".+-").find(word[0]) != std::string::npos &&
                        word.find_first_of(digits) < 3;
    const bool several = word.find_first_of(",;") != std::string::npos;
    std::error_code error;
    return begins && (several || word.find_first_not_of(numbers) == std::string::npos) &&
           !std::filesystem::exists(word, error);
}

std::vector<std::string> normalised(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    for (size_t i = 0; i < words.size(); ++i) {
        if (words[i] != "--night") continue;
        if (i + 1 < words.size() && isNightValue(words[i + 1])) {
            words[i] += "=" + words[i + 1];
            words.erase(words.begin() + static_cast<long>(i) + 1);
        } else {
            words[i] += "=default";
        }
    }
    return words;
}

int fail(const std::string& line, Exit status) {
    printError(line);
    return status;
}

std::string verbOf(const CLI::App& app) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return chosen.empty() ? "mpm" : "mpm " + chosen.front()->get_name();
}

/// Adds the verb that the build runs to write manual pages and completions. The empty group hides the verb
/// from users.
void addDocuments(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand("documents", "Write manual pages and shell completions")->group("");
    auto folder = std::make_shared<std::string>();
    verb->add_option("DIR", *folder)->required();
    verb->callback([&app, &action, folder] {
        action = [&app, folder] {
            writeDocuments(*folder, app);
            return static_cast<int>(kDone);
        };
    });
}

void addVerbs(CLI::App& app, Action& action) {
    addConvert(app, action);
    addRun(app, action);
    addBench(app, action);
    addEval(app, action);
    addTune(app, action);
    addInfo(app, action);
    addDoctor(app, action);
    const std::string version = std::string("mpm ") + mpm::version() + ", OpenCV " + cv::getVersionString();
    app.set_version_flag("--version", version, "Print the version and exit");
    for (CLI::App* verb : app.get_subcommands({}))
        verb->set_version_flag("--version", version, "Print the version");
    app.require_subcommand(1);
    addDocuments(app, action);
}

int run(int argc, char** argv) {
    CLI::App app{"Mutual Pair Merging: faster vision transformers in OpenCV. 'mpm VERB --help' has examples.",
                 "mpm"};
#if CLI11_VERSION_MAJOR * 100 + CLI11_VERSION_MINOR >= 205
    // By default, CLI11 2.5 and later would join the lines of examples, and print long options far from short
    // options.
    app.get_formatter()->enable_footer_formatting(false);
    app.get_formatter()->long_option_alignment_ratio(0.2F);
#endif
    Action action;
    addVerbs(app, action);
    try {
        std::vector<std::string> words = normalised(argc, argv);
        std::reverse(words.begin(), words.end());
        app.parse(words);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);  // help and version
        if (argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty())
            return fail("\"" + std::string(argv[1]) + "\" is not a verb; choose one of 'mpm --help'",
                        kWrongUse);
        if (argc < 2) return fail("no verb given; see 'mpm --help' for the subcommands", kWrongUse);
        return fail(std::string(error.what()) + "; see '" + verbOf(app) + " --help'", kWrongUse);
    }
    return action();
}

Exit statusOf(pipeline::MeasureError::Kind kind) {
    using Kind = pipeline::MeasureError::Kind;
    return kind == Kind::Settings ? kWrongUse : kind == Kind::Input ? kBadInput : kFailed;
}

int guarded(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const Error& error) {
        return fail(error.what(), error.status());
    } catch (const pipeline::MeasureError& error) {
        return fail(error.what(), statusOf(error.kind()));
    } catch (const BudgetError& error) {
        return fail(error.err, kBadInput);
    } catch (const cv::Exception& error) {
        if (error.code == cv::Error::StsNoMem && memoryIsLimited()) return fail(outOfMemory(), kBadInput);
        return fail(error.err.empty() ? error.what() : error.err, kFailed);
    } catch (const std::bad_alloc&) {
        return fail(outOfMemory(), memoryIsLimited() ? kBadInput : kFailed);
    } catch (const std::exception& error) {
        return fail(error.what(), kFailed);
    }
}

/// Returns whether the reader of the results closed the pipe, as `head` does. This is not an error.
bool readerIsGone() {
    pollfd out{STDOUT_FILENO, POLLOUT, 0};
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

/// Returns `status`, or kFailed if the result could not be written to standard output.
int delivered(int status) {
    errno = 0;
    std::cout.flush();
    const int reason = errno;
    if ((std::cout && std::ferror(stdout) == 0) || status != kDone || readerIsGone()) return status;
    return fail(std::string("standard output: the result could not be written") +
                    (reason != 0 ? std::string(" (") + std::strerror(reason) + ")" : "") +
                    "; check the free space of its target",
                kFailed);
}

}  // namespace

}  // namespace mpm::cli

int main(int argc, char** argv) {
    // Switches off OpenCV's log, which would repeat the errors that the program prints.
    if (std::getenv("OPENCV_LOG_LEVEL") == nullptr)
        cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    mpm::pipeline::prepareFfmpeg();
    const int status = mpm::cli::delivered(mpm::cli::guarded(argc, argv));
    if (mpm::pipeline::anyLeftBehind())
        std::_Exit(status);  // skips destructors: a thread still uses global objects
    return status;
}
