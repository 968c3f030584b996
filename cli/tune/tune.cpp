// mpm tune: chooses a model's method and blocks, without labels.
#include "cli/tune/tune.hpp"

#include <filesystem>
#include <iostream>
#include <optional>

#include <opencv2/imgcodecs.hpp>

#include "base/printable.hpp"
#include "cli/common/error.hpp"
#include "cli/common/files.hpp"
#include "cli/common/network.hpp"
#include "cli/common/sources.hpp"
#include "cli/common/terminal.hpp"
#include "cli/common/verbs.hpp"
#include "models/onnx/inspect.hpp"
#include "pipeline/measure/head.hpp"
#include "pipeline/report/report.hpp"
#include "pipeline/segment/model_file.hpp"
#include "pipeline/tune/model_trials.hpp"

namespace mpm::cli {

namespace {

constexpr const char* kTuneExamples = R"(Examples:
  mpm tune model.onnx 'images/*.jpg'                 the fastest with an agreement of 0.99
  mpm tune model.onnx clip.mp4 --keep 0.995 --write  store it in the model
  mpm tune model.onnx images --faster 1.5            the most agreement at 1.5 times the speed
  mpm tune model.onnx images --precision i8 --json tune.json --plot tune.svg

Candidates run on at most 16 images of SOURCE, in turn with all tokens. No labels are read: agreement is with the
model's own output under all tokens. The table has the candidates that no other beats in both speed and agreement.
Ctrl-C ends with the best so far and writes nothing.
Exit status: 0 done, 1 no candidate reaches the goal, 2 wrong usage, 3 a model or images that cannot be used.)";

void checkRequest(const TuneRequest& request) {
    if (request.sources.empty() && request.sourceFrom.empty())
        throw Error(kWrongUse, "SOURCE is required; name one, or a file of them with --source-from FILE");
    const pipeline::TuneGoal& goal = request.goal;
    if (goal.keep && goal.faster) throw Error(kWrongUse, "--faster: excludes --keep; give one of them");
    if (goal.keep && !(*goal.keep > 0 && *goal.keep <= 1))
        throw Error(kWrongUse, "--keep: expected an agreement above 0 and at most 1, as 0.99");
    if (goal.faster && !(*goal.faster >= 1))
        throw Error(kWrongUse, "--faster: expected a factor of at least 1, as 1.5");
    if (!(request.minutes > 0)) throw Error(kWrongUse, "--minutes: expected a number above 0");
    if (!request.plot.empty() && std::filesystem::path(request.plot).extension() != ".svg" &&
        !cv::haveImageWriter(request.plot))
        throw Error(kWrongUse, "--plot: expected a file that ends in .svg or .png");
    if (request.write && request.model == "random")
        throw Error(kWrongUse, "--write: the network with random weights is no file; name a model");
}

/// Throws Error if the model file cannot store the choice. Runs before the measurement, which takes minutes.
void checkStorable(const std::string& path) {
    if (!models::canStoreMerging(path))
        throw Error(kWrongUse,
                    path + ": cannot be written, as --write needs; copy the model to a folder of yours");
}

[[noreturn]] void rejectImages(const pipeline::ImagePicker& picker, std::optional<double> seconds) {
    std::string seen = std::to_string(picker.seen()) + (picker.seen() == 1 ? " image" : " images");
    if (picker.blank() > 0) seen += ", " + std::to_string(picker.blank()) + " of one colour";
    throw Error(kBadInput,
                "tuning needs at least " + std::to_string(pipeline::kFewestTuneImages) +
                    " images that show something; the source " +
                    (seconds ? "gave " + seen + cv::format(" in %.1f s", *seconds) +
                                   "; a larger --minutes allows more"
                             : "has " + seen + "; name a folder, a longer video, or more sources"));
}

/// Reads the images of all sources, for at most a sixth of the total time.
std::vector<cv::Mat> readImages(const TuneRequest& request) {
    pipeline::SourceOptions how;
    how.scene.framesPerDay = how.scene.frames = pipeline::kTuneImages;
    how.scene.startHour = 0;
    const std::vector<pipeline::Address> sources = sourcesFrom(request.sources, request.sourceFrom);
    pipeline::ImagePicker picker(pipeline::kTuneImages);
    const double longest = 10 * request.minutes / static_cast<double>(std::max<size_t>(sources.size(), 1));
    const Stopwatch watch;
    bool late = false;
    for (const pipeline::Address& address : sources) {
        try {
            const auto source = patientSource(address, how);
            source->open();
            late |= readSpread(*source, {pipeline::kTuneImages, longest, stopRequested, warn},
                               [&](const cv::Mat& image) {
                                   picker.add(image);
                                   return !picker.full();
                               });
        } catch (const pipeline::SourceError& error) {
            throw Error(kBadInput, error.what());
        }
    }
    std::vector<cv::Mat> images = picker.images();
    if (images.size() < pipeline::kFewestTuneImages && !stopRequested())
        rejectImages(picker, late ? std::optional<double>(watch.seconds()) : std::nullopt);
    return images;
}

std::string goalText(const pipeline::TuneGoal& goal) {
    return goal.faster
               ? "is " + cv::format("%g", *goal.faster) + " times as fast as all tokens"
               : "keeps an agreement of " + cv::format("%g", *goal.keep) + " and is faster than all tokens";
}

void writeReports(const TuneRequest& request, const pipeline::Network& network,
                  const pipeline::ModelTuning& tuning) {
    if (!request.json.empty())
        writeJson(request.json, pipeline::tuneJson(pipeline::headOf(network), tuning, request.goal));
    if (request.plot.empty()) return;
    const pipeline::Figure figure = tuneFigure(tuning, network.name());
    if (std::filesystem::path(request.plot).extension() == ".svg") {
        writeBytes(request.plot, pipeline::toSvg(figure));
    } else {
        writeImage(request.plot, pipeline::toImage(figure));
    }
}

void warnIfCutOff(const pipeline::ModelTuning& tuning) {
    if (tuning.result.stopped) {
        warn("stopped; the result covers what was measured so far, and nothing is written");
    } else if (!tuning.result.complete) {
        warn("the time ended before all images were measured; mpm tune --minutes allows more");
    }
}

int conclude(const TuneRequest& request, const pipeline::Network& network,
             const pipeline::TuneResult& result) {
    if (!result.best) {
        throw Error(kFailed,
                    "no candidate " + goalText(request.goal) + "; nothing is written" +
                        (result.nearest ? ". The nearest: " + choiceText(result.rows[*result.nearest])
                                        : std::string()));
    }
    const pipeline::TuneRow& best = result.rows[*result.best];
    std::cout << "\nchosen     " << choiceText(best) << '\n';
    if (request.write && !result.stopped) {
        models::storeMerging(network.name(), {best.method.name, *best.method.blocks});
        std::cout << "written    " << printable(network.name()) << '\n';
    } else {
        std::cout << "           --write stores it; mpm convert IN OUT --method " << best.method.text
                  << " writes it\n";
    }
    return kDone;
}

}  // namespace

