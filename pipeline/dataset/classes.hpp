// Names and colours of classes. Their indices are the ids in label images.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

struct Classes {
    std::vector<std::string> names;  ///< by id
    std::vector<cv::Vec3b> palette;  ///< RGB by id
    int ignored = 255;               ///< label whose pixels are not measured

    int count() const { return static_cast<int>(names.size()); }
};

/// Returns the 11 classes of CamVid in the order of SegNet's tutorial; id 11 means unlabelled.
Classes camvidClasses();

/// Reads a JSON list of {"name": text, "color": [r, g, b]}, in the order of ids. If `colours` is false, also
/// accepts a list of names; the palette is then empty.
Classes readClasses(const std::string& path, bool colours = true);

/// Reads the classes from the text of a file. `path`: the name of the file in error messages.
Classes classesFrom(const std::string& text, const std::string& path, bool colours = true);

/// Returns the classes of camvid, ade20k, cityscapes or pascal-context; nothing for any other name. Also
/// accepts underscores ("pascal_context"). Pascal Context gets the first colours of ADE20K. `count`: the
/// model's number of classes; 59 gives Pascal Context without the background.
std::optional<Classes> builtInClasses(std::string dataset, int count = 0);

/// Text with a line for each class: red, green, blue, name.
extern const char* const kAde20kText;
extern const char* const kCityscapesText;
extern const char* const kPascalContextText;

}  // namespace mpm::pipeline
