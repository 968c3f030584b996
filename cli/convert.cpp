// mpm convert: converts a ViT export into a model for OpenCV, with merging.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/budget.hpp"
#include "base/printable.hpp"
#include "cli/common/error.hpp"
#include "cli/common/files.hpp"
#include "cli/common/network.hpp"
#include "cli/common/options.hpp"
#include "cli/common/terminal.hpp"
#include "cli/common/verbs.hpp"
#include "cli/tune/tune.hpp"
#include "models/onnx/contained.hpp"
#include "models/onnx/convert.hpp"
#include "pipeline/dataset/classes.hpp"
#include "pipeline/source/source.hpp"

namespace mpm::cli {

namespace {

constexpr const char* kConvertExamples = R"(Examples:
  mpm convert vit_small.onnx small.onnx                 merge gently: for weights trained without merging
  mpm convert vit_small.onnx small.onnx --blocks 2,5    the paper's schedule: faster, for weights trained with it
  mpm convert vit_small.onnx small.onnx --blocks none   the same model, only faster
  mpm convert segmenter.onnx seg.onnx --output labels --labels classes.json
  mpm convert eomt.onnx eomt.mpm.onnx --output labels   labels from masks and classes of queries
  mpm convert model.onnx small.onnx --outputs logits --set training=false
  mpm convert seg.onnx seg36.onnx --blocks 3,6          a converted model with another schedule

IN is an ONNX file as PyTorch exports it: ViT, DeiT, DINOv2, EVA-02, Segmenter and their like. OUT runs on every OpenCV
from 4.6 on and is only written once its results have been shown to equal those of IN.
Exit status: 0 done, 1 failed, 2 wrong usage, 3 a model that cannot be converted.)";

struct ConvertOptions {
    std::string input, output, labels, normalise, method;
    models::ConvertOptions convert;
    bool sandbox = false;
    std::vector<std::string> tune;  ///< sources of images
    CommonOptions common;
};

cv::Scalar parseThree(const std::string& option, const std::string& text, bool positive) {
    const std::vector<double> values = parseNumbers(option, text, 3);
    for (double value : values) {
        if (positive && value <= 0) throw Error(kWrongUse, option + ": expected three numbers above 0");
    }
    return {values[0], values[1], values[2]};
}

// Sets mean and deviation from --normalise. Must run after all options have been read.
void applyNormalise(ConvertOptions& o) {
    if (o.normalise.empty()) return;
    const std::map<std::string, std::pair<cv::Scalar, cv::Scalar>> known{
        {"imagenet", {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}},
        {"clip", {{0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711}}},
        {"half", {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}}},
        {"none", {{0, 0, 0}, {1, 1, 1}}}};
    const auto found = known.find(o.normalise);
    if (found == known.end())
        throw Error(kWrongUse,
                    "--normalise: expected imagenet, clip, half or none, got \"" + o.normalise + "\"");
    if (o.convert.mean || o.convert.deviation)
        throw Error(kWrongUse, "--normalise: stands for --mean and --std; give either it or them");
    o.convert.mean = found->second.first;
    o.convert.deviation = found->second.second;
}

// Sets the method from --method. Must run after all options have been read, because --blocks may follow
// --method.
void applyMethod(ConvertOptions& o) {
    if (o.method.empty()) return;
    const std::vector<pipeline::Method> methods = parseMethods("--method", o.method);
    const pipeline::Method& method = methods.front();
    if (methods.size() != 1 || method.reuses() || method.shares())
        throw Error(kWrongUse, "--method: expected one reducer, as gentle or mpm:pairs=0.3:1+3, got \"" +
                                   o.method + "\"");
    checkMethods("--method", methods);
    if (method.blocks && o.convert.blocks)
        throw Error(kWrongUse, "--method: names blocks, as --blocks does; give them once");
    o.convert.method = method.name;
    if (method.blocks) o.convert.blocks = method.blocks;
}

void checkTune(const ConvertOptions& o) {
    if (o.tune.empty()) return;
    if (o.convert.method || o.convert.blocks)
        throw Error(kWrongUse, "--tune: chooses method and blocks; leave out --method and --blocks");
    if (o.convert.form == models::Form::Layers)
        throw Error(kWrongUse, "--tune: the layers form merges mutual pairs only; use --form fused");
    if (o.sandbox) throw Error(kWrongUse, "--tune: reads files, which --sandbox forbids; tune afterwards");
}

int tuneOutput(const ConvertOptions& o) {
    TuneRequest request;
    request.common = o.common;
    request.model = o.output;
    request.sources = o.tune;
    request.write = true;
    return tuneAndReport(request);
}

