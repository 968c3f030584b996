// SHA-256 of a file: identifies the export that a model was converted from.
#pragma once

#include <string>

namespace mpm::models {

std::string sha256OfFile(const std::string& path);

}  // namespace mpm::models
