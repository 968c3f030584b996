#include "models/onnx/metadata.hpp"

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "models/onnx/fused/insert.hpp"

namespace mpm::models {
namespace {

std::vector<double> threeOf(const cv::Scalar& s) {
    return {s[0], s[1], s[2]};
}

std::int64_t classesOf(const Graph& graph) {
    const auto queries = queryOutputs(graph);
    const Port& scores = graph.outputs[queries ? queries->classes : 0];
    const bool known =
        scores.type == Type::Float && (queries || (scores.dims.size() == 4 && scores.dims[1] > 1));
    return !known ? 0 : queries ? scores.dims[2] - 1 : scores.dims[1];
}

// Returns the class names of a detector; the background's name may be missing.
std::vector<std::string> namesOfBoxes(const nlohmann::json& detections, const Graph& graph) {
    const auto is = [&](const char* key, const nlohmann::json& value) {
        const auto found = detections.find(key);
        return found != detections.end() && *found == value;
    };
    const auto labels = detections.find("labels");
    if (labels != detections.end() && labels->is_string()) return classesIn(graph.metadata, std::nullopt);
    for (const Port& port : graph.outputs) {
        if (!is("scores", port.name) || port.dims.size() != 3) continue;
        const std::int64_t count = port.dims[2];
        const std::vector<std::string> names = classesIn(graph.metadata, count);
        return names.empty() && is("background", count - 1) ? classesIn(graph.metadata, count - 1) : names;
    }
    return {};
}

}  // namespace

void checkClasses(const ConvertOptions& options, const Graph& graph) {
    const auto queries = queryOutputs(graph);
    if (queries && !options.labels) {
        CV_Error(cv::Error::StsOutOfRange, "--labels: output '" +
                                               printable(graph.outputs[queries->masks].name, 200) +
                                               "' has masks of queries, not of classes; add --output labels");
    }
    const Port& scores = graph.outputs[queries ? queries->classes : 0];
    const auto classes = static_cast<std::int64_t>(options.classes.size());
    const std::int64_t there = classesOf(graph);
    if (there == 0 || classes == 0 || classes == there) return;
    CV_Error(cv::Error::StsOutOfRange, "--labels: names " + std::to_string(classes) +
                                           " classes, but output '" + printable(scores.name, 200) + "' has " +
                                           std::to_string(there) + "; name each of them, in their order");
}

void nameClasses(std::int64_t count, Graph& graph) {
    if (graph.metadata.count("mpm.labels")) return;
    nlohmann::json names = nlohmann::json::array();
    for (std::int64_t k = 0; k < count; ++k)
        names.push_back("class " + std::to_string(k));
    graph.metadata["mpm.labels"] = names.dump();
}

void nameClassesAsExported(Graph& graph) {
    if (graph.metadata.count("mpm.labels")) return;
    const auto detections = graph.metadata.find("mpm.detections");
    const std::int64_t count = classesOf(graph);
    std::vector<std::string> found;
    if (detections != graph.metadata.end()) {
        const nlohmann::json all = nlohmann::json::parse(detections->second, nullptr, false);
        if (all.is_object()) found = namesOfBoxes(all, graph);
    } else if (count > 0) {
        found = classesIn(graph.metadata, count);
    }
    const nlohmann::json names = found;
    if (!names.empty())
        graph.metadata["mpm.labels"] = names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

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
    const Pixels& pixels = conversion.pixels;
    if (options.mean || !to.count("mpm.mean")) set("mean", threeOf(pixels.mean));
    if (options.deviation || !to.count("mpm.std")) set("std", threeOf(pixels.deviation));
    set("size", {conversion.size.height, conversion.size.width});
    set("schedule", conversion.schedule);
    if (!to.count("mpm.source_sha256")) set("source_sha256", digest);
}

}  // namespace mpm::models
