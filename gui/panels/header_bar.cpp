#include "gui/panels/header_bar.hpp"

#include <cmath>

#include <QEvent>
#include <QHBoxLayout>

#include "gui/panels/source_badge.hpp"
#include "gui/text/numbers.hpp"
#include "gui/widgets/elided_label.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

constexpr int kLeastNames = 60, kUsefulNames = 150;

QString signedPercent(double value, int digits = 1) {
    return QStringLiteral("%1%2 %")
        .arg(value < 0 ? QStringLiteral("−") : QStringLiteral("+"))
        .arg(readable(std::abs(value), digits));
}

}  // namespace

HeaderBar::HeaderBar(QWidget* parent)
    : QFrame(parent),
      m_row(new QHBoxLayout(this)),
      m_badge(new SourceBadge),
      m_recording(new QToolButton),
      m_source(new ElidedLabel),
      m_model(new ElidedLabel) {
    setObjectName(QStringLiteral("card"));
    m_row->setContentsMargins(12, 6, 14, 6);
    m_row->setSpacing(14);
    m_row->addWidget(m_badge);
    m_recording->setObjectName(QStringLiteral("recording"));
    m_recording->setText(tr("● Recording: end (R)"));
    setPlainToolTip(m_recording, tr("The source in front is recorded to a video"));
    m_recording->hide();
    m_row->addWidget(m_recording);
    connect(m_recording, &QToolButton::clicked, this, &HeaderBar::endRecordingWanted);
    auto* names = new QVBoxLayout;
    names->setSpacing(0);
    m_source->setFont(bold(font()));
    m_model->setObjectName(QStringLiteral("muted"));
    for (QLabel* label : {m_source, m_model}) {
        label->setMinimumWidth(kLeastNames);
        names->addWidget(label);
    }
    m_row->addLayout(names, 1);
    m_speed = addFigure(tr("as fast as all tokens"), 1.6);
    m_tokens = addFigure(tr("tokens in → kept"));
    m_times = addFigure(tr("all tokens → merged"));
    m_difference = addFigure(tr("tokens kept, night to day"));
}

QLabel* HeaderBar::addFigure(const QString& caption, double size) {
    auto* whole = new QWidget;
    auto* column = new QVBoxLayout(whole);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    auto* value = plainLabel(QStringLiteral("–"));
    value->setFont(scaled(bold(font()), size));
    value->setAccessibleDescription(caption);
    auto* below = plainLabel(caption);
    below->setObjectName(QStringLiteral("muted"));
    below->setFont(scaled(font(), 0.85));
    column->addWidget(value);
    column->addWidget(below);
    m_row->addWidget(whole);
    return value;
}

QSize HeaderBar::minimumSizeHint() const {
    const QMargins margins = m_row->contentsMargins();
    return {margins.left() + m_badge->sizeHint().width() + m_row->spacing() + kLeastNames + margins.right(),
            m_row->minimumSize().height()};
}

bool HeaderBar::event(QEvent* event) {
    // Qt sends LayoutRequest if, for example, a longer value needs more room.
    if (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest) hideFiguresThatDoNotFit();
    return QFrame::event(event);
}

void HeaderBar::hideFiguresThatDoNotFit() {
    const QMargins margins = m_row->contentsMargins();
    int room = width() - margins.left() - margins.right() - m_badge->sizeHint().width() - m_row->spacing() -
               kUsefulNames;
    if (!m_recording->isHidden()) room -= m_recording->sizeHint().width() + m_row->spacing();
    for (const QLabel* figure : {m_speed, m_tokens, m_times, m_difference}) {
        QWidget* whole = figure->parentWidget();
        if (figure == m_difference && !m_differs) {
            whole->hide();
            continue;
        }
        room -= m_row->spacing() + whole->sizeHint().width();
        if (whole->isHidden() == (room >= 0)) whole->setVisible(room >= 0);
    }
}

void HeaderBar::setSource(const SourceReport& report, bool paused, const QString& address) {
    m_badge->setState(sourceStateText(report), sourceLevel(report), paused);
    const bool scene = pipeline::traitsOf(report.kind).scene;
    const bool unnamed = report.name == QStringLiteral("demo");
    m_source->setText(unnamed ? tr("Built-in street, day and night") : report.name);
    setPlainToolTip(m_source, address.isEmpty() ? report.name : address);
    if (std::exchange(m_streetShown, scene) != scene) showModel();
    setMark(*m_tokens, "stale", paused || !report.current());
    if (paused || !report.current()) setStale(true);
}

