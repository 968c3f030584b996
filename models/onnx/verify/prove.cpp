#include "models/onnx/verify/prove.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <opencv2/dnn.hpp>

#include <mpm/read_net.hpp>

#include "base/checked.hpp"
#include "base/pending_file.hpp"
#include "base/printable.hpp"
#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/job.hpp"
#include "mpm_layer/dnn/opencv.hpp"

namespace mpm::models {
namespace {

constexpr double kTolerance = 1e-4;  // relative to the largest value

List<int> sizesOf(const Shape& shape) {
    List<int> sizes;
    for (int64_t extent : shape)
        sizes.push_back(checkedCast<int>(extent));
    return sizes;
}

cv::Mat randomImage(const Shape& shape, int number) {
    const List<int> sizes = sizesOf(shape);
    cv::Mat x(static_cast<int>(sizes.size()), sizes.data(), CV_32F);
    cv::RNG rng(20260405 + number);
    rng.fill(x, cv::RNG::UNIFORM, -1.5, 1.5);
    return x;
}

// Returns two numbers for each image. Some graphs expect width and height, others height and width. All
// numbers differ.
cv::Mat someSizes(int64_t batch) {
    cv::Mat sizes(checkedCast<int>(batch), 2, CV_32F);
    for (int k = 0; k < 2 * sizes.rows; ++k)
        sizes.ptr<float>()[k] = static_cast<float>(k % 2 ? 480 + 11 * k : 640 + 17 * k);
    return sizes;
}

// Returns the inputs of a trial run; `number` selects a random image.
Trial trialOf(const List<Port>& ports, const Shape& image, int number = 0) {
    Trial trial;
    for (size_t k = 0; k < ports.size(); ++k)
        trial.push_back(
            {ports[k].name, ports[k].type, k == 0 ? randomImage(image, number) : someSizes(image[0])});
    return trial;
}

// Changes every value of the image in its last digits, by about as much as rounding does in a network.
Trial perturbed(Trial trial, int number) {
    const cv::Mat& x = trial[0].values;
    cv::Mat noise(x.dims, x.size.p, CV_32F), result;
    cv::RNG rng(20260406 + number);
    rng.fill(noise, cv::RNG::UNIFORM, 1 - 2e-6, 1 + 2e-6);
    cv::multiply(x, noise, result);
    trial[0].values = result;
    return trial;
}

// Returns the largest difference between `expected` and valueAt(), relative to the largest finite value of
// `expected`. If an expected value is infinite, a number near the limit of f32 is right too.
template <typename ValueAt>
double largestDifference(const Tensor& expected, const ValueAt& valueAt) {
    constexpr double kEndless = 1e38;
    double worst = 0, largest = 0;
    for (int64_t k = 0; k < expected.size(); ++k) {
        const double right = expected.at(k), found = valueAt(k);
        double away = std::abs(found - right);
        if (!std::isinf(right)) {
            largest = std::max(largest, std::abs(right));
        } else {
            away = std::abs(found) > kEndless && std::signbit(found) == std::signbit(right) ? 0 : INFINITY;
        }
        worst = std::isnan(away) ? INFINITY : std::max(worst, away);
    }
    return largest > 0 ? worst / largest : worst;
}

Tensor tensorOf(const cv::Mat& m) {
    List<float> values(m.total());
    for (size_t k = 0; k < values.size(); ++k)
        values[k] = static_cast<float>(valueOf(m, k));
    return Tensor::floats(Shape(m.size.p, m.size.p + m.dims), values);
}

List<std::string> namesOf(const List<Port>& ports) {
    List<std::string> names;
    for (const Port& port : ports)
        names.push_back(port.name);
    return names;
}

List<Tensor> tensorsOf(const Trial& trial) {
    List<Tensor> tensors;
    for (const TrialInput& input : trial) {
        const Tensor floats = tensorOf(input.values);
        if (input.type == Type::Float) {
            tensors.push_back(floats);
        } else {
            tensors.push_back(Tensor::vector(floats.toInts()).reshaped(floats.shape()));
        }
    }
    return tensors;
}

// Returns the outputs of an export. If `byImage` is true, the export computes the images one by one.
List<Tensor> outputsOf(const Graph& original, const Trial& trial, bool byImage) {
    const int images = trial[0].values.size[0];
    if (!byImage) return evaluate(original, tensorsOf(trial));
    List<List<Tensor>> parts(1);
    for (int image = 0; image < images; ++image) {
        Trial single = trial;
        for (TrialInput& input : single) {
            std::vector<cv::Range> ranges(input.values.dims, cv::Range::all());
            ranges[0] = {image, image + 1};
            input.values = input.values(ranges).clone();
        }
        const List<Tensor> outputs = evaluate(original, tensorsOf(single));
        parts.resize(outputs.size());
        for (size_t k = 0; k < outputs.size(); ++k)
            parts[k].push_back(outputs[k]);
    }
    Node join;
    join.op = "Concat";
    join.set("axis", 0);
    List<Tensor> joined;
    for (const List<Tensor>& part : parts)
        joined.push_back(evaluateNode(original, join, part)[0]);
    return joined;
}

double differenceOf(const Tensor& expected, const cv::Mat& found, const std::string& name) {
    if (static_cast<size_t>(expected.size()) != found.total()) {
        throw Refusal("the conversion cannot be proved: output '" + printable(name, 200) +
                      "' has another shape than the original's");
    }
    return largestDifference(expected, [&](int64_t k) { return valueOf(found, k); });
}

bool isFlat(const Tensor& t) {
    for (int64_t k = 1; k < t.size(); ++k) {
        if (t.at(k) != t.at(0)) return false;
    }
    return true;
}

cv::dnn::Net load(const std::string& path) {
    cv::dnn::Net net = mpm::readNet(path);
    net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    Encoder control = encoder(net);
    control.setMethod("mpm");
    control.setSchedule({});
    control.setDevice(Device::Cpu);
    control.setPrecision(Precision::F32);
    return net;
}

// Reserves memory to run the file: OpenCV copies the file's content, and needs `values` bytes for the values.
Held roomToRun(const std::string& path, int64_t values) {
    const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path));
    checkTime();
    return {checkedSum<int64_t>(checkedProduct<int64_t>(3, bytes), values), "running the model in OpenCV"};
}

