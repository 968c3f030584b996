#include "models/onnx/convert.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <future>

#include <nlohmann/json.hpp>

#include "base/checked.hpp"
#include "base/pending_file.hpp"
#include "base/printable.hpp"
#include "models/onnx/bind.hpp"
#include "models/onnx/fused/image_size.hpp"
#include "models/onnx/fused/insert.hpp"
#include "models/onnx/fused/labels_output.hpp"
#include "models/onnx/fused/lower.hpp"
#include "models/onnx/io/digest.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/layers/insert_layers.hpp"
#include "models/onnx/match/normalise.hpp"
#include "models/onnx/match/own_graph.hpp"
#include "models/onnx/summary.hpp"
#include "models/onnx/verify/prove.hpp"

namespace mpm::models {
namespace {

constexpr int kOpset = 13;  // what every OpenCV from 4.6 on reads

List<int> scheduleFor(const ConvertOptions& options, int blocks) {
    List<int> schedule = options.blocks.value_or(List<int>{2, 5});
    if (!options.blocks) {
        schedule.erase(
            std::remove_if(schedule.begin(), schedule.end(), [blocks](int b) { return b >= blocks; }),
            schedule.end());
    }
    for (size_t k = 0; k < schedule.size(); ++k) {
        if (schedule[k] < 0 || schedule[k] >= blocks || (k > 0 && schedule[k] <= schedule[k - 1])) {
            CV_Error(cv::Error::StsOutOfRange, cv::format("--blocks must be strictly increasing block "
                                                          "numbers from 0 to %d, as the model has %d blocks",
                                                          blocks - 1, blocks));
        }
    }
    return schedule;
}

std::vector<double> threeOf(const cv::Scalar& s) {
    return {s[0], s[1], s[2]};
}

// One name too few names a class wrongly, or none, and says nothing of it until somebody looks at a picture.
void checkClasses(const ConvertOptions& options, const Port& scores) {
    const bool known = scores.type == Type::Float && scores.dims.size() == 4 && scores.dims[1] > 1;
    const auto classes = static_cast<std::int64_t>(options.classes.size());
    if (!known || classes == 0 || classes == scores.dims[1]) return;
    CV_Error(cv::Error::StsOutOfRange, "--labels: names " + std::to_string(classes) +
                                           " classes, but output '" + printable(scores.name, 200) + "' has " +
                                           std::to_string(scores.dims[1]) +
                                           "; name each of them, in their order");
}

// Exports carry no preprocessing; what an own output already says stays unless it is said anew.
void writeMetadata(const ConvertOptions& options, const Conversion& conversion, const std::string& digest,
                   Graph& graph) {
    using nlohmann::json;
    std::map<std::string, std::string>& to = graph.metadata;
    const auto set = [&](const std::string& key, const json& value) {
        to["mpm." + key] = value.dump(-1, ' ', false, json::error_handler_t::replace);
    };
    if (!options.classes.empty()) set("labels", options.classes);
    if (!options.palette.empty()) {
        json palette = json::array();
        for (const cv::Vec3b& c : options.palette)
            palette.push_back({c[0], c[1], c[2]});
        set("palette", palette);
    }
    if (options.mean || !to.count("mpm.mean"))
        set("mean", threeOf(options.mean.value_or(cv::Scalar(0.5, 0.5, 0.5))));
    if (options.deviation || !to.count("mpm.std"))
        set("std", threeOf(options.deviation.value_or(cv::Scalar(0.5, 0.5, 0.5))));
    set("size", {conversion.size.height, conversion.size.width});
    set("schedule", conversion.schedule);
    if (!to.count("mpm.source_sha256")) set("source_sha256", digest);
}

// A model that is ours already: another schedule, labels, other metadata.
Graph convertAgain(const Graph& original, const ConvertOptions& options, const Binding& binding,
                   Conversion& conversion) {
    Graph graph = original;
    const Port& port = graph.inputs[0];
    const bool otherSize =
        !options.size.empty() && (port.dims[2] != options.size.height || port.dims[3] != options.size.width);
    if (otherSize || (options.batch > 0 && port.dims[0] != options.batch)) {
        throw Refusal(
            "the model is converted already and keeps its size and batch: convert the original export "
            "instead");
    }
    const Shapes shapes = inferShapes(graph, binding);
    const Matched matched = encodersOf(graph, shapes.at);
    if (!matched.backbone())
        throw Refusal("the model has no encoder that merges: convert the original export instead");
    if (options.form == Form::Layers)
        throw Refusal("the model is of the fused form already: convert the original export instead");
    const int blocks = static_cast<int>(matched.backbone()->blocks.size());
    conversion.schedule = options.blocks ? scheduleFor(options, blocks) : scheduleOf(graph);
    setSchedule(graph, conversion.schedule);
    summarise(graph, shapes, matched, conversion);
    projectInEmbeddings(graph, shapes);
    declarePorts(graph, shapes, binding);
    return graph;
}

// The export's own inputs, and those asked for where the export cannot take them as it stands.
struct Bindings {
    Binding own;
    std::optional<Binding> wanted;

