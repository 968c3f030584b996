// Data sets as training wants them: in memory, by preset.
#pragma once

#include <string>
#include <vector>

#include "pipeline/dataset/dataset.hpp"

namespace mpm::models {

/// camvid, or folder (ROOT/classes.json).
pipeline::Classes classesOf(const std::string& preset, const std::string& root);

std::vector<pipeline::Sample> readAll(const std::string& root, const std::string& split,
                                      const pipeline::Classes& classes);

}  // namespace mpm::models
