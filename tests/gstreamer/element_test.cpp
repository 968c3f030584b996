// The element mpmsegment in GstHarness: caps, metadata, properties that change during playback, QoS, and
// errors on the bus.
#include <cstring>
#include <string>
#include <vector>

#include <gst/video/video.h>
#include <gtest/gtest.h>
#ifdef MPM_GST_SEGMENTATION
#include <gst/analytics/analytics.h>
#endif

#include "harness.hpp"

using namespace mpm::test;

namespace {

std::vector<int> tokensOf(GstBuffer* buffer) {
    std::vector<int> tokens;
    GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, "MpmSegmentMeta");
    if (meta == nullptr) return tokens;
    const GValue* array = gst_structure_get_value(gst_custom_meta_get_structure(meta), "tokens");
    for (guint i = 0; i < gst_value_array_get_size(array); ++i)
        tokens.push_back(g_value_get_int(gst_value_array_get_value(array, i)));
    return tokens;
}

std::string formatOf(Harness& harness) {
    GstCaps* caps = gst_pad_get_current_caps(harness.get()->sinkpad);
    const std::string format = gst_structure_get_string(gst_caps_get_structure(caps, 0), "format");
    gst_caps_unref(caps);
    return format;
}

TEST(MpmSegment, FramesKeepSizeTimeAndCarryMetadata) {
    Harness harness("blocks=1 output=map model=" + tiny());
    harness.caps();
    GstBuffer* out = harness.frame(3);
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(gst_buffer_get_size(out), 64u * 48 * 3);
    EXPECT_EQ(GST_BUFFER_PTS(out), 120 * GST_MSECOND);
    EXPECT_EQ(formatOf(harness), "BGR");
    const std::vector<int> tokens = tokensOf(out);
    ASSERT_EQ(tokens.size(), 3u);
    EXPECT_EQ(tokens[0], 16);
    EXPECT_LT(tokens[1], 16);
    GstStructure* meta = gst_custom_meta_get_structure(gst_buffer_get_custom_meta(out, "MpmSegmentMeta"));
    double total = 0, network = 0;
    EXPECT_TRUE(gst_structure_get(meta, "total-ms", G_TYPE_DOUBLE, &total, "network-ms", G_TYPE_DOUBLE,
                                  &network, nullptr));
    EXPECT_GE(total, network);
    EXPECT_GT(network, 0);
    gst_buffer_unref(out);
}

TEST(MpmSegment, PropertiesChangeWhileItPlays) {
    Harness harness("blocks=none output=map model=" + tiny());
    harness.caps();
    GstBuffer* first = harness.frame(0);
    EXPECT_EQ(tokensOf(first), (std::vector<int>{16, 16, 16}));
    g_object_set(harness.element(), "blocks", "1", "precision", "i8", "opacity", 0.2, nullptr);
    GstBuffer* second = harness.frame(1);
    EXPECT_LT(tokensOf(second).at(1), 16);
    gchar* blocks = nullptr;
    double opacity = 0;
    g_object_get(harness.element(), "blocks", &blocks, "opacity", &opacity, nullptr);
    EXPECT_STREQ(blocks, "1");
    EXPECT_EQ(opacity, 0.2);
    g_free(blocks);
    gst_buffer_unref(first);
    gst_buffer_unref(second);
}

TEST(MpmSegment, TheSizeMayChange) {
    Harness harness("output=map model=" + tiny());
    harness.caps();
    gst_buffer_unref(harness.frame(0));
    harness.caps("video/x-raw,format=BGR,width=34,height=20,framerate=25/1");
    ASSERT_EQ(harness.push(1, 34, 20), GST_FLOW_OK);
    GstBuffer* out = gst_harness_try_pull(harness.get());
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(gst_buffer_get_size(out), 104u * 20);  // rows are padded to a multiple of 4 bytes
    gst_buffer_unref(out);
}

TEST(MpmSegment, LatencyIsReportedAndPassedOn) {
    Harness harness("output=map model=" + tiny());
    harness.caps();
    gst_harness_set_upstream_latency(harness.get(), 10 * GST_MSECOND);
    gst_buffer_unref(harness.frame(0));
    EXPECT_GT(harness.messages(GST_MESSAGE_LATENCY), 0);
    EXPECT_GT(gst_harness_query_latency(harness.get()), 10 * GST_MSECOND);
}

