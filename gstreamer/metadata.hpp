// The figures of a frame as a custom meta of the buffer, and alerts as messages of the bus.
#pragma once

#include <gst/gst.h>

#include "gstreamer/engine.hpp"

namespace mpm::gst {

/// The name of the meta; gst_buffer_get_custom_meta() finds it.
inline constexpr const char* kMetaName = "MpmSegmentMeta";

/// Once for the process, before the first addMeta().
void registerMeta();

/// Fields: tokens (array of int), total-ms, network-ms, merge-ms, restore-ms, recomputed (double); classes
/// (array of text) and shares (array of double) of the classes that the frame has.
void addMeta(GstBuffer* buffer, const FrameFigures& figures);

/// A region of interest for each object, of its class's name, with a structure "detection": confidence
/// (double), label-id (int) and the corners left, top, right and bottom (double, in pixels). If the object
/// has an identity, a structure "object_id": id (int).
void addRegions(GstBuffer* buffer, const FrameFigures& figures);

/// Objects and labels as GStreamer's analytics metadata, which other elements understand; compiled if
/// GStreamer has it (1.24). An object detection for each object; if it has an identity, it is related to a
/// tracking. From 1.26 on, a semantic segmentation, whose mask holds the class ids, and a classification that
/// names the regions. Nothing if the model has neither.
void addAnalytics(GstBuffer* buffer, const FrameFigures& figures);

/// Posts "mpm-alert" with the fields class, share and stream-time.
void postAlert(GstElement* element, const pipeline::Alert& alert, GstClockTime streamTime);

}  // namespace mpm::gst
