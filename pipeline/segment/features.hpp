// Finds the kind of a model's output. A model without classes gives features: a vector for each image token.
#pragma once

#include <opencv2/core.hpp>

namespace mpm::pipeline {

enum class OutputKind { Labels, Logits, Features, Unknown };

/// Facts about a model and its input, from which outputKind() tells features from logits.
struct OutputFacts {
    int tokens = 0;       ///< image tokens
    int special = 0;      ///< rows before the image tokens
    int dim = 0;          ///< number of values of a token in the encoder
    bool labels = false;  ///< whether the model file names classes
};

/// Returns whether an output consists of class ids: Bx1xHxW whole numbers from 0 to 65535. A depth map, for
/// example, has other values.
bool hasIds(const cv::Mat& output);

/// Finds the kind of an output. Labels: ids, Bx1xHxW. Logits: BxCxHxW. Features: BxRxD with a row for each
/// image token, perhaps after special tokens and before other rows. BxDxhxw with a pixel for each image token
/// is also features if the model names no classes and D is the encoder's width or at least 192.
OutputKind outputKind(const cv::Mat& output, const OutputFacts& facts);

/// Returns the features of image `index` of the batch: CV_32F, a row for each image token. The kind of
/// `output` must be Features.
cv::Mat featuresOf(const cv::Mat& output, int index, const OutputFacts& facts);

/// Returns the mean cosine between the rows of `a` and `b`, which must be CV_32F of the same size. `seen`:
/// CV_8U with an entry for each row; rows with the entry 0 are left out. If `seen` is empty, all rows count.
/// If all rows are left out, returns 0.
double meanCosine(const cv::Mat& a, const cv::Mat& b, const cv::Mat& seen = {});

}  // namespace mpm::pipeline
