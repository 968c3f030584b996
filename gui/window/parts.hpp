// Pointers to the session, models and widgets of a window. The window owns these objects; the controllers
// share them.
#pragma once

#include "gui/models/models.hpp"
#include "gui/session/session.hpp"
#include "gui/views/view_area.hpp"

namespace mpm::gui {

class ConversionBar;
class GuideStrip;
class HeaderBar;
class PlaybackBar;
class Sidebar;
class TimelinePanel;

struct Parts {
    Session* session;
    Models* models;
    ViewArea* views;
    HeaderBar* header;
    GuideStrip* guide;
    PlaybackBar* playback;
    TimelinePanel* timeline;
    Sidebar* sidebar;
    ConversionBar* conversion;
};

}  // namespace mpm::gui