TEST(MpmSegment, LateFramesAreDroppedAndCounted) {
    Harness harness("output=map model=" + tiny());
    harness.caps();
    gst_buffer_unref(harness.frame(0));
    // The sink reports that a frame arrived one second late.
    gst_harness_push_upstream_event(
        harness.get(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2, GST_SECOND, 40 * GST_MSECOND));
    for (int number = 1; number < 10; ++number)
        EXPECT_EQ(harness.push(number), GST_FLOW_OK);
    EXPECT_EQ(gst_harness_buffers_in_queue(harness.get()), 0u);
    GstMessage* message = nullptr;
    guint64 processed = 0, dropped = 0;
    while (GstMessage* next = harness.message(GST_MESSAGE_QOS)) {
        if (message) gst_message_unref(message);
        message = next;
    }
    ASSERT_NE(message, nullptr);
    gst_message_parse_qos_stats(message, nullptr, &processed, &dropped);
    EXPECT_EQ(dropped, 9u);
    gst_message_unref(message);
    EXPECT_EQ(harness.push(60), GST_FLOW_OK);  // at 2.4 s: no longer late, so not dropped
    EXPECT_EQ(gst_harness_buffers_in_queue(harness.get()), 1u);
}

int g_criticals = 0;

void countCritical(const gchar*, GLogLevelFlags, const gchar*, gpointer) {
    ++g_criticals;
}

TEST(MpmSegment, ASegmentInBytesIsRejectedOnce) {
    Harness harness("output=map model=" + tiny());
    harness.caps();
    gst_buffer_unref(harness.frame(0));
    GstSegment bytes;
    gst_segment_init(&bytes, GST_FORMAT_BYTES);
    ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_segment(&bytes)));
    g_criticals = 0;
    const GLogFunc before = g_log_set_default_handler(countCritical, nullptr);
    for (int number = 1; number < 4; ++number)
        EXPECT_EQ(harness.push(number), GST_FLOW_ERROR);
    g_log_set_default_handler(before, nullptr);
    EXPECT_EQ(g_criticals, 0);
    const std::string error = harness.error();
    EXPECT_NE(error.find("bytes"), std::string::npos) << error;
    EXPECT_EQ(harness.error(), "") << "the reason is posted once";
    GstSegment time;
    gst_segment_init(&time, GST_FORMAT_TIME);
    ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_segment(&time)));
    EXPECT_EQ(harness.push(4), GST_FLOW_OK) << harness.error();
}

#ifdef MPM_GST_SEGMENTATION
/// Expects that the mask in the metadata equals the labels in the buffer, and that each region has the name
/// of the class.
void expectAnalytics(GstBuffer* out, const GValue* names) {
    GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(out);
    ASSERT_NE(meta, nullptr);
    gpointer state = nullptr;
    GstAnalyticsMtd found, regions;
    ASSERT_TRUE(gst_analytics_relation_meta_iterate(meta, &state,
                                                    gst_analytics_segmentation_mtd_get_mtd_type(), &regions));
    gint x = -1, y = -1;
    guint width = 0, height = 0;
    GstBuffer* mask = gst_analytics_segmentation_mtd_get_mask(&regions, &x, &y, &width, &height);
    ASSERT_NE(mask, nullptr);
    EXPECT_TRUE(x == 0 && y == 0 && width == 64 && height == 48);
    GstMapInfo labels, copied;
    ASSERT_TRUE(gst_buffer_map(out, &labels, GST_MAP_READ) && gst_buffer_map(mask, &copied, GST_MAP_READ));
    ASSERT_EQ(labels.size, copied.size);
    EXPECT_EQ(std::memcmp(labels.data, copied.data, labels.size), 0);
    const gsize count = gst_analytics_segmentation_mtd_get_region_count(&regions);
    EXPECT_EQ(count, gst_value_array_get_size(names));
    for (gsize i = 0; i < count; ++i)
        EXPECT_NE(std::memchr(labels.data,
                              static_cast<int>(gst_analytics_segmentation_mtd_get_region_id(&regions, i)),
                              labels.size),
                  nullptr);
    gst_buffer_unmap(out, &labels);
    gst_buffer_unmap(mask, &copied);
    gst_buffer_unref(mask);
    state = nullptr;
    ASSERT_TRUE(
        gst_analytics_relation_meta_get_direct_related(meta, regions.id, GST_ANALYTICS_REL_TYPE_N_TO_N,
                                                       gst_analytics_cls_mtd_get_mtd_type(), &state, &found));
    for (guint i = 0; i < gst_value_array_get_size(names); ++i)
        EXPECT_STREQ(g_quark_to_string(gst_analytics_cls_mtd_get_quark(&found, i)),
                     g_value_get_string(gst_value_array_get_value(names, i)));
}
#endif

