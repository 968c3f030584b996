// Functions that write result files atomically, so that other programs never see a half-written file.
#pragma once

#include <string>
#include <string_view>

#include <opencv2/core.hpp>

#include "base/pending_file.hpp"
#include "pipeline/measure/counts_json.hpp"

namespace mpm::cli {

/// Throws Error if `path` cannot be written to (kFailed) or is a folder (kWrongUse). Callers check the path
/// before a long measurement, so that its results are not lost.
void checkWritable(const std::string& path);

/// Writes a file; follows links, and writes to devices and pipes directly. Throws Error like checkWritable().
void writeBytes(const std::string& path, std::string_view bytes, Sync sync = Sync::Always);

/// Writes an image in the format of the path's extension. Throws Error(kFailed).
void writeImage(const std::string& path, const cv::Mat& image);

/// Throws Error(kFailed).
void makeFolder(const std::string& path);

using pipeline::Json;

/// Returns JSON with indentation; a list of plain values is on a single line.
std::string reportText(const Json& report);

/// Throws Error like writeBytes().
void writeJson(const std::string& path, const Json& report);

}  // namespace mpm::cli
