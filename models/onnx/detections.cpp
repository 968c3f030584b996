#include "models/onnx/metadata.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "base/printable.hpp"

namespace mpm::models {
namespace {

using nlohmann::json;

class Guess {
public:
    Guess(const Graph& graph, const List<Tensor>& results, const cv::Size& image)
        : m_graph(graph), m_results(results), m_image(image) {}

    json run() {
        findOutputs();
        if (!m_boxes || !m_scores) return {};
        json all{{"boxes", nameOf(*m_boxes)}, {"scores", nameOf(*m_scores)}};
        if (m_labels) all["labels"] = nameOf(*m_labels);
        if (m_masks) all["masks"] = nameOf(*m_masks);
        const Tensor& boxes = m_results[*m_boxes];
        all["format"] = share(boxes, [](const float* b) { return b[2] >= b[0] && b[3] >= b[1]; }) > 0.98
                            ? "xyxy"
                            : "cxcywh";
        // Boxes in a random image are inside the image or near it, so unit coordinates are about 0 to 1.
        const bool unit =
            share(boxes, [](const float* b) { return std::abs(b[0]) <= 2 && std::abs(b[1]) <= 2; }) > 0.9;
        all["scale"] = unit ? "unit" : "pixels";
        all["activation"] = activation();
        if (all["activation"] == "softmax") all["background"] = m_results[*m_scores].dim(-1) - 1;
        addSizeInput(all);
        return all;
    }

private:
    std::string nameOf(size_t output) const { return m_graph.outputs[output].name; }

    // Finds boxes [images, queries, 4], their scores and masks, and labels if the scores have no class axis.
    void findOutputs() {
        const auto rankOf = [&](size_t k) { return m_results[k].rank(); };
        const auto named = [&](size_t k, const char* part) {
            std::string name = nameOf(k);
            std::transform(name.begin(), name.end(), name.begin(),
                           [](unsigned char c) { return std::tolower(c); });
            return name.find(part) != std::string::npos;
        };
        for (size_t k = 0; k < m_graph.outputs.size(); ++k) {
            if (rankOf(k) != 3 || !m_results[k].isFloat() || m_results[k].dim(2) != 4 ||
                m_results[k].size() == 0)
                continue;
            // Scores for four classes have the same shape as boxes, so this loop prefers an output with "box"
            // or "det" in its name. Without such an output, the loop takes the first output of this shape:
            // later outputs are proposals.
            const auto says = [&](size_t output) { return named(output, "box") || named(output, "det"); };
            if (!m_boxes || (says(k) && !says(*m_boxes))) m_boxes = k;
        }
        if (!m_boxes) return;
        const int64_t queries = m_results[*m_boxes].dim(1);
        for (size_t k = 0; k < m_graph.outputs.size(); ++k) {
            if (k == *m_boxes || rankOf(k) < 2 || m_results[k].dim(1) != queries) continue;
            const bool isFloat = m_results[k].isFloat();
            if (rankOf(k) == 2) (isFloat ? m_scores : m_labels) = k;
            if (rankOf(k) == 3 && isFloat && !m_scores) m_scores = k;
            if (rankOf(k) == 4 && isFloat && !m_masks && isOfImage(m_results[k])) m_masks = k;
        }
        if (m_scores && m_results[*m_scores].rank() == 2 && !m_labels) m_scores.reset();
        if (m_scores && m_results[*m_scores].rank() == 3) m_labels.reset();
    }

    // Returns whether the masks have the image's aspect ratio, up to rounding. Keypoints also have four axes,
    // but not this aspect ratio.
    bool isOfImage(const Tensor& masks) const {
        const auto rows = static_cast<double>(masks.dim(2)), columns = static_cast<double>(masks.dim(3));
        const double away = std::abs(rows * m_image.width - columns * m_image.height);  // fits: in double
        return away < std::max(m_image.width, m_image.height);
    }

    template <typename Test>
    static double share(const Tensor& boxes, const Test& test) {
        double passed = 0;
        const int64_t count = boxes.size() / 4;
        for (int64_t k = 0; k < count; ++k)
            passed += test(&boxes.f()[4 * k]);
        return count > 0 ? passed / static_cast<double>(count) : 0;
    }

    // Returns the name of the function from scores to probabilities. Detectors that select the best boxes
    // with TopK have independent classes (sigmoid); other detectors have a class for "no object" (softmax).
    std::string activation() const {
        if (m_labels) return "none";  // the network has chosen the classes
        const Tensor& scores = m_results[*m_scores];
        bool probabilities = true;
        for (int64_t k = 0; k < scores.size(); ++k)
            probabilities &= scores.f()[k] >= 0 && scores.f()[k] <= 1;
        if (probabilities) return "none";
        return choosesByScore(m_graph) || scores.dim(-1) < 2 ? "sigmoid" : "softmax";
    }

    void addSizeInput(json& all) const {
        if (m_graph.inputs.size() < 2) return;
        const std::string& name = m_graph.inputs[1].name;
        // DETR's post-processing expects the height first. RT-DETR's post-processing expects the width first;
        // its exports have "orig" in the name of this input.
        const bool rowsFirst =
            name.find("orig") == std::string::npos && name.find("target_size") != std::string::npos;
        all["size_input"] = {{"name", name}, {"order", rowsFirst ? "hw" : "wh"}};
    }

