// The element mpmsegment and its plugin.
#include <gst/video/gstvideofilter.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include <mpm/precisions.hpp>

#include "base/stopwatch.hpp"
#include "gstreamer/engine.hpp"
#include "gstreamer/metadata.hpp"
#include "pipeline/segment/model_file.hpp"

G_BEGIN_DECLS

#define MPM_TYPE_SEGMENT (mpm_segment_get_type())
G_DECLARE_FINAL_TYPE(MpmSegment, mpm_segment, MPM, SEGMENT, GstVideoFilter)

G_END_DECLS

GST_DEBUG_CATEGORY_STATIC(mpm_segment_debug);
#define GST_CAT_DEFAULT mpm_segment_debug

using mpm::gst::Engine;
using mpm::gst::FrameFigures;
using mpm::gst::Output;
using mpm::gst::Settings;
using mpm::gst::SettingsError;

namespace {

enum Property : guint {
    kModel = 1,
    kBlocks,
    kPrecision,
    kDevice,
    kReuse,
    kOutput,
    kOpacity,
    kAlertClass,
    kAlertShare,
    kAlertHold,
    kThreshold,
    kObjects,
};

/// The C++ members of an element, in a separate struct because GObject calls no C++ constructors.
struct State {
    std::mutex guard;  ///< for `settings` and `changed`, because any thread may set properties
    Settings settings;
    bool changed = false;
    std::unique_ptr<Engine> engine;    ///< from start() to stop(), used by the streaming thread only
    FrameFigures figures;              ///< figures of the latest frame
    std::atomic<bool> flushed{false};  ///< whether the stream was flushed since the previous frame
    std::atomic<GstClockTime> latency{0};
};

GType outputType() {
    static const GEnumValue kValues[] = {
        {static_cast<int>(Output::Overlay), "The frame with the colours of the classes, BGR", "overlay"},
        {static_cast<int>(Output::Labels), "Class ids, GRAY8", "labels"},
        {static_cast<int>(Output::Map), "The frame with its merged tokens, BGR", "map"},
        {0, nullptr, nullptr}};
    static const GType type = g_enum_register_static("MpmSegmentOutput", kValues);
    return type;
}

}  // namespace

struct _MpmSegment {
    GstVideoFilter parent;
    State* state;
};

G_DEFINE_TYPE(MpmSegment, mpm_segment, GST_TYPE_VIDEO_FILTER)
GST_ELEMENT_REGISTER_DEFINE(mpmsegment, "mpmsegment", GST_RANK_NONE, MPM_TYPE_SEGMENT)

static GstStaticPadTemplate s_sink = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
                                                             GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("BGR")));
static GstStaticPadTemplate s_src = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("{ BGR, GRAY8 }")));

/// A property whose value is a member of the settings.
template <class Value>
struct SettingProperty {
    Property id;
    Value Settings::*member;
    const char *name, *title, *text;
    int when = GST_PARAM_MUTABLE_PLAYING;
    double least = 0;  ///< lower limit of numbers; the upper limit is 1
};

static const std::vector<SettingProperty<std::string>>& textProperties() {
    static const std::string precisions = mpm::precisionNames();
    static const std::vector<SettingProperty<std::string>> all = {
        {kModel, &Settings::model, "model", "Model",
         "An ONNX model of 'mpm convert', or default (the shipped model)", GST_PARAM_MUTABLE_READY},
        {kBlocks, &Settings::blocks, "blocks", "Blocks",
         "Merge tokens before these blocks, such as 2,5; none: never; empty: as the model file has it"},
        {kPrecision, &Settings::precision, "precision", "Precision", precisions.c_str()},
        {kDevice, &Settings::device, "device", "Device", "cpu, cuda, cuda:N or auto"},
        {kReuse, &Settings::reuse, "reuse", "Reuse",
         "Compute only tokens that changed: on, off, or values such as refresh=30,full=0.25"},
        {kAlertClass, &Settings::alertClass, "alert-class", "Alert class",
         "Post a message mpm-alert while this class covers more than alert-share; empty: never"},
        {kObjects, &Settings::objects, "objects", "Objects",
         "Classes whose objects are followed, such as car,person; empty: all of a detector, none of a "
         "segmentation"}};
    return all;
}

