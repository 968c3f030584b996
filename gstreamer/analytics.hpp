// Labels as GStreamer's own analytics metadata, which other elements understand. Compiled where GStreamer has
// it (1.26).
#pragma once

#include <gst/gst.h>

#include "gstreamer/engine.hpp"

namespace mpm::gst {

/// Adds a semantic segmentation, whose mask holds the class ids, and a classification that names its regions.
/// Nothing if the model has no classes.
void addAnalytics(GstBuffer* buffer, const FrameFigures& figures);

}  // namespace mpm::gst
