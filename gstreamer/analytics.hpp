// Labels as GStreamer's analytics metadata, which other elements understand. Compiled if GStreamer has it
// (1.26).
#pragma once

#include <gst/gst.h>

#include "gstreamer/engine.hpp"

namespace mpm::gst {

/// Adds a semantic segmentation, whose mask holds the class ids, and a classification that names the regions.
/// An object detection for each object; if it has an identity, it is related to a tracking. Nothing if the
/// model has neither.
void addAnalytics(GstBuffer* buffer, const FrameFigures& figures);

}  // namespace mpm::gst
