// The proof that a converted model computes the same as the export.
#pragma once

#include <functional>
#include <set>

#include <opencv2/core.hpp>

#include "models/onnx/ir/graph.hpp"
#include "models/onnx/ir/tensor.hpp"

namespace mpm::models {

/// The selections of an export: the TopK nodes whose indices other nodes read, in the order of the graph.
class Selections {
public:
    explicit Selections(const Graph& original);

    bool empty() const { return m_all.empty(); }
    size_t count() const { return m_all.size(); }
    const std::string& nameOf(size_t selection) const { return m_all[selection].name; }
    int64_t axisOf(size_t selection) const { return m_all[selection].axis; }
    /// Returns whether this output of the original contains the indices of a selection.
    bool gives(const std::string& output) const { return m_outputs.count(output) != 0; }

    /// Returns the original with extra outputs: scores and indices of each selection, then all values that
    /// the indices pick from.
    Graph observed(Graph original) const;

    /// Returns the converted graph with an extra f32 input for each selection. The input replaces the indices
    /// that the graph selects. Also adds the extra outputs of observed(), with the indices that the graph
    /// itself selects. `added` must be the original's extra outputs. Throws Refusal if the graph lacks scores
    /// or indices. If the graph lacks values that the indices pick from, leaves out these outputs.
    Graph imposed(const Graph& converted, const List<Tensor>& added) const;

private:
    struct Selection {
        std::string name;               // description of the node, for messages
        List<std::string> scoresNames;  // names of values with the same elements as the scores
        std::string indicesName;
        int scores = kAbsent, indices = kAbsent;
        int64_t axis = -1;
    };
    struct Value {
        std::string name;
        int id = kAbsent;
    };

    void addPickedFrom(const Graph& graph, int indices);

    List<Selection> m_all;
    List<Value> m_rows;
    std::set<std::string> m_outputs;
};

/// The differences between the indices of the converted model and of the original in a selection.
struct Choice {
    int64_t different = 0;  ///< number of indices that differ
    /// True if, at each place, the scores of both choices are equal up to twice the largest difference
    /// between scores of the two models.
    bool right = true;
};
Choice compareChoices(const Tensor& scores, const Tensor& indices, const Tensor& foundScores,
                      const Tensor& foundIndices, int64_t axis);

/// Returns element `k` of a blob of f32 or int64.
double valueOf(const cv::Mat& m, size_t k);

/// Returns the largest difference, over all pixels, between the score of the best class and the score of the
/// label's class, relative to the largest magnitude of a score. Labels are right if the result is within the
/// tolerance.
double labelDifference(const Tensor& scores, const cv::Mat& labels);

/// Like labelDifference(), but computes the scores from masks and classes of queries with the formula of
/// MpmMaskLabels. In large images, checks only a part of the rows.
double maskLabelDifference(const Tensor& masks, const Tensor& classes, const cv::Mat& labels);

struct Proof {
    std::string means;  ///< how the reference was computed
    List<int> batches;
    double worst = 0;        ///< largest difference, relative to the largest value of the output
    List<std::string> flat;  ///< outputs with the same value everywhere, which prove little
    std::map<std::string, int64_t>
        nearTies;      ///< for each selection, the number of indices that differ, but are equally good
    int unstable = 0;  ///< number of inputs that prove nothing, because their last digits decide the results
};

/// Indices of the original's outputs from which the converted model makes labels.
struct LabelOutputs {
    int labels = -1;   ///< output that becomes labels (class ids); -1: none
    int classes = -1;  ///< if `labels` has masks of queries, the output with the classes of the queries;
                       ///< -1: `labels` has scores of classes, and a label is their argmax
};

/// An input for a trial run of a model.
struct TrialInput {
    std::string name;
    Type type = Type::Float;
    cv::Mat values;  ///< f32
};
using Trial = List<TrialInput>;

/// Compares two models in two steps, so that only one model is in memory. The constructor runs the original;
/// check() runs the converted file. Neither model merges tokens. The inputs are random.
class Prover {
public:
    /// If `path` is not empty, OpenCV runs this file, which is the original as the converter writes it. If
    /// `path` is empty, the original is evaluated node by node. `converted` is the graph of the file to
    /// check. If `byImage` is true, the original takes a single image, so the images of a batch are computed
    /// one by one.
    Prover(const Graph& original, const std::string& path, const List<Shape>& inputs, const Graph& converted,
           bool byImage = false);

    /// A function that reads the original again. check() calls it if the models differ, to try other inputs.
    using Reread = std::function<Graph()>;
    void setReread(Reread reread) { m_reread = std::move(reread); }

    /// Returns the original's outputs for the first input, then extra outputs (see Selections::observed()).
    const List<Tensor>& results() const { return m_expected.front(); }

    /// Compares the converted file with the original. Throws Refusal if they differ. If `plainly` is true,
    /// evaluates the file node by node (for the layers form, because no engine for it is available).
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
    bool m_byImage;
    List<Shape> m_inputs;
    List<Port> m_ports;  // the inputs of the original
    Selections m_selections;
    List<std::string> m_outputNames;
    List<List<Tensor>> m_expected;  // for each input, the outputs, then the extra outputs
    List<int64_t> m_values;         // for each input, bytes of the converted model's values
    Reread m_reread;
};

/// Throws Refusal if OpenCV cannot run the file, or if the outputs are not finite.
void checkRuns(const std::string& converted);

}  // namespace mpm::models