TEST(MpmSegment, LabelsAndAlertsOfTheShippedModel) {
    Harness harness("model=default output=labels");
    harness.caps();
    GstBuffer* out = harness.frame(2);
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(formatOf(harness), "GRAY8");
    EXPECT_EQ(gst_buffer_get_size(out), 64u * 48);
    GstStructure* meta = gst_custom_meta_get_structure(gst_buffer_get_custom_meta(out, "MpmSegmentMeta"));
    const GValue* names = gst_structure_get_value(meta, "classes");
    const GValue* shares = gst_structure_get_value(meta, "shares");
    ASSERT_GE(gst_value_array_get_size(names), 1u);
    ASSERT_EQ(gst_value_array_get_size(names), gst_value_array_get_size(shares));
    double sum = 0;
    for (guint i = 0; i < gst_value_array_get_size(shares); ++i)
        sum += g_value_get_double(gst_value_array_get_value(shares, i));
    EXPECT_NEAR(sum, 1, 1e-6);
    const std::string seen = g_value_get_string(gst_value_array_get_value(names, 0));
#ifdef MPM_GST_SEGMENTATION
    expectAnalytics(out, names);
#endif
    gst_buffer_unref(out);

    EXPECT_EQ(harness.messages(GST_MESSAGE_ELEMENT), 0);
    g_object_set(harness.element(), "alert-class", seen.c_str(), "alert-share", 1e-4, nullptr);
    for (int number = 3; number < 5; ++number) {
        out = harness.frame(2);
        gst_buffer_unref(out);
    }
    GstMessage* message = harness.message(GST_MESSAGE_ELEMENT);
    ASSERT_NE(message, nullptr);
    const GstStructure* alert = gst_message_get_structure(message);
    EXPECT_TRUE(gst_structure_has_name(alert, "mpm-alert"));
    EXPECT_EQ(gst_structure_get_string(alert, "class"), seen);
    gst_message_unref(message);
    EXPECT_EQ(harness.messages(GST_MESSAGE_ELEMENT), 0) << "a condition that persists is one message";

    // alert-hold is measured in stream time. Frame 258 has the pixels of frame 2 and is 10.24 s later.
    g_object_set(harness.element(), "alert-share", 2e-4, "alert-hold", 10'000u, nullptr);
    for (const int number : {2, 258}) {
        EXPECT_EQ(harness.messages(GST_MESSAGE_ELEMENT), 0);
        gst_buffer_unref(harness.frame(number));
    }
    EXPECT_EQ(harness.messages(GST_MESSAGE_ELEMENT), 1);
}

TEST(MpmSegment, AfterASeekTheHoldOfAnAlertBeginsAnew) {
    Harness harness("model=default output=labels alert-share=0.0001 alert-hold=1000");
    harness.caps();
    GstBuffer* out = harness.frame(2);
    GstStructure* meta = gst_custom_meta_get_structure(gst_buffer_get_custom_meta(out, "MpmSegmentMeta"));
    const std::string seen =
        g_value_get_string(gst_value_array_get_value(gst_structure_get_value(meta, "classes"), 0));
    gst_buffer_unref(out);
    g_object_set(harness.element(), "alert-class", seen.c_str(), nullptr);
    gst_buffer_unref(harness.frame(2));
    gst_harness_push_event(harness.get(), gst_event_new_flush_start());
    gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_segment(&segment)));
    // Frames 98 and 130 have the pixels of frame 2 and are 3.84 s and 5.12 s later.
    gst_buffer_unref(harness.frame(98));
    EXPECT_EQ(harness.messages(GST_MESSAGE_ELEMENT), 0);
    gst_buffer_unref(harness.frame(130));
    EXPECT_EQ(harness.messages(GST_MESSAGE_ELEMENT), 1);
}

