// A converted model is only worth having if it is the same model.
#pragma once

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

struct Proof {
    std::string means;  ///< what computed the reference
    List<int> batches;
    double worst = 0;        ///< largest difference by the largest value of its output
    List<std::string> flat;  ///< outputs of one value everywhere: agreeing on it says little
};

/// Two steps, for a large model should not be in memory twice: what the original computes, and, once it may
/// be gone, whether the converted file computes the same. Nothing is merged; inputs are random.
class Prover {
public:
    /// `path` not empty: OpenCV runs that file, which holds the original and was written by the converter;
    /// otherwise the graph is evaluated plainly. `converted` is what will be checked.
    Prover(const Graph& original, const std::string& path, const List<Shape>& inputs, const Graph& converted);

    /// `plainly`: the converted file is evaluated too, for engines that are not here. `labels`: the converted
    /// model's output 0 is the argmax of the original's. Throws Refusal where they differ.
    Proof check(const std::string& converted, bool labels, bool plainly = false) const;

private:
    std::string m_means;
    List<Shape> m_inputs;
    std::string m_inputName;
    List<std::string> m_outputNames;
    List<List<Tensor>> m_expected;  // by input
    List<int64_t> m_values;         // bytes that running the converted model takes, by input
};

/// Throws Refusal where OpenCV cannot run the file or finds no numbers in its outputs.
void checkRuns(const std::string& converted);

}  // namespace mpm::models
