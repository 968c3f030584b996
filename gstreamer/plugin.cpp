#include "gstreamer/element.hpp"

#define PACKAGE "mpm"

static gboolean registerElements(GstPlugin* plugin) {
    return GST_ELEMENT_REGISTER(mpmsegment, plugin);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, mpm,
                  "Semantic segmentation with merged vision transformers", registerElements, MPM_VERSION,
                  "Apache-2.0", "mpm", "https://example.org/mpm")
