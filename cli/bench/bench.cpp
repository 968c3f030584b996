// mpm bench: the time that merging saves on this machine.
#include <algorithm>
#include <iostream>
#include <optional>

#include "cli/bench/report.hpp"
#include "cli/common/error.hpp"
#include "cli/common/files.hpp"
#include "cli/common/network.hpp"
#include "cli/common/sources.hpp"
#include "cli/common/terminal.hpp"
#include "cli/common/verbs.hpp"
#include "pipeline/report/report.hpp"
#include "pipeline/source/source.hpp"

namespace mpm::cli {

namespace {

constexpr const char* kBenchExamples = R"(Examples:
  mpm bench default                                      all tokens against the model's schedule, built-in images
  mpm bench model.onnx 'in/*.jpg' --compare none,mpm:5,mpm:2+5 --batch 1,8 --json bench.json
  mpm bench default clip.avi --compare none,mpm,reuse --rounds 100     (--reuse=refresh=60 sets its values)
  mpm bench default --eval depth.json --loss 0.5         the fastest schedule for half a point of mIoU
  mpm bench model.onnx --device cpu --threads 2 --precision bf16

Every round runs each method at each batch size once, on the same images, so that a machine that slows down slows all of
them. Times are milliseconds an image, of the whole forward, image blob to output. Further tables have the operations of
each block and the time of each part: patch embedding, encoder (each segment of a chain, and what is between them),
decoder blocks, layers behind the encoder (of a detector neck, selection, decoder, other). The tables go to standard
output.)";

struct BenchOptions {
    CommonOptions common;
    std::string model;
    std::vector<std::string> sources;
    std::string sourceFrom;
    std::vector<pipeline::Method> methods;
    std::vector<int> batches{1};
    cv::Size size;
    int rounds = 20, warmUp = 3;
    std::string json, eval;
    std::optional<double> loss;  ///< largest accepted loss of mIoU, 0 to 1
};

/// Reads at most `enough` images. Adds the number of unreadable images to `skipped`.
std::vector<cv::Mat> readImages(const BenchOptions& options, size_t enough, int& skipped) {
    pipeline::SourceOptions how;
    how.scene.framesPerDay = how.scene.frames = 16;
    how.scene.startHour = 0;
    std::vector<cv::Mat> images;
    std::vector<pipeline::Address> sources = sourcesFrom(options.sources, options.sourceFrom);
    if (sources.empty()) sources.emplace_back("demo");
    for (const pipeline::Address& address : sources) {
        try {
            const auto source = patientSource(address, how);
            source->open();
            const auto skip = [&skipped](const std::string& message) {
                warn(message);
                ++skipped;
                return !stopRequested();
            };
            for (pipeline::Frame frame;
                 images.size() < enough && !stopRequested() && nextReadable(*source, frame, skip);)
                images.push_back(frame.image);
        } catch (const pipeline::SourceError& error) {
            throw Error(kBadInput, error.what());
        }
    }
    return images;
}

std::vector<pipeline::Method> methodsOf(const BenchOptions& options, const EvalScores& scores) {
    std::vector<pipeline::Method> methods = options.methods;
    if (methods.empty())
        methods = options.loss ? scores.within(*options.loss) : parseMethods("--compare", "none,mpm");
    addReuse(options.common, methods);
    return methods;
}

pipeline::BenchRounds openRounds(const BenchOptions& options, const std::vector<pipeline::Method>& methods) {
    pipeline::BenchNetworks networks(
        [&options] { return openNetwork(options.model, options.common, options.size); });
    const pipeline::ModelCost cost = modelCost(networks.of({}, options.batches.front()));
    return {std::move(networks), options.batches, cost, methods};
}

void printRounds(pipeline::BenchRounds& rounds, const EvalScores& scores) {
    std::cout << benchTable(rounds.rows(), terminalWidth()) << '\n'
              << blockTable(rounds.rows()) << '\n'
              << partTable(rounds.rows()) << '\n';
    const std::string batches = batchTable(rounds.rows());
    if (!batches.empty()) std::cout << batches << '\n';
    std::cout << verdict(rounds.rows(), rounds.network().info().size, scores);
}

int bench(const BenchOptions& options) {
    if (options.loss && options.eval.empty())
        throw Error(kWrongUse, "--loss: needs measured losses; add --eval FILE of 'mpm eval --json'");
    checkMethods("--compare", options.methods);
    const EvalScores scores = options.eval.empty() ? EvalScores() : EvalScores(options.eval);
    const std::vector<pipeline::Method> methods = methodsOf(options, scores);
    if (!options.json.empty()) checkWritable(options.json);
    catchStopSignals();
    limitMemory(options.common.maxMemory);
    const pipeline::Watcher watcher = watchOnTerminal("round");
    pipeline::BenchRounds rounds = openRounds(options, methods);
    const int most = *std::max_element(options.batches.begin(), options.batches.end());
    // To measure reuse, each round needs the next frame of a clip.
    const bool clip = std::any_of(methods.begin(), methods.end(), [](const auto& m) { return m.reuses(); });
    const int enough = clip ? options.warmUp + options.rounds : std::max(most, 16);
    int skipped = 0;
    rounds.run(readImages(options, static_cast<size_t>(enough), skipped), options.warmUp, options.rounds,
               watcher);
    printRounds(rounds, scores);
    if (!options.json.empty())
        writeJson(options.json, pipeline::benchJson(pipeline::headOf(rounds.network()), rounds.rows()));
    return skipped > 0 ? kFailed : kDone;
}

}  // namespace

void addBench(CLI::App& app, Action& action) {
    CLI::App* verb =
        app.add_subcommand("bench", "Measure speed, with and without merging, in interleaved rounds");
    auto o = std::make_shared<BenchOptions>();
    verb->add_option("MODEL", o->model, "an ONNX model of 'mpm convert', default, or random (weights)")
        ->required();
    verb->add_option("SOURCE", o->sources, "images to measure on (default: the built-in street)");
    addSourceFrom(*verb, o->sourceFrom);
    addParsed(*verb, "--compare", "methods (default: none,mpm)", "none,mpm:2+5,tome:r=13", o->methods,
              parseMethods);
    addParsed(*verb, "--batch", "batch sizes (default: 1)", "1,2,32", o->batches, parseCounts, 1);
    addSizeOption(*verb, o->size);
    addParsed(*verb, "--rounds", "measured rounds (default: 20)", "N", o->rounds, parseCount, 1, INT_MAX);
    addParsed(*verb, "--warm-up", "rounds before (default: 3)", "N", o->warmUp, parseCount, 0, INT_MAX);
    verb->add_option("--eval", o->eval, "a report of 'mpm eval --json', for the loss of accuracy")
        ->type_name("FILE");
    addParsed(*verb, "--loss", "with --eval: the schedules that lose at most this many points of mIoU",
              "POINTS", [o](const std::string& text) { o->loss = parseNumber("--loss", text) / 100; });
    verb->add_option("--json", o->json, "write the results as JSON too")->type_name("FILE");
    addCommonOptions(*verb, o->common);
    addMemoryOption(*verb, o->common);
    addReuseOption(*verb, o->common);
    verb->footer(kBenchExamples + ("\n\n" + methodsHelp()));
    verb->callback([o, &action] { action = [o] { return bench(*o); }; });
}

}  // namespace mpm::cli
