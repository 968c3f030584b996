#include "gui/dialogs/day_night_dialog.hpp"

#include <algorithm>
#include <tuple>

#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QStackedWidget>
#include <QTimeEdit>

#include "gui/widgets/level_bar.hpp"

namespace mpm::gui {

using Rule = pipeline::DayNightRule;

DayNightDialog::DayNightDialog(const Rule& rule, QWidget* parent)
    : QDialog(parent), m_by(new QComboBox), m_pages(new QStackedWidget) {
    setWindowTitle(tr("Day and night"));
    auto* layout = new QVBoxLayout(this);
    auto* form = new QFormLayout;
    form->addRow(tr("Tell day from night"), m_by);
    layout->addLayout(form);
    const auto add = [this, &rule](Rule::By by, const QString& name, auto fill) {
        m_by->addItem(name, static_cast<int>(by));
        auto* page = new QWidget;
        (this->*fill)(new QFormLayout(page), rule);
        m_pages->addWidget(page);
    };
    m_hold = new QSpinBox;
    m_hold->setRange(0, 3'600);
    m_hold->setSuffix(tr(" s"));
    m_hold->setValue(static_cast<int>(rule.hold.count()));
    connect(m_hold, &QSpinBox::valueChanged, this, &DayNightDialog::emitRule);
    add(Rule::By::Luminance, tr("By the image's luminance"), &DayNightDialog::fillLuminance);
    add(Rule::By::Infrared, tr("By infrared: colour disappears"), &DayNightDialog::fillInfrared);
    add(Rule::By::Schedule, tr("By the clock"), &DayNightDialog::fillSchedule);
    add(Rule::By::Sun, tr("By the sun"), &DayNightDialog::fillSun);
    add(Rule::By::Hand, tr("By hand"), &DayNightDialog::fillHand);
    layout->addWidget(m_pages);
    m_holdRow = new QWidget;
    auto* hold = new QFormLayout(m_holdRow);
    hold->addRow(tr("Held for"), m_hold);
    layout->addWidget(m_holdRow);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    layout->addWidget(buttons);
    m_by->setCurrentIndex(m_by->findData(static_cast<int>(rule.by)));
    showPage();
    connect(m_by, &QComboBox::currentIndexChanged, this, &DayNightDialog::showPage);
    connect(m_by, &QComboBox::currentIndexChanged, this, &DayNightDialog::emitRule);
}

QDoubleSpinBox* DayNightDialog::addNumber(QFormLayout* form, const QString& name, double value, double least,
                                          double most, int digits) {
    auto* box = new QDoubleSpinBox;
    box->setRange(least, most);
    box->setDecimals(digits);
    box->setSingleStep(digits == 2 ? 0.01 : 1);
    box->setValue(value);
    form->addRow(name, box);
    connect(box, &QDoubleSpinBox::valueChanged, this, &DayNightDialog::emitRule);
    return box;
}

QTimeEdit* DayNightDialog::addTime(QFormLayout* form, const QString& name, int minutes) {
    auto* edit = new QTimeEdit(QTime(minutes / 60 % 24, minutes % 60));
    edit->setDisplayFormat(QStringLiteral("HH:mm"));
    form->addRow(name, edit);
    connect(edit, &QTimeEdit::timeChanged, this, &DayNightDialog::emitRule);
    return edit;
}

void DayNightDialog::fillLuminance(QFormLayout* form, const Rule& rule) {
    m_dark = addNumber(form, tr("Night below"), rule.dark, 0, 1, 2);
    m_bright = addNumber(form, tr("Day above"), rule.bright, 0, 1, 2);
    m_luminance = addLevel(form, tr("Luminance"), rule.dark, rule.bright);
}

void DayNightDialog::fillInfrared(QFormLayout* form, const Rule& rule) {
    m_grey = addNumber(form, tr("Night below"), rule.grey, 0, 1, 2);
    m_coloured = addNumber(form, tr("Day above"), rule.coloured, 0, 1, 2);
    m_saturation = addLevel(form, tr("Saturation"), rule.grey, rule.coloured);
}

LevelBar* DayNightDialog::addLevel(QFormLayout* form, const QString& name, double night, double day) {
    auto* bar = new LevelBar(name);
    bar->setThresholds(night, day);
    form->addRow(name, bar);
    return bar;
}

void DayNightDialog::showPage() {
    m_pages->setCurrentIndex(m_by->currentIndex());
    const Rule::By by = this->by();
    m_holdRow->setVisible(by == Rule::By::Luminance || by == Rule::By::Infrared);
}

void DayNightDialog::showLevels(double luminance, double saturation) {
    m_luminance->setLevel(luminance);
    m_saturation->setLevel(saturation);
}

void DayNightDialog::fillSchedule(QFormLayout* form, const Rule& rule) {
    m_dayFrom = addTime(form, tr("Day from"), rule.dayFrom);
    m_nightFrom = addTime(form, tr("Night from"), rule.nightFrom);
}

void DayNightDialog::fillSun(QFormLayout* form, const Rule& rule) {
    m_latitude = addNumber(form, tr("Degrees north"), rule.latitude, -90, 90, 3);
    m_longitude = addNumber(form, tr("Degrees east"), rule.longitude, -180, 180, 3);
    m_elevation = addNumber(form, tr("Night below, degrees"), rule.elevation, -18, 10, 1);
}

void DayNightDialog::fillHand(QFormLayout* form, const Rule& rule) {
    m_hand = new QComboBox;
    m_hand->addItems({tr("Day"), tr("Night")});
    m_hand->setCurrentIndex(rule.hand == pipeline::Phase::Night ? 1 : 0);
    form->addRow(tr("It is"), m_hand);
    connect(m_hand, &QComboBox::currentIndexChanged, this, &DayNightDialog::emitRule);
}

/// Returns both thresholds, the lower threshold first. They differ by at least kApart, so that the rule is
/// valid.
std::pair<double, double> DayNightDialog::thresholds(const QDoubleSpinBox* one, const QDoubleSpinBox* other) {
    constexpr double kApart = 0.005;
    const double low = std::min({one->value(), other->value(), 1 - kApart});
    return {low, std::max({one->value(), other->value(), low + kApart})};
}

Rule DayNightDialog::rule() const {
    const auto minutes = [](const QTimeEdit* edit) {
        return edit->time().hour() * 60 + edit->time().minute();
    };
    Rule rule;
    rule.by = by();
    std::tie(rule.dark, rule.bright) = thresholds(m_dark, m_bright);
    std::tie(rule.grey, rule.coloured) = thresholds(m_grey, m_coloured);
    rule.hold = std::chrono::seconds(m_hold->value());
    rule.dayFrom = minutes(m_dayFrom);
    rule.nightFrom = minutes(m_nightFrom);
    rule.latitude = m_latitude->value();
    rule.longitude = m_longitude->value();
    rule.elevation = m_elevation->value();
    rule.hand = m_hand->currentIndex() == 1 ? pipeline::Phase::Night : pipeline::Phase::Day;
    return rule;
}

void DayNightDialog::emitRule() {
    const Rule now = rule();
    m_luminance->setThresholds(now.dark, now.bright);
    m_saturation->setThresholds(now.grey, now.coloured);
    emit ruleChanged(now);
}

}  // namespace mpm::gui
