// The pictures: which are shown, their controls, and what covers them when the source is not of now.
#pragma once

#include <QWidget>

#include "gui/engine/engine.hpp"
#include "gui/models/saved_time.hpp"
#include "gui/widgets/viewport.hpp"

class QBoxLayout;
class QButtonGroup;
class QCheckBox;
class QComboBox;
class QHBoxLayout;
class QLabel;
class QSlider;
class QStackedLayout;

namespace mpm::gui {

class MergeView;
class NightView;
class PictureView;
class SplitView;
class TileArea;

class ViewArea : public QWidget {
    Q_OBJECT
public:
    enum Mode { Overview, Picture, Overlay, Merge, Split, Night, Sources, Modes };

    explicit ViewArea(QWidget* parent = nullptr);

    /// The wider of the two rows of controls: they stand one above the other where both do not fit.
    QSize minimumSizeHint() const override;

    Mode mode() const { return m_mode; }
    void setMode(Mode mode);
    static QString modeName(Mode mode);  ///< shown
    static QString modeKey(Mode mode);   ///< for settings and the command line

    void setFrame(const LiveFrame& frame);
    void setRendered(const RenderedFrame& drawn);
    void setComparison(const RenderedComparison& drawn, const SavedTime& saved);
    void setNight(const RenderedNight& drawn);
    /// Words on every picture made by random weights, so that nobody takes them for an answer.
    void setModel(const ModelFacts& facts);
    void setSource(const SourceReport& report, bool paused);
    void setAnalysisVeil(const QString& headline, const QString& detail);
    void clear();
    void setRegions(const std::vector<pipeline::Region>& regions,
                    const std::vector<pipeline::RegionReading>& readings);
    /// Pictures are not shown, because that was chosen or because it is not known what may be: it is said
    /// where they would be.
    enum class Blind { No, Chosen, WatchFileDamaged };
    void setBlind(Blind blind);
    /// The grid of all sources: one tile each.
    void addTile(const Engine* engine);
    void removeTile(const Engine* engine);
    void setTile(const Engine* engine, const RenderedFrame& drawn);
    void setTileState(const Engine* engine, const SourceReport& report, bool paused);
    PictureView* tileOf(const Engine* engine) const;
    /// What is in front now, to be exported.
    QWidget* picture() const;

    double opacity() const;
    void setOpacity(double opacity);
    bool outlines() const;
    void setOutlines(bool outlines);
    int stage() const { return m_stage; }
    Viewport* viewport() { return &m_viewport; }
    NightView* nightView() const { return m_night; }
    SplitView* splitView() const { return m_split; }
    MergeView* mergeView() const { return m_merge; }
    PictureView* pictureView() const { return m_picture; }
    PictureView* overlayView() const { return m_overlay; }
    /// Capture to paint, of the last picture shown.
    double displayMs() const { return m_displayMs; }

signals:
    void modeChanged(mpm::gui::ViewArea::Mode mode);
    void styleChanged();
    void nightChanged(const street::NightParameters& parameters);
    /// The pointer came over a picture, or left: probabilities are wanted, or not.
    void scoresWanted(bool wanted);
    void tileChosen(const mpm::gui::Engine* engine);

protected:
    bool event(QEvent* event) override;

private:
    void buildControls();
    void buildModes();
    void placeRows();
    void connectViews();
    void showStages(const Analysis& analysis);
    void applyVeils();
    void placeTiles();

    Viewport m_viewport;
    Mode m_mode = Overview;
    QBoxLayout* m_rows;
    QHBoxLayout *m_modeRow, *m_controlRow;
    QStackedLayout* m_stack;
    TileArea* m_tiles;
    TileArea* m_grid;
    Viewport m_gridViewport;
    std::vector<std::pair<const Engine*, PictureView*>> m_sourceTiles;
    bool m_blind = false;
    QString m_blindHead, m_blindDetail;
    PictureView *m_picture, *m_overlay;
    MergeView* m_merge;
    SplitView* m_split;
    NightView* m_night;
    QButtonGroup* m_modes;
    QSlider* m_opacity;
    QCheckBox* m_outlines;
    QComboBox* m_stages;
    QLabel *m_opacityLabel, *m_stageLabel;
    std::vector<int> m_stageBlocks;
    int m_stage = -1;
    QString m_sourceHead, m_sourceDetail, m_analysisHead, m_analysisDetail, m_random;
    Steady::time_point m_captured;
    std::int64_t m_shownNumber = -1;
    bool m_fresh = false;
    double m_displayMs = 0;
};

}  // namespace mpm::gui