int tuneAndReport(const TuneRequest& given) {
    TuneRequest request = given;
    const Stopwatch watch;
    checkRequest(request);
    if (!request.goal.faster && !request.goal.keep) request.goal.keep = pipeline::kUsualKeep;
    for (const std::string& file : {request.json, request.plot})
        if (!file.empty()) checkWritable(file);
    catchStopSignals();
    limitMemory(request.common.maxMemory);
    pipeline::Network network = openNetwork(request.model, request.common, request.size);
    if (request.write) checkStorable(network.name());
    const std::vector<cv::Mat> images = readImages(request);
    const pipeline::ModelTuning tuning = pipeline::tuneModel(
        network, images, request.goal, 60 * request.minutes - watch.seconds(), watchOnTerminal("trial"));
    std::cout << tuneTable(tuning);
    writeReports(request, network, tuning);
    warnIfCutOff(tuning);
    return conclude(request, network, tuning.result);
}

void addTune(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand("tune", "Choose method and blocks for a model, without labels");
    auto o = std::make_shared<TuneRequest>();
    verb->add_option("MODEL", o->model, "an ONNX model of 'mpm convert', default, or random (weights)")
        ->required();
    verb->add_option("SOURCE", o->sources, "images or video like those that the model will see");
    addSourceFrom(*verb, o->sourceFrom);
    addParsed(*verb, "--keep", "choose the fastest with at least this agreement, 0 to 1 (default: 0.99)", "X",
              o->goal.keep, parseNumber);
    addParsed(*verb, "--faster", "choose the highest agreement of those that are F times as fast", "F",
              o->goal.faster, parseNumber);
    verb->add_flag("--write", o->write, "store the choice in MODEL");
    addParsed(*verb, "--minutes", "stop after M minutes (default: 2)", "M", o->minutes, parseNumber);
    addSizeOption(*verb, o->size);
    verb->add_option("--json", o->json, "write the results as JSON too")->type_name("FILE");
    verb->add_option("--plot", o->plot, "agreement over speed, as SVG or PNG")->type_name("FILE");
    addCommonOptions(*verb, o->common, false);
    addMemoryOption(*verb, o->common);
    verb->footer(kTuneExamples);
    verb->callback([o, &action] { action = [o] { return tuneAndReport(*o); }; });
}

}  // namespace mpm::cli
