#include "models/onnx/bind.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "base/checked.hpp"
#include "base/number.hpp"
#include "base/printable.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/metadata.hpp"

namespace mpm::models {
namespace {

// The batch size for shape inference if the batch is dynamic. Few other axes have this size.
constexpr int kBatch = 2;

// Returns the reason why the graph does not work with an image of this shape; empty if it works.
std::string problemWith(const Graph& graph, const Shape& image) {
    return problemOf(graph, infer(graph, inputsFor(graph, image)));
}

// If the position embedding is a constant map that the graph resizes to the patch grid, returns the image
// size for which the map was made; else returns an empty size.
cv::Size sizeOfPositions(const Graph& graph, const Shape& image) {
    const Inferred inferred = infer(graph, inputsFor(graph, image));
    for (const Node& node : graph.nodes) {
        if (!node.is("Resize") && !node.is("Upsample")) continue;
        const Tensor &from = inferred.values[node.inputs[0]], &to = inferred.values[node.outputs[0]];
        if (!from.known() || from.rank() != 4 || to.rank() != 4 || to.dim(2) < 1 || to.dim(3) < 1) continue;
        const int64_t patch = image[2] / to.dim(2);
        if (image[2] % to.dim(2) || image[3] != checkedProduct<int64_t>(patch, to.dim(3))) continue;
        return {checkedCast<int>(checkedProduct<int64_t>(patch, from.dim(3))),
                checkedCast<int>(checkedProduct<int64_t>(patch, from.dim(2)))};
    }
    return {};
}

// If a position embedding is added to the tokens, returns the size of the square image with as many tokens as
// the embedding has rows; else returns an empty size.
cv::Size sizeOfAddedPositions(const Graph& graph, const Shape& image) {
    const Inferred inferred = infer(graph, inputsFor(graph, image));
    int64_t grid = 0;
    for (const Node& node : graph.nodes) {
        const auto shapeOf = [&](size_t k) -> const Shape& {
            return inferred.values[node.inputs[k]].shape();
        };
        const Shape& made = inferred.values[node.outputs[0]].shape();
        if (grid == 0 && node.is("Conv") && made.size() == 4 && made[2] == made[3]) grid = made[2];
        if (grid < 1 || !node.is("Add") || shapeOf(0).size() != 3 || shapeOf(1).size() != 3) continue;
        const size_t table = inferred.values[node.inputs[0]].known() ? 0 : 1;
        const int64_t others = shapeOf(1 - table)[1] - grid * grid, rows = shapeOf(table)[1] - others;
        if (!inferred.values[node.inputs[table]].known() || others < 0 || rows < 1) continue;
        const int64_t side = std::llround(std::sqrt(static_cast<double>(rows)));
        if (side * side != rows || image[2] % grid) return {};
        const int pixels = checkedCast<int>(checkedProduct<int64_t>(side, image[2] / grid));
        return {pixels, pixels};
    }
    return {};
}

// Finds an image size at which the graph works: exports with a dynamic size often contain constants for a
// single size. Tries the size in the metadata, usual sizes, and the size of the position embedding.
cv::Size guessSize(const Graph& graph, Shape shape) {
    const auto problemAt = [&](const cv::Size& size) {
        shape[2] = size.height;
        shape[3] = size.width;
        return problemWith(graph, shape);
    };
    std::string first;  // the reason why the first size does not work
    List<cv::Size> sizes{sizeIn(graph.metadata)};
    for (int side : {224, 384, 512, 518, 448, 256, 336, 640, 768, 1024, 128, 160, 196, 192, 320, 480})
        sizes.push_back({side, side});
    for (size_t k = 0; k < sizes.size(); ++k) {
        if (sizes[k].empty()) continue;
        const std::string problem = problemAt(sizes[k]);
        if (first.empty())
            first = cv::format("%dx%d does not work (", sizes[k].height, sizes[k].width) + problem;
        if (!problem.empty()) continue;
        if (k == 0) return sizes[k];
        const cv::Size own = sizeOfPositions(graph, shape);
        return !own.empty() && problemAt(own).empty() ? own : sizes[k];
    }
    shape[2] = shape[3] = 224;
    const cv::Size own = sizeOfAddedPositions(graph, shape);
    if (!own.empty() && problemAt(own).empty()) return own;
    throw Refusal("the image size is dynamic, and " + first +
                  "): give --size HxW if the model needs another size");
}

bool isScalar(const Port& port) {
    return port.hasShape && (port.dims.empty() || port.dims == Shape{1});
}

std::string namesOf(const List<Port>& ports, const char* between = ", ") {
    std::string names;
    for (const Port& port : ports)
        names += (names.empty() ? "" : between) + printable(port.name, 200);
    return names;
}

bool isImage(const Port& port) {
    return port.type == Type::Float && port.hasShape && port.dims.size() == 4;
}

// Returns whether the input can contain the sizes of the images before resizing, [batch, 2].
bool isSizeOfImages(const Port& port) {
    return port.type != Type::Bool && port.hasShape && port.dims.size() == 2 && port.dims[1] == 2;
}

// Returns whether the graph has a single input, or an image and the sizes of the images before resizing.
bool takesImages(const Graph& graph) {
    if (graph.inputs.size() == 1) return true;
    return graph.inputs.size() == 2 && isImage(graph.inputs[0]) && isSizeOfImages(graph.inputs[1]);
}

// If an input other than the image has a fixed shape, replaces the Shape nodes of this input with constants.
void foldShapes(Graph& graph) {
    for (const Port& port : graph.inputs) {
        const bool fixed = port.hasShape && !isImage(port) &&
                           std::all_of(port.dims.begin(), port.dims.end(), [](int64_t d) { return d >= 0; });
        if (!fixed) continue;
        for (Node& node : graph.nodes) {
            if (!node.is("Shape") || node.input(0) != port.value) continue;
            const List<Tensor> shape = evaluateNode(graph, node, {Tensor(port.type, port.dims)});
            graph.values[node.outputs[0]].constant = shape[0];
            node.inputs.clear();
        }
    }
    const auto isFolded = [&](const Node& node) { return node.is("Shape") && node.inputs.empty(); };
    graph.nodes.erase(std::remove_if(graph.nodes.begin(), graph.nodes.end(), isFolded), graph.nodes.end());
    graph.prune();
}

// Returns the inputs that a node or an output reads. The graph must be pruned.
List<Port> inputsOf(const Graph& graph) {
    std::set<int> read;
    for (const Port& port : graph.outputs)
        read.insert(port.value);
    for (const Node& node : graph.nodes)
        read.insert(node.inputs.begin(), node.inputs.end());
    List<Port> needed;
    std::copy_if(graph.inputs.begin(), graph.inputs.end(), std::back_inserter(needed),
                 [&](const Port& port) { return read.count(port.value) != 0; });
    return needed;
}

bool dependsOnlyOn(const Graph& graph, const Port& output, const Port& input) {
    checkTime();
    Graph part = graph;
    part.outputs = {output};
    part.prune();
    const List<Port> needed = inputsOf(part);
    return needed.size() == 1 && needed[0].value == input.value;
}

List<Port> dropInputs(Graph& graph) {
    if (graph.inputs.size() < 2) return {};
    foldShapes(graph);
    const List<Port> needed = inputsOf(graph);
    if (needed.empty()) return {};
    List<Port> dropped;
    std::copy_if(graph.inputs.begin(), graph.inputs.end(), std::back_inserter(dropped),
                 [&](const Port& port) {
                     return std::none_of(needed.begin(), needed.end(),
                                         [&](const Port& p) { return p.value == port.value; });
                 });
    graph.inputs = needed;
    return dropped;
}

void putImageFirst(Graph& graph) {
    if (std::count_if(graph.inputs.begin(), graph.inputs.end(), isImage) == 1)
        std::stable_partition(graph.inputs.begin(), graph.inputs.end(), isImage);
}

// Throws a Refusal. If some outputs need only the image, as in many models of images and texts, the message
// names these outputs.
[[noreturn]] void refuseInputs(const Graph& graph) {
    List<Port> images, others, alone;
    for (const Port& port : graph.inputs)
        (isImage(port) ? images : others).push_back(port);
    const std::string message = "the model has " + std::to_string(graph.inputs.size()) +
                                " inputs: only models with one input, an image, are supported; ";
    if (images.size() != 1) throw Refusal(message + "its inputs are " + namesOf(graph.inputs));
    for (const Port& port : graph.outputs)
        if (dependsOnlyOn(graph, port, images[0])) alone.push_back(port);
    const std::string beside =
        message + "beside the image '" + printable(images[0].name, 200) + "' it has " + namesOf(others);
    if (alone.empty())
        throw Refusal(beside +
                      ", and every output depends on more than the image: export the part for images alone");
    throw Refusal(beside + "; outputs that depend on the image alone: " + namesOf(alone) +
                  "; keep them with --outputs " + namesOf(alone, ","));
}

[[noreturn]] void failSetting(const std::string& name, const std::string& reason) {
    CV_Error(cv::Error::StsOutOfRange, "--set: '" + printable(name, 200) + "' " + reason);
}

std::optional<double> numberIn(const std::string& text) {
    const char* end = text.data() + text.size();
    const NumberRead read = readNumber(text.data(), end);
    if (text.empty() || read.end != end || !std::isfinite(read.value)) return std::nullopt;
    return read.value;
}

Tensor valueFor(const Port& port, const std::string& text) {
    const std::map<std::string, double> words{{"true", 1}, {"false", 0}};
    const auto word = words.find(text);
    const std::optional<double> number =
        word != words.end() ? std::optional<double>(word->second) : numberIn(text);
    const bool whole = number && std::abs(*number) < 9e15 && *number == std::floor(*number);
    const bool fits = number && (port.type == Type::Float  ? word == words.end()
                                 : port.type == Type::Bool ? *number == 0 || *number == 1
                                                           : whole && word == words.end());
    if (!fits) {
        failSetting(port.name, std::string("expects ") +
                                   (port.type == Type::Float  ? "a number"
                                    : port.type == Type::Bool ? "true or false"
                                                              : "a whole number") +
                                   ", not \"" + printable(text, 100) + "\"");
    }
    if (port.type == Type::Float) return Tensor::floats(port.dims, static_cast<float>(*number));
    return Tensor::ints(port.dims, static_cast<int64_t>(*number), port.type);
}

}  // namespace

void setInputs(Graph& graph, const std::map<std::string, std::string>& values) {
    List<Port> kept;
    std::set<std::string> done;
    for (const Port& port : graph.inputs) {
        const auto given = values.find(port.name);
        if (given == values.end()) {
            kept.push_back(port);
            continue;
        }
        if (!isScalar(port)) failSetting(port.name, "is an input that is no scalar");
        graph.values[port.value].constant = valueFor(port, given->second);
        done.insert(port.name);
    }
    for (const auto& [name, value] : values)
        if (!done.count(name)) failSetting(name, "is no input; the inputs are " + namesOf(graph.inputs));
    graph.inputs = kept;
}

void keepOutputs(Graph& graph, const std::vector<std::string>& names, std::vector<std::string>& notes) {
    if (names.empty()) {
        const List<Port> dropped = dropInputs(graph);
        if (!dropped.empty())
            notes.push_back("no output needs these inputs, which are left out: " + namesOf(dropped));
        return putImageFirst(graph);
    }
    const auto named = [&](const Port& port) {
        return std::find(names.begin(), names.end(), port.name) != names.end();
    };
    List<Port> kept;
    std::copy_if(graph.outputs.begin(), graph.outputs.end(), std::back_inserter(kept), named);
    for (const std::string& name : names) {
        const bool there =
            std::any_of(kept.begin(), kept.end(), [&](const Port& p) { return p.name == name; });
        if (!there)
            CV_Error(cv::Error::StsOutOfRange, "--outputs: '" + printable(name, 200) +
                                                   "' is no output; the outputs are " +
                                                   namesOf(graph.outputs));
    }
    graph.outputs = kept;
    graph.prune();
    dropInputs(graph);
    putImageFirst(graph);
}

void fixScalarInputs(Graph& graph, std::vector<std::string>& notes) {
    List<Port> kept;
    for (const Port& port : graph.inputs) {
        if (port.type != Type::Bool || !isScalar(port)) {
            kept.push_back(port);
            continue;
        }
        graph.values[port.value].constant = Tensor::ints(port.dims, 0, Type::Bool);
        notes.push_back("input '" + printable(port.name, 200) + "' is a scalar bool: fixed to false");
    }
    graph.inputs = kept;
}

Binding bindInputs(const Graph& graph, const ConvertOptions& options, std::vector<std::string>& notes) {
    if (!takesImages(graph)) refuseInputs(graph);
    const Port& port = graph.inputs[0];
    if (port.type != Type::Float || !port.hasShape || port.dims.size() != 4) {
        throw Refusal("input '" + printable(port.name, 200) +
                      "' is not an image [batch, channels, height, width]: only vision models are supported");
    }
    Shape shape = port.dims;
    if (shape[3] >= 1 && shape[3] <= 4) {
        throw Refusal("input '" + printable(port.name, 200) +
                      "' is [batch, height, width, channels]: export the model with channels first");
    }
    Binding binding;
    binding.dynamicBatch = shape[0] < 0 && options.batch == 0;
    shape[0] = options.batch > 0 ? options.batch : shape[0] < 0 ? kBatch : shape[0];
    if (shape[1] < 0) shape[1] = 3;
    if (!options.size.empty()) {
        shape[2] = options.size.height;
        shape[3] = options.size.width;
    } else if (shape[2] < 0 || shape[3] < 0) {
        const cv::Size guess = guessSize(graph, shape);
        shape[2] = guess.height;
        shape[3] = guess.width;
        notes.push_back("the image size is dynamic: converted for " + std::to_string(guess.height) + "x" +
                        std::to_string(guess.width) + ", --size chooses another");
    }
    if (elementCount(shape) == 0)
        throw Refusal("input '" + printable(port.name, 200) +
                      "' is an image without pixels: " + toString(shape));
    binding.size = {checkedCast<int>(shape[3]), checkedCast<int>(shape[2])};
    binding.inputs = inputsFor(graph, shape);
    ++shape[0];
    if (binding.dynamicBatch) binding.otherInputs = inputsFor(graph, shape);
    return binding;
}

bool accepts(const Graph& graph, const Binding& binding) {
    // Shape inference does not detect every wrong size: an image with another grid but the same number of
    // patches causes no error. So accepts() also checks the declared size.
    const Shape &declared = graph.inputs[0].dims, &asked = binding.inputs[0].shape();
    for (size_t k = 2; k < asked.size(); ++k) {
        if (declared[k] >= 0 && declared[k] != asked[k]) return false;
    }
    return problemWith(graph, binding.inputs[0].shape()).empty();
}

State understandOrExplain(const Graph& graph, const ConvertOptions& options, const Binding& binding,
                          bool chains) {
    std::string reason;
    try {
        return understand(graph, binding, chains);
    } catch (const Refusal& refusal) {
        if (!binding.dynamicBatch) throw;
        reason = refusal.what();
    }
    try {
        ConvertOptions single = options;
        single.batch = 1;
        std::vector<std::string> ignored;
        understand(graph, bindInputs(graph, single, ignored), chains);
    } catch (const Refusal&) {
        throw Refusal(reason);
    }
    throw Refusal("its batch is declared dynamic, but it works for one image only (with two, " + reason +
                  "): convert with --batch 1");
}

}  // namespace mpm::models