// Reserves memory for a random image, which exists as a blob and as a tensor.
Held roomForInput(const Shape& shape) {
    return {checkedProduct<int64_t>(3, 4, elementCount(shape)), "an image to try the model on"};
}

cv::Mat blobOf(const TrialInput& input) {
    if (input.type == Type::Float) return input.values;
    cv::Mat integers;
    input.values.convertTo(integers, dnn::kInteger);
    return integers;
}

std::vector<cv::Mat> forward(const std::string& path, const Trial& trial,
                             const List<std::string>& outputNames) {
    std::vector<cv::Mat> outputs;
    try {
        cv::dnn::Net net = load(path);
        for (const TrialInput& input : trial)
            net.setInput(blobOf(input), input.name);
        net.forward(outputs, List<cv::String>(outputNames.begin(), outputNames.end()));
    } catch (const cv::Exception& error) {
        throw Refusal(std::string("OpenCV ") + CV_VERSION +
                      " cannot run the converted model: " + printable(error.err));
    }
    return outputs;
}

std::vector<cv::Mat> evaluated(const std::string& path, const Trial& trial) {
    std::vector<cv::Mat> outputs;
    for (const Tensor& t : evaluate(readOwnModel(path), tensorsOf(trial))) {
        const List<int> sizes = sizesOf(t.shape());
        List<float> values = t.toFloats();
        outputs.push_back(
            cv::Mat(static_cast<int>(sizes.size()), sizes.data(), CV_32F, values.data()).clone());
    }
    return outputs;
}

}  // namespace

Prover::Prover(const Graph& original, const std::string& path, const List<Shape>& inputs,
               const Graph& converted, bool byImage)
    : m_means(path.empty() ? "plain evaluation of the export, node by node"
                           : std::string("OpenCV ") + CV_VERSION),
      m_byImage(byImage),
      m_inputs(inputs),
      m_ports(original.inputs),
      m_selections(path.empty() ? original : Graph()),
      m_outputNames(namesOf(original.outputs)) {
    for (const Shape& shape : inputs) {
        m_values.push_back(peakBytes(converted, infer(converted, inputsFor(converted, shape))));
        const Held input = roomForInput(shape);
        const Trial trial = trialOf(m_ports, shape);
        if (path.empty()) {
            m_expected.push_back(outputsOf(m_selections.observed(original), trial, m_byImage));
            continue;
        }
        const Held room = roomToRun(path, m_values.back());
        m_expected.emplace_back();
        for (const cv::Mat& m : forward(path, trial, m_outputNames)) {
            cv::Mat floats;
            m.convertTo(floats, CV_32F);
            m_expected.back().push_back(tensorOf(floats));
        }
    }
}

