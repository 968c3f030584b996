// Figures that the method was published with ("MPM: Mutual Pair Merging", arXiv 2604.05718), from
// published.csv: Segmenter with a Mask Transformer, single scale.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/measure/eval_summary.hpp"

namespace mpm::pipeline {

struct PublishedFigures {
    std::string dataset;
    int width = 0, patch = 0;  ///< of the model
    std::string method;        ///< "none", "algm", "tome", "mpm:2+5"
    double miou = 0;           ///< percent
    double gflops = 0;
    double fps = 0;  ///< on an H100, f32
};

const std::vector<PublishedFigures>& publishedFigures();

/// The published figures for the data set, model size and method of a measured row, if any.
std::optional<PublishedFigures> publishedFor(const EvalHead& head, const EvalRow& row);

}  // namespace mpm::pipeline
