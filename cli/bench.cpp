// mpm bench: what merging saves here, measured in interleaved rounds.
#include <iostream>

#include "cli/bench_rounds.hpp"
#include "cli/error.hpp"
#include "cli/model.hpp"
#include "cli/report.hpp"
#include "cli/verbs.hpp"
#include "pipeline/source/source.hpp"

namespace mpm::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  mpm bench default                                      all tokens against the model's schedule, built-in pictures
  mpm bench model.onnx 'in/*.jpg' --compare none,mpm:5,mpm:2+5 --batch 1,8 --json bench.json
  mpm bench model.onnx --device cpu --threads 2 --precision bf16

Every round runs each method at each batch size once, on the same pictures, so that a machine that slows down slows all
of them. Times are milliseconds an image, of the whole forward, picture blob to output. The table goes to standard output.)";

struct BenchOptions {
    CommonOptions common;
    std::string model;
    std::vector<std::string> sources;
    std::vector<Method> methods;
    std::vector<int> batches{1};
    cv::Size size;
    int rounds = 20, warmUp = 3;
    std::string json;
};

/// At most as many pictures as the rounds can use.
std::vector<cv::Mat> readPictures(const BenchOptions& options, size_t enough) {
    pipeline::SourceOptions how;
    how.scene.framesPerDay = how.scene.frames = 16;
    how.scene.startHour = 0;
    std::vector<cv::Mat> pictures;
    const std::vector<std::string> builtIn = {"demo"};
    for (const std::string& text : options.sources.empty() ? builtIn : options.sources) {
        try {
            const auto source = pipeline::makeSource(text, how);
            source->open();
            for (pipeline::Frame frame; pictures.size() < enough && source->next(frame);)
                pictures.push_back(frame.picture);
        } catch (const pipeline::SourceError& error) {
            throw Error(kBadInput, error.what());
        }
    }
    return pictures;
}

Json toJson(const BenchRow& row) {
    return {{"method", row.method.shortName()},
            {"parameters", row.method.text},
            {"schedule", row.tokens.schedule()},
            {"device", deviceName(row.device)},
            {"precision", precisionName(row.precision)},
            {"batch", row.batch},
            {"tokens", row.tokens.means()},
            {"gflops", finite(row.gflops())},
            {"gflops_deviation", finite(row.gflopsDeviation())},
            {"ms", {{"median", row.ms(0.5)}, {"p10", row.ms(0.1)}, {"p90", row.ms(0.9)}}},
            {"encoder_ms", row.encoderMs()},
            {"merge_ms", row.mergeMs()},
            {"restore_ms", row.restoreMs()},
            {"images_per_second", row.imagesPerSecond()},
            {"stderr", row.standardError()},
            {"rounds", row.forwards.size()},
            {"ms_per_round", row.forwards}};
}

std::string table(const std::vector<BenchRow>& rows) {
    std::vector<std::vector<std::string>> cells = {{"method", "schedule", "device", "precision", "batch",
                                                    "tokens left", "GFLOPs", "ms", "p10", "p90", "encoder",
                                                    "merge", "restore", "images/s", "+-", "speed"}};
    for (const BenchRow& row : rows) {
        const BenchRow* base = nullptr;
        for (const BenchRow& other : rows)
            if (other.batch == row.batch && other.method.name == "none") base = &other;
        const std::vector<double> tokens = row.tokens.means();
        cells.push_back({row.method.text, blocksText(row.tokens.schedule()), deviceName(row.device),
                         precisionName(row.precision), std::to_string(row.batch),
                         tokens.empty() ? "-" : fixedText(tokens.back(), 0), fixedText(row.gflops(), 2),
                         fixedText(row.ms(0.5), 2), fixedText(row.ms(0.1), 2), fixedText(row.ms(0.9), 2),
                         fixedText(row.encoderMs(), 2), fixedText(row.mergeMs(), 2),
                         fixedText(row.restoreMs(), 2), fixedText(row.imagesPerSecond(), 2),
                         fixedText(row.standardError(), 2),
                         base != nullptr ? fixedText(base->ms(0.5) / row.ms(0.5), 2) + "x" : "-"});
    }
    return markdownTable(cells);
}

