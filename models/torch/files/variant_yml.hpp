// What Segmenter writes beside a checkpoint: the sizes that its tensors do not tell.
#pragma once

#include <cstdint>
#include <string>

namespace mpm::models {

/// Zeros and empty texts: not said.
struct Variant {
    int64_t height = 0, width = 0, patch = 0, dim = 0, depth = 0, heads = 0, classes = 0;
    std::string normalisation;  ///< vit or deit
};

/// Throws FileError on what is no such file, is longer than 64 KiB, or holds a size below 1 or above 100000.
Variant readVariant(const std::string& path);

/// The same of its text.
Variant parseVariant(const std::string& text);

}  // namespace mpm::models
