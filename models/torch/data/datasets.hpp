// Data sets for training, in memory, by preset.
#pragma once

#include <string>
#include <vector>

#include "pipeline/dataset/dataset.hpp"

namespace mpm::models {

/// camvid and scene (the built-in street: the same classes, nothing ignored), folder (ROOT/classes.json),
/// boxes (ROOT/val/annotations.json), or a name of pipeline::builtInClasses().
pipeline::Classes classesOf(const std::string& preset, const std::string& root);

std::vector<pipeline::Sample> readAll(const std::string& root, const std::string& split,
                                      const pipeline::Classes& classes);

/// A frame of the built-in street; each number gives another street.
pipeline::Sample sceneFrame(int number, cv::Size size);

/// Frames by day, each of another street, with seeds that training never uses.
std::vector<pipeline::Sample> sceneFrames(int count, cv::Size size);

}  // namespace mpm::models
