// Names and colours of the classes of published data sets.
#pragma once

#include <optional>
#include <string>

#include "pipeline/dataset/classes.hpp"

namespace mpm::pipeline {

/// camvid, ade20k, cityscapes or pascal-context, also as Segmenter spells them ("pascal_context"). Pascal
/// Context, which has no colours, takes the first colours of ADE20K. `count`: of a model's classes;
/// 59 gives Pascal Context without the background. Empty for another name.
std::optional<Classes> builtInClasses(std::string dataset, int count = 0);

/// Lines of red, green, blue, name.
extern const char* const kAde20kText;
extern const char* const kCityscapesText;
extern const char* const kPascalContextText;

}  // namespace mpm::pipeline
