#include "gui/views/view_area.hpp"

#include <QButtonGroup>
#include <QEvent>
#include <QToolButton>

#include "gui/models/health_model.hpp"
#include "gui/text/source_text.hpp"
#include "gui/views/live_view.hpp"
#include "gui/views/night_view.hpp"
#include "gui/views/source_grid.hpp"
#include "gui/views/view_controls.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/theme.hpp"
#include "gui/widgets/tile_area.hpp"

namespace mpm::gui {

namespace {

int widthOf(const QWidget* widget, const QLayout* row) {
    return widget->sizeHint().width() + row->spacing();
}

}  // namespace

ViewArea::ViewArea(QWidget* parent)
    : QWidget(parent), m_bar(new QWidget), m_corner(plainLabel({}, this)), m_tiles(new TileArea) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    m_rows = new QBoxLayout(QBoxLayout::LeftToRight, m_bar);
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_buttonRow = new QHBoxLayout;
    m_controls = new ViewControls;
    layout->addWidget(m_bar);
    m_rows->addLayout(m_buttonRow, 1);
    m_rows->addLayout(m_controls);
    for (QBoxLayout* row : std::initializer_list<QBoxLayout*>{m_rows, m_buttonRow, m_controls})
        row->setSpacing(4);
    m_stack = new QStackedLayout;
    layout->addLayout(m_stack, 1);
    m_stack->addWidget(m_tiles);
    makeViews();
    makeButtons();
    connectViews();
    m_corner->setObjectName(QStringLiteral("corner"));
    m_corner->hide();
    showView(0);
}

void ViewArea::makeViews() {
    for (std::size_t i = 0; i < viewTable().size(); ++i) {
        const ViewEntry& entry = viewTable()[i];
        m_views.push_back(entry.make == nullptr ? nullptr : entry.make(&m_viewport));
        View* view = m_views.back();
        if (view == nullptr) continue;
        if (!entry.has(ViewEntry::InOverview)) {
            m_stack->addWidget(view->widget());
            continue;
        }
        view->widget()->setParent(m_tiles);
        view->widget()->hide();
        if (auto* image = dynamic_cast<ImageView*>(view))
            connect(image, &ImageView::activated, this,
                    [this, index = int(i)] { showView(m_shown == 0 ? index : 0); });
    }
}

void ViewArea::makeButtons() {
    m_buttons = new QButtonGroup(this);
    for (const ViewEntry& entry : viewTable()) {
        const int index = static_cast<int>(m_buttons->buttons().size());
        auto* button = new QToolButton;
        button->setObjectName(QStringLiteral("mode"));
        button->setText(entry.title());
        setPlainToolTip(button, tr("%1 (%2)").arg(entry.title()).arg(index + 1));
        button->setCheckable(true);
        m_buttons->addButton(button, index);
        m_buttonRow->addWidget(button);
    }
    m_buttonRow->addSpacing(7);
    m_reuse = new QToolButton;
    m_reuse->setObjectName(QStringLiteral("mode"));
    setPlainToolTip(m_reuse,
                    tr("Compute only the patches that changed (U): for a camera that does not move"));
    m_buttonRow->addWidget(m_reuse);
    connect(m_reuse, &QToolButton::clicked, this, [this] { emit reuseWanted(!m_reuses); });
    setReuse(false);
    m_buttonRow->addStretch();
    connect(m_buttons, &QButtonGroup::idClicked, this, qOverload<int>(&ViewArea::showView));
}

void ViewArea::connectViews() {
    connect(m_controls, &ViewControls::changed, this, &ViewArea::styleChanged);
    connect(&m_viewport, &Viewport::cursorChanged, this,
            [this] { emit scoresWanted(m_viewport.cursor().has_value()); });
    connect(find<NightView>(), &NightView::parametersChanged, this, &ViewArea::nightChanged);
    connect(find<NightView>(), &NightView::showsChanged, this, &ViewArea::styleChanged);
    connect(find<SourceGrid>(), &SourceGrid::chosen, this, &ViewArea::tileChosen);
}

QSize ViewArea::minimumSizeHint() const {
    int width =
        m_buttonRow->minimumSize().width() - (m_reuse->isHidden() ? 0 : widthOf(m_reuse, m_buttonRow));
    for (const QLayout* part : std::initializer_list<const QLayout*>{m_controls, m_stack})
        width = std::max(width, part->minimumSize().width());
    return {width, layout()->minimumSize().height()};
}

