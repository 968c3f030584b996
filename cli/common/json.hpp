// JSON reports as text.
#pragma once

#include <string>

#include "pipeline/measure/counts_json.hpp"

namespace mpm::cli {

using pipeline::finite;
using pipeline::Json;

/// Indented, each list of plain values on a single line.
std::string reportText(const Json& report);

/// Throws Error as writeText.
void writeJson(const std::string& path, const Json& report);

}  // namespace mpm::cli