void checkRuns(const std::string& converted) {
    const Graph graph = readOwnModel(converted);
    Shape shape = graph.inputs[0].dims;
    if (shape[0] < 0) shape[0] = 1;
    const Held input = roomForInput(shape);
    const Held room = roomToRun(converted, peakBytes(graph, infer(graph, inputsFor(graph, shape))));
    for (const cv::Mat& m : forward(converted, trialOf(graph.inputs, shape), namesOf(graph.outputs))) {
        for (size_t k = 0; k < m.total(); ++k) {
            if (!std::isfinite(valueOf(m, k)))
                throw Refusal("the converted model computes values that are not finite: not written");
        }
    }
}

double Prover::differenceAt(const List<Tensor>& expected, size_t output, const cv::Mat& found,
                            const LabelOutputs& labels) const {
    if (static_cast<int>(output) != labels.labels)
        return differenceOf(expected[output], found, m_outputNames[output]);
    return labels.classes < 0 ? labelDifference(expected[output], found)
                              : maskLabelDifference(expected[output], expected[labels.classes], found);
}

double Prover::differenceOfAll(const List<Tensor>& expected, const std::vector<cv::Mat>& found,
                               const LabelOutputs& labels) const {
    double worst = 0;
    for (size_t k = 0; k < m_outputNames.size(); ++k)
        worst = std::max(worst, differenceAt(expected, k, found[k], labels));
    return worst;
}

// Returns the largest difference at an input. If the network compares a value with a threshold, as
// Mask2Former does with its masks, rounding may decide the comparison. Two correct evaluations then differ,
// so the input proves nothing, and this function tries another input. The function recognises such an input
// as follows: if the input's last digits change, the export's outputs change by more than the tolerance. At
// any other input, a difference is a mistake in the conversion.
double Prover::worstAt(size_t input, const LabelOutputs& labels, const Run& run, Proof& proof) const {
    constexpr int kInputs = 6, kPerturbations = 4;
    double worst = differenceOfAll(m_expected[input], run(trialOf(m_ports, m_inputs[input])), labels);
    if (worst <= kTolerance || !m_reread) return worst;
    const Graph original = m_reread();
    List<Tensor> expected = m_expected[input];
    for (int number = 0; number < kInputs; ++number) {
        const Held room = roomForInput(m_inputs[input]);
        const Trial trial = trialOf(m_ports, m_inputs[input], number);
        if (number > 0) {
            expected = outputsOf(original, trial, m_byImage);
            worst = differenceOfAll(expected, run(trial), labels);
            if (worst <= kTolerance) return worst;
        }
        bool stable = true;
        for (int k = 0; k < kPerturbations && stable; ++k) {
            const List<Tensor> other = outputsOf(original, perturbed(trial, k), m_byImage);
            for (size_t out = 0; out < other.size(); ++out)
                stable &= largestDifference(expected[out], [&](int64_t e) { return other[out].at(e); }) <=
                          kTolerance;
        }
        if (stable) return worst;
        ++proof.unstable;
    }
    throw Refusal(
        cv::format("the conversion cannot be proved: at %d random inputs the export's own outputs change "
                   "by more than %g if its input changes by 2e-6, so that rounding decides",
                   kInputs, kTolerance));
}