static const std::vector<SettingProperty<double>>& numberProperties() {
    static const std::vector<SettingProperty<double>> all = {
        {kOpacity, &Settings::opacity, "opacity", "Opacity", "Of the colours over the frame"},
        {kAlertShare, &Settings::alertShare, "alert-share", "Alert share", "Share of the frame, 0 to 1"},
        {kThreshold, &Settings::threshold, "threshold", "Threshold",
         "Objects have larger scores, 0 to 1; -1: 0.5 for boxes, 0.6 for regions", GST_PARAM_MUTABLE_PLAYING,
         -1}};
    return all;
}

/// Returns the setting of a property; null if the property has another type.
template <class Value>
static Value* settingOf(const std::vector<SettingProperty<Value>>& properties, Settings& settings, guint id) {
    for (const SettingProperty<Value>& one : properties)
        if (one.id == id) return &(settings.*one.member);
    return nullptr;
}

static void setProperty(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
    State& state = *MPM_SEGMENT(object)->state;
    bool output = false;
    {
        const std::lock_guard<std::mutex> lock(state.guard);
        Settings& s = state.settings;
        if (std::string* text = settingOf(textProperties(), s, id)) {
            const char* given = g_value_get_string(value);
            *text = given ? given : "";
        } else if (double* number = settingOf(numberProperties(), s, id)) {
            *number = g_value_get_double(value);
        } else if (id == kAlertHold) {
            s.alertHoldMs = g_value_get_uint(value);
        } else if (id == kOutput) {
            output = s.output != static_cast<Output>(g_value_get_enum(value));
            s.output = static_cast<Output>(g_value_get_enum(value));
        } else {
            G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
            return;
        }
        state.changed = true;
    }
    if (output) gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(object));
}

static void getProperty(GObject* object, guint id, GValue* value, GParamSpec* spec) {
    State& state = *MPM_SEGMENT(object)->state;
    const std::lock_guard<std::mutex> lock(state.guard);
    Settings& s = state.settings;
    if (const std::string* text = settingOf(textProperties(), s, id))
        g_value_set_string(value, text->c_str());
    else if (const double* number = settingOf(numberProperties(), s, id))
        g_value_set_double(value, *number);
    else if (id == kAlertHold)
        g_value_set_uint(value, s.alertHoldMs);
    else if (id == kOutput)
        g_value_set_enum(value, static_cast<int>(s.output));
    else
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

/// Runs `body`, and posts errors of the engine as messages on the bus. Returns false after an error.
template <class Body>
static bool guarded(MpmSegment* self, const Body& body) {
    try {
        body();
        return true;
    } catch (const SettingsError& error) {
        GST_ELEMENT_ERROR(self, LIBRARY, SETTINGS, ("%s", error.what()), (nullptr));
    } catch (const mpm::pipeline::ModelError& error) {
        GST_ELEMENT_ERROR(self, RESOURCE, NOT_FOUND, ("%s", error.what()), (nullptr));
    } catch (const cv::Exception& error) {
        GST_ELEMENT_ERROR(self, STREAM, FAILED, ("%s", error.err.c_str()), (nullptr));
    } catch (const std::exception& error) {
        GST_ELEMENT_ERROR(self, STREAM, FAILED, ("%s", error.what()), (nullptr));
    }
    return false;
}

static Settings takeSettings(State& state, bool& changed) {
    const std::lock_guard<std::mutex> lock(state.guard);
    changed = std::exchange(state.changed, false);
    return state.settings;
}

static gboolean start(GstBaseTransform* transform) {
    MpmSegment* self = MPM_SEGMENT(transform);
    bool changed = false;
    const Settings settings = takeSettings(*self->state, changed);
    return guarded(self, [&] { self->state->engine = std::make_unique<Engine>(settings); });
}

static gboolean stop(GstBaseTransform* transform) {
    State& state = *MPM_SEGMENT(transform)->state;
    state.engine.reset();
    state.latency = 0;
    return TRUE;
}

static GstCaps* transformCaps(GstBaseTransform* transform, GstPadDirection direction, GstCaps* caps,
                              GstCaps* filter) {
    State& state = *MPM_SEGMENT(transform)->state;
    const char* format = "BGR";
    if (direction == GST_PAD_SINK) {
        const std::lock_guard<std::mutex> lock(state.guard);
        if (state.settings.output == Output::Labels) format = "GRAY8";
    }
    GstCaps* other = gst_caps_copy(caps);
    for (guint i = 0; i < gst_caps_get_size(other); ++i) {
        GstStructure* structure = gst_caps_get_structure(other, i);
        gst_structure_set(structure, "format", G_TYPE_STRING, format, nullptr);
        gst_structure_remove_fields(structure, "colorimetry", "chroma-site", nullptr);
    }
    if (filter == nullptr) return other;
    GstCaps* both = gst_caps_intersect_full(filter, other, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(other);
    return both;
}

/// Announces the processing time of a frame as the latency, if the time differs much from the latency that
/// was announced before.
static void updateLatency(MpmSegment* self, double milliseconds) {
    const auto now = static_cast<GstClockTime>(milliseconds * GST_MSECOND);
    const GstClockTime before = self->state->latency;
    if (now <= before + before / 4 && now >= before / 2) return;
    self->state->latency = now;
    gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
}

/// Posts an error if a segment is not in the format TIME, which QoS, alerts and latency need. Also notes that
/// a seek has flushed the stream.
static gboolean sinkEvent(GstBaseTransform* transform, GstEvent* event) {
    const GstSegment* segment = nullptr;
    if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT) gst_event_parse_segment(event, &segment);
    if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) MPM_SEGMENT(transform)->state->flushed = true;
    if (segment != nullptr && segment->format != GST_FORMAT_TIME)
        GST_ELEMENT_ERROR(transform, STREAM, FORMAT,
                          ("The segment is in %s; mpmsegment needs one in time, such as rawvideoparse sends",
                           gst_format_get_name(segment->format)),
                          (nullptr));
    return GST_BASE_TRANSFORM_CLASS(mpm_segment_parent_class)->sink_event(transform, event);
}

