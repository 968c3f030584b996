#include "gstreamer/metadata.hpp"

#include <gst/video/video.h>

namespace mpm::gst {

namespace {

template <class Value, class Set>
void setArray(GstStructure* to, const char* name, GType type, const std::vector<Value>& values,
              const Set& set) {
    GValue array = G_VALUE_INIT, entry = G_VALUE_INIT;
    g_value_init(&array, GST_TYPE_ARRAY);
    g_value_init(&entry, type);
    for (const Value& value : values) {
        set(&entry, value);
        gst_value_array_append_value(&array, &entry);
    }
    gst_structure_take_value(to, name, &array);
    g_value_unset(&entry);
}

/// Adds class names and shares as two arrays, not as a field for each class, because some class names are not
/// valid field names.
void setShares(GstStructure* to, const FrameFigures& figures) {
    std::vector<const char*> names;
    std::vector<double> shares;
    for (size_t i = 0; i < figures.shares.size() && i < figures.classes.size(); ++i) {
        if (figures.shares[i] <= 0) continue;
        names.push_back(figures.classes[i].c_str());
        shares.push_back(figures.shares[i]);
    }
    setArray(to, "classes", G_TYPE_STRING, names, g_value_set_string);
    setArray(to, "shares", G_TYPE_DOUBLE, shares, g_value_set_double);
}

}  // namespace

void registerMeta() {
    static const char* const kTags[] = {nullptr};
    if (gst_meta_get_info(kMetaName) == nullptr)
        gst_meta_register_custom(kMetaName, const_cast<const char**>(kTags), nullptr, nullptr, nullptr);
}

void addMeta(GstBuffer* buffer, const FrameFigures& figures) {
    // Removes the meta of an earlier mpmsegment element, because readers would find that meta first.
    if (GstCustomMeta* before = gst_buffer_get_custom_meta(buffer, kMetaName))
        gst_buffer_remove_meta(buffer, &before->meta);
    GstCustomMeta* meta = gst_buffer_add_custom_meta(buffer, kMetaName);
    if (meta == nullptr) return;
    GstStructure* structure = gst_custom_meta_get_structure(meta);
    setArray(structure, "tokens", G_TYPE_INT, figures.tokens, g_value_set_int);
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
