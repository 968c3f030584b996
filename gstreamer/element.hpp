// The element mpmsegment.
#pragma once

#include <gst/video/gstvideofilter.h>

G_BEGIN_DECLS

#define MPM_TYPE_SEGMENT (mpm_segment_get_type())
G_DECLARE_FINAL_TYPE(MpmSegment, mpm_segment, MPM, SEGMENT, GstVideoFilter)
GST_ELEMENT_REGISTER_DECLARE(mpmsegment)

G_END_DECLS
