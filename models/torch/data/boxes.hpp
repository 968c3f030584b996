// Images with boxes of objects, read anew for each batch.
#pragma once

#include <string>
#include <vector>

#include <torch/types.h>
#include <opencv2/core.hpp>

#include "models/torch/data/batches.hpp"

namespace mpm::models {

struct BoxImage {
    struct Object {
        cv::Rect2d box;  ///< in pixels of the image
        int label = 0;
        bool ignored = false;  ///< a detector may find it or not
    };
    std::string path;
    cv::Size size;  ///< for which the boxes are
    std::vector<Object> objects;
};

struct BoxImages {
    std::vector<std::string> names;  ///< of the classes, by id; empty if the file does not use an id
    std::vector<BoxImage> images;
};

/// ROOT/SPLIT/annotations.json in COCO's format, and ROOT/SPLIT/images.
/// @throws cv::Exception that names the file and the fault
BoxImages readBoxImages(const std::string& root, const std::string& split);

struct BoxBatch {
    torch::Tensor images;                                ///< f32 [B, 3, H, W]
    std::vector<std::vector<BoxImage::Object>> objects;  ///< in pixels of these
};

/// As BatchSource, of images with boxes, stretched to the size of the batch before. An object counts as
/// ignored if a crop shows less than 0.3 of it.
BoxBatch boxBatch(const std::vector<BoxImage>& images, const BatchSource::Options& options, int64_t step);

/// The image in the model's size, and the objects in its pixels.
BoxBatch wholeImage(const BoxImage& image, cv::Size size, const Normalisation& normalisation);

}  // namespace mpm::models
