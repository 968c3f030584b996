#include "gstreamer/metadata.hpp"

#include <algorithm>

#include <gst/analytics/analytics.h>
#include <gst/video/video.h>

namespace mpm::gst {

/// Adds the objects. Rounds boxes to whole pixels, because this metadata has only whole numbers.
static void addObjects(GstAnalyticsRelationMeta* meta, const FrameFigures& figures) {
    for (const FrameObject& one : figures.objects) {
        const cv::Rect2f& box = one.found.box;
        GstAnalyticsODMtd object;
        GstAnalyticsTrackingMtd track;
        if (!gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string(one.name.c_str()),
                                                    cvFloor(box.x), cvFloor(box.y), cvCeil(box.width),
                                                    cvCeil(box.height), one.found.score, &object))
            return;
        const auto since = static_cast<GstClockTime>(std::max(0., one.since) * GST_SECOND);
        if (one.id != 0 &&
            gst_analytics_relation_meta_add_tracking_mtd(meta, static_cast<guint64>(one.id), since, &track))
            gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, object.id,
                                                     track.id);
    }
}

#ifdef MPM_GST_SEGMENTATION
namespace {

GstBuffer* maskOf(const cv::Mat& labels) {
    const auto rows = static_cast<guint>(labels.rows), columns = static_cast<guint>(labels.cols);
    const GstVideoFormat format = labels.type() == CV_8U            ? GST_VIDEO_FORMAT_GRAY8
                                  : G_BYTE_ORDER == G_LITTLE_ENDIAN ? GST_VIDEO_FORMAT_GRAY16_LE
                                                                    : GST_VIDEO_FORMAT_GRAY16_BE;
    GstVideoInfo info;
    if (!gst_video_info_set_format(&info, format, columns, rows)) return nullptr;
    GstBuffer* mask = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
    if (mask == nullptr) return nullptr;
    GstMapInfo memory;
    if (!gst_buffer_map(mask, &memory, GST_MAP_WRITE)) {
        gst_buffer_unref(mask);
        return nullptr;
    }
    cv::Mat copy(labels.size(), labels.type(), memory.data,
                 static_cast<size_t>(GST_VIDEO_INFO_PLANE_STRIDE(&info, 0)));
    labels.copyTo(copy);
    gst_buffer_unmap(mask, &memory);
    gst_buffer_add_video_meta_full(mask, GST_VIDEO_FRAME_FLAG_NONE, format, columns, rows, 1, info.offset,
                                   info.stride);
    return mask;
}

}  // namespace

/// Adds a mask of class ids, and the names of its regions.
static void addSegmentation(GstAnalyticsRelationMeta* meta, const FrameFigures& figures) {
    std::vector<guint> regions;
    std::vector<GQuark> names;
    for (size_t i = 0; i < figures.shares.size() && i < figures.classes.size(); ++i) {
        if (figures.shares[i] <= 0) continue;
        regions.push_back(static_cast<guint>(i));
        names.push_back(g_quark_from_string(figures.classes[i].c_str()));
    }
    if (regions.empty()) return;
    GstBuffer* mask = maskOf(figures.labels);
    if (mask == nullptr) return;
    GstAnalyticsMtd segmentation, classification;
    const auto columns = static_cast<guint>(figures.labels.cols),
               rows = static_cast<guint>(figures.labels.rows);
    if (!gst_analytics_relation_meta_add_segmentation_mtd(meta, mask, GST_SEGMENTATION_TYPE_SEMANTIC,
                                                          regions.size(), regions.data(), 0, 0, columns, rows,
                                                          &segmentation))
        return;
    std::vector<gfloat> levels(regions.size(), 1.f);
    if (gst_analytics_relation_meta_add_cls_mtd(meta, levels.size(), levels.data(), names.data(),
                                                &classification))
        gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_N_TO_N, segmentation.id,
                                                 classification.id);
}
#else
static void addSegmentation(GstAnalyticsRelationMeta*, const FrameFigures&) {}
#endif

void addAnalytics(GstBuffer* buffer, const FrameFigures& figures) {
    if (figures.objects.empty() && figures.labels.empty()) return;
    GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);  // null if there is none
    if (meta == nullptr) meta = gst_buffer_add_analytics_relation_meta(buffer);
    addObjects(meta, figures);
    addSegmentation(meta, figures);
}

}  // namespace mpm::gst
