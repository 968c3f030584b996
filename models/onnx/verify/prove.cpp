#include "models/onnx/verify/prove.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <opencv2/dnn.hpp>

#include <mpm/read_net.hpp>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

constexpr double kTolerance = 1e-4;  // of the largest value

List<int> sizesOf(const Shape& shape) {
    List<int> sizes;
    for (int64_t extent : shape)
        sizes.push_back(checkedCast<int>(extent));
    return sizes;
}

cv::Mat randomInput(const Shape& shape, int number = 0) {
    const List<int> sizes = sizesOf(shape);
    cv::Mat x(static_cast<int>(sizes.size()), sizes.data(), CV_32F);
    cv::RNG rng(20260405 + number);
    rng.fill(x, cv::RNG::UNIFORM, -1.5, 1.5);
    return x;
}

// Every value changed in the last digits, by about as much as rounding in a network.
cv::Mat perturbed(const cv::Mat& x, int number) {
    cv::Mat noise(x.dims, x.size.p, CV_32F), result;
    cv::RNG rng(20260406 + number);
    rng.fill(noise, cv::RNG::UNIFORM, 1 - 2e-6, 1 + 2e-6);
    cv::multiply(x, noise, result);
    return result;
}

Tensor tensorOf(const cv::Mat& m) {
    return Tensor::floats(Shape(m.size.p, m.size.p + m.dims),
                          List<float>(m.ptr<float>(), m.ptr<float>() + m.total()));
}

double valueOf(const cv::Mat& m, size_t k) {
    if (m.depth() == CV_32F) return m.ptr<float>()[k];
    if (m.elemSize() != sizeof(int64_t)) throw Refusal("OpenCV computes outputs of an unknown type");
    return static_cast<double>(reinterpret_cast<const int64_t*>(m.data)[k]);
}

