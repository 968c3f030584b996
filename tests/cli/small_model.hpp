// A small segmentation model and images for it, as files.
#pragma once

#include <string>

#include <opencv2/core.hpp>

namespace mpm::test {

struct SmallModel {
    int rows = 4, cols = 6;  ///< of the grid of patches; a patch has 8x8 pixels
    int classes = 3;
    int batch = 1;
    bool features = false;  ///< outputs tokens instead of logits
    bool labels = false;    ///< outputs a class for every pixel, without an axis of channels
    bool depth = false;     ///< outputs a value for every pixel, without an axis of channels
    /// Number of queries. If not 0, the model adds the queries before block 4, which begins a second segment
    /// of the encoder, and outputs masks and classes of the queries instead of logits. If `labels` is set
    /// too, the output is labels that the model computes from masks and classes.
    int queries = 0;
    /// If not 0, the model is a detector with this number of boxes, side by side at fixed places. Box i has
    /// the class i % classes and the logit 3 - i.
    int boxes = 0;
    bool moves = false;      ///< the boxes are further to the right in brighter images
    bool windows = false;    ///< attention stays in windows of 2x3 patches; block 3 is global
    bool sizeInput = false;  ///< boxes are in pixels; the image's size is a second input
    bool masks = false;      ///< each box has a mask: the left half of the image
    std::string detections;  ///< if not empty, replaces the metadata about boxes
    bool metadata = true;    ///< the file has size, labels, palette and schedule
};

/// Writes a model with patches of 8x8, an MpmEncoder of six blocks, and a linear head whose logits have a
/// value per class and patch.
void writeSmallModel(const std::string& path, const SmallModel& model = {});

/// Returns an image with smooth coloured shapes.
cv::Mat testImage(int seed, cv::Size size = {96, 64});

}  // namespace mpm::test
