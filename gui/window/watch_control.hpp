// A controller for the Watch menu: regions, masks, alerts and recordings.
#pragma once

#include "gui/window/parts.hpp"

namespace mpm::gui {

class FrontSource;

class WatchControl : public QObject {
    Q_OBJECT
public:
    WatchControl(const Parts& parts, FrontSource* front);

    /// Reads the profile's watch file. If the file cannot be used, images remain hidden, because privacy
    /// masks may be missing.
    void start();
    void toggleRecording();
    bool recording() const;
    /// Lets the user draw a region or a mask.
    void drawRegion();
    void drawMask();
    /// Lets the user move the corners of the regions and masks on the image.
    void changeShapes();
    /// If `on`, follows all objects of the source in front; otherwise follows no objects.
    void followObjects(bool on);
    /// Must be called after another source came to the front, or a source was opened or closed.
    void sourcesChanged();
    /// Decides which sources are drawn: the source in front and sources that are recorded. If the view shows
    /// all sources, or an alert rule records videos, all sources are drawn.
    void updateDrawn();

signals:
    void messagePosted(const QString& text, bool trouble = false);
    void recordingChanged(bool recording);
    void objectsFollowed(bool on);

private:
    void hideImages();

    const Parts m_parts;
    FrontSource* m_front;
};

}  // namespace mpm::gui
