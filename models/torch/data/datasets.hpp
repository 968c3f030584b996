// Data sets for training, which are read into memory.
#pragma once

#include <string>
#include <vector>

#include "pipeline/dataset/dataset.hpp"

namespace mpm::models {

/// Returns the classes of a preset: camvid, scene (the built-in street, with CamVid's classes), folder
/// (ROOT/classes.json), boxes (see readBoxClasses), or a name of pipeline::builtInClasses().
pipeline::Classes classesOf(const std::string& preset, const std::string& root);

std::vector<pipeline::Sample> readAll(const std::string& root, const std::string& split,
                                      const pipeline::Classes& classes);

/// Returns a frame of the built-in street by day. Each pair of `number` and `seed` gives a different street.
/// Training does not use these streets.
pipeline::Sample sceneFrame(int number, cv::Size size, int seed = 1);

}  // namespace mpm::models
