// A small segmentation model and images for it, as files.
#pragma once

#include <string>

#include <opencv2/core.hpp>

namespace mpm::test {

struct SmallModel {
    int rows = 4, cols = 6;  ///< patches of 8x8
    int classes = 3;
    int batch = 1;
    bool features = false;  ///< tokens instead of logits
    bool labels = false;    ///< a class for every pixel, without an axis of channels, instead of logits
    bool depth = false;     ///< a value for every pixel, without an axis of channels
    /// The number of queries that join the tokens before block 4, which begins a second segment of the
    /// encoder; outputs are masks and classes of the queries instead of logits, or labels made of them.
    int queries = 0;
    /// A detector: so many boxes of fixed place side by side, box i of class i % classes with the logit 3 -
    /// i.
    int boxes = 0;
    bool moves = false;      ///< the boxes are further right in brighter images
    bool windows = false;    ///< blocks attend within windows of 2x3 patches, block 3 over the image
    bool sizeInput = false;  ///< boxes in pixels of an image whose size is a second input
    bool masks = false;      ///< of each box: the left half of the image
    std::string detections;  ///< metadata of the boxes instead of what is true
    bool metadata = true;    ///< size, labels, palette, schedule
};

/// Patches of 8x8, an MpmEncoder of six blocks, a linear head, logits with a value per class and patch.
void writeSmallModel(const std::string& path, const SmallModel& model = {});

/// Smooth coloured shapes.
cv::Mat testImage(int seed, cv::Size size = {96, 64});

}  // namespace mpm::test
