#include "gui/panels/guide_strip.hpp"

#include <QHBoxLayout>
#include <QPushButton>

#include "gui/text/numbers.hpp"
#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

namespace {

constexpr int kLeastHeight = 600;  // in pixels; a shorter window does not show the strip

}  // namespace

GuideStrip::GuideStrip(QWidget* parent)
    : QFrame(parent), m_text(plainLabel()), m_reuse(new QPushButton(tr("Turn &reuse on"))) {
    setObjectName(QStringLiteral("card"));
    m_text->setWordWrap(true);
    m_text->setText(
        tr("Each frame of the built-in street runs twice: every patch computed, and similar ones merged."));
    auto* merge = new QPushButton(tr("&See what merged"));
    auto* camera = new QPushButton(tr("Open your &camera…"));
    auto* close = new QPushButton(QStringLiteral("✕"));
    close->setAccessibleName(tr("Dismiss"));
    setPlainToolTip(close, tr("Dismiss; this line does not come back"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 4, 8, 4);
    row->addWidget(m_text, 1);
    for (QPushButton* button : {merge, m_reuse, camera, close})
        row->addWidget(button);
    connect(merge, &QPushButton::clicked, this, &GuideStrip::mergeWanted);
    connect(m_reuse, &QPushButton::clicked, this, [this] { emit reuseWanted(true); });
    connect(camera, &QPushButton::clicked, this, &GuideStrip::cameraWanted);
    connect(close, &QPushButton::clicked, this, [this] { setDismissed(true); });
    hide();
}

void GuideStrip::setSource(const SourceReport& report) {
    m_scene = pipeline::traitsOf(report.kind).scene && !report.name.isEmpty();
    showOrHide();
}

void GuideStrip::setDismissed(bool dismissed) {
    m_dismissed = dismissed;
    showOrHide();
}

void GuideStrip::showOrHide() {
    const bool shown =
        m_scene && !m_dismissed && window()->height() >= kLeastHeight && !window()->isFullScreen();
    if (shown == isHidden()) setVisible(shown);
}

void GuideStrip::setAnalysis(const Analysis& analysis, const SavedTime& saved) {
    const Conditions conditions = conditionsOf(analysis);
    m_reuse->setVisible(analysis.merged.tokens.reuse.state == ReuseState::Off);
    QString words =
        conditions.reuses ? tr("Left: every patch computed. Right: only patches that changed, %1 % of them.")
                                .arg(readable(100 * analysis.merged.tokens.reuse.recomputed, 0))
        : analysis.schedule.empty()
            ? tr("Every patch is computed. Choose blocks in the schedule to merge similar ones.")
            : tr("Left: every patch computed. Right: similar patches merged, %1 of %2 tokens kept.")
                  .arg(analysis.tokensKept())
                  .arg(analysis.tokensIn());
    if (saved.isOf(analysis) && analysis.model->classes)
        words += tr(" %1 % of the pixels agree, %2 times as fast.")
                     .arg(readable(100 * m_agreement, 1), readable(saved.speedUp(), 1));
    if (analysis.beside && analysis.reuse().state == ReuseState::Partial)
        words += tr(" Reuse computes only patches that changed: %1 %.")
                     .arg(readable(100 * analysis.reuse().recomputed, 0));
    if (words != m_text->text()) m_text->setText(words);
}

void GuideStrip::setComparison(const Comparison& comparison, const SavedTime& saved) {
    m_agreement = comparison.agreement;
    setAnalysis(*comparison.analysis, saved);
}

}  // namespace mpm::gui
