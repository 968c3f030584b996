// The figures of a frame as a custom meta of the buffer, and alerts as messages of the bus.
#pragma once

#include <gst/gst.h>

#include "gstreamer/engine.hpp"

namespace mpm::gst {

/// The name of the meta; gst_buffer_get_custom_meta() finds it.
inline constexpr const char* kMetaName = "MpmSegmentMeta";

/// Call it once in the process, before the first addMeta().
void registerMeta();

/// Adds the meta. Fields: tokens (array of int), total-ms, network-ms, merge-ms, restore-ms, recomputed
/// (double); classes (array of text) and shares (array of double) of the classes that the frame has.
void addMeta(GstBuffer* buffer, const FrameFigures& figures);

/// Adds a region of interest for each object, with the name of its class and a structure "detection":
/// confidence (double), label-id (int) and the corners left, top, right and bottom (double, in pixels). If
/// the object has an identity, the region also has a structure "object_id": id (int).
void addRegions(GstBuffer* buffer, const FrameFigures& figures);

/// Adds objects and labels as GStreamer's analytics metadata, which other elements read; compiled if
/// GStreamer has it (1.24). Each object gets an object detection; if the object has an identity, also a
/// related tracking. From 1.26 on, labels get a semantic segmentation, whose mask has the class ids, and a
/// classification that names the regions. Adds nothing if there are neither objects nor labels.
void addAnalytics(GstBuffer* buffer, const FrameFigures& figures);

/// Posts "mpm-alert" with the fields class, share and stream-time.
void postAlert(GstElement* element, const pipeline::Alert& alert, GstClockTime streamTime);

}  // namespace mpm::gst
