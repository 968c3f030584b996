// The segments of a JPEG file, and whether the file is complete, which OpenCV does not report.
#pragma once

#include "pipeline/image/header.hpp"

namespace mpm::pipeline {

struct JpegSegments {
    ImageHeader header;
    bool ends = false;        ///< the end marker is there, whatever follows it
    bool arithmetic = false;  ///< coded so, not by Huffman: a block may take less than a bit
    int scans = 0;
};

/// Steps over the segments by their lengths; nothing if there is no frame header.
std::optional<JpegSegments> jpegSegments(const FileBytes& file);

/// Whether the file was cut off in the middle of the image; libjpeg fills the missing part with grey without
/// an error. False if only the end marker is missing. No pixel is decoded.
bool isCutOffJpeg(const FileBytes& file, const JpegSegments& segments);

}  // namespace mpm::pipeline
