// Images with boxes of objects. Each batch reads its images from their files again.
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
        bool ignored = false;  ///< if true, neither the loss nor the AP counts the object
    };
    std::string path;
    cv::Size size;  ///< image size that the boxes refer to
    std::vector<Object> objects;
};

struct BoxImages {
    std::vector<std::string> names;  ///< class names by id; empty for an id that the file does not use
    std::vector<BoxImage> images;
};

/// Reads ROOT/SPLIT/annotations.json, in COCO's format, for the images in ROOT/SPLIT/images.
/// @throws cv::Exception that names the file and the fault
BoxImages readBoxImages(const std::string& root, const std::string& split);

/// Returns the class names in ROOT/train/annotations.json; without this file, in ROOT/val/annotations.json.
/// Reads no image.
/// @throws cv::Exception that names the file and the fault
std::vector<std::string> readBoxClasses(const std::string& root);

struct BoxBatch {
    torch::Tensor images;                                ///< f32 [B, 3, H, W]
    std::vector<std::vector<BoxImage::Object>> objects;  ///< in pixels of `images`
};

/// Like BatchSource::at(), for images with boxes. Images are first stretched to the batch's size. An object
/// counts as ignored if a crop shows less than 0.3 of its area, or less than 2 pixels of a side.
BoxBatch boxBatch(const std::vector<BoxImage>& images, const BatchSource::Options& options, int64_t step);

/// Returns the image, stretched to the model's size, and the objects in pixels of the stretched image.
BoxBatch wholeImage(const BoxImage& image, cv::Size size, const Normalisation& normalisation);

}  // namespace mpm::models