// The largest difference of values of the same number, relative to the largest expected value.
template <typename ValueAt>
double largestDifference(const Tensor& expected, const ValueAt& valueAt) {
    double worst = 0, largest = 0;
    for (int64_t k = 0; k < expected.size(); ++k) {
        const double away = std::abs(valueAt(k) - expected.at(k));
        worst = std::isnan(away) ? INFINITY : std::max(worst, away);
        largest = std::max(largest, std::abs(expected.at(k)));
    }
    return largest > 0 ? worst / largest : worst;
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

// A label is right if no class is better by more than the tolerance.
double labelDifference(const Tensor& scores, const cv::Mat& labels) {
    const int64_t batch = scores.dim(0), classes = scores.dim(1),
                  pixels = elementCount({scores.dim(2), scores.dim(3)});
    if (scores.rank() != 4 || labels.total() != checkedProduct<size_t>(batch, pixels))
        throw Refusal("the conversion cannot be proved: the labels have another size than the image");
    double worst = 0, largest = 0;
    for (int64_t k = 0; k < batch * pixels; ++k) {
        const float* column = scores.f() + k / pixels * classes * pixels + k % pixels;
        float best = -INFINITY;
        for (int64_t c = 0; c < classes; ++c) {
            best = std::max(best, column[c * pixels]);
            largest = std::max<double>(largest, std::abs(column[c * pixels]));
        }
        const int64_t label = toInteger(valueOf(labels, k));
        worst =
            std::max<double>(worst, label < 0 || label >= classes ? INFINITY : best - column[label * pixels]);
    }
    return largest > 0 ? worst / largest : worst;
}

// The scores of the classes at a pixel by the formula of MpmMaskLabels.
class MaskScores {
public:
    MaskScores(const Tensor& masks, const Tensor& classes, cv::Size size)
        : m_masks(masks), m_queries(masks.dim(1)), m_classes(classes.dim(2) - 1), m_size(size) {
        m_shares.resize(static_cast<size_t>(elementCount({masks.dim(0), m_queries, m_classes})));
        for (int64_t row = 0; row < masks.dim(0) * m_queries; ++row) {
            const float* logits = classes.f() + row * (m_classes + 1);
            const float most = *std::max_element(logits, logits + m_classes + 1);
            double sum = 0;
            for (int64_t c = 0; c <= m_classes; ++c)
                sum += std::exp(double{logits[c]} - most);
            for (int64_t c = 0; c < m_classes; ++c)
                m_shares[row * m_classes + c] = std::exp(double{logits[c]} - most) / sum;
        }
    }

    const List<double>& at(int64_t image, int y, int x) {
        m_sums.assign(m_classes, 0);
        for (int64_t q = 0; q < m_queries; ++q) {
            const double inside = 1 / (1 + std::exp(-maskAt(image * m_queries + q, y, x)));
            const double* shares = &m_shares[(image * m_queries + q) * m_classes];
            for (int64_t c = 0; c < m_classes; ++c)
                m_sums[c] += inside * shares[c];
        }
        return m_sums;
    }

private:
    struct Place {
        int64_t low, high;
        double share;
    };

    static Place placeOf(int at, int to, int64_t from) {
        const double position = std::max(0.0, (at + 0.5) * static_cast<double>(from) / to - 0.5);
        const int64_t low = std::min(static_cast<int64_t>(position), from - 1);
        return {low, std::min(low + 1, from - 1), position - static_cast<double>(low)};
    }

    double maskAt(int64_t plane, int y, int x) const {
        const int64_t rows = m_masks.dim(2), columns = m_masks.dim(3);
        const Place v = placeOf(y, m_size.height, rows), h = placeOf(x, m_size.width, columns);
        const float* mask = m_masks.f() + plane * rows * columns;
        const auto along = [&](int64_t row) {
            return (1 - h.share) * mask[row * columns + h.low] + h.share * mask[row * columns + h.high];
        };
        return (1 - v.share) * along(v.low) + v.share * along(v.high);
    }

    const Tensor& m_masks;
    const int64_t m_queries, m_classes;
    const cv::Size m_size;
    List<double> m_shares, m_sums;
};

// The same for labels from masks. For large images a part of the rows is checked.
double maskLabelDifference(const Tensor& masks, const Tensor& classes, const cv::Mat& labels) {
    constexpr double kMostProducts = 1e9;
    if (labels.dims != 4 || labels.size[0] != masks.dim(0) || labels.size[1] != 1)
        throw Refusal("the conversion cannot be proved: the labels have another size than the image");
    const cv::Size size(labels.size[3], labels.size[2]);
    const double products = static_cast<double>(labels.total()) * masks.dim(1) * classes.dim(2);
    const int step = std::max(1, static_cast<int>(std::min(products / kMostProducts, 1e6)));
    MaskScores scores(masks, classes, size);
    double worst = 0, largest = 0;
    const auto rows = checkedProduct<int>(labels.size[0], size.height);
    for (int row = 0; row < rows; row += step) {
        checkTime();
        for (int x = 0; x < size.width; ++x) {
            const List<double>& sums = scores.at(row / size.height, row % size.height, x);
            const double best = *std::max_element(sums.begin(), sums.end());
            largest = std::max(largest, best);
            const int64_t label = toInteger(valueOf(labels, static_cast<size_t>(row) * size.width + x));
            const bool valid = label >= 0 && label < static_cast<int64_t>(sums.size());
            worst = std::max(worst, valid ? best - sums[label] : INFINITY);
        }
    }
    return largest > 0 ? worst / largest : worst;
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

// OpenCV copies the message, and needs memory for values.
Held roomToRun(const std::string& path, int64_t values) {
    const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path));
    checkTime();
    return {checkedSum<int64_t>(checkedProduct<int64_t>(3, bytes), values), "running the model in OpenCV"};
}

// A random image, for OpenCV and as a tensor.
Held roomForInput(const Shape& shape) {
    return {checkedProduct<int64_t>(3, 4, elementCount(shape)), "an image to try the model on"};
}

std::vector<cv::Mat> forward(const std::string& path, const cv::Mat& x, const std::string& inputName,
                             const List<std::string>& outputNames) {
    std::vector<cv::Mat> outputs;
    try {
        cv::dnn::Net net = load(path);
        net.setInput(x, inputName);
        net.forward(outputs, List<cv::String>(outputNames.begin(), outputNames.end()));
    } catch (const cv::Exception& error) {
        throw Refusal(std::string("OpenCV ") + CV_VERSION +
                      " cannot run the converted model: " + printable(error.err));
    }
    return outputs;
}

