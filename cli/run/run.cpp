// mpm run: labels, overlays, merge maps and token counts of any source.
#include <algorithm>

#include "base/private_files.hpp"
#include "cli/common/error.hpp"
#include "cli/common/network.hpp"
#include "cli/common/sources.hpp"
#include "cli/common/verbs.hpp"
#include "cli/run/run_session.hpp"

namespace mpm::cli {

namespace {

constexpr const char* kRunExamples = R"(Examples:
  mpm run default street.jpg --out out              labels, overlay, merge map and tokens.csv of one image
  mpm run model.onnx 'in/*.jpg' --out out --blocks none
  mpm run model.onnx clip.mp4 --every 1 --out out --save csv,timeline
  mpm run default panorama.jpg --window 176x240 --out out
  mpm run default env:CAMERA --duration 3600 > tokens.csv    CAMERA=rtsp://user:password@camera/stream
  mpm run detector.onnx env:CAMERA --out out --save boxes,tracks --threshold 0.4
  mpm run detector.onnx yard.mp4 --out out --save tracks --line gate=0.5,1,0.5,0    counts who crosses the middle
  mpm run default demo --out demo                   a day and a night in the built-in street

Writes STEM.labels.png (ids), STEM.overlay.png, STEM.map.png, tokens.csv into --out; --save also knows panels (image,
classes and merge map side by side), stages (a merge map after each merge), timeline and jsonl; boxes
(detections.jsonl, a detector's objects) and tracks (tracks.jsonl and tracks.txt, objects with an identity). A model without classes
has no labels; its overlay shows the first three principal components of its features. Without --out the table goes to standard output.
Exit status: 0 done, 1 failed or images left out, 2 wrong usage, 3 source or model that cannot be used.)";

pipeline::MergeMapStyle::Colours parseMapColours(const std::string& text) {
    std::string keys;
    int index = 0;
    for (const auto& [key, title] : pipeline::mapColoursNames()) {
        if (text == key) return static_cast<pipeline::MergeMapStyle::Colours>(index);
        keys += (index++ > 0 ? "," : "") + std::string(key);
    }
    throw Error(kWrongUse, "--map-colours: \"" + text + "\" is not known; choose from " + keys);
}

double parseShare(const std::string& option, const std::string& text) {
    const double share = parseNumber(option, text);
    if (!(share >= 0 && share <= 1)) throw Error(kWrongUse, option + ": expected 0 to 1");
    return share;
}

pipeline::CountingLine parseLine(const std::string& text) {
    const std::size_t at = text.rfind('=');
    if (at == 0 || at == std::string::npos)
        throw Error(kWrongUse, "--line: \"" + text + "\" is not understood; write NAME=x1,y1,x2,y2");
    const std::vector<double> ends = parseNumbers("--line", text.substr(at + 1), 4);
    const auto outside = [](double place) { return place < 0 || place > 1; };
    if (std::any_of(ends.begin(), ends.end(), outside) || (ends[0] == ends[2] && ends[1] == ends[3]))
        throw Error(kWrongUse, "--line: expected two different points, from 0 to 1 across and down");
    return {text.substr(0, at), {ends[0], ends[1]}, {ends[2], ends[3]}};
}

void addLineOption(CLI::App& verb, std::vector<pipeline::CountingLine>& lines) {
    const auto parse = [&lines](const std::vector<std::string>& texts) {
        for (const std::string& text : texts)
            lines.push_back(parseLine(text));
    };
    verb.add_option_function<std::vector<std::string>>(
            "--line", parse,
            "with --save tracks: count objects that cross this line, 0 to 1 across and down; may be given "
            "several times")
        ->type_name("NAME=x1,y1,x2,y2")
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void addRunOptions(CLI::App& verb, RunOptions& o) {
    verb.add_option("MODEL", o.model, "an ONNX model of 'mpm convert', default, or random (weights)")
        ->required();
    verb.add_option(
        "SOURCE", o.words,
        "camera index, video, URL, gst: pipeline, image, folder, glob, env:NAME, secret:NAME or demo");
    addSourceFrom(verb, o.sourceFrom);
    verb.add_option("--out", o.out, "folder to write to")->type_name("DIR");
    addParsed(verb, "--save",
              "files to write (default: labels,overlay,map,csv; boxes instead of labels for detectors)",
              "LIST", [&o](const std::string& text) { o.save = SaveChoice::parse(text); });
    addSizeOption(verb, o.size);
    addParsed(verb, "--window",
              "segment large images window by window instead of shrunk: steps of the window", "HxW", o.window,
              parseSize);
    addParsed(verb, "--stride", "analyse every Nth frame", "N", o.stride, parseCount, 1, INT_MAX);
    const auto seconds = [&verb](const char* name, const char* help, double& value) {
        addParsed(verb, name, help, "SECONDS", [name, &value](const std::string& text) {
            value = parseNumber(name, text);
            if (value <= 0) throw Error(kWrongUse, std::string(name) + ": expected more than 0 seconds");
        });
    };
    seconds("--every", "analyse one frame every so many seconds", o.every);
    seconds("--duration", "stop each source after so many seconds", o.duration);
    addParsed(verb, "--opacity", "of the classes' colours, 0 to 1 (default: 0.55)", "X", o.opacity,
              parseShare);
    addParsed(
        verb, "--map-colours",
        "of the merge map: mean (of each cluster's patches, default), size (of the cluster) or distinct",
        "HOW", [&o](const std::string& text) { o.mapColours = parseMapColours(text); });
    addParsed(verb, "--day-cycle", "demo: frames in which a whole day passes (default: 48)", "N", o.dayCycle,
              parseCount, 2, INT_MAX);
    addParsed(verb, "--threshold", "only objects with larger scores, 0 to 1 (default: 0.5; of regions 0.6)",
              "X", o.threshold, parseShare);
    addParsed(verb, "--nms",
              "detectors: if boxes of a class overlap by more, keep only the best (default: all)", "IOU",
              o.nms, parseShare);
    addParsed(verb, "--classes", "objects of these classes only (names or ids)", "LIST",
              [&o](const std::string& text) { o.classes = splitList(text); });
    addLineOption(verb, o.lines);
    verb.add_flag("--show", o.show, "show the overlay in a window; q ends");
    addNightOption(verb, o.night);
    addCommonOptions(verb, o.common);
    addReuseOption(verb, o.common);
    addMemoryOption(verb, o.common);
    verb.footer(kRunExamples);
}

/// Checks sources before the model is loaded, so that a misspelt source is reported quickly.
void readSources(RunOptions& options) {
    // `mpm run demo`, which new users may try first, runs the default model on the built-in street.
    if (options.model == "demo" && options.words.empty() && options.sourceFrom.empty())
        options.model = "default", options.words = {"demo"};
    options.sources = sourcesFrom(options.words, options.sourceFrom);
    if (options.sources.empty())
        throw Error(kWrongUse, "SOURCE is required; name one, or a file of them with --source-from FILE");
    for (const pipeline::Address& source : options.sources)
        orError<pipeline::SourceError>(kBadInput, "", [&] { pipeline::sourceKind(source); });
}

int runVerb(RunOptions options) {
    createFilesPrivately();  // images of a camera and measurements are private
    if (options.save && options.save->reuse && (!options.common.reuse || !options.window.empty()))
        throw Error(kWrongUse, "--save reuse: needs --reuse and whole frames; leave out --window");
    if (options.common.reuse && !options.window.empty())
        throw Error(kWrongUse, "--window: its windows cannot reuse tokens; leave out --reuse");
    if (options.save && options.save->stages && !options.window.empty())
        throw Error(kWrongUse, "--save stages: needs whole frames; leave out --window");
    if (options.save && options.out.empty())
        throw Error(kWrongUse, "--save: needs a folder to write to; add --out DIR");
    if (!options.lines.empty() && (!options.save || !options.save->tracks))
        throw Error(kWrongUse, "--line: counts the objects of --save tracks; add it");
    readSources(options);
    if (options.save && options.save->tracks && options.sources.size() > 1)
        throw Error(kWrongUse, "--save tracks: follows objects through one source; name one");
    if (options.show) checkDisplay();
    limitMemory(options.common.maxMemory);
    const bool demo = options.sources == std::vector<pipeline::Address>{"demo"};
    RunSession session(options, openNetwork(options.model, options.common, options.size, demo),
                       options.show ? Show(showImage) : Show());
    return session.run();
}

}  // namespace

void addRun(CLI::App& app, Action& action) {
    CLI::App* verb =
        app.add_subcommand("run", "Segment images, videos, cameras: labels, overlays, merge maps, counts");
    auto options = std::make_shared<RunOptions>();
    addRunOptions(*verb, *options);
    verb->callback([options, &action] { action = [options] { return runVerb(*options); }; });
}

}  // namespace mpm::cli
