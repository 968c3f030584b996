// Kinds of outputs. Models without classes have features: a vector for each image token.
#pragma once

#include <opencv2/core.hpp>

namespace mpm::pipeline {

enum class OutputKind { Labels, Logits, Features, Unknown };

/// Facts about a model and its input, by which logits and features are told apart.
struct OutputFacts {
    int tokens = 0;       ///< image tokens
    int special = 0;      ///< rows in front of the image tokens
    int dim = 0;          ///< values of a token in the encoder
    bool labels = false;  ///< the model file names classes
};

/// Whether an output Bx1xHxW consists of ids of classes: whole numbers from 0 to 65535. A depth map, for
/// example, has other values.
bool hasIds(const cv::Mat& output);

/// Finds the kind of an output. Labels: Bx1xHxW of ids. Logits: BxCxHxW. Features: BxRxD with a row for each
/// image token (special tokens may be in front, other rows behind), or BxDxhxw with a place for each image
/// token, if the model names no classes and D is the encoder's width or at least 192.
OutputKind outputKind(const cv::Mat& output, const OutputFacts& facts);

/// Returns the features of image `index` of the batch: CV_32F, a row for each image token. The kind of
/// `output` must be Features.
cv::Mat featuresOf(const cv::Mat& output, int index, const OutputFacts& facts);

/// Returns the mean cosine between the rows of `a` and `b`, which are CV_32F of the same size; 0 if no row
/// counts. `seen`: CV_8U with an entry for each row, 0 if the row does not count; empty if all rows count.
double meanCosine(const cv::Mat& a, const cv::Mat& b, const cv::Mat& seen = {});

}  // namespace mpm::pipeline
