// Objects and identities in the metadata of frames.
#include <string>
#include <vector>

#include <gst/video/video.h>
#include <gtest/gtest.h>
#ifdef MPM_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

#include "harness.hpp"

using namespace mpm::test;

namespace {

TEST(MpmSegment, ADetectorsObjectsAreMetadata) {
    Harness harness("model=" + variable("MPM_DETECTOR") + " threshold=0.5");
    harness.caps();
    GstBuffer* out = harness.frame();
    ASSERT_NE(out, nullptr);
#ifdef MPM_GST_ANALYTICS
    GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(out);
    ASSERT_NE(meta, nullptr);
    gpointer state = nullptr;
    GstAnalyticsMtd object;
    int count = 0;
    while (gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(), &object)) {
        gint x = 0, y = 0, w = 0, h = 0;
        gfloat score = 0;
        gst_analytics_od_mtd_get_location(&object, &x, &y, &w, &h, &score);
        EXPECT_EQ(y, 12);
        EXPECT_STREQ(g_quark_to_string(gst_analytics_od_mtd_get_obj_type(&object)),
                     count == 0 ? "left" : "right");
        ++count;
    }
    EXPECT_EQ(count, 2);
#else
    gpointer state = nullptr;
    std::vector<std::string> found;
    while (GstMeta* meta =
               gst_buffer_iterate_meta_filtered(out, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
        auto* region = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
        found.emplace_back(g_quark_to_string(region->roi_type));
        EXPECT_EQ(region->x, found.size() == 1 ? 8U : 40U);
        EXPECT_EQ(region->y, 12U);
        EXPECT_EQ(region->w, 16U);
        EXPECT_EQ(region->h, 24U);
        GstStructure* detection = gst_video_region_of_interest_meta_get_param(region, "detection");
        ASSERT_NE(detection, nullptr);
        double confidence = 0;
        gst_structure_get_double(detection, "confidence", &confidence);
        EXPECT_GT(confidence, .8);
    }
    EXPECT_EQ(found, (std::vector<std::string>{"left", "right"}));
#endif
    gst_buffer_unref(out);
}

#ifdef MPM_GST_ANALYTICS
std::vector<int> identities(GstBuffer* buffer) {
    std::vector<int> ids;
    GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
    gpointer state = nullptr;
    GstAnalyticsMtd object, track;
    while (meta &&
           gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(), &object)) {
        gpointer related = nullptr;
        guint64 id = 0;
        GstClockTime first = 0, last = 0;
        gboolean lost = TRUE;
        if (gst_analytics_relation_meta_get_direct_related(meta, object.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                                           gst_analytics_tracking_mtd_get_mtd_type(),
                                                           &related, &track))
            gst_analytics_tracking_mtd_get_info(&track, &id, &first, &last, &lost);
        ids.push_back(static_cast<int>(id));
    }
    return ids;
}
#else
std::vector<int> identities(GstBuffer* buffer) {
    std::vector<int> ids;
    gpointer state = nullptr;
    while (GstMeta* meta =
               gst_buffer_iterate_meta_filtered(buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
        GstStructure* identity = gst_video_region_of_interest_meta_get_param(
            reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta), "object_id");
        gint id = 0;
        if (identity) gst_structure_get_int(identity, "id", &id);
        ids.push_back(id);
    }
    return ids;
}
#endif

/// Pushes a frame, and returns the identities in the metadata of the output.
std::vector<int> identities(Harness& harness, int number) {
    GstBuffer* out = harness.frame(number);
    const std::vector<int> ids = out ? identities(out) : std::vector<int>{};
    if (out) gst_buffer_unref(out);
    return ids;
}

TEST(MpmSegment, ObjectsKeepTheirIdentity) {
    Harness harness("model=" + variable("MPM_DETECTOR"));
    harness.caps();
    for (int number = 0; number < 4; ++number)
        EXPECT_EQ(identities(harness, number), (std::vector<int>{1, 2}));
    EXPECT_EQ(identities(harness, 1), (std::vector<int>{1, 2})) << "after a seek they begin anew";
    g_object_set(harness.element(), "objects", "right", nullptr);
    EXPECT_EQ(identities(harness, 4), (std::vector<int>{1}));
    g_object_set(harness.element(), "objects", "", "threshold", 0.9, nullptr);
    EXPECT_EQ(identities(harness, 5), (std::vector<int>{1}));
    g_object_set(harness.element(), "objects", "unicorn", nullptr);
    EXPECT_EQ(harness.push(6), GST_FLOW_ERROR);
    EXPECT_NE(harness.error().find("objects: the model has no class \"unicorn\""), std::string::npos);
}

TEST(MpmSegment, RegionsOfChosenClassesAreObjects) {
    Harness harness("model=default objects=sky,road,building,tree,car");
    harness.caps();
    const std::vector<int> first = identities(harness, 2), second = identities(harness, 2);
    EXPECT_FALSE(first.empty());
    EXPECT_EQ(first, second);
    g_object_set(harness.element(), "objects", "", nullptr);
    EXPECT_TRUE(identities(harness, 2).empty());
}

}  // namespace