/// Returns `value` if the text is `first`, or `other` if it is `second`. Rejects any other text.
template <typename Value>
Value choose(const std::string& option, const std::string& text, const char* first, const char* second,
             Value value, Value other) {
    if (text != first && text != second)
        throw Error(kWrongUse, option + ": expected " + first + " or " + second + ", got \"" + text + "\"");
    return text == first ? value : other;
}

std::vector<std::string> parseNames(const std::string& option, const std::string& text) {
    const std::vector<std::string> names = splitList(text);
    if (names.empty() || std::find(names.begin(), names.end(), "") != names.end())
        throw Error(kWrongUse, option + ": expected names with commas between, got \"" + text + "\"");
    return names;
}

void chooseInputs(const std::vector<std::string>& texts, ConvertOptions& o) {
    for (const std::string& text : texts) {
        const size_t equals = text.find('=');
        if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
            throw Error(kWrongUse, "--set: expected NAME=VALUE, got \"" + text + "\"");
        o.convert.set[text.substr(0, equals)] = text.substr(equals + 1);
    }
}

void addConvertOptions(CLI::App& verb, ConvertOptions& o) {
    verb.add_option("IN", o.input, "an ONNX export of a vision transformer")->required();
    verb.add_option("OUT", o.output, "the ONNX file to write")->required();
    verb.add_option("--method", o.method,
                    "the reducer, and blocks if wanted (default: gentle; mpm if there are --blocks)")
        ->type_name("gentle|mpm:2+5|...");
    addParsed(verb, "--blocks", "merge before these blocks (default: those of the method; mpm has 2,5)",
              "LIST|none", o.convert.blocks, parseBlocks);
    verb.add_option("--tune", o.tune, "choose method and blocks on these images, as 'mpm tune --write' does")
        ->type_name("SOURCE")
        ->expected(1)
        ->take_all();
    addParsed(verb, "--form", "fused: every OpenCV; layers: OpenCV 5, ONNX Runtime (default: fused)",
              "fused|layers", o.convert.form, choose<models::Form>, "fused", "layers", models::Form::Fused,
              models::Form::Layers);
    addParsed(verb, "--size", "another image size", "HxW", o.convert.size, parseSize);
    addParsed(verb, "--batch", "a fixed batch", "B", o.convert.batch, parseCount, 1, INT_MAX);
    addParsed(verb, "--decoder",
              "merged: decoders compute the merged tokens; full: all tokens (default: full)", "merged|full",
              o.convert.decoder, choose<models::Decoder>, "merged", "full", models::Decoder::Merged,
              models::Decoder::Full);
    addParsed(verb, "--outputs", "keep these outputs and the inputs they need only", "NAME,...",
              o.convert.outputs, parseNames);
    verb.add_option_function<std::vector<std::string>>(
            "--set", [&o](const std::vector<std::string>& texts) { chooseInputs(texts, o); },
            "give a scalar input a constant value and remove it from the inputs")
        ->type_name("NAME=VALUE")
        ->expected(1)
        ->take_all();
    addParsed(verb, "--output", "scores as the model has them, or class ids (default: logits)",
              "logits|labels", o.convert.labels, choose<bool>, "logits", "labels", false, true);
    verb.add_option("--labels", o.labels,
                    "JSON list of the classes' names, or of objects with name and color")
        ->type_name("FILE");
    addParsed(verb, "--detections", "which outputs are boxes and scores (default: guessed for detectors)",
              "JSON|none", [&o](const std::string& text) { o.convert.detections = text; });
    addParsed(verb, "--mean",
              "of the training's preprocessing, on 0 to 1 (default: the export's, else ImageNet's for a "
              "detector, .5,.5,.5 for others)",
              "R,G,B", o.convert.mean, parseThree, false);
    addParsed(verb, "--std", "deviation, likewise", "R,G,B", o.convert.deviation, parseThree, true);
    addParsed(verb, "--normalise", "a name for both: ImageNet's values, CLIP's, 0.5, or 0 and 1",
              "imagenet|clip|half|none", [&o](const std::string& text) { o.normalise = text; });
    verb.add_flag("--sandbox", o.sandbox, "give up other files, the network and programs before IN is read");
    addParsed(verb, "--max-memory",
              "reject models that need more memory (default: 1 GiB and 16 times the file)", "BYTES",
              o.convert.maxMemory, parseBytes);
    addParsed(verb, "--max-seconds", "reject models that take longer (default: 25, and 5 for each MiB)", "S",
              o.convert.maxSeconds, parseSeconds);
    addCommonOptions(verb, o.common, false);
    verb.footer(kConvertExamples);
}

