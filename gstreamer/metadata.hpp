// Functions that add a frame's figures to a buffer as a custom meta, and post alerts as messages on the bus.
#pragma once

#include <gst/gst.h>

#include "gstreamer/engine.hpp"

namespace mpm::gst {

/// The name of the meta, for gst_buffer_get_custom_meta().
inline constexpr const char* kMetaName = "MpmSegmentMeta";

/// Must be called once in the process, before the first addMeta().
void registerMeta();

/// Adds the meta. Fields: tokens (array of int); total-ms, network-ms, merge-ms, restore-ms and recomputed
/// (double); for the classes in the frame, classes (array of string) and shares (array of double).
void addMeta(GstBuffer* buffer, const FrameFigures& figures);

/// Adds a region of interest for each object, with the name of its class. The structure "detection" has the
/// fields confidence (double), label-id (int), and left, top, right and bottom (double, in pixels). If the
/// object has an identity, the region also has a structure "object_id" with the field id (int).
void addRegions(GstBuffer* buffer, const FrameFigures& figures);

/// Adds objects and labels as GStreamer's analytics metadata, which other elements can read. Compiled only
/// for GStreamer 1.24 or later. Each object becomes an object detection; if the object has an identity, also
/// a tracking entry, which is related to the detection. In GStreamer 1.26 or later, labels become a semantic
/// segmentation, whose mask contains class ids, and a classification with the names of the classes. Adds
/// nothing if there are neither objects nor labels.
void addAnalytics(GstBuffer* buffer, const FrameFigures& figures);

/// Posts the message "mpm-alert" with the fields class, share and stream-time.
void postAlert(GstElement* element, const pipeline::Alert& alert, GstClockTime streamTime);

}  // namespace mpm::gst
