#include "models/onnx/inspect.hpp"

#include <unistd.h>

#include "base/pending_file.hpp"
#include "models/onnx/bind.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/rewrite.hpp"
#include "models/onnx/match/match.hpp"
#include "models/onnx/match/state.hpp"
#include "models/onnx/metadata.hpp"
#include "models/onnx/options.hpp"

namespace mpm::models {
namespace {

std::string describePort(const Port& port) {
    std::string text = port.name + (port.type == Type::Int    ? " int64 ["
                                    : port.type == Type::Bool ? " bool ["
                                                              : " f32 [");
    for (size_t k = 0; k < port.dims.size(); ++k) {
        const std::string named =
            k < port.dimNames.size() && !port.dimNames[k].empty() ? port.dimNames[k] : "?";
        text += (k ? ", " : "") + (port.dims[k] < 0 ? named : std::to_string(port.dims[k]));
    }
    return text + "]";
}

void analyse(Graph graph, Inspection& result) {
    keepOutputs(graph, {}, result.found.notes);
    fixScalarInputs(graph, result.found.notes);
    const Binding binding = bindInputs(graph, {}, result.found.notes);
    result.found.size = binding.size;
    result.found.batch = binding.dynamicBatch ? 0 : static_cast<int>(binding.inputs[0].shape()[0]);
    result.found.detections = describeDetections(graph.metadata);
    if (result.converted) {
        const Merging merging = mergingOf(graph);
        result.found.method = merging.method;
        result.found.schedule = merging.schedule;
    } else {
        result.found.pixels = pixelsFor({}, graph.metadata, choosesByScore(graph), result.found.notes);
    }
    summarise(understandOrExplain(graph, {}, binding, true), result.found);
    result.convertible = true;
}

Inspection inspect(const Graph& graph) {
    Inspection result;
    result.converted = isFused(graph) || isLayers(graph);
    result.opset = graph.opset;
    result.producer = graph.producer;
    for (const Port& port : graph.inputs)
        result.inputs.push_back(describePort(port));
    for (const Port& port : graph.outputs)
        result.outputs.push_back(describePort(port));
    try {
        refusing([&] { analyse(graph, result); });
    } catch (const Refusal& refusal) {
        result.reason = refusal.what();
    } catch (const BudgetError& error) {
        result.reason = error.err;
    }
    return result;
}

}  // namespace

Inspection inspectModel(const std::string& path) {
    const Job job({});
    return refusing([&] { return inspect(readModel(path)); });
}

Inspection inspectModel(const void* bytes, size_t size) {
    const Job job({});
    return refusing([&] { return inspect(readModel(bytes, size)); });
}

bool canStoreMerging(const std::string& path) {
    try {
        PendingFile beside(path, Access::Umask);
        return access(path.c_str(), W_OK) == 0;
    } catch (const std::exception&) {
        return false;
    }
}

void storeMerging(const std::string& path, const Merging& merging) {
    const Job job({});
    refusing([&] {
        Graph graph = readModel(path);
        if (!isFused(graph))
            throw Refusal(
                "the model has no MpmEncoder whose method could be stored: convert it with --form "
                "fused");
        setMerging(graph, merging);
        replaceMerging(path, merging, domainVersion(graph));
    });
}

}  // namespace mpm::models