void checkInput(const ConvertOptions& o) {
    std::error_code error;
    if (pipeline::isUnreadable(o.input))
        throw Error(kBadInput, o.input + ": permission denied; name a file that this program may read");
    if (!std::filesystem::is_regular_file(o.input, error))
        throw Error(kBadInput,
                    o.input + (std::filesystem::exists(o.input, error) ? ": not a file" : ": no such file") +
                        "; name the ONNX export of a ViT");
}

void checkOutput(const ConvertOptions& o) {
    std::error_code error;
    if (std::filesystem::equivalent(o.input, o.output, error))
        throw Error(kWrongUse, o.output + ": is the input itself; name another file to write to");
    checkWritable(o.output);
}

void readLabels(ConvertOptions& o) {
    if (o.labels.empty()) return;
    const pipeline::Classes classes = orError<cv::Exception>(
        kBadInput, "--labels: ", [&] { return pipeline::readClasses(o.labels, false); });
    o.convert.classes = classes.names;
    o.convert.palette = classes.palette;
    o.convert.allClasses = true;
}

std::string listOf(const std::vector<int>& values) {
    std::string text;
    for (int value : values)
        text += (text.empty() ? "" : ", ") + std::to_string(value);
    return text;
}

/// Prints method and blocks of the merging. If the user did not choose them, also prints an alternative.
void printMerging(const models::Conversion& c) {
    std::cout << "merging    " << (c.method == "mpm" ? "" : printable(c.method, 200) + " ")
              << "before blocks " << (c.schedule.empty() ? "none" : listOf(c.schedule)) << '\n';
    if (!c.byDefault || c.method == "mpm") return;
    std::cout << "           few pairs at a time, for weights trained without merging; "
              << (c.blocks > 5   ? "the paper's: --blocks 2,5"
                  : c.blocks > 2 ? "the paper's: --blocks 2"
                                 : "all tokens: --blocks none")
              << " (faster on a GPU)\n";
}

void printConversion(const ConvertOptions& o, const models::Conversion& c) {
    for (const std::string& note : c.notes)
        warn(printable(note, 1000));
    std::cout << printableLines(describe(c));
    printMerging(c);
    std::cout << "proved by  " << c.proof << ", batch " << listOf(c.provedBatches)
              << cv::format(": largest difference %.1e of the largest value\n", c.error);
    std::cout << "written    " << printable(o.output) << std::endl;
}

// Makes the heap keep freed memory. The comparison of a large model with its export allocates and frees
// thousands of large tensors; without this setting, the system would clear their pages each time.
void keepFreedMemory() {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

/// Enters a sandbox, for models from untrusted sources. The sandbox allows writing to the output's folder. If
/// the output is a device or pipe, allows writing only to the output and to the folder for temporary files,
/// because the converter first writes the result to this folder.
void enterSandboxFor(const ConvertOptions& o) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path output = fs::weakly_canonical(fs::absolute(o.output), error);
    Sandbox sandbox = models::conversionSandbox(o.input, output.parent_path().string());
    if (fs::exists(output, error) && !fs::is_regular_file(output, error))
        sandbox.writable = {fs::temp_directory_path(error).string(), output.string()};
    for (const std::string& line : enterSandbox(sandbox))
        warn("--sandbox: without " + line);
}

int convertVerb(ConvertOptions& o) {
    applyThreads(o.common);
    applyNormalise(o);
    applyMethod(o);
    checkTune(o);
    keepFreedMemory();
    checkInput(o);
    checkOutput(o);
    readLabels(o);
    if (o.sandbox) enterSandboxFor(o);
    try {
        printConversion(o, models::convertModel(o.input, o.output, o.convert));
    } catch (const models::Refusal& refusal) {
        throw Error(kBadInput, printable(o.input) + ": " + printable(oneLine(refusal.what()), 600));
    } catch (const BudgetError& error) {
        throw Error(kBadInput, printable(o.input) + ": " + printable(oneLine(error.err), 600));
    } catch (const cv::Exception& error) {
        if (error.code == cv::Error::StsOutOfRange) throw Error(kWrongUse, error.err);
        throw;
    }
    return o.tune.empty() ? kDone : tuneOutput(o);
}

}  // namespace

void addConvert(CLI::App& app, Action& action) {
    CLI::App* verb =
        app.add_subcommand("convert", "Convert a ViT export into a model for OpenCV, with merging");
    const auto options = std::make_shared<ConvertOptions>();
    addConvertOptions(*verb, *options);
    verb->callback([options, &action] { action = [options] { return convertVerb(*options); }; });
}

}  // namespace mpm::cli