std::vector<cv::Mat> evaluated(const std::string& path, const cv::Mat& x) {
    std::vector<cv::Mat> outputs;
    for (const Tensor& t : evaluate(readOwnModel(path), {tensorOf(x)})) {
        const List<int> sizes = sizesOf(t.shape());
        List<float> values = t.toFloats();
        outputs.push_back(
            cv::Mat(static_cast<int>(sizes.size()), sizes.data(), CV_32F, values.data()).clone());
    }
    return outputs;
}

}  // namespace

Prover::Prover(const Graph& original, const std::string& path, const List<Shape>& inputs,
               const Graph& converted)
    : m_means(path.empty() ? "plain evaluation of the export, node by node"
                           : std::string("OpenCV ") + CV_VERSION),
      m_inputs(inputs),
      m_inputName(original.inputs[0].name) {
    for (const Port& port : original.outputs)
        m_outputNames.push_back(port.name);
    for (const Shape& shape : inputs) {
        m_values.push_back(peakBytes(converted, infer(converted, {Tensor(Type::Float, shape)})));
        const Held input = roomForInput(shape);
        const cv::Mat x = randomInput(shape);
        if (path.empty()) {
            m_expected.push_back(evaluate(original, {tensorOf(x)}));
            continue;
        }
        const Held room = roomToRun(path, m_values.back());
        m_expected.emplace_back();
        for (const cv::Mat& m : forward(path, x, m_inputName, m_outputNames)) {
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
    const Held room = roomToRun(converted, peakBytes(graph, infer(graph, {Tensor(Type::Float, shape)})));
    List<std::string> names;
    for (const Port& port : graph.outputs)
        names.push_back(port.name);
    for (const cv::Mat& m : forward(converted, randomInput(shape), graph.inputs[0].name, names)) {
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
    for (size_t k = 0; k < found.size(); ++k)
        worst = std::max(worst, differenceAt(expected, k, found[k], labels));
    return worst;
}

// If a value is compared with a threshold (the masks of Mask2Former), rounding alone may decide, and two
// correct evaluations differ. Such an input proves nothing, so another is tried. The export shows which
// inputs these are: the export's outputs change by more than the tolerance if the input changes in the last
// digits. At any other input a difference is a mistake of the conversion.
double Prover::worstAt(size_t input, const std::vector<cv::Mat>& found, const LabelOutputs& labels,
                       const Run& run, Proof& proof) const {
    constexpr int kInputs = 6, kPerturbations = 4;
    double worst = differenceOfAll(m_expected[input], found, labels);
    if (worst <= kTolerance || !m_reread) return worst;
    const Graph original = m_reread();
    List<Tensor> expected = m_expected[input];
    for (int number = 0; number < kInputs; ++number) {
        const Held room = roomForInput(m_inputs[input]);
        const cv::Mat x = randomInput(m_inputs[input], number);
        if (number > 0) {
            expected = evaluate(original, {tensorOf(x)});
            worst = differenceOfAll(expected, run(x), labels);
            if (worst <= kTolerance) return worst;
        }
        bool stable = true;
        for (int k = 0; k < kPerturbations && stable; ++k) {
            const List<Tensor> other = evaluate(original, {tensorOf(perturbed(x, k))});
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

Proof Prover::check(const std::string& converted, const LabelOutputs& labels, bool plainly) const {
    Proof proof;
    proof.means = m_means;
    for (size_t n = 0; n < m_inputs.size(); ++n) {
        const Held input = roomForInput(m_inputs[n]);
        const Held room = roomToRun(converted, plainly ? 0 : m_values[n]);
        const cv::Mat x = randomInput(m_inputs[n]);
        const Run again = [&](const cv::Mat& other) {
            return plainly ? evaluated(converted, other)
                           : forward(converted, other, m_inputName, m_outputNames);
        };
        const std::vector<cv::Mat> found = again(x);
        proof.worst = std::max(proof.worst, worstAt(n, found, labels, again, proof));
        for (size_t k = 0; n == 0 && k < found.size(); ++k)
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