/// Whether merging pays, in words.
std::string verdict(const std::vector<BenchRow>& rows, cv::Size size) {
    std::string text;
    for (const BenchRow& row : rows) {
        if (row.method.name == "none") continue;
        for (const BenchRow& base : rows) {
            if (base.batch != row.batch || base.method.name != "none") continue;
            const double saved = base.ms(0.5) - row.ms(0.5), speed = base.ms(0.5) / row.ms(0.5);
            const bool noisy = base.ms(0.1) < row.ms(0.9) && row.ms(0.1) < base.ms(0.9);
            text += cv::format(
                "At %dx%d on %s in %s, batch %d: %s runs at %.2fx the speed of all tokens, %.2f ms an image "
                "%s; "
                "merging and restoring cost %.2f ms. ",
                size.height, size.width, deviceName(row.device).c_str(), precisionName(row.precision).c_str(),
                row.batch, row.method.text.c_str(), speed, std::abs(saved), saved >= 0 ? "saved" : "lost",
                row.mergeMs() + row.restoreMs());
            if (noisy)
                text +=
                    "The rounds scatter more than that: measure longer (--rounds) on a quieter machine.\n";
            else
                text += speed > 1 ? "It pays.\n" : "It does not pay.\n";
        }
    }
    return text;
}

int bench(const BenchOptions& options) {
    std::vector<Method> methods = options.methods;
    if (methods.empty()) methods = parseMethods("--compare", "none,mpm");
    if (!options.json.empty()) checkWritable(options.json);
    BenchRounds rounds(options.model, options.common, options.size, methods, options.batches);
    const size_t most =
        static_cast<size_t>(*std::max_element(options.batches.begin(), options.batches.end()));
    rounds.run(readPictures(options, std::max<size_t>(most, 16)), options.warmUp, options.rounds);
    std::cout << table(rounds.rows()) << '\n' << verdict(rounds.rows(), rounds.network().info().size);
    if (options.json.empty()) return kDone;
    Json report = reportHead(rounds.network());
    for (const BenchRow& row : rounds.rows())
        report["results"].push_back(toJson(row));
    writeJson(options.json, report);
    return kDone;
}

}  // namespace

void addBench(CLI::App& app, Action& action) {
    CLI::App* verb =
        app.add_subcommand("bench", "Measure speed, with and without merging, in interleaved rounds");
    auto o = std::make_shared<BenchOptions>();
    verb->add_option("MODEL", o->model, "an ONNX model of 'mpm convert', default, or random (weights)")
        ->required();
    verb->add_option("SOURCE", o->sources, "pictures to measure on (default: the built-in street)");
    addParsed(*verb, "--compare", "methods (default: none,mpm)", "none,mpm:2+5,tome:r=13",
              [o](const std::string& text) { o->methods = parseMethods("--compare", text); });
    addParsed(*verb, "--batch", "batch sizes (default: 1)", "1,2,32",
              [o](const std::string& text) { o->batches = parseCounts("--batch", text, 1); });
    addParsed(*verb, "--size", "input size, where the model leaves it open", "HxW",
              [o](const std::string& text) { o->size = parseSize("--size", text); });
    addParsed(*verb, "--rounds", "measured rounds (default: 20)", "N",
              [o](const std::string& text) { o->rounds = parseCount("--rounds", text, 1); });
    addParsed(*verb, "--warm-up", "rounds before (default: 3)", "N",
              [o](const std::string& text) { o->warmUp = parseCount("--warm-up", text, 0); });
    verb->add_option("--json", o->json, "write the results as JSON too")->type_name("FILE");
    addCommonOptions(*verb, o->common);
    verb->footer(kExamples);
    verb->callback([o, &action] { action = [o] { return bench(*o); }; });
}

}  // namespace mpm::cli
