// mpm info: describes a model file.
#include <cmath>
#include <iostream>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "cli/common/error.hpp"
#include "cli/common/network.hpp"
#include "cli/common/options.hpp"
#include "cli/common/terminal.hpp"
#include "cli/common/verbs.hpp"
#include "models/onnx/inspect.hpp"
#include "pipeline/segment/model_file.hpp"
#include "pipeline/segment/names.hpp"
#include "pipeline/segment/network.hpp"

namespace mpm::cli {

namespace {

constexpr const char* kInfoExamples = R"(Examples:
  mpm info model.onnx          encoder, size, parameters, GFLOPs, schedule, labels
  mpm info export.onnx         whether 'mpm convert' understands it, and why not
  mpm info default --json      for programs
  mpm info model.onnx --precision i8    which layers would lose too much in int8 and do not run in it

Exit status: 0 done, 2 wrong usage, 3 not a model.)";

struct InfoOptions {
    std::string model;
    bool json = false;
    CommonOptions common;
};

using nlohmann::json;

json encoderJson(const models::Conversion& c) {
    json taps = c.taps;
    return {{"blocks", c.blocks},
            {"dim", c.dim},
            {"heads", c.heads},
            {"special_tokens", c.specialTokens},
            {"image_tokens", c.imageTokens},
            {"grid", {c.grid.height, c.grid.width}},
            {"norm", c.norm},
            {"activation", c.activation},
            {"attention", c.attention},
            {"segments", c.segments},
            {"taps", taps}};
}

// Returns the metadata mpm.detections, with defaults for missing values.
json detectionsJson(const DetectionOutputs& d) {
    static const char* const kActivations[] = {"none", "sigmoid", "softmax"};
    json all{{"boxes", d.boxes},
             {"scores", d.scores},
             {"format", d.format == BoxFormat::XyXy ? "xyxy" : "cxcywh"},
             {"scale", d.scale == BoxScale::Pixels ? "pixels" : "unit"},
             {"activation", kActivations[static_cast<int>(d.activation)]}};
    if (!d.masks.empty()) all["masks"] = d.masks;
    if (!d.labels.empty()) all["labels"] = d.labels;
    if (d.background >= 0) all["background"] = d.background;
    if (!d.sizeInput.empty())
        all["size_input"] = {{"name", d.sizeInput}, {"order", d.sizeOrder == SizeOrder::Hw ? "hw" : "wh"}};
    return all;
}

json toJson(const InfoOptions& o, const models::Inspection& i, const ModelInfo& info) {
    json root{{"mpm", version()},         {"model", o.model},
              {"converted", i.converted}, {"convertible", i.convertible},
              {"inputs", i.inputs},       {"outputs", i.outputs},
              {"opset", i.opset},         {"producer", i.producer}};
    if (!i.reason.empty()) root["reason"] = i.reason;
    if (i.convertible) {
        const models::Conversion& c = i.found;
        root["encoder"] = encoderJson(c);
        root["decoder"] = c.decoder;
        root["size"] = {c.size.height, c.size.width};
        root["batch"] = c.batch;
        root["parameters"] = c.parameters;
        root["gflops"] = c.gflops;
        if (i.converted && std::isfinite(c.gflopsMerged)) root["gflops_merged"] = c.gflopsMerged;
        if (i.converted) root["method"] = c.method;
        root["schedule"] = c.schedule;
    }
    if (i.found.pixels.known) {
        const cv::Scalar &mean = i.found.pixels.mean, &deviation = i.found.pixels.deviation;
        root["mean"] = {mean[0], mean[1], mean[2]};
        root["std"] = {deviation[0], deviation[1], deviation[2]};
        root["mean_std_origin"] = i.found.pixels.origin;
    }
    if (i.converted) {
        json palette = json::array();
        for (const cv::Vec3b& colour : info.palette)
            palette.push_back({colour[0], colour[1], colour[2]});
        root["labels"] = info.labels;
        root["palette"] = palette;
        root["mean"] = {info.mean[0], info.mean[1], info.mean[2]};
        root["std"] = {info.std[0], info.std[1], info.std[2]};
        root["source_sha256"] = info.sourceSha256;
        if (info.detections) root["detections"] = detectionsJson(*info.detections);
    }
    return root;
}

std::string joinedList(const std::vector<std::string>& words, size_t most) {
    std::string text;
    for (size_t k = 0; k < words.size() && k < most; ++k)
        text += (k ? ", " : "") + printable(words[k], 80);
    return words.size() > most ? text + ", ..." : text;
}

/// Returns the layers for which a forward in int8 needs a more accurate format.
std::vector<std::string> keptInF32(const std::string& path, const CommonOptions& common) {
    return orError<cv::Exception>(kFailed, "", [&] {
        pipeline::Network network = openNetwork(path, common);
        network.encoder().setMethod("mpm");
        network.encoder().setSchedule({});
        network.forward(network.blob({cv::Mat(network.info().size, CV_8UC3, cv::Scalar::all(0))}));
        return network.encoder().report().keptInF32;
    });
}

void printInfo(const models::Inspection& i, const ModelInfo& info) {
    for (const std::string& port : i.inputs)
        std::cout << "input      " << printable(port) << '\n';
    for (const std::string& port : i.outputs)
        std::cout << "output     " << printable(port) << '\n';
    if (i.convertible) std::cout << printableLines(describe(i.found));
    if (!i.converted) {
        std::cout << "converted  no; "
                  << (i.convertible ? "'mpm convert' can" : "and cannot be: " + printable(i.reason, 600))
                  << '\n';
        return;
    }
    std::cout << "merging    " << (i.found.method == "mpm" ? "" : printable(i.found.method, 200) + " ")
              << "before blocks " << blocksText(i.found.schedule) << '\n';
    std::cout << cv::format("mean, std  %g %g %g, %g %g %g\n", info.mean[0], info.mean[1], info.mean[2],
                            info.std[0], info.std[1], info.std[2]);
    if (!info.labels.empty())
        std::cout << "labels     " << info.labels.size() << ": " << joinedList(info.labels, 8) << '\n';
    if (!info.sourceSha256.empty())
        std::cout << "source     sha256 " << printable(info.sourceSha256, 80) << '\n';
}

int infoVerb(const InfoOptions& o) {
    applyThreads(o.common);
    const std::optional<Precision>& precision = o.common.precision;
    try {
        const std::string path = pipeline::findModel(o.model);
        const models::Inspection inspection = models::inspectModel(path);
        const ModelInfo info = inspection.converted ? modelInfo(path) : ModelInfo();
        std::vector<std::string> kept;
        if (precision && inspection.converted) kept = keptInF32(path, o.common);
        if (o.json) {
            json root = toJson(o, inspection, info);
            if (precision) root["kept_in_f32"] = kept;
            // Bytes that are not UTF-8 become the replacement character.
            std::cout << root.dump(2, ' ', false, json::error_handler_t::replace) << std::endl;
            return kDone;
        }
        printInfo(inspection, info);
        if (precision && inspection.converted)
            std::cout << pipeline::precisionName(*precision) << "         "
                      << (kept.empty() ? "every layer" : "every layer but " + joinedList(kept, kept.size()))
                      << '\n';
    } catch (const models::Refusal& refusal) {
        throw Error(kBadInput, printable(o.model) + ": " + printable(oneLine(refusal.what()), 600));
    } catch (const pipeline::ModelError& error) {
        throw Error(kBadInput, printable(error.what(), 600));
    } catch (const cv::Exception& error) {
        throw Error(kBadInput, printable(o.model) + ": " + printable(oneLine(error.err), 600));
    }
    return kDone;
}

}  // namespace

void addInfo(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand("info", "Describe a model file");
    const auto options = std::make_shared<InfoOptions>();
    verb->add_option("MODEL", options->model, "an ONNX file, or default")->required();
    verb->add_flag("--json", options->json, "for programs");
    addParsed(*verb, "--precision", "also list the layers that would not run in int8", precisionForm(true),
              options->common.precision, parsePrecision);
    addCommonOptions(*verb, options->common, false, false);
    verb->footer(kInfoExamples);
    verb->callback([options, &action] { action = [options] { return infoVerb(*options); }; });
}

}  // namespace mpm::cli
