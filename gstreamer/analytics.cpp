#include "gstreamer/analytics.hpp"

#include <gst/analytics/analytics.h>
#include <gst/video/video.h>

namespace mpm::gst {

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

/// In whole pixels, as this metadata has them.
static void addObjects(GstBuffer* buffer, const FrameFigures& figures) {
    GstAnalyticsRelationMeta* meta = gst_buffer_add_analytics_relation_meta(buffer);
    for (size_t i = 0; i < figures.objects.size(); ++i) {
        const Detection& one = figures.objects[i];
        GstAnalyticsODMtd object;
        gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string(figures.objectNames[i].c_str()),
                                               cvFloor(one.box.x), cvFloor(one.box.y), cvCeil(one.box.width),
                                               cvCeil(one.box.height), one.score, &object);
    }
}

void addAnalytics(GstBuffer* buffer, const FrameFigures& figures) {
    if (!figures.objects.empty()) return addObjects(buffer, figures);
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
    GstAnalyticsRelationMeta* meta = gst_buffer_add_analytics_relation_meta(buffer);
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

}  // namespace mpm::gst