// Runs the converted model with the indices that the original selected, and returns the outputs by name.
std::map<std::string, cv::Mat> Prover::runImposed(size_t input, const std::string& converted) const {
    const List<Tensor>& expected = m_expected[input];
    const ScratchFile scratch(std::filesystem::path(converted).parent_path().string());
    if (!scratch.isOpen()) throw Refusal("the conversion cannot be proved: no scratch file can be written");
    const List<Tensor> added(expected.begin() + static_cast<int64_t>(m_outputNames.size()), expected.end());
    Graph imposed = m_selections.imposed(readOwnModel(converted), added);
    for (Port& port : imposed.inputs)
        if (!port.dims.empty() && port.dims[0] < 0) port.dims[0] = m_inputs[input][0];
    writeModel(imposed, scratch.path());
    Trial trial = trialOf(m_ports, m_inputs[input]);
    for (size_t k = 0; k < m_selections.count(); ++k) {
        const Tensor& indices = added[2 * k + 1];
        cv::Mat given(sizesOf(indices.shape()), CV_32F);
        for (int64_t e = 0; e < indices.size(); ++e)
            given.ptr<float>()[e] = static_cast<float>(indices.at(e));
        trial.push_back({"mpm.imposed." + std::to_string(k), Type::Float, given});
    }
    const List<std::string> names = namesOf(imposed.outputs);
    const std::vector<cv::Mat> found = forward(scratch.path(), trial, names);
    std::map<std::string, cv::Mat> byName;
    for (size_t k = 0; k < names.size(); ++k)
        byName[names[k]] = found[k];
    return byName;
}

// Returns the largest difference at an input. With the indices that the original selected, all outputs must
// be equal. The indices that the converted model selects itself must be right (Choice::right).
double Prover::worstAtSelection(size_t input, const std::string& converted, const LabelOutputs& labels,
                                Proof& proof) const {
    const List<Tensor>& expected = m_expected[input];
    const std::map<std::string, cv::Mat> imposed = runImposed(input, converted);
    double worst = 0;
    for (size_t k = 0; k < m_outputNames.size(); ++k)
        if (!m_selections.gives(m_outputNames[k]))
            worst = std::max(worst, differenceAt(expected, k, imposed.at(m_outputNames[k]), labels));
    const size_t own = m_outputNames.size(), rows = own + 2 * m_selections.count();
    bool same = true;
    for (size_t k = 0; k < m_selections.count(); ++k) {
        const Tensor &scores = expected[own + 2 * k], &indices = expected[own + 2 * k + 1];
        const std::string& name = m_selections.nameOf(k);
        const cv::Mat found = imposed.at("mpm.scores." + std::to_string(k));
        worst = std::max(worst, differenceOf(scores, found, name));
        const Choice choice =
            compareChoices(scores, indices, tensorOf(found),
                           tensorOf(imposed.at("mpm.indices." + std::to_string(k))), m_selections.axisOf(k));
        if (!choice.right)
            throw Refusal("the converted model chooses other places than the original at " + name +
                          ": not written");
        if (choice.different > 0) proof.nearTies[name] += choice.different;
        same &= choice.different == 0;
    }
    for (size_t k = rows; k < expected.size(); ++k) {
        const auto found = imposed.find("mpm.rows." + std::to_string(k - rows));
        if (found != imposed.end())
            worst = std::max(worst, differenceOf(expected[k], found->second, found->first));
    }
    const std::vector<cv::Mat> plain = forward(converted, trialOf(m_ports, m_inputs[input]), m_outputNames);
    return same ? std::max(worst, differenceOfAll(expected, plain, labels)) : worst;
}

Proof Prover::check(const std::string& converted, const LabelOutputs& labels, bool plainly) const {
    Proof proof;
    proof.means = m_means;
    for (size_t n = 0; n < m_inputs.size(); ++n) {
        const Held input = roomForInput(m_inputs[n]);
        const Held room = roomToRun(converted, plainly ? 0 : m_values[n]);
        const Run run = [&](const Trial& trial) {
            return plainly ? evaluated(converted, trial) : forward(converted, trial, m_outputNames);
        };
        const bool selects = !m_selections.empty() && !plainly;
        proof.worst = std::max(proof.worst, selects ? worstAtSelection(n, converted, labels, proof)
                                                    : worstAt(n, labels, run, proof));
        for (size_t k = 0; n == 0 && k < m_outputNames.size(); ++k)
            if (isFlat(m_expected[n][k])) proof.flat.push_back(m_outputNames[k]);
        proof.batches.push_back(static_cast<int>(m_inputs[n][0]));
        checkTime();
    }
    if (!(proof.worst <= kTolerance)) {
        throw Refusal(cv::format(
            "the converted model differs from the original by %.2g of its largest value: not written",
            proof.worst));
    }
    return proof;
}

}  // namespace mpm::models
