// mpm-models: trains, measures, imports and exports segmentation models.
#include <cstdio>
#include <exception>
#include <iostream>

#include <c10/util/Exception.h>
#include <CLI/CLI.hpp>
#include <opencv2/core.hpp>

#include "base/printable.hpp"
#include "models/torch/commands/commands.hpp"
#include "models/torch/files/file_error.hpp"

/// Prints the message in a single line, because names from files and messages of libraries may contain
/// newlines.
static int fail(const std::string& message, int status) {
    std::cout.flush();  // both streams may go to the same file
    std::fflush(stdout);
    std::fprintf(stderr, "mpm-models: %s\n", mpm::printable(message, 1000).c_str());
    return status;
}

int main(int argc, char** argv) {
    cv::setNumThreads(1);  // LibTorch has its own thread pool
    CLI::App app{"mpm-models: train, measure, import and export segmentation models"};
    app.require_subcommand(1);
    mpm::models::addTrain(app);
    mpm::models::addEval(app);
    mpm::models::addExport(app);
    mpm::models::addImport(app);
    mpm::models::addMean(app);
    mpm::models::addPolicy(app);
    mpm::models::addScene(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0) return fail(error.what(), 2);
        return app.exit(error, std::cout, std::cerr);
    } catch (const mpm::models::FileError& error) {
        return fail(error.err, 3);
    } catch (const cv::Exception& error) {
        return fail(error.err, 1);
    } catch (const c10::Error& error) {
        return fail(error.what_without_backtrace(), 1);
    } catch (const std::exception& error) {
        return fail(error.what(), 1);
    }
    return 0;
}
