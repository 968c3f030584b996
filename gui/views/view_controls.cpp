#include "gui/views/view_controls.hpp"

#include <algorithm>

#include "gui/engine/analysis.hpp"
#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

ViewControls::ViewControls()
    : m_stageLabel(plainLabel(tr("Stage"))),
      m_stages(new QSlider(Qt::Horizontal)),
      m_stageText(plainLabel()),
      m_colours(new QComboBox),
      m_other(new QComboBox),
      m_opacity(new QSlider(Qt::Horizontal)),
      m_outlines(new QCheckBox(tr("Outlines"))) {
    m_stages->setObjectName(QStringLiteral("stage"));
    m_stages->setFixedWidth(56);
    m_stages->setPageStep(1);
    m_stages->setAccessibleName(tr("Merge map after"));
    setPlainToolTip(m_stages, tr("Merges shown in the merge map (S and Shift+S)"));
    for (const auto& [key, title] : pipeline::mapColoursNames())
        m_colours->addItem(tr(title), QLatin1String(key));
    m_colours->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_colours->setAccessibleName(tr("Colours of the merge map"));
    setPlainToolTip(m_colours, tr("Clusters in the mean colour of their patches, by their size, or each in "
                                  "a colour of its own"));
    m_opacity->setRange(0, 100);
    m_opacity->setValue(55);
    m_opacity->setFixedWidth(70);
    m_opacity->setAccessibleName(tr("Opacity of the colours"));
    m_outlines->setChecked(true);
    auto* opacityLabel = plainLabel(tr("Opacity"));
    m_others = {{}, {5}, {2, 5}, {2, 5, 8}};
    m_other->addItems({tr("Left: all tokens"), tr("Left: {5}"), tr("Left: {2, 5}"), tr("Left: {2, 5, 8}")});
    m_other->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_other->setAccessibleName(tr("Schedule on the left"));
    setPlainToolTip(m_other, tr("Compare the schedule with all tokens, or with another schedule"));
    for (QWidget* widget : std::initializer_list<QWidget*>{m_stageLabel, m_stages, m_stageText, m_colours,
                                                           m_other, opacityLabel, m_opacity, m_outlines})
        addWidget(widget);
    addStretch();
    showStage();
    connect(m_stages, &QSlider::valueChanged, this, [this] {
        showStage();
        emit changed();
    });
    connect(m_colours, &QComboBox::currentIndexChanged, this, &ViewControls::changed);
    connect(m_other, &QComboBox::currentIndexChanged, this, &ViewControls::otherChanged);
    connect(m_opacity, &QSlider::valueChanged, this, &ViewControls::changed);
    connect(m_outlines, &QCheckBox::toggled, this, &ViewControls::changed);
}

void ViewControls::showStage() {
    const int merges = m_stages->value(), all = m_stages->maximum();
    m_stageText->setText(merges == all ? tr("all merges")
                         : merges == 0 ? tr("no merge")
                                       : tr("block %1").arg(m_blocks[static_cast<std::size_t>(merges - 1)]));
    int width = 0;
    for (const QString& text : {tr("all merges"), tr("no merge"), tr("block %1").arg(88)})
        width = std::max(width, m_stageText->fontMetrics().horizontalAdvance(text));
    m_stageText->setMinimumWidth(width + 2);
}

int ViewControls::stage() const {
    const int merges = m_stages->value();
    return merges == m_stages->maximum() ? kLastStage : merges == 0 ? kUnmerged : merges - 1;
}

void ViewControls::setStageVisible(bool visible) {
    for (QWidget* widget : std::initializer_list<QWidget*>{m_stageLabel, m_stages, m_stageText, m_colours})
        widget->setVisible(visible);
}

std::vector<int> ViewControls::other() const {
    return m_others[static_cast<std::size_t>(std::max(0, m_other->currentIndex()))];
}

void ViewControls::setSchedule(const std::vector<int>& blocks) {
    if (blocks == m_blocks) return;
    m_blocks = blocks;
    {
        const QSignalBlocker block(m_stages);
        m_stages->setRange(0, static_cast<int>(m_blocks.size()));
        m_stages->setValue(m_stages->maximum());
    }
    showStage();
    emit changed();
}

}  // namespace mpm::gui
