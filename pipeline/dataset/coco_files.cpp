#include "pipeline/dataset/coco_files.hpp"

#include <cmath>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/read_file.hpp"

namespace mpm::pipeline {

namespace {

using Json = nlohmann::json;

constexpr uint64_t kLongestFile = uint64_t{2} << 30;
constexpr int kDeepest = 16;
constexpr int kMostValues = 4 << 20;    // largest number of values in an entry
constexpr double kLargestNumber = 1e9;  // largest number in a box or polygon
constexpr double kLargestArea = 1e15;
constexpr size_t kMostRuns = size_t{1} << 28;  // largest number of runs in all masks of a file
constexpr int kLongestSide = 65535;            // largest width or height of an image

[[noreturn]] void fail(const std::string& message) {
    CV_Error(cv::Error::StsParseError, message);
}

/// Parses a file, and passes each entry to `take`, so that only a single entry is in memory as JSON.
template <class Take>
class EntryReader {
public:
    /// `listDepth`: 0 if the file is a list of entries, 1 if it is an object with lists of entries.
    EntryReader(const std::string& path, int listDepth, Take take)
        : m_path(printable(path)), m_listDepth(listDepth), m_take(std::move(take)) {
        const std::string text = readRegularFile(path, kLongestFile);
        const auto event = [this](int depth, Json::parse_event_t kind, Json& json) {
            return keep(depth, kind, json);
        };
        try {
            const Json all = Json::parse(text, event);
            if (m_listDepth == 0 ? !m_isList : m_isList)
                fail(m_path + (m_listDepth == 0
                                   ? " is no JSON list of detections"
                                   : " is no JSON object with images, annotations and categories"));
        } catch (const Json::exception& error) {
            fail(m_path + " is no JSON: " + printable(error.what()));
        }
    }

private:
    using Event = Json::parse_event_t;

    bool keep(int depth, Event kind, Json& json) {
        if (depth > kDeepest) fail(m_path + " has lists in lists, more than " + std::to_string(kDeepest));
        if (depth == 0 && kind == Event::array_start) m_isList = true;
        if (depth == 1 && m_listDepth == 1 && kind == Event::key) {
            m_list = json.get<std::string>();
            m_index = 0;
        }
        if (depth <= m_listDepth) return true;
        if (++m_values > kMostValues)
            fail(where() + " has more than " + std::to_string(kMostValues) + " values");
        const bool ends = kind == Event::object_end || kind == Event::array_end || kind == Event::value;
        if (depth != m_listDepth + 1 || !ends) return true;
        if (m_listDepth == 0 || isKnown()) {
            if (kind != Event::object_end) fail(where() + " is no JSON object");
            m_take(m_list, json, where());
        }
        ++m_index;
        m_values = 0;
        return false;
    }
    bool isKnown() const { return m_list == "images" || m_list == "annotations" || m_list == "categories"; }
    std::string where() const {
        return m_path + ", entry " + std::to_string(m_index) + (m_list.empty() ? "" : " of ") +
               printable(m_list, 40);
    }

