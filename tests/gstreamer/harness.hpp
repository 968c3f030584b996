// Runs the element mpmsegment in a GstHarness, with a bus that receives its messages.
#pragma once

#include <cstdlib>
#include <string>

#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

namespace mpm::test {

inline std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

inline std::string tiny() {
    return variable("MPM_TINY_MODEL");  // 32x32, three blocks, no classes
}

inline const std::string kCaps = "video/x-raw,format=BGR,width=64,height=48,framerate=25/1";

/// The element in a harness, with a bus that receives the messages.
class Harness {
public:
    explicit Harness(const std::string& properties) {
        GError* error = nullptr;
        m_element = gst_parse_launch(("mpmsegment name=m " + properties).c_str(), &error);
        EXPECT_EQ(error, nullptr) << (error ? error->message : "");
        g_clear_error(&error);
        m_bus = gst_bus_new();
        gst_element_set_bus(m_element, m_bus);
        m_harness = gst_harness_new_with_element(m_element, "sink", "src");
    }
    ~Harness() {
        gst_harness_teardown(m_harness);
        gst_element_set_bus(m_element, nullptr);
        gst_object_unref(m_bus);
        gst_object_unref(m_element);
    }
    Harness(const Harness&) = delete;
    Harness& operator=(const Harness&) = delete;

    GstHarness* get() { return m_harness; }
    GstElement* element() { return m_element; }
    void caps(const std::string& text = kCaps) { gst_harness_set_src_caps_str(m_harness, text.c_str()); }

    GstFlowReturn push(int number = 0, int width = 64, int height = 48) {
        const gsize size = GST_ROUND_UP_4(width * 3) * static_cast<gsize>(height);
        GstBuffer* buffer = gst_buffer_new_allocate(nullptr, size, nullptr);
        gst_buffer_memset(buffer, 0, static_cast<guint8>(40 * number), size);
        GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number) * 40 * GST_MSECOND;
        GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
        return gst_harness_push(m_harness, buffer);
    }

    /// Pushes a frame and returns the output buffer, which the caller must release.
    GstBuffer* frame(int number = 0) {
        EXPECT_EQ(push(number), GST_FLOW_OK) << error();
        return gst_harness_try_pull(m_harness);
    }

    /// Returns the text of the next error on the bus; empty if there is none.
    std::string error() {
        std::string text;
        if (GstMessage* message = gst_bus_pop_filtered(m_bus, GST_MESSAGE_ERROR)) {
            GError* error = nullptr;
            gst_message_parse_error(message, &error, nullptr);
            text = error->message;
            g_error_free(error);
            gst_message_unref(message);
        }
        return text;
    }

    /// Removes the messages of a type from the bus, and returns their number.
    int messages(GstMessageType type) {
        int count = 0;
        while (GstMessage* message = gst_bus_pop_filtered(m_bus, type)) {
            ++count;
            gst_message_unref(message);
        }
        return count;
    }

    GstMessage* message(GstMessageType type) { return gst_bus_pop_filtered(m_bus, type); }

private:
    GstElement* m_element = nullptr;
    GstBus* m_bus = nullptr;
    GstHarness* m_harness = nullptr;
};

}  // namespace mpm::test
