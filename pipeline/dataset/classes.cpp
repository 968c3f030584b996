#include "pipeline/dataset/classes.hpp"

#include <algorithm>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/read_file.hpp"

namespace mpm::pipeline {

constexpr std::uint64_t kLongestFile = std::uint64_t{16} << 20;  // enough for 65,535 classes of 250 bytes
constexpr std::size_t kLongestName = 1000;

Classes camvidClasses() {
    Classes classes;
    classes.names = {"sky",  "building", "pole", "road",       "pavement", "tree",
                     "sign", "fence",    "car",  "pedestrian", "bicyclist"};
    classes.palette = {{128, 128, 128}, {128, 0, 0},   {192, 192, 128}, {128, 64, 128},
                       {60, 40, 222},   {128, 128, 0}, {192, 128, 128}, {64, 64, 128},
                       {64, 0, 128},    {64, 64, 0},   {0, 128, 192}};
    classes.ignored = 11;
    return classes;
}

static cv::Vec3b readColor(const nlohmann::json& color, const std::string& where) {
    if (!color.is_array() || color.size() != 3) {
        CV_Error(cv::Error::StsParseError, where + ": color must be a list of three numbers, [r, g, b]");
    }
    cv::Vec3b rgb;
    for (int i = 0; i < 3; ++i) {
        if (!color[i].is_number_integer() || color[i] < 0 || color[i] > 255) {
            CV_Error(cv::Error::StsOutOfRange, where + ": a color's parts must be integers of 0 to 255");
        }
        rgb[i] = color[i].get<uchar>();
    }
    return rgb;
}

static std::string textOf(const std::string& path) {
    try {
        return readRegularFile(path, kLongestFile);
    } catch (const cv::Exception& error) {
        CV_Error(cv::Error::StsObjectNotFound, "class file " + error.err);
    }
}

/// A parser callback that rejects deeply nested lists, which need far more memory than their text.
static bool demandShallow(int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    if (depth > 4)
        CV_Error(cv::Error::StsParseError, "a class file is a list of {\"name\", \"color\"}, not deeper");
    return true;
}

Classes readClasses(const std::string& path, bool colours) {
    return classesFrom(textOf(path), path, colours);
}

Classes classesFrom(const std::string& text, const std::string& path, bool colours) {
    const nlohmann::json list = nlohmann::json::parse(text, demandShallow, false);
    if (!list.is_array() || list.empty() || list.size() > 65535) {
        CV_Error(cv::Error::StsParseError,
                 "class file " + path + " must be a JSON list of {\"name\", \"color\"}, one or more");
    }
    const bool plain = !colours && list[0].is_string();  // only names
    Classes classes;
    for (const auto& entry : list) {
        const std::string where = "class file " + path + ", entry " + std::to_string(classes.names.size());
        const bool named = plain ? entry.is_string()
                                 : entry.is_object() && entry.contains("name") && entry["name"].is_string();
        if (!named)
            CV_Error(cv::Error::StsParseError,
                     where + (plain ? ": expected a name" : ": expected an object with a string \"name\""));
        classes.names.push_back((plain ? entry : entry["name"]).get<std::string>());
        if (classes.names.back().size() > kLongestName)
            CV_Error(cv::Error::StsOutOfRange,
                     where + ": a name has at most " + std::to_string(kLongestName) + " bytes");
        if (!plain) classes.palette.push_back(readColor(entry.value("color", nlohmann::json()), where));
    }
    return classes;
}

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
