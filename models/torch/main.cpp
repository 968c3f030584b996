// mpm-models: trains, measures, imports and exports segmentation models.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>
#include <opencv2/core.hpp>

#include "models/torch/commands.hpp"

int main(int argc, char** argv) {
    cv::setNumThreads(1);  // LibTorch brings a pool of its own
    CLI::App app{"mpm-models: train, measure, import and export segmentation models"};
    app.require_subcommand(1);
    mpm::models::addTrain(app);
    mpm::models::addEval(app);
    mpm::models::addExport(app);
    mpm::models::addImport(app);
    mpm::models::addMean(app);
    mpm::models::addScene(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const int status = app.exit(error, std::cout, std::cerr);
        return status == 0 ? 0 : 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mpm-models: %s\n", error.what());
        return 1;
    }
    return 0;
}
