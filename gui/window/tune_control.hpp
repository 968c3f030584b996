// Finds the fastest method for the model in use: collects images of the source in front, measures methods
// on these images with a ModelTuner, and offers the result.
#pragma once

#include <optional>
#include <vector>

#include <QTimer>

#include "gui/services/model_tuner.hpp"
#include "gui/window/parts.hpp"

namespace mpm::gui {

class FrontSource;
class ModelControl;

class TuneControl : public QObject {
    Q_OBJECT
public:
    TuneControl(const Parts& parts, FrontSource* front, ModelControl* model, QWidget* window);

    void begin();
    void cancel();

signals:
    void messagePosted(const QString& text, bool trouble = false);

private:
    QString whyNot() const;
    void take(const LiveFrame& frame);
    void measure();
    void end();
    void show(const TuneFound& found);

    const Parts m_parts;
    FrontSource* m_front;
    ModelControl* m_model;
    QWidget* m_window;
    QMetaObject::Connection m_frames;  // while images are collected
    QTimer m_patience;                 // while images are collected
    std::vector<QImage> m_images;
    std::optional<int> m_generation;  // generation of the source that the images show
    Steady::time_point m_last;
    ModelTuner m_tuner;
};

}  // namespace mpm::gui