    const std::string m_path;
    const int m_listDepth;
    Take m_take;
    std::string m_list;
    bool m_isList = false;
    size_t m_index = 0;
    int m_values = 0;
};

const Json& field(const Json& entry, const char* name, const std::string& where) {
    const auto at = entry.find(name);
    if (at == entry.end()) fail(where + " has no \"" + name + "\"");
    return *at;
}

double numberOf(const Json& value, const char* name, const std::string& where, double largest) {
    const double number = value.is_number() ? value.get<double>() : NAN;
    if (!(std::abs(number) <= largest))
        fail(where + ": \"" + name + "\" must be a number of at most " + cv::format("%g", largest));
    return number;
}

int64_t idOf(const Json& entry, const char* name, const std::string& where) {
    const Json& value = field(entry, name, where);
    if (value.is_number_unsigned() ? value.get<uint64_t>() <= INT64_MAX : value.is_number_integer())
        return value.get<int64_t>();
    if (value.is_number_float() && std::abs(value.get<double>()) < 0x1p53 &&
        std::trunc(value.get<double>()) == value.get<double>())
        return static_cast<int64_t>(value.get<double>());
    fail(where + ": \"" + name + "\" must be a whole number");
}

cv::Rect2d boxOf(const Json& entry, const std::string& where) {
    const Json& list = field(entry, "bbox", where);
    if (!list.is_array() || list.size() != 4)
        fail(where + ": \"bbox\" must be a list of four numbers: x, y, width, height");
    double values[4];
    for (int i = 0; i < 4; ++i)
        values[i] = numberOf(list[i], "bbox", where, kLargestNumber);
    return {values[0], values[1], values[2], values[3]};
}

int sideOf(const Json& value, const std::string& where) {
    const double side = numberOf(value, "size", where, kLongestSide);
    if (side < 0 || side != std::trunc(side)) fail(where + ": \"size\" must be two whole numbers");
    return static_cast<int>(side);
}

std::vector<double> numbersOf(const Json& list, const std::string& where) {
    std::vector<double> numbers;
    for (const Json& value : list)
        numbers.push_back(numberOf(value, "segmentation", where, kLargestNumber));
    return numbers;
}

RunLengths runsOf(const Json& mask, const std::string& where) {
    const Json &size = field(mask, "size", where), &counts = field(mask, "counts", where);
    if (!size.is_array() || size.size() != 2) fail(where + ": \"size\" must be two numbers: height, width");
    const cv::Size whole(sideOf(size[1], where), sideOf(size[0], where));
    if (counts.is_string()) return runLengthsFrom(whole, counts.get<std::string>());
    if (!counts.is_array()) fail(where + ": \"counts\" must be a string or a list of numbers");
    std::vector<int64_t> runs;
    for (const double run : numbersOf(counts, where))
        runs.push_back(static_cast<int64_t>(run));
    return runLengths(whole, runs);
}

std::vector<double> cornersOf(const cv::Rect2d& box) {
    const double right = box.x + box.width, bottom = box.y + box.height;
    return {box.x, box.y, box.x, bottom, right, bottom, right, box.y};
}

RunLengths polygonsOf(const Json& list, cv::Size image, const std::string& where) {
    std::vector<std::vector<double>> polygons;
    for (const Json& polygon : list) {
        if (!polygon.is_array()) fail(where + ": \"segmentation\" must be a list of lists of numbers");
        polygons.push_back(numbersOf(polygon, where));
    }
    if (polygons.empty() || polygons[0].size() < 4)
        fail(where + ": \"segmentation\" has no polygon, or one of fewer than four numbers");
    // As in COCO's code, a list of four numbers is not a polygon, but a box: x, y, width, height.
    if (polygons[0].size() == 4)
        for (std::vector<double>& box : polygons) {
            if (box.size() != 4) fail(where + ": \"segmentation\" has boxes and polygons in one list");
            box = cornersOf({box[0], box[1], box[2], box[3]});
        }
    return runLengthsOf(polygons, image);
}

/// Reads a mask. Adds the mask's number of runs to `runs`, and throws if `runs` exceeds kMostRuns, because a
/// short polygon may give millions of runs.
RunLengths maskOf(const Json& mask, cv::Size image, const std::string& where, size_t& runs) {
    try {
        if (!mask.is_object() && !mask.is_array())
            fail(where + ": \"segmentation\" must be polygons or run lengths");
        RunLengths read = mask.is_object() ? runsOf(mask, where) : polygonsOf(mask, image, where);
        runs += read.runs.size();
        if (runs > kMostRuns) fail(where + ": the masks of the file have more than 2^28 runs");
        return read;
    } catch (const cv::Exception& error) {
        fail(error.code == cv::Error::StsParseError && error.err.rfind(where, 0) == 0
                 ? error.err
                 : where + ": " + error.err);
    }
}

cv::Size imageSizeOf(const Json& entry, const std::string& where) {
    const auto side = [&](const char* name) {
        if (!entry.contains(name)) return 0;
        const double value = numberOf(entry[name], name, where, kLongestSide);
        if (value < 0) fail(where + ": \"" + name + "\" is negative");
        return static_cast<int>(value);
    };
    return {side("width"), side("height")};
}

std::string textOf(const Json& entry, const char* name) {
    const auto at = entry.find(name);
    return at != entry.end() && at->is_string() ? at->get<std::string>() : std::string();
}

CocoObject annotationOf(const Json& entry, bool masks, const std::string& where) {
    CocoObject object;
    object.image = idOf(entry, "image_id", where);
    object.category = idOf(entry, "category_id", where);
    object.counts = idOf(entry, "id", where) != 0;
    object.area = numberOf(field(entry, "area", where), "area", where, kLargestArea);
    if (const auto at = entry.find("iscrowd"); at != entry.end())
        object.crowd = at->is_boolean() ? at->get<bool>() : numberOf(*at, "iscrowd", where, 1) != 0;
    if (!masks) object.box = boxOf(entry, where);
    return object;
}

}  // namespace

std::string CocoImage::pathBelow(const std::string& root) const {
    const auto below = std::filesystem::path(file).lexically_normal();
    if (below.empty() || below.is_absolute() || *below.begin() == "..")
        CV_Error(cv::Error::StsBadArg,
                 "file_name \"" + printable(file, 100) + "\" is not below " + printable(root));
    return (std::filesystem::path(root) / below).string();
}

std::vector<int64_t> CocoTruth::imageIds() const {
    std::vector<int64_t> ids;
    for (const auto& [id, image] : images)
        ids.push_back(id);
    return ids;
}

std::vector<int64_t> CocoTruth::categoryIds() const {
    std::vector<int64_t> ids;
    for (const auto& [id, name] : categories)
        ids.push_back(id);
    return ids;
}

CocoTruth readCocoTruth(const std::string& path, bool masks) {
    CocoTruth truth;
    size_t runs = 0;
    std::set<int64_t> ids;
    struct Outline {
        size_t object;
        Json segmentation;
        std::string where;
    };
    std::vector<Outline> later;  // annotations that come before their image and its size
    const auto take = [&](const std::string& list, const Json& entry, const std::string& where) {
        if (list == "images")
            truth.images[idOf(entry, "id", where)] = {textOf(entry, "file_name"), imageSizeOf(entry, where)};
        if (list == "categories") truth.categories[idOf(entry, "id", where)] = textOf(entry, "name");
        if (list != "annotations") return;
        truth.objects.push_back(annotationOf(entry, masks, where));
        if (!ids.insert(idOf(entry, "id", where)).second)
            fail(where + ": another annotation has its id " + entry["id"].dump());
        if (!masks) return;
        const Json& outline = field(entry, "segmentation", where);
        CocoObject& object = truth.objects.back();
        if (const auto image = truth.images.find(object.image); image != truth.images.end())
            object.mask = maskOf(outline, image->second.size, where, runs);
        else
            later.push_back({truth.objects.size() - 1, outline, where});
    };
    EntryReader reader(path, 1, take);
    if (truth.images.empty()) fail(printable(path) + " lists no images; name a file of annotations");
    for (const Outline& outline : later) {
        CocoObject& object = truth.objects[outline.object];
        if (const auto image = truth.images.find(object.image); image != truth.images.end())
            object.mask = maskOf(outline.segmentation, image->second.size, outline.where, runs);
    }
    return truth;
}

std::vector<CocoObject> readCocoResults(const std::string& path, const CocoTruth& truth, bool masks,
                                        size_t& leftOut) {
    std::vector<CocoObject> results;
    bool first = true, byBox = false;
    size_t runs = 0;
    leftOut = 0;
    const auto take = [&](const std::string&, const Json& entry, const std::string& where) {
        if (first) byBox = entry.contains("bbox") && !entry["bbox"].empty();
        first = false;
        CocoObject object;
        object.image = idOf(entry, "image_id", where);
        object.category = idOf(entry, "category_id", where);
        object.score = numberOf(field(entry, "score", where), "score", where, 1e300);
        const bool hasMask = entry.contains("segmentation") && !entry["segmentation"].empty();
        if (byBox || !hasMask) object.box = boxOf(entry, where);
        const auto image = truth.images.find(object.image);
        if (image == truth.images.end()) {
            ++leftOut;
            return;
        }
        RunLengths mask;
        if (hasMask && (masks || !byBox))
            mask = maskOf(entry["segmentation"], image->second.size, where, runs);
        else if (masks)
            mask = runLengthsOf({cornersOf(object.box)}, image->second.size);
        if (!byBox && hasMask)
            object.box = entry.contains("bbox") ? boxOf(entry, where) : cv::Rect2d(mask.box());
        object.area = byBox || !hasMask ? object.box.area() : double(mask.area());
        if (masks) object.mask = std::move(mask);
        results.push_back(std::move(object));
    };
    EntryReader reader(path, 0, take);
    return results;
}

}  // namespace mpm::pipeline
