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

namespace mpm::models {
namespace {

// A batch that no other extent of a model is likely to have.
constexpr int kBatch = 2;

// Why the graph does not work with this input; empty if it does.
std::string problemWith(const Graph& graph, const Tensor& input) {
    const Inferred inferred = infer(graph, {input});
    for (const Port& port : graph.outputs) {
        const auto problem = inferred.problems.find(port.value);
        if (problem != inferred.problems.end()) return problem->second;
    }
    return {};
}

// Exports with a dynamic image size often hold constants that fit one size only.
cv::Size guessSize(const Graph& graph, Shape shape) {
    std::string first;
    for (int side : {224, 384, 512, 518, 448, 256, 336, 640, 768, 1024, 128, 160, 196, 192, 320, 480}) {
        shape[2] = shape[3] = side;
        const std::string problem = problemWith(graph, Tensor(Type::Float, shape));
        if (problem.empty()) return {side, side};
        if (first.empty()) first = problem;
    }
    throw Refusal("the image size is dynamic, and 224x224 does not work (" + first +
                  "): give --size HxW if the model needs another size");
}

bool isScalar(const Port& port) {
    return port.hasShape && (port.dims.empty() || port.dims == Shape{1});
}

std::string namesOf(const List<Port>& ports) {
    std::string names;
    for (const Port& port : ports)
        names += (names.empty() ? "" : ", ") + printable(port.name, 200);
    return names;
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

void keepOutputs(Graph& graph, const std::vector<std::string>& names) {
    if (names.empty()) return;
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
    if (graph.inputs.size() != 1) {
        throw Refusal("the model has " + std::to_string(graph.inputs.size()) +
                      " inputs: only models with one input, an image, are supported");
    }
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
    binding.inputs.emplace_back(Type::Float, shape);
    ++shape[0];
    if (binding.dynamicBatch) binding.otherInputs.emplace_back(Type::Float, shape);
    return binding;
}

bool accepts(const Graph& graph, const Binding& binding) {
    // A fixed size is baked into more than shapes: as many patches in other rows infer as well.
    const Shape &declared = graph.inputs[0].dims, &asked = binding.inputs[0].shape();
    for (size_t k = 2; k < asked.size(); ++k) {
        if (declared[k] >= 0 && declared[k] != asked[k]) return false;
    }
    return problemWith(graph, binding.inputs[0]).empty();
}

}  // namespace mpm::models
