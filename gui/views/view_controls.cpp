#include "gui/views/view_controls.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QSlider>

#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

ViewControls::ViewControls()
    : m_stageLabel(plainLabel(tr("Stage"))),
      m_stages(new QComboBox),
      m_opacity(new QSlider(Qt::Horizontal)),
      m_outlines(new QCheckBox(tr("Outlines"))) {
    m_stages->addItem(tr("all merges"), -1);
    m_stages->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_stages->setMinimumContentsLength(9);
    m_stages->setAccessibleName(tr("Merge map after"));
    m_opacity->setRange(0, 100);
    m_opacity->setValue(55);
    m_opacity->setFixedWidth(70);
    m_opacity->setAccessibleName(tr("Opacity of the colours"));
    m_outlines->setChecked(true);
    auto* opacityLabel = plainLabel(tr("Opacity"));
    for (QWidget* widget :
         std::initializer_list<QWidget*>{m_stageLabel, m_stages, opacityLabel, m_opacity, m_outlines})
        addWidget(widget);
    addStretch();
    connect(m_stages, &QComboBox::activated, this, [this] {
        m_stage = m_stages->currentData().toInt();
        emit changed();
    });
    connect(m_opacity, &QSlider::valueChanged, this, &ViewControls::changed);
    connect(m_outlines, &QCheckBox::toggled, this, &ViewControls::changed);
}

double ViewControls::opacity() const {
    return m_opacity->value() / 100.0;
}

void ViewControls::setOpacity(double opacity) {
    m_opacity->setValue(static_cast<int>(opacity * 100 + 0.5));
}

bool ViewControls::outlines() const {
    return m_outlines->isChecked();
}

void ViewControls::setOutlines(bool outlines) {
    m_outlines->setChecked(outlines);
}

void ViewControls::setStageVisible(bool visible) {
    m_stages->setVisible(visible);
    m_stageLabel->setVisible(visible);
}

void ViewControls::setSchedule(const std::vector<int>& blocks) {
    if (blocks == m_blocks) return;
    m_blocks = blocks;
    m_stages->clear();
    m_stages->addItem(tr("all merges"), -1);
    for (int i = 0; i + 1 < static_cast<int>(m_blocks.size()); ++i)
        m_stages->addItem(
            i == 0 ? tr("before block %1").arg(m_blocks[i]) : tr("up to block %1").arg(m_blocks[i]), i);
    m_stage = -1;
    emit changed();
}

}  // namespace mpm::gui
