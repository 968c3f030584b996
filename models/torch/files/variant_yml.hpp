// The reader of variant.yml, Segmenter's file next to a checkpoint: sizes that the tensors do not show.
#pragma once

#include <cstdint>
#include <string>

namespace mpm::models {

/// The values of the file; 0 or empty if the file does not have the value.
struct Variant {
    int64_t height = 0, width = 0, patch = 0, dim = 0, depth = 0, heads = 0, classes = 0;
    std::string normalisation;  ///< vit or deit
    std::string dataset;        ///< the training data, such as "ade20k"
};

/// Throws FileError if the text is not a variant.yml, is longer than 64 KiB, or has a size below 1 or above
/// 100000.
Variant readVariant(const std::string& path);

/// Like readVariant(), from text.
Variant parseVariant(const std::string& text);

}  // namespace mpm::models