bool ViewArea::event(QEvent* event) {
    if (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest) arrangeRows();
    if (event->type() == QEvent::Resize) placeCorner();
    return QWidget::event(event);
}

void ViewArea::setImagesOnly(bool only) {
    m_bar->setVisible(!only);
    m_corner->setVisible(only);
    placeCorner();
}

void ViewArea::setCorner(const QString& state, bool trouble) {
    m_state = state;
    setMark(*m_corner, "trouble", trouble);
    placeCorner();
}

void ViewArea::setCornerAlert(const QString& alert) {
    m_alert = alert;
    placeCorner();
}

void ViewArea::placeCorner() {
    constexpr int kEdge = 10;
    m_corner->setText(m_alert.isEmpty() ? m_state : m_state + QLatin1Char('\n') + m_alert);
    m_corner->adjustSize();
    m_corner->move(width() - m_corner->width() - kEdge, kEdge);
    m_corner->raise();
}

void ViewArea::arrangeRows() {
    const int reuse = widthOf(m_reuse, m_buttonRow);
    const int buttons = m_buttonRow->minimumSize().width() + (m_reuse->isHidden() ? reuse : 0);
    const int need = buttons + m_rows->spacing() + m_controls->minimumSize().width();
    const bool fits = buttons <= width();  // if not, the button is hidden, but the key and the menu remain
    if (m_reuse->isHidden() == fits) m_reuse->setVisible(fits);
    const auto direction = need <= width() ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom;
    if (direction != m_rows->direction()) m_rows->setDirection(direction);
}

void ViewArea::showView(const QString& key) {
    const int index = static_cast<int>(viewKeys().indexOf(key));
    if (index >= 0) showView(index);
}

void ViewArea::setReuse(bool on) {
    const bool changed = std::exchange(m_reuses, on) != on;
    m_reuse->setText(on ? tr("Turn reuse off") : tr("Turn reuse on"));
    if (changed && m_shown == 0) showView(0);
}

void ViewArea::showView(int index) {
    const auto inOverview = [this](const ViewEntry& entry) {
        if (entry.has(ViewEntry::WhileReusing)) return m_reuses || m_beside;
        if (entry.has(ViewEntry::WhileMerging)) return !m_reuses;
        return !m_beside || !entry.has(ViewEntry::YieldsToReuse);
    };
    m_shown = index;
    m_buttons->button(index)->setChecked(true);
    std::vector<QWidget*> tiles;
    int lead = -1;
    for (std::size_t i = 0; i < m_views.size(); ++i) {
        const ViewEntry& entry = viewTable()[i];
        if (!entry.has(ViewEntry::InOverview) ||
            !(index == 0 ? inOverview(entry) : index == static_cast<int>(i)))
            continue;
        if (entry.has(ViewEntry::NeedsComparison)) lead = static_cast<int>(tiles.size());
        tiles.push_back(m_views[i]->widget());
    }
    if (!tiles.empty()) m_tiles->setTiles(tiles, lead);
    m_stack->setCurrentWidget(tiles.empty() ? m_views[static_cast<std::size_t>(index)]->widget() : m_tiles);
    m_controls->setStageVisible(entry().has(ViewEntry::HasStages));
    m_controls->setOtherVisible(entry().has(ViewEntry::ChoosesOther));
    applyCovers();
    emit viewChanged(index);
}

QRect ViewArea::shownImages() const {
    const auto* tiles = qobject_cast<const TileArea*>(shownWidget());
    const QRect covered = tiles != nullptr ? tiles->covered() : QRect();
    return covered.isEmpty() ? shownWidget()->rect() : covered;
}

void ViewArea::setFrame(const LiveFrame& frame) {
    if (!m_hiddenCover.empty()) return;
    for (View* view : m_views)
        if (view != nullptr) view->setFrame(frame);
    m_tiles->setAspect(double(frame.image.width()) / std::max(1, frame.image.height()));
}

void ViewArea::setRendered(const RenderedFrame& drawn) {
    if (!m_hiddenCover.empty()) return;  // drawn before images were hidden
    const bool beside = drawn.analysis->beside != nullptr;
    if (std::exchange(m_beside, beside) != beside && m_shown == 0) showView(0);
    RenderStyle style;
    fill(style);
    for (View* view : m_views)
        if (view != nullptr) view->setRendered(drawn, style);
    m_controls->setSchedule(drawn.analysis->schedule);
}

