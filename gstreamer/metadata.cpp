#include "gstreamer/metadata.hpp"

#include <gst/video/video.h>

namespace mpm::gst {

namespace {

void setTokens(GstStructure* to, const std::vector<int>& tokens) {
    GValue array = G_VALUE_INIT, entry = G_VALUE_INIT;
    g_value_init(&array, GST_TYPE_ARRAY);
    g_value_init(&entry, G_TYPE_INT);
    for (const int count : tokens) {
        g_value_set_int(&entry, count);
        gst_value_array_append_value(&array, &entry);
    }
    gst_structure_take_value(to, "tokens", &array);
    g_value_unset(&entry);
}

/// Two arrays instead of a field per class: names of fields are restricted, names of classes are not.
void setShares(GstStructure* to, const FrameFigures& figures) {
    GValue names = G_VALUE_INIT, shares = G_VALUE_INIT, name = G_VALUE_INIT, share = G_VALUE_INIT;
    g_value_init(&names, GST_TYPE_ARRAY);
    g_value_init(&shares, GST_TYPE_ARRAY);
    g_value_init(&name, G_TYPE_STRING);
    g_value_init(&share, G_TYPE_DOUBLE);
    for (size_t i = 0; i < figures.shares.size() && i < figures.classes.size(); ++i) {
        if (figures.shares[i] <= 0) continue;
        g_value_set_string(&name, figures.classes[i].c_str());
        g_value_set_double(&share, figures.shares[i]);
        gst_value_array_append_value(&names, &name);
        gst_value_array_append_value(&shares, &share);
    }
    gst_structure_take_value(to, "classes", &names);
    gst_structure_take_value(to, "shares", &shares);
    g_value_unset(&name);
    g_value_unset(&share);
}

}  // namespace

void registerMeta() {
    static const char* const kTags[] = {nullptr};
    if (gst_meta_get_info(kMetaName) == nullptr)
        gst_meta_register_custom(kMetaName, const_cast<const char**>(kTags), nullptr, nullptr, nullptr);
}

void addMeta(GstBuffer* buffer, const FrameFigures& figures) {
    GstCustomMeta* meta = gst_buffer_add_custom_meta(buffer, kMetaName);
    if (meta == nullptr) return;
    GstStructure* structure = gst_custom_meta_get_structure(meta);
    setTokens(structure, figures.tokens);
    setShares(structure, figures);
    gst_structure_set(structure, "total-ms", G_TYPE_DOUBLE, figures.totalMs, "network-ms", G_TYPE_DOUBLE,
                      figures.networkMs, "merge-ms", G_TYPE_DOUBLE, figures.mergeMs, "restore-ms",
                      G_TYPE_DOUBLE, figures.restoreMs, "recomputed", G_TYPE_DOUBLE, figures.recomputed,
                      nullptr);
}

void addRegions(GstBuffer* buffer, const FrameFigures& figures) {
    for (size_t i = 0; i < figures.objects.size(); ++i) {
        const Detection& one = figures.objects[i].found;
        GstVideoRegionOfInterestMeta* meta = gst_buffer_add_video_region_of_interest_meta(
            buffer, figures.objects[i].name.c_str(), static_cast<guint>(one.box.x),
            static_cast<guint>(one.box.y), static_cast<guint>(cvCeil(one.box.width)),
            static_cast<guint>(cvCeil(one.box.height)));
        if (meta == nullptr) return;
        meta->id = static_cast<gint>(i);
        gst_video_region_of_interest_meta_add_param(
            meta, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, double(one.score), "label-id",
                                    G_TYPE_INT, one.label, "left", G_TYPE_DOUBLE, double(one.box.x), "top",
                                    G_TYPE_DOUBLE, double(one.box.y), "right", G_TYPE_DOUBLE,
                                    double(one.box.x + one.box.width), "bottom", G_TYPE_DOUBLE,
                                    double(one.box.y + one.box.height), nullptr));
        if (const auto id = figures.objects[i].id; id != 0)
            gst_video_region_of_interest_meta_add_param(
                meta, gst_structure_new("object_id", "id", G_TYPE_INT, static_cast<gint>(id), nullptr));
    }
}

void postAlert(GstElement* element, const pipeline::Alert& alert, GstClockTime streamTime) {
    GstStructure* structure =
        gst_structure_new("mpm-alert", "class", G_TYPE_STRING, alert.rule.c_str(), "share", G_TYPE_DOUBLE,
                          alert.value, "stream-time", G_TYPE_UINT64, streamTime, nullptr);
    gst_element_post_message(element, gst_message_new_element(GST_OBJECT(element), structure));
}

}  // namespace mpm::gst