    const Binding& last() const { return wanted ? *wanted : own; }
};

Bindings bindingsOf(const Graph& graph, const ConvertOptions& options, std::vector<std::string>& notes) {
    const Binding asked = bindInputs(graph, options, notes);
    if (isFused(graph) || accepts(graph, asked)) return {asked, std::nullopt};
    ConvertOptions plain = options;
    plain.size = {};
    plain.batch = 0;
    Binding own = bindInputs(graph, plain, notes);
    if (own.inputs[0].shape() == asked.inputs[0].shape()) return {asked, std::nullopt};
    return {own, asked};
}

Graph convertExport(const Graph& original, const ConvertOptions& options, const Bindings& bindings,
                    Conversion& conversion) {
    Graph graph = original;
    Shapes shapes = inferShapes(graph, bindings.own);
    if (isLayers(graph)) {
        dropMerges(graph, shapes.at);
        shapes = inferShapes(graph, bindings.own);
    }
    fold(graph, shapes.at, shapes.dynamic ? &shapes.other : nullptr);
    normalise(graph, shapes.at);
    shapes = inferShapes(graph, bindings.own);
    const Matched matched = findEncoders(graph, shapes.at);
    if (!matched.backbone()) throw Refusal(matched.complaint());
    const int blocks = static_cast<int>(matched.backbone()->blocks.size());
    const bool keeps = isLayers(original) && !options.blocks;
    conversion.schedule = keeps ? scheduleOf(original) : scheduleFor(options, blocks);
    summarise(graph, shapes, matched, conversion);
    if (options.form == Form::Layers) {
        if (bindings.wanted)
            throw Refusal(
                "the layers form takes one picture of the export's own size: export with batch 1 at the size "
                "wanted");
        insertLayers(graph, matched, shapes, conversion.schedule);
        declarePorts(graph, shapes, bindings.own);
        standardise(graph, shapes);
        return graph;
    }
    insertEncoders(graph, matched, shapes, conversion.schedule);
    List<int> streams;
    for (const Encoder& encoder : matched.encoders)
        streams.push_back(encoder.input());
    insertEmbeddings(graph, shapes, streams);
    if (bindings.wanted) {
        shapes = changePictureSize(graph, shapes, matched, bindings.own, *bindings.wanted);
        summarise(graph, shapes, encodersOf(graph, shapes.at), conversion);
    }
    projectInEmbeddings(graph, shapes);
    declarePorts(graph, shapes, bindings.last());
    conversion.decoder = decoderOf(matched, graph);
    lower(graph, shapes);
    graph.opset = kOpset;
    return graph;
}

bool hasRoom(const Graph& graph, const Shape& input) {
    try {
        checkRoom(peakBytes(graph, infer(graph, {Tensor(Type::Float, input)})), "the proof");
        return true;
    } catch (const BudgetError&) {
        return false;
    }
}

// Of a dynamic batch two are tried; the larger one only where there is room for it.
List<Shape> proofInputs(const Graph& graph, const Binding& binding) {
    if (!binding.dynamicBatch) return {binding.inputs[0].shape()};
    List<Shape> inputs{binding.inputAt(1)};
    for (int batch : {3, 2}) {
        if (!hasRoom(graph, binding.inputAt(batch))) continue;
        inputs.push_back(binding.inputAt(batch));
        break;
    }
    return inputs;
}

// OpenCV reads what is a converted model already only as the converter has understood it: from a copy beside
// `path`, which errors call `name`.
Prover proverOf(const Graph& original, const Binding& binding, const std::string& path,
                const std::string& name, const Graph& converted) {
    const List<Shape> inputs = proofInputs(original, binding);
    if (!isFused(original)) return {original, "", inputs, converted};
    const ScratchFile copy(std::filesystem::path(path).parent_path().string());
    if (!copy.isOpen()) failWriting(name, errno);
    writeModel(original, copy.path(), name);
    return {original, copy.path(), inputs, converted};
}

// Reads, converts, writes to `path`, which errors call `name`; the graphs are gone when it returns. No prover
// where the export cannot take the inputs that were asked for.
std::optional<Prover> prepare(const std::string& input, const ConvertOptions& options,
                              const std::string& path, const std::string& name, Conversion& conversion,
                              bool& labels) {
    std::future<std::string> digest = std::async(std::launch::async, sha256OfFile, input);
    const Graph original = readModel(input);
    const Bindings bindings = bindingsOf(original, options, conversion.notes);
    if (options.form == Form::Layers && bindings.last().inputs[0].shape()[0] != 1) {
        throw Refusal(
            "the layers form takes one picture at a time: export with batch 1, or use --form fused");
    }
    conversion.size = bindings.last().size;
    conversion.batch =
        bindings.last().dynamicBatch ? 0 : static_cast<int>(bindings.last().inputs[0].shape()[0]);
    const bool again = isFused(original);
    Graph graph = again ? convertAgain(original, options, bindings.own, conversion)
                        : convertExport(original, options, bindings, conversion);
    if (options.allClasses) checkClasses(options, graph.outputs[0]);
    labels = options.labels && graph.outputs[0].type == Type::Float;
    if (labels && options.form == Form::Layers) throw Refusal("labels come with --form fused only");
    if (labels) outputLabels(graph);
    writeMetadata(options, conversion, digest.get(), graph);
    writeModel(graph, path, name);
    if (bindings.wanted) return std::nullopt;
    return proverOf(original, bindings.own, path, name, graph);
}

// The same conversion at the export's own size and batch: what differs then are positions and shapes.
Proof proveAtOwnSize(const std::string& input, const PendingFile& pending, ConvertOptions options) {
    options.size = {};
    options.batch = 0;
    const ScratchFile file(pending.folder());
    if (!file.isOpen()) pending.refuse(errno);
    Conversion conversion;
    bool labels = false;
    const auto prover = prepare(input, options, file.path(), pending.name(), conversion, labels);
    Proof proof = prover.value().check(file.path(), labels);
    proof.means += ", at the export's own size";
    return proof;
}

Conversion convertWithin(const std::string& input, const std::string& output, const ConvertOptions& given) {
    ConvertOptions options = given;
    if (options.form == Form::Layers) options.batch = 1;
    Conversion conversion;
    PendingFile file(output);
    bool labels = false;
    const auto prover = prepare(input, options, file.path(), file.name(), conversion, labels);
    const Proof proof = prover ? prover->check(file.path(), labels, options.form == Form::Layers)
                               : proveAtOwnSize(input, file, options);
    if (!prover) checkRuns(file.path());
    conversion.proof = proof.means;
    conversion.provedBatches = proof.batches;
    conversion.error = proof.worst;
    for (const std::string& name : proof.flat) {
        conversion.notes.push_back(
            "output '" + printable(name, 200) +
            "' is one value everywhere on random input, so the proof says little of it");
    }
    file.keep();
    return conversion;
}

}  // namespace

Conversion convertModel(const std::string& input, const std::string& output, const ConvertOptions& options) {
    const Job job({options.maxMemory, options.maxSeconds});
    return refusing([&] { return convertWithin(input, output, options); });
}

}  // namespace mpm::models