void HeaderBar::setModel(const QString& text, bool warning, bool street) {
    m_modelText = text;
    m_modelWarning = warning;
    m_streetModel = street;
    showModel();
}

void HeaderBar::showModel() {
    const bool foreign = m_streetModel && !m_streetShown;
    const QString text =
        foreign ? tr("%1: trained on the built-in street only").arg(m_modelText) : m_modelText;
    m_model->setText(text);
    setPlainToolTip(m_model, text);
    setMark(*m_model, "trouble", m_modelWarning || foreign);
}

void HeaderBar::setAnalysis(const Analysis& analysis) {
    const int in = analysis.tokensIn(), kept = analysis.tokensKept();
    const ReuseReport& reuse = analysis.merged.tokens.reuse;
    setReuse(reuse);
    if (m_reuses && reuse.state != ReuseState::Suspended) {
        m_tokens->setText(tr("%1, %2 % computed").arg(in).arg(readable(100 * reuse.recomputed, 0)));
        return;
    }
    m_tokens->setText(
        in == kept ? QString::number(in)
                   : tr("%1 → %2  (%3)").arg(in).arg(kept).arg(signedPercent(100.0 * (kept - in) / in)));
    if (m_reuses || !analysis.schedule.empty()) return;
    m_speed->setText(QStringLiteral("–"));
    m_times->setText(tr("%1 ms").arg(readableMs(analysis.networkMs())));
    setPlainToolTip(m_times, tr("Nothing merges: all tokens run"));
    setStale(false);
}

/// Changes only the captions of the numbers. The numbers do not move.
void HeaderBar::setReuse(const ReuseReport& reuse) {
    const bool on = reuse.state != ReuseState::Off;
    if (on)
        setCaption(m_tokens,
                   reuse.state == ReuseState::Suspended ? tr("tokens, too many change for reuse")
                   : reuse.ages.empty()
                       ? tr("tokens, with reuse")
                       : tr("tokens, mean age %1 frames").arg(readable(cv::mean(reuse.ages)[0], 0)));
    // While reuse is suspended, tokens merge, so the second time is a time with merging.
    const bool merges = !on || reuse.state == ReuseState::Suspended;
    setCaption(m_times, merges ? tr("all tokens → merged") : tr("all tokens → reuse"));
    if (on == m_reuses) return;
    m_reuses = on;
    if (!on) setCaption(m_tokens, tr("tokens in → kept"));
    setCaption(m_difference, on ? tr("tokens computed, night to day") : tr("tokens kept, night to day"));
}

void HeaderBar::setCaption(QLabel* figure, const QString& caption) {
    figure->setAccessibleDescription(caption);
    figure->parentWidget()->findChild<QLabel*>(QStringLiteral("muted"))->setText(caption);
}

/// The two times and the difference are from the same frames, so the difference matches the times.
void HeaderBar::setSaved(const SavedTime& saved) {
    m_speed->setText(saved.any() ? tr("%1×").arg(readable(saved.speedUp(), saved.speedUp() < 9.95 ? 1 : 0))
                                 : QStringLiteral("–"));
    if (!saved.any()) return m_times->setText(QStringLiteral("–"));
    m_times->setText(tr("%1 → %2 ms (%3)")
                         .arg(readableMs(saved.wholeMs()), readableMs(saved.mergedMs()),
                              signedPercent(-saved.percent(), 0)));
    const double ms = saved.savedMs();
    setPlainToolTip(m_times, (ms >= 0 ? tr("%1 ms saved: medians of the last %2 frames that ran both ways")
                                      : tr("%1 ms lost: medians of the last %2 frames that ran both ways"))
                                 .arg(readableMs(std::abs(ms)))
                                 .arg(saved.count()));
    setStale(false);
}

void HeaderBar::setStale(bool stale) {
    setMark(*m_times, "stale", stale);
    setMark(*m_speed, "stale", stale);
}

/// Hides the difference if it is within the scatter of single frames, because it may then be chance.
void HeaderBar::setDayNight(const pipeline::DayNightStatistics& statistics) {
    const auto difference = statistics.difference(&pipeline::PhaseStatistics::kept);
    m_differs = statistics.complete() && std::abs(difference.percent) > difference.spread;
    m_difference->setText(signedPercent(difference.percent));
    hideFiguresThatDoNotFit();
}

void HeaderBar::clear() {
    m_tokens->setText(QStringLiteral("–"));
    setSaved({});
    setDayNight({});
}

QString HeaderBar::badgeText() const {
    return m_badge->text();
}

}  // namespace mpm::gui
