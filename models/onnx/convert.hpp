// Any ViT export to a model that OpenCV 4.6 to 5.x runs, with Mutual Pair Merging in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "base/budget.hpp"
#include "models/onnx/tensor.hpp"

namespace mpm::models {

enum class Form {
    Fused,  ///< one MpmEncoder in the place of the blocks: every OpenCV, fastest
    Layers  ///< the original blocks with MpmMerge and MpmRestore between them: engines with dynamic shapes
};

struct ConvertOptions {
    std::optional<std::vector<int>>
        blocks;  ///< merge before these; absent: 2 and 5, as far as there are blocks
    Form form = Form::Fused;
    cv::Size size;                     ///< empty: the export's own
    int batch = 0;                     ///< 0: the export's own
    bool labels = false;               ///< class ids at picture size instead of scores
    std::vector<std::string> classes;  ///< names by id
    bool allClasses = false;           ///< refuses other than one name for each class of the scores
    std::vector<cv::Vec3b> palette;    ///< RGB by id
    std::optional<cv::Scalar> mean, deviation;
    std::int64_t maxMemory = 0;  ///< bytes; 0: 1 GiB and 16 times the size of the file with its external data
    double maxSeconds = 0;       ///< 0: 25, and 5 for each MiB
};

/// What was found, proved and saved.
struct Conversion {
    int blocks = 0, dim = 0, heads = 0, specialTokens = 0, imageTokens = 0;
    cv::Size size, grid;
    int batch = 0;  ///< 0: dynamic
    std::string norm, activation, attention, decoder;
    std::vector<int> taps;
    std::vector<int> schedule;
    double parameters = 0;
    double gflops = 0;        ///< of one picture, nothing merged
    double gflopsMerged = 0;  ///< with three quarters of the tokens left at each merge
    std::vector<double> attentionWeights, mlpWeights;  ///< elements of each block's products
    int attentionWidth = 0;                            ///< of queries, keys and values
    double gflopsAround = 0;                           ///< of what stands around the backbone's blocks
    std::string proof;                                 ///< what proved it
    std::vector<int> provedBatches;
    double error = 0;
    std::vector<std::string> notes;
};

/// Encoder, decoder, size and costs, a line each.
std::string describe(const Conversion& conversion);

/// Throws Refusal where the model cannot be converted, BudgetError where that takes more memory or time than
/// the options allow, cv::Exception for options that make no sense and files that cannot be written. `output`
/// is only ever there whole and proved.
Conversion convertModel(const std::string& input, const std::string& output, const ConvertOptions& options);

}  // namespace mpm::models
