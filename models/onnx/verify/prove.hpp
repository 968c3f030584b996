// Verifies that a converted model computes the same as the export.
#pragma once

#include <functional>

#include <opencv2/core.hpp>

#include "models/onnx/verify/selection.hpp"

namespace mpm::models {

struct Proof {
    std::string means;  ///< how the reference was computed
    List<int> batches;
    double worst = 0;        ///< largest difference, relative to the largest value of the output
    List<std::string> flat;  ///< outputs with one value everywhere: weak evidence
    std::map<std::string, int64_t> nearTies;  ///< places that another order is as right for, by selection
    int unstable = 0;  ///< inputs that prove nothing: the export follows their last digits
};

/// Outputs that are class ids in the converted model, by number; -1 if there are none.
struct LabelOutputs {
    int labels = -1;
    int classes = -1;  ///< of the queries whose masks became labels; otherwise labels are an argmax of scores
};

/// One input of a model that is tried.
struct TrialInput {
    std::string name;
    Type type = Type::Float;
    cv::Mat values;  ///< f32
};
using Trial = List<TrialInput>;

/// Works in two steps, so that a large model is not in memory twice: the constructor runs the original,
/// check() the converted file. Nothing is merged; inputs are random.
class Prover {
public:
    /// With a `path`, OpenCV runs that file, which contains the original and was written by the converter;
    /// otherwise the graph is evaluated node by node. `converted` is the graph of the file to check.
    Prover(const Graph& original, const std::string& path, const List<Shape>& inputs, const Graph& converted);

    /// Reads the original once more, if the first input proves nothing.
    using Reread = std::function<Graph()>;
    void setReread(Reread reread) { m_reread = std::move(reread); }

    /// The original's outputs at the first input.
    const List<Tensor>& results() const { return m_expected.front(); }

    /// `plainly`: the converted file is evaluated node by node too, as its engine is not available. Throws
    /// Refusal if they differ.
    Proof check(const std::string& converted, const LabelOutputs& labels, bool plainly = false) const;

private:
    using Run = std::function<std::vector<cv::Mat>(const Trial& trial)>;

    double differenceAt(const List<Tensor>& expected, size_t output, const cv::Mat& found,
                        const LabelOutputs& labels) const;
    double differenceOfAll(const List<Tensor>& expected, const std::vector<cv::Mat>& found,
                           const LabelOutputs& labels) const;
    double worstAt(size_t input, const LabelOutputs& labels, const Run& run, Proof& proof) const;
    std::map<std::string, cv::Mat> runImposed(size_t input, const std::string& converted) const;
    double worstAtSelection(size_t input, const std::string& converted, const LabelOutputs& labels,
                            Proof& proof) const;

    std::string m_means;
    List<Shape> m_inputs;
    List<Port> m_ports;  // the inputs of the original
    Selections m_selections;
    List<std::string> m_outputNames;
    List<List<Tensor>> m_expected;  // by input: the outputs, then those that the selections add
    List<int64_t> m_values;         // bytes for running the converted model, by input
    Reread m_reread;
};

/// Throws Refusal if OpenCV cannot run the file or the outputs are not finite.
void checkRuns(const std::string& converted);

}  // namespace mpm::models
