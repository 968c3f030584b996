#include "gui/window/view_area.hpp"

#include <QAbstractButton>
#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSlider>
#include <QStackedLayout>
#include <QToolButton>

#include "gui/models/health_model.hpp"
#include "gui/text/source_text.hpp"
#include "gui/views/merge_view.hpp"
#include "gui/views/night_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/tile_area.hpp"

namespace mpm::gui {

QString ViewArea::modeName(Mode mode) {
    const QString names[] = {tr("Overview"), tr("Picture"), tr("Overlay"), tr("Merge map"),
                             tr("Split"),    tr("Night"),   tr("Sources")};
    return names[mode];
}

QString ViewArea::modeKey(Mode mode) {
    const char* keys[] = {"overview", "picture", "overlay", "merge", "split", "night", "sources"};
    return QLatin1String(keys[mode]);
}

ViewArea::ViewArea(QWidget* parent)
    : QWidget(parent),
      m_tiles(new TileArea),
      m_grid(new TileArea),
      m_picture(new PictureView(tr("Picture"), &m_viewport)),
      m_overlay(new PictureView(tr("Overlay"), &m_viewport)),
      m_merge(new MergeView(&m_viewport)),
      m_split(new SplitView(&m_viewport)),
      m_night(new NightView(&m_viewport)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    m_rows = new QBoxLayout(QBoxLayout::LeftToRight);
    m_modeRow = new QHBoxLayout;
    m_controlRow = new QHBoxLayout;
    layout->addLayout(m_rows);
    m_rows->addLayout(m_modeRow, 1);
    m_rows->addLayout(m_controlRow);
    for (QBoxLayout* row : std::initializer_list<QBoxLayout*>{m_rows, m_modeRow, m_controlRow})
        row->setSpacing(4);
    buildModes();
    buildControls();
    m_stack = new QStackedLayout;
    layout->addLayout(m_stack, 1);
    m_stack->addWidget(m_tiles);
    m_stack->addWidget(m_night);
    m_stack->addWidget(m_grid);
    m_picture->setEmptyText(tr("Waiting for the first picture"));
    m_overlay->setEmptyText(tr("What the network sees appears here"));
    connectViews();
    setMode(Overview);
}

void ViewArea::buildModes() {
    m_modes = new QButtonGroup(this);
    for (int mode = 0; mode < Modes; ++mode) {
        auto* button = new QToolButton;
        button->setObjectName(QStringLiteral("mode"));
        button->setText(modeName(Mode(mode)));
        setPlainToolTip(button, tr("%1 (%2)").arg(modeName(Mode(mode))).arg(mode + 1));
        button->setCheckable(true);
        m_modes->addButton(button, mode);
        m_modeRow->addWidget(button);
    }
    m_modeRow->addSpacing(7);
    m_modeRow->addStretch();
    connect(m_modes, &QButtonGroup::idClicked, this, [this](int mode) { setMode(Mode(mode)); });
}

void ViewArea::buildControls() {
    m_stageLabel = plainLabel(tr("Stage"));
    m_stages = new QComboBox;
    m_stages->addItem(tr("all merges"), -1);
    m_stages->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_stages->setMinimumContentsLength(9);
    m_stages->setAccessibleName(tr("Merge map after"));
    m_opacityLabel = plainLabel(tr("Opacity"));
    m_opacity = new QSlider(Qt::Horizontal);
    m_opacity->setRange(0, 100);
    m_opacity->setValue(55);
    m_opacity->setFixedWidth(70);
    m_opacity->setAccessibleName(tr("Opacity of the colours"));
    m_outlines = new QCheckBox(tr("Outlines"));
    m_outlines->setChecked(true);
    for (QWidget* widget :
         std::initializer_list<QWidget*>{m_stageLabel, m_stages, m_opacityLabel, m_opacity, m_outlines})
        m_controlRow->addWidget(widget);
    m_controlRow->addStretch();
    connect(m_stages, &QComboBox::activated, this, [this] {
        m_stage = m_stages->currentData().toInt();
        emit styleChanged();
    });
    connect(m_opacity, &QSlider::valueChanged, this, &ViewArea::styleChanged);
    connect(m_outlines, &QCheckBox::toggled, this, &ViewArea::styleChanged);
}

QSize ViewArea::minimumSizeHint() const {
    int width = 0;
    for (const QLayout* part : std::initializer_list<const QLayout*>{m_modeRow, m_controlRow, m_stack})
        width = std::max(width, part->minimumSize().width());
    return {width, layout()->minimumSize().height()};
}

bool ViewArea::event(QEvent* event) {
    if (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest) placeRows();
    return QWidget::event(event);
}

void ViewArea::placeRows() {
    const int need =
        m_modeRow->minimumSize().width() + m_rows->spacing() + m_controlRow->minimumSize().width();
    const auto direction = need <= width() ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom;
    if (direction != m_rows->direction()) m_rows->setDirection(direction);
}

void ViewArea::connectViews() {
    const std::pair<PictureView*, Mode> large[] = {
        {m_picture, Picture}, {m_overlay, Overlay}, {m_merge, Merge}, {m_split, Split}};
    for (const auto& [view, mode] : large) {
        const Mode target = mode;
        connect(view, &PictureView::activated, this,
                [this, target] { setMode(m_mode == Overview ? target : Overview); });
    }
    connect(m_night, &NightView::parametersChanged, this, &ViewArea::nightChanged);
    connect(m_night, &NightView::showsChanged, this, &ViewArea::styleChanged);
    connect(&m_viewport, &Viewport::cursorChanged, this,
            [this] { emit scoresWanted(m_viewport.cursor().has_value()); });
    const auto note = [this] {
        if (!std::exchange(m_fresh, false)) return;
        m_displayMs = std::chrono::duration<double, std::milli>(Steady::now() - m_captured).count();
    };
    connect(m_picture, &PictureView::painted, this, note);
}

void ViewArea::setMode(Mode mode) {
    m_mode = mode;
    m_modes->button(mode)->setChecked(true);
    m_stack->setCurrentWidget(mode == Night     ? static_cast<QWidget*>(m_night)
                              : mode == Sources ? static_cast<QWidget*>(m_grid)
                                                : m_tiles);
    PictureView* const single[] = {nullptr, m_picture, m_overlay, m_merge, m_split};
    if (mode == Overview)
        m_tiles->setTiles({m_picture, m_overlay, m_merge, m_split});
    else if (mode != Night && mode != Sources)
        m_tiles->setTiles({single[mode]});
    const bool stages = mode == Overview || mode == Merge || mode == Night;
    m_stages->setVisible(stages);
    m_stageLabel->setVisible(stages);
    applyVeils();
    emit modeChanged(mode);
}

void ViewArea::setFrame(const LiveFrame& frame) {
    if (m_blind) return;
    m_captured = frame.captured;
    m_fresh = true;
    m_picture->setImage(frame.image);
    m_picture->setNote(tr("frame %1").arg(frame.number));
    m_tiles->setAspect(double(frame.image.width()) / std::max(1, frame.image.height()));
}

void ViewArea::setRendered(const RenderedFrame& drawn) {
    if (m_blind) return;  // drawn before it was wanted no more
    m_overlay->setImage(drawn.overlay);
    m_overlay->setNote((m_random.isEmpty() ? QString() : m_random + tr(", ")) +
                       tr("frame %1").arg(drawn.analysis->frame.number));
    m_merge->setOutlines(outlines());
    m_merge->setFrame(drawn, m_stage);
    if (drawn.analysis->schedule.empty())
        m_split->clear();  // nothing to compare, and the last one is not of now
    showStages(*drawn.analysis);
}

/// One entry for each merge of the schedule that ran.
void ViewArea::showStages(const Analysis& analysis) {
    if (analysis.schedule == m_stageBlocks) return;
    m_stageBlocks = analysis.schedule;
    m_stages->clear();
    m_stages->addItem(tr("all merges"), -1);
    for (int i = 0; i + 1 < static_cast<int>(m_stageBlocks.size()); ++i)
        m_stages->addItem(
            i == 0 ? tr("before block %1").arg(m_stageBlocks[i]) : tr("up to block %1").arg(m_stageBlocks[i]),
            i);
    m_stage = -1;
    emit styleChanged();
}

void ViewArea::setComparison(const RenderedComparison& drawn, const SavedTime& saved) {
    if (m_blind) return;
    m_split->setComparison(drawn, saved);
    m_split->setNote(m_random);
}

void ViewArea::setNight(const RenderedNight& drawn) {
    if (m_blind) return;
    m_night->setPair(drawn);
}

void ViewArea::setModel(const ModelFacts& facts) {
    m_random = facts.random ? tr("random weights") : QString();
    m_split->setNote(m_random);
    m_overlay->setNote(m_random);
}

void ViewArea::setSource(const SourceReport& report, bool paused) {
    using State = pipeline::SourceState;
    const State state = report.status.state;
    m_sourceHead.clear();
    m_sourceDetail = sourceProblemText(report.status.problem);
    if (paused)
        m_sourceDetail.clear();
    else if (state == State::Connecting && report.status.frames == 0)
        m_sourceHead = tr("Connecting to %1").arg(report.name);
    else if (state == State::Failed)
        m_sourceHead = tr("This source cannot be used");
    else if (state == State::Ended)
        m_sourceHead = tr("The source has ended");
    else if (!report.current())
        m_sourceHead = tr("Not live: %1").arg(sourceStateText(report));
    applyVeils();
}

void ViewArea::setBlind(Blind blind) {
    m_blind = blind != Blind::No;
    const bool damaged = blind == Blind::WatchFileDamaged;
    m_blindHead = damaged ? tr("The watch file cannot be used") : tr("Measurements only");
    m_blindDetail =
        damaged ? tr("Pictures stay hidden, because masks may be missing. They are measured and forgotten.")
                : tr("Pictures are measured and forgotten; nothing of them is kept or shown.");
    if (m_blind) clear();
    applyVeils();
}

void ViewArea::setAnalysisVeil(const QString& headline, const QString& detail) {
    m_analysisHead = headline;
    m_analysisDetail = detail;
    applyVeils();
}

void ViewArea::applyVeils() {
    const bool source = !m_sourceHead.isEmpty() || m_blind;
    const bool blind = m_sourceHead.isEmpty() && m_blind;
    const QString sourceHead = blind ? m_blindHead : m_sourceHead;
    const QString sourceDetail = blind ? m_blindDetail : m_sourceDetail;
    const QString head = source ? sourceHead : m_analysisHead;
    const QString detail = source ? sourceDetail : m_analysisDetail;
    m_picture->setVeil(sourceHead, sourceDetail);
    m_night->setVeil(head, detail);
    // In the overview the reason stands once; what still shows a picture must only not pass for live.
    for (PictureView* view : std::initializer_list<PictureView*>{m_overlay, m_merge, m_split}) {
        const bool speaks = m_mode != Overview || (!source && view == m_overlay);
        const bool covered = speaks || !view->image().isNull();
        view->setVeil(covered ? head : QString(), speaks ? detail : QString());
    }
}

void ViewArea::clear() {
    m_picture->setImage({});
    m_picture->setNote({});
    m_overlay->setImage({});
    m_merge->clear();
    m_split->clear();
    m_night->clear();
    m_viewport.reset();
    if (!m_blind) return;
    for (const auto& [engine, tile] : m_sourceTiles)
        tile->setImage({});
}

double ViewArea::opacity() const {
    return m_opacity->value() / 100.0;
}

void ViewArea::setOpacity(double opacity) {
    m_opacity->setValue(static_cast<int>(opacity * 100 + 0.5));
}

bool ViewArea::outlines() const {
    return m_outlines->isChecked();
}

void ViewArea::setOutlines(bool outlines) {
    m_outlines->setChecked(outlines);
}

}  // namespace mpm::gui
