// The views of viewTable(), buttons that choose a view, the controls, and covers for images that are not
// live.
#pragma once

#include <vector>

#include <QStackedLayout>
#include <QWidget>

#include "gui/engine/engine.hpp"
#include "gui/views/view_table.hpp"

class QBoxLayout;
class QButtonGroup;
class QHBoxLayout;
class QLabel;
class QToolButton;

namespace mpm::gui {

class TileArea;
class ViewControls;

class ViewArea : public QWidget {
    Q_OBJECT
public:
    explicit ViewArea(QWidget* parent = nullptr);

    /// Returns the width of the widest part (buttons, controls or views), because buttons and controls may be
    /// in two rows.
    QSize minimumSizeHint() const override;

    /// Shows a view by its index or its key in viewTable(). Ignores an unknown key.
    void showView(int index);
    void showView(const QString& key);
    int shown() const { return m_shown; }
    const ViewEntry& entry() const { return viewTable()[static_cast<std::size_t>(m_shown)]; }
    QWidget* shownWidget() const { return m_stack->currentWidget(); }
    /// Returns the part of shownWidget() that shows images.
    QRect shownImages() const;
    /// Returns the view of type T; null if the table has none.
    template <typename T>
    T* find() const {
        for (View* view : m_views)
            if (T* found = dynamic_cast<T*>(view)) return found;
        return nullptr;
    }

    /// If `on`, the overview shows the map of computed tokens, and the button offers to turn reuse off.
    void setReuse(bool on);
    void setFrame(const LiveFrame& frame);
    void setRendered(const RenderedFrame& drawn);
    void setComparison(const RenderedComparison& drawn, const SavedTime& saved);
    void setNight(const RenderedNight& drawn);
    void setModel(const ModelFacts& facts);
    void setSource(const SourceReport& report, bool paused);
    /// Sets the reason why there is no analysis; empty if there is an analysis.
    void setAnalysisCover(const Cover& cover);
    void clear();
    void setObjects(const AnalysisPtr& analysis);
    void setRegions(const std::vector<pipeline::Region>& regions,
                    const std::vector<pipeline::RegionReading>& readings);
    /// Why images are hidden: by the user's choice, or because the watch file with the masks is damaged.
    enum class ImagesHidden { No, Chosen, WatchFileDamaged };
    void setImagesHidden(ImagesHidden hidden);

    /// If `only`, hides buttons and controls, and shows the source's state and the last alert in a corner.
    void setImagesOnly(bool only);
    void setCorner(const QString& state, bool trouble);
    void setCornerAlert(const QString& alert);

    /// Adds a tile to the grid of all sources.
    void addTile(const Engine* engine);
    void removeTile(const Engine* engine);
    void setTile(const Engine* engine, const RenderedFrame& drawn);
    void setTileState(const Engine* engine, const SourceReport& report, bool paused);

    ViewControls& controls() { return *m_controls; }
    Viewport* viewport() { return &m_viewport; }
    /// Sets the parts of `style` that the controls determine.
    void fill(RenderStyle& style) const;
    double displayMs() const;

signals:
    void reuseWanted(bool on);
    void viewChanged(int index);
    void styleChanged();
    void nightChanged(const street::NightParameters& parameters);
    /// Emitted when the pointer enters, moves in or leaves an image. If `wanted`, the view needs
    /// probabilities.
    void scoresWanted(bool wanted);
    void tileChosen(const mpm::gui::Engine* engine);

protected:
    bool event(QEvent* event) override;

private:
    void makeViews();
    void makeButtons();
    void connectViews();
    void arrangeRows();
    void placeCorner();
    void applyCovers();

    Viewport m_viewport;
    std::vector<View*> m_views;  // a view for each row of the table; null for the overview
    int m_shown = 0;
    bool m_reuses = false, m_beside = false;  // whether reuse is on; whether reuse runs beside merging
    QToolButton* m_reuse = nullptr;
    QWidget* m_bar;
    QLabel* m_corner;
    QString m_state, m_alert;
    QBoxLayout* m_rows;
    QHBoxLayout* m_buttonRow;
    ViewControls* m_controls;
    QButtonGroup* m_buttons;
    QStackedLayout* m_stack;
    TileArea* m_tiles;  // the first page of m_stack: the overview, or a single view
    Cover m_sourceCover, m_analysisCover, m_hiddenCover;
};

}  // namespace mpm::gui