void ViewArea::setComparison(const RenderedComparison& drawn, const SavedTime& saved) {
    if (!m_hiddenCover.empty()) return;
    for (View* view : m_views)
        if (view != nullptr) view->setComparison(drawn, saved);
}

void ViewArea::setNight(const RenderedNight& drawn) {
    if (!m_hiddenCover.empty()) return;
    for (View* view : m_views)
        if (view != nullptr) view->setNight(drawn);
}

void ViewArea::setModel(const ModelFacts& facts) {
    for (View* view : m_views)
        if (view != nullptr)
            view->setModelNote(facts.random     ? tr("random weights")
                               : facts.features ? tr("three principal components")
                                                : QString());
}

void ViewArea::setObjects(const AnalysisPtr& analysis) {
    for (View* view : m_views)
        if (view != nullptr) view->setObjects(analysis);
}

void ViewArea::setRegions(const std::vector<pipeline::Region>& regions,
                          const std::vector<pipeline::RegionReading>& readings) {
    for (View* view : m_views)
        if (view != nullptr) view->setRegions(regions, readings);
}

void ViewArea::setSource(const SourceReport& report, bool paused) {
    using State = pipeline::SourceState;
    const State state = report.status.state;
    m_sourceCover = {QString(), sourceProblemText(report.status.problem)};
    if (paused)
        m_sourceCover.detail.clear();
    else if (state == State::Connecting && report.status.frames == 0)
        m_sourceCover.headline = tr("Connecting to %1").arg(report.name);
    else if (state == State::Failed)
        m_sourceCover.headline = tr("This source cannot be used");
    else if (state == State::Ended)
        m_sourceCover.headline = tr("The source has ended");
    else if (!report.current())
        m_sourceCover.headline = tr("Not live: %1").arg(sourceStateText(report));
    applyCovers();
}

void ViewArea::setImagesHidden(ImagesHidden hidden) {
    m_hiddenCover = {};
    if (hidden == ImagesHidden::Chosen)
        m_hiddenCover = {tr("Measurements only"),
                         tr("Images are measured and discarded; they are neither kept nor shown.")};
    if (hidden == ImagesHidden::WatchFileDamaged)
        m_hiddenCover = {
            tr("The watch file cannot be used"),
            tr("Images stay hidden, because masks may be missing. They are measured and discarded.")};
    if (!m_hiddenCover.empty()) clear();
    applyCovers();
}

void ViewArea::setAnalysisCover(const Cover& cover) {
    m_analysisCover = cover;
    applyCovers();
}

void ViewArea::applyCovers() {
    const Covers covers{m_sourceCover.empty() && !m_hiddenCover.empty() ? m_hiddenCover : m_sourceCover,
                        m_analysisCover, m_shown == 0};
    for (View* view : m_views)
        if (view != nullptr) view->setCovers(covers);
}

void ViewArea::clear() {
    for (View* view : m_views)
        if (view != nullptr) view->clear();
    m_viewport.reset();
    if (!m_hiddenCover.empty()) find<SourceGrid>()->clearImages();
}

void ViewArea::addTile(const Engine* engine) {
    find<SourceGrid>()->add(engine);
}

void ViewArea::removeTile(const Engine* engine) {
    find<SourceGrid>()->remove(engine);
}

void ViewArea::setTile(const Engine* engine, const RenderedFrame& drawn) {
    if (m_hiddenCover.empty()) find<SourceGrid>()->setTile(engine, drawn);
}

void ViewArea::setTileState(const Engine* engine, const SourceReport& report, bool paused) {
    find<SourceGrid>()->setState(engine, report, paused, {m_hiddenCover.headline, QString()});
}

void ViewArea::fill(RenderStyle& style) const {
    style.overlay.opacity = m_controls->opacity();
    style.overlay.outlines = style.merge.outlines = m_controls->outlines();
    style.merge.colours = m_controls->mapColours();
    style.stage = m_controls->stage();
    style.pair = find<NightView>()->shows();
}

double ViewArea::displayMs() const {
    return find<LiveView>()->displayMs();
}

}  // namespace mpm::gui
