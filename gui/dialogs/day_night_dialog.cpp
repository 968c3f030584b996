#include "gui/dialogs/day_night_dialog.hpp"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QTimeEdit>

namespace mpm::gui {

using Rule = pipeline::DayNightRule;

DayNightDialog::DayNightDialog(const Rule& rule, QWidget* parent)
    : QDialog(parent), m_by(new QComboBox), m_pages(new QStackedWidget) {
    setWindowTitle(tr("Day and night"));
    auto* layout = new QVBoxLayout(this);
    auto* form = new QFormLayout;
    m_by->addItems({tr("By the image's luminance"), tr("By the clock"), tr("By the sun"), tr("By hand")});
    form->addRow(tr("Tell day from night"), m_by);
    layout->addLayout(form);
    for (QWidget* page : {luminancePage(rule), schedulePage(rule), sunPage(rule), handPage(rule)})
        m_pages->addWidget(page);
    layout->addWidget(m_pages);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    layout->addWidget(buttons);
    m_by->setCurrentIndex(static_cast<int>(rule.by));
    m_pages->setCurrentIndex(m_by->currentIndex());
    connect(m_by, &QComboBox::currentIndexChanged, m_pages, &QStackedWidget::setCurrentIndex);
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

QWidget* DayNightDialog::luminancePage(const Rule& rule) {
    auto* page = new QWidget;
    auto* form = new QFormLayout(page);
    m_dark = addNumber(form, tr("Night below"), rule.dark, 0, 1, 2);
    m_bright = addNumber(form, tr("Day above"), rule.bright, 0, 1, 2);
    m_hold = new QSpinBox;
    m_hold->setRange(0, 3'600);
    m_hold->setSuffix(tr(" s"));
    m_hold->setValue(static_cast<int>(rule.hold.count()));
    form->addRow(tr("Held for"), m_hold);
    connect(m_hold, &QSpinBox::valueChanged, this, &DayNightDialog::emitRule);
    return page;
}

QWidget* DayNightDialog::schedulePage(const Rule& rule) {
    auto* page = new QWidget;
    auto* form = new QFormLayout(page);
    m_dayFrom = addTime(form, tr("Day from"), rule.dayFrom);
    m_nightFrom = addTime(form, tr("Night from"), rule.nightFrom);
    return page;
}

QWidget* DayNightDialog::sunPage(const Rule& rule) {
    auto* page = new QWidget;
    auto* form = new QFormLayout(page);
    m_latitude = addNumber(form, tr("Degrees north"), rule.latitude, -90, 90, 3);
    m_longitude = addNumber(form, tr("Degrees east"), rule.longitude, -180, 180, 3);
    m_elevation = addNumber(form, tr("Night below, degrees"), rule.elevation, -18, 10, 1);
    return page;
}

QWidget* DayNightDialog::handPage(const Rule& rule) {
    auto* page = new QWidget;
    auto* form = new QFormLayout(page);
    m_hand = new QComboBox;
    m_hand->addItems({tr("Day"), tr("Night")});
    m_hand->setCurrentIndex(rule.hand == pipeline::Phase::Night ? 1 : 0);
    form->addRow(tr("It is"), m_hand);
    connect(m_hand, &QComboBox::currentIndexChanged, this, &DayNightDialog::emitRule);
    return page;
}

Rule DayNightDialog::rule() const {
    const auto minutes = [](const QTimeEdit* edit) {
        return edit->time().hour() * 60 + edit->time().minute();
    };
    Rule rule;
    rule.by = static_cast<Rule::By>(m_by->currentIndex());
    // One threshold pushes the other along: a rule that makes no sense cannot be entered.
    rule.dark = std::min(m_dark->value(), m_bright->value());
    rule.bright = std::max(m_dark->value(), m_bright->value());
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
    emit ruleChanged(rule());
}

}  // namespace mpm::gui