static GstFlowReturn transformFrame(GstVideoFilter* filter, GstVideoFrame* in, GstVideoFrame* out) {
    MpmSegment* self = MPM_SEGMENT(filter);
    State& state = *self->state;
    const mpm::Stopwatch watch;
    const GstSegment& segment = GST_BASE_TRANSFORM(filter)->segment;
    const GstClockTime time =
        gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(in->buffer));
    const bool done = guarded(self, [&] {
        bool changed = false;
        const Settings settings = takeSettings(state, changed);
        if (changed) state.engine->apply(settings);
        if (state.flushed.exchange(false)) state.engine->restart();
        const cv::Mat image(GST_VIDEO_FRAME_HEIGHT(in), GST_VIDEO_FRAME_WIDTH(in), CV_8UC3,
                            GST_VIDEO_FRAME_PLANE_DATA(in, 0),
                            static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(in, 0)));
        const int type = GST_VIDEO_FRAME_FORMAT(out) == GST_VIDEO_FORMAT_GRAY8 ? CV_8UC1 : CV_8UC3;
        cv::Mat drawn(image.size(), type, GST_VIDEO_FRAME_PLANE_DATA(out, 0),
                      static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(out, 0)));
        const double seconds =
            GST_CLOCK_TIME_IS_VALID(time) ? static_cast<double>(time) / GST_SECOND : std::nan("");
        state.figures = state.engine->process(image, seconds, drawn);
    });
    if (!done) return GST_FLOW_ERROR;
    updateLatency(self, watch.milliseconds());
    for (const mpm::pipeline::Alert& alert : state.figures.alerts)
        mpm::gst::postAlert(GST_ELEMENT(self), alert, time);
    return GST_FLOW_OK;
}

static GstFlowReturn transformBuffer(GstBaseTransform* transform, GstBuffer* in, GstBuffer* out) {
    if (transform->segment.format != GST_FORMAT_TIME) return GST_FLOW_ERROR;  // sinkEvent() posted an error
    const GstFlowReturn flow =
        GST_BASE_TRANSFORM_CLASS(mpm_segment_parent_class)->transform(transform, in, out);
    if (flow != GST_FLOW_OK) return flow;
    const mpm::gst::FrameFigures& figures = MPM_SEGMENT(transform)->state->figures;
    mpm::gst::addMeta(out, figures);
#ifdef MPM_GST_ANALYTICS
    mpm::gst::addAnalytics(out, figures);
#else
    mpm::gst::addRegions(out, figures);
#endif
    return flow;
}

