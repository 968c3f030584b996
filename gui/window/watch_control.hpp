// Regions, masks, alerts and recordings: the menu of watching acts here.
#pragma once

#include "gui/window/parts.hpp"

namespace mpm::gui {

class FrontSource;

class WatchControl : public QObject {
    Q_OBJECT
public:
    WatchControl(const Parts& parts, FrontSource* front);

    /// Reads the profile's watch file; without a usable one images stay hidden.
    void start();
    void toggleRecording();
    bool recording() const;
    /// The shape drawn next on the image becomes a region, or a mask.
    void drawRegion();
    void drawMask();
    /// The corners of the regions and masks are moved on the image.
    void changeShapes();
    /// Follows all objects of the source in front, or none.
    void followObjects(bool on);
    /// After another source came to the front, or a source was opened or closed.
    void sourcesChanged();
    /// Sources that are neither visible nor recorded are not drawn.
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