    const Graph& m_graph;
    const List<Tensor>& m_results;
    const cv::Size m_image;
    std::optional<size_t> m_boxes, m_scores, m_labels, m_masks;
};

[[noreturn]] void fail(const std::string& reason) {
    CV_Error(cv::Error::StsOutOfRange, "--detections: " + reason);
}

void checkShapes(const json& all, const Graph& original, const List<Tensor>& results) {
    const auto resultOf = [&](const char* key) -> const Tensor* {
        for (size_t k = 0; all.contains(key) && k < results.size() && k < original.outputs.size(); ++k)
            if (all[key] == original.outputs[k].name) return &results[k];
        return nullptr;
    };
    const auto rejectShape = [&](const char* key, const char* expected) {
        fail(std::string(key) + " '" + printable(all[key].get<std::string>(), 200) +
             "' does not have the shape " + expected);
    };
    const Tensor* boxes = resultOf("boxes");
    if (!boxes) return;
    if (boxes->rank() != 3 || boxes->dim(2) != 4) rejectShape("boxes", "[images, boxes, 4]");
    const auto check = [&](const char* key, int rank, const char* expected) {
        const Tensor* result = resultOf(key);
        if (result && (result->rank() != rank || result->dim(1) != boxes->dim(1))) rejectShape(key, expected);
    };
    if (resultOf("labels"))
        check("scores", 2, "[images, boxes], as there are labels");
    else
        check("scores", 3, "[images, boxes, classes]");
    check("masks", 4, "[images, boxes, rows, columns]");
    check("labels", 2, "[images, boxes]");
}

std::string wordIn(const json& all, const char* key) {
    const auto found = all.find(key);
    return found != all.end() && found->is_string() ? printable(found->get<std::string>(), 200) : "";
}

void checkDetections(const std::string& text, const Graph& graph, const Graph& original,
                     const List<Tensor>& results) {
    const json all = json::parse(text, nullptr, false);
    if (!all.is_object()) fail("expects a JSON object as in mpm.detections, or none");
    const auto check = [&](const char* key, const List<Port>& ports, const char* kind) {
        const auto given = all.find(key);
        if (given == all.end() || given->is_null()) return;
        const json& name = given->is_object() && given->contains("name") ? (*given)["name"] : *given;
        if (!name.is_string()) fail(std::string(key) + " is not a name");
        const bool there = std::any_of(ports.begin(), ports.end(), [&](const Port& port) {
            return port.name == name.get<std::string>();
        });
        if (!there) fail("'" + printable(name.get<std::string>(), 200) + "' is no " + kind);
    };
    for (const char* key : {"boxes", "scores"}) {
        if (!all.contains(key)) fail(std::string("lacks ") + key);
    }
    for (const char* key : {"boxes", "scores", "masks", "labels"})
        check(key, graph.outputs, "output");
    check("size_input", graph.inputs, "input");
    checkShapes(all, original, results);
}

}  // namespace

bool choosesByScore(const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
        if (node.op == "MpmTopK") return true;
        const bool one = graph.isConstant(node.input(1)) && graph.constant(node.inputs[1]).size() == 1 &&
                         graph.constant(node.inputs[1]).at(0) == 1;
        return node.is("TopK") && node.inputs.size() > 1 && !one;
    });
}

void describeBoxes(const ConvertOptions& options, bool guess, const Graph& original,
                   const List<Tensor>& results, const cv::Size& image, Graph& graph) {
    constexpr const char* kKey = "mpm.detections";
    if (options.detections == "none") {
        graph.metadata.erase(kKey);
    } else if (!options.detections.empty()) {
        checkDetections(options.detections, graph, original, results);
        graph.metadata[kKey] = options.detections;
    } else if (guess && !graph.metadata.count(kKey) && results.size() >= original.outputs.size()) {
        const json all = Guess(original, results, image).run();
        if (!all.empty()) graph.metadata[kKey] = all.dump(-1, ' ', false, json::error_handler_t::replace);
    }
}

std::string describeDetections(const std::map<std::string, std::string>& metadata) {
    const auto found = metadata.find("mpm.detections");
    if (found == metadata.end()) return {};
    const json all = json::parse(found->second, nullptr, false);
    if (!all.is_object()) return {};
    std::string text =
        "boxes '" + wordIn(all, "boxes") + "' (" + wordIn(all, "format") + ", " + wordIn(all, "scale") + ")";
    text += ", scores '" + wordIn(all, "scores") + "' (" + wordIn(all, "activation") + ")";
    for (const char* key : {"labels", "masks"})
        if (const std::string name = wordIn(all, key); !name.empty())
            text += std::string(", ") + key + " '" + name + "'";
    const auto size = all.find("size_input");
    if (size != all.end())
        text += ", size of the original '" +
                (size->is_object() ? wordIn(*size, "name") : wordIn(all, "size_input")) + "'";
    return text;
}

}  // namespace mpm::models