/// Plays a pipeline of videotestsrc and the element; returns the first error, or "EOS".
std::string play(GstElement* pipeline) {
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstBus* bus = gst_element_get_bus(pipeline);
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, 30 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
    std::string text = message ? "EOS" : "nothing";
    if (message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
        GError* error = nullptr;
        gst_message_parse_error(message, &error, nullptr);
        text = error->message;
        g_error_free(error);
    }
    if (message) gst_message_unref(message);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    return text;
}

TEST(MpmSegment, ErrorsAreOnTheBusAndThePipelineIsReusable) {
    const std::string text =
        "videotestsrc num-buffers=3 ! video/x-raw,format=BGR,width=64,height=48 ! mpmsegment name=m "
        "output=map ! fakesink";
    GstElement* pipeline = gst_parse_launch(text.c_str(), nullptr);
    GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), "m");
    struct Wrong {
        const char *property, *value, *words, *right;
    };
    for (const Wrong& wrong :
         {Wrong{"model", "missing.onnx", "no such file", nullptr}, Wrong{"blocks", "99", "blocks", "1"},
          Wrong{"blocks", "two", "blocks: expected", "1"}, Wrong{"precision", "f8", "precision", "f32"},
          Wrong{"device", "abacus", "device", "cpu"}, Wrong{"reuse", "often", "reuse", "off"},
          Wrong{"alert-class", "moon", "alert-class", ""}, Wrong{"objects", "moon", "objects", ""}}) {
        g_object_set(element, "model", tiny().c_str(), nullptr);
        g_object_set(element, wrong.property, wrong.value, nullptr);
        EXPECT_NE(play(pipeline).find(wrong.words), std::string::npos)
            << wrong.property << "=" << wrong.value;
        g_object_set(element, "model", tiny().c_str(), nullptr);
        if (wrong.right) g_object_set(element, wrong.property, wrong.right, nullptr);
        EXPECT_EQ(play(pipeline), "EOS") << wrong.property;
    }
    gst_util_set_object_arg(G_OBJECT(element), "output", "labels");
    EXPECT_NE(play(pipeline).find("no classes"), std::string::npos);
    gst_util_set_object_arg(G_OBJECT(element), "output", "map");
    EXPECT_EQ(play(pipeline), "EOS");
    gst_object_unref(element);
    gst_object_unref(pipeline);
}

TEST(MpmSegment, AWrongValueWhileItPlaysIsAnErrorOnTheBus) {
    Harness harness("blocks=1 output=map model=" + tiny());
    harness.caps();
    gst_buffer_unref(harness.frame(0));
    g_object_set(harness.element(), "blocks", "7,3", nullptr);
    EXPECT_EQ(harness.push(1), GST_FLOW_ERROR);
    EXPECT_NE(harness.error().find("blocks"), std::string::npos);
    g_object_set(harness.element(), "blocks", "1", nullptr);
    EXPECT_EQ(harness.push(2), GST_FLOW_OK);
}

TEST(MpmSegment, OtherFormatsAreNotAccepted) {
    GstElement* pipeline =
        gst_parse_launch(("videotestsrc num-buffers=1 ! video/x-raw,format=I420 ! mpmsegment "
                          "output=map model=" +
                          tiny() + " ! fakesink")
                             .c_str(),
                         nullptr);
    EXPECT_NE(play(pipeline), "EOS");
    gst_object_unref(pipeline);
}

TEST(MpmSegment, TheModelFileIsNotNeededWhileItPlaysAndEosPasses) {
    const std::string copy = variable("MPM_SCRATCH") + "/moved.onnx";
    ASSERT_EQ(std::system(("cp '" + tiny() + "' '" + copy + "'").c_str()), 0);
    Harness harness("output=map model=" + copy);
    harness.caps();
    gst_buffer_unref(harness.frame(0));
    std::remove(copy.c_str());
    gst_buffer_unref(harness.frame(1));
    EXPECT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_eos()));
    EXPECT_EQ(harness.push(2), GST_FLOW_EOS);
    EXPECT_EQ(harness.error(), "");
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    gst_init(&argc, &argv);
    return RUN_ALL_TESTS();
}
