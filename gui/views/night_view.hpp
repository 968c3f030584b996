// A view of a frame beside the same frame with simulated night. Sliders set the darkness and the noise.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QWidget>

#include "gui/engine/render_worker.hpp"
#include "gui/views/image_view.hpp"

class QSlider;

namespace mpm::gui {

class TileArea;

class NightView : public QWidget, public View {
    Q_OBJECT
public:
    explicit NightView(Viewport* viewport, QWidget* parent = nullptr);

    street::NightParameters parameters() const;
    void setParameters(const street::NightParameters& parameters);
    void setNight(const RenderedNight& drawn) override;
    void setCovers(const Covers& covers) override;
    void clear() override;
    QWidget* widget() override { return this; }
    QString summary() const { return m_summary->text(); }
    RenderStyle::Pair shows() const { return static_cast<RenderStyle::Pair>(m_shows->currentIndex()); }

signals:
    void showsChanged();
    void parametersChanged(const street::NightParameters& parameters);

private:
    QSlider* addSlider(QLayout* row, const QString& name, QLabel** value, int most);
    void showValues();

    ImageView *m_day, *m_night;
    TileArea* m_tiles;
    QComboBox* m_shows;
    double m_givenPhotons = 0;  // the exact number from setParameters(); the slider only has steps
    QSlider *m_luminance, *m_photons, *m_deviation;
    QLabel *m_luminanceText, *m_photonsText, *m_deviationText, *m_summary;
};

}  // namespace mpm::gui
