#include "cli/common/files.hpp"

#include <algorithm>

namespace mpm::cli {

namespace {

/// File names need not be UTF-8, JSON must be.
std::string textOf(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string indented(const Json& json, size_t depth) {
    const bool flat = std::none_of(json.begin(), json.end(), [](const Json& j) { return j.is_structured(); });
    if (!json.is_structured() || json.empty() || (json.is_array() && flat)) return textOf(json);
    const std::string pad(2 * depth + 2, ' ');
    std::string text = json.is_array() ? "[" : "{";
    for (const auto& [key, value] : json.items()) {
        text += (text.size() > 1 ? ",\n" : "\n") + pad;
        if (json.is_object()) text += textOf(key) + ": ";
        text += indented(value, depth + 1);
    }
    return text + '\n' + std::string(2 * depth, ' ') + (json.is_array() ? "]" : "}");
}

}  // namespace

std::string reportText(const Json& report) {
    return indented(report, 0) + '\n';
}

void writeJson(const std::string& path, const Json& report) {
    writeText(path, reportText(report));
}

}  // namespace mpm::cli
