// Reads data sets for training into memory.
#pragma once

#include <string>
#include <vector>

#include "pipeline/dataset/dataset.hpp"

namespace mpm::models {

/// The classes of a preset: camvid or scene (the built-in street: the same classes, nothing ignored), folder
/// (ROOT/classes.json), boxes (ROOT/train/annotations.json), or a name of pipeline::builtInClasses().
pipeline::Classes classesOf(const std::string& preset, const std::string& root);

std::vector<pipeline::Sample> readAll(const std::string& root, const std::string& split,
                                      const pipeline::Classes& classes);

/// A frame of the built-in street; each number gives a different street.
pipeline::Sample sceneFrame(int number, cv::Size size);

/// Frames by day, each of a different street, with seeds that training never uses.
std::vector<pipeline::Sample> sceneFrames(int count, cv::Size size);

}  // namespace mpm::models
