#include "pipeline/dataset/classes.hpp"

#include <algorithm>
#include <sstream>

namespace mpm::pipeline {

namespace {

Classes parse(const char* text) {
    Classes classes;
    std::istringstream lines(text);
    int red = 0, green = 0, blue = 0;
    std::string name;
    while (lines >> red >> green >> blue >> std::ws && std::getline(lines, name)) {
        classes.names.push_back(name);
        classes.palette.emplace_back(static_cast<uchar>(red), static_cast<uchar>(green),
                                     static_cast<uchar>(blue));
    }
    return classes;
}

}  // namespace

std::optional<Classes> builtInClasses(std::string dataset, int count) {
    std::replace(dataset.begin(), dataset.end(), '_', '-');
    if (dataset == "camvid") return camvidClasses();
    if (dataset == "ade20k") return parse(kAde20kText);
    if (dataset == "cityscapes") return parse(kCityscapesText);
    if (dataset != "pascal-context") return std::nullopt;
    Classes classes = parse(kPascalContextText);
    if (count == 59) {
        classes.names.erase(classes.names.begin());
        classes.palette.erase(classes.palette.begin());
    }
    return classes;
}

}  // namespace mpm::pipeline