static gboolean query(GstBaseTransform* transform, GstPadDirection direction, GstQuery* query) {
    const gboolean known =
        GST_BASE_TRANSFORM_CLASS(mpm_segment_parent_class)->query(transform, direction, query);
    if (!known || direction != GST_PAD_SRC || GST_QUERY_TYPE(query) != GST_QUERY_LATENCY) return known;
    gboolean live = FALSE;
    GstClockTime least = 0, most = 0;
    gst_query_parse_latency(query, &live, &least, &most);
    const GstClockTime own = MPM_SEGMENT(transform)->state->latency;
    if (GST_CLOCK_TIME_IS_VALID(most)) most += own;
    gst_query_set_latency(query, live, least + own, most);
    return TRUE;
}

static void finalize(GObject* object) {
    delete MPM_SEGMENT(object)->state;
    G_OBJECT_CLASS(mpm_segment_parent_class)->finalize(object);
}

static void mpm_segment_init(MpmSegment* self) {
    self->state = new State;
    gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), FALSE);
    gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), TRUE);
}

static GParamFlags flagsOf(int when) {
    return static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | when);
}

static void addProperties(GObjectClass* type) {
    const GParamFlags playing = flagsOf(GST_PARAM_MUTABLE_PLAYING);
    const Settings defaults;
    for (const auto& one : textProperties())
        g_object_class_install_property(
            type, one.id,
            g_param_spec_string(one.name, one.title, one.text, (defaults.*one.member).c_str(),
                                flagsOf(one.when)));
    for (const auto& one : numberProperties())
        g_object_class_install_property(
            type, one.id,
            g_param_spec_double(one.name, one.title, one.text, one.least, 1, defaults.*one.member, playing));
    g_object_class_install_property(
        type, kOutput,
        g_param_spec_enum("output", "Output", "What the frames show", outputType(),
                          static_cast<int>(defaults.output), playing));
    g_object_class_install_property(
        type, kAlertHold,
        g_param_spec_uint("alert-hold", "Alert hold", "Milliseconds that the share must last", 0, 86400000,
                          defaults.alertHoldMs, playing));
}

static void mpm_segment_class_init(MpmSegmentClass* type) {
    GST_DEBUG_CATEGORY_INIT(mpm_segment_debug, "mpmsegment", 0, "mpmsegment");
    GObjectClass* object = G_OBJECT_CLASS(type);
    object->set_property = setProperty;
    object->get_property = getProperty;
    object->finalize = finalize;
    addProperties(object);
    GstElementClass* element = GST_ELEMENT_CLASS(type);
    gst_element_class_add_static_pad_template(element, &s_sink);
    gst_element_class_add_static_pad_template(element, &s_src);
    gst_element_class_set_static_metadata(element, "Segmentation with merged vision transformers",
                                          "Filter/Analyzer/Effect/Video",
                                          "Segments each frame with a vision transformer that merges alike "
                                          "tokens. Buffers carry MpmSegmentMeta: "
                                          "tokens, times and class shares",
                                          "The MPM developers <mpm@localhost>");
    gst_type_mark_as_plugin_api(outputType(), static_cast<GstPluginAPIFlags>(0));
    GstBaseTransformClass* transform = GST_BASE_TRANSFORM_CLASS(type);
    transform->start = start;
    transform->stop = stop;
    transform->transform_caps = transformCaps;
    transform->sink_event = sinkEvent;
    transform->transform = transformBuffer;
    transform->query = query;
    GST_VIDEO_FILTER_CLASS(type)->transform_frame = transformFrame;
    mpm::gst::registerMeta();
}

#define PACKAGE "mpm"

static gboolean registerElements(GstPlugin* plugin) {
    return GST_ELEMENT_REGISTER(mpmsegment, plugin);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, mpm,
                  "Semantic segmentation with merged vision transformers", registerElements, MPM_VERSION,
                  "Apache-2.0", "mpm", "https://example.org/mpm")
