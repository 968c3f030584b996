#include "models/onnx/metadata.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"

namespace mpm::models {
namespace {

using Json = nlohmann::ordered_json;  // keeps the order of keys, because lightly-train lists classes by id

// Parses the metadata of a key as JSON. Returns null if the key is missing, or if the text is not JSON or is
// nested too deeply.
Json noteOf(const Metadata& metadata, const std::string& key) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return nullptr;
    bool deep = false;
    const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
        deep |= depth > 3;
        return !deep;
    };
    const Json note = Json::parse(found->second, shallow, false);
    return deep || note.is_discarded() ? Json(nullptr) : note;
}

std::optional<cv::Scalar> threeIn(const Json& list, bool positive) {
    if (!list.is_array() || list.size() != 3) return std::nullopt;
    cv::Scalar values;
    for (int k = 0; k < 3; ++k) {
        if (!list[k].is_number()) return std::nullopt;
        values[k] = list[k].get<double>();
        if (!std::isfinite(values[k]) || (positive && values[k] <= 0)) return std::nullopt;
    }
    return values;
}

// A mean or deviation, and its origin.
struct Found {
    cv::Scalar value{0.5, 0.5, 0.5};
    std::string origin;  // empty: `value` is a default
};

Found find(const std::optional<cv::Scalar>& option, const Metadata& metadata, const std::string& part,
           std::vector<std::string>& warnings) {
    const bool positive = part == "std";
    if (option) return {*option, "from the options"};
    if (metadata.count("mpm." + part)) {
        const auto own = threeIn(noteOf(metadata, "mpm." + part), positive);
        return {own.value_or(cv::Scalar(0.5, 0.5, 0.5)), "from the model"};
    }
    for (const std::string& name : {std::string("image_normalize"), "norm_" + part}) {
        if (!metadata.count(name)) continue;
        const Json note = noteOf(metadata, name);
        const bool inside = note.is_object() && note.contains(part);
        if (const auto value = threeIn(inside ? note.at(part) : note, positive))
            return {*value, std::string("from the export's ") +
                                (name == "image_normalize" ? name : "norm_mean and norm_std")};
        warnings.push_back("metadata '" + name + "' has no three values for " + part + ": left out");
    }
    return {};
}

// Returns the id that the key contains as text; -1 if the key is not an id.
int idOf(const std::string& key) {
    const bool digits = !key.empty() && key.size() < 6 &&
                        std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
    return digits ? std::stoi(key) : -1;
}

}  // namespace

Pixels pixelsFor(const ConvertOptions& options, const Metadata& metadata, bool detector,
                 std::vector<std::string>& warnings) {
    const Found mean = find(options.mean, metadata, "mean", warnings);
    const Found deviation = find(options.deviation, metadata, "std", warnings);
    Pixels pixels{true, mean.value, deviation.value, mean.origin};
    if (mean.origin.empty() && deviation.origin.empty() && detector) {
        pixels.mean = {0.485, 0.456, 0.406};
        pixels.deviation = {0.229, 0.224, 0.225};
        pixels.origin =
            "ImageNet's, as detectors have, as the export names none; others by --mean and --std or "
            "--normalise";
    } else if (mean.origin.empty() || deviation.origin.empty()) {
        pixels.origin = mean.origin.empty() && deviation.origin.empty() ? "assumed"
                        : mean.origin.empty()                           ? "the mean is assumed"
                                                                        : "std is assumed";
        pixels.origin +=
            ", as the export names none; give the training's with --mean and --std, or "
            "--normalise imagenet|clip|half|none";
    } else if (mean.origin != deviation.origin) {
        pixels.origin = "mean " + mean.origin + ", std " + deviation.origin;
    }
    return pixels;
}

std::vector<std::string> classesIn(const Metadata& metadata, std::optional<std::int64_t> count) {
    for (const char* key : {"classes", "names"}) {
        const Json note = noteOf(metadata, key);
        const bool list = (note.is_object() || note.is_array()) && !note.empty();
        if (!list || (count && static_cast<std::int64_t>(note.size()) != *count)) continue;
        std::vector<std::string> names, byId;
        bool numbered = note.is_object();
        for (auto entry = note.begin(); entry != note.end(); ++entry) {
            const Json& name = entry->is_object() && entry->contains("name") ? entry->at("name") : *entry;
            if (!name.is_string()) break;
            names.push_back(printable(name.get<std::string>(), 200));
            const int id = numbered ? idOf(entry.key()) : -1;
            numbered = id >= 0;
            if (!numbered) continue;
            byId.resize(std::max(byId.size(), static_cast<std::size_t>(id) + 1));
            byId[id] = names.back();
        }
        if (names.size() != note.size()) continue;
        // If `count` is given, the names belong to scores, which are numbered without gaps. Otherwise the
        // names belong to labels, whose ids may have gaps.
        return numbered && (!count || byId.size() == names.size()) ? byId : names;
    }
    return {};
}

cv::Size sizeIn(const Metadata& metadata) {
    constexpr int kLargest = 1 << 14;
    int sides[2] = {};
    for (int k = 0; k < 2; ++k) {
        const Json side = noteOf(metadata, k ? "imgsz_w" : "imgsz_h");
        if (!side.is_number_integer() || side < 1 || side > kLargest) return {};
        sides[k] = side.get<int>();
    }
    return {sides[1], sides[0]};
}

}  // namespace mpm::models
