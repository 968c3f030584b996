#include "gui/dialogs/alert_page.hpp"

#include <cmath>

#include <QCheckBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>

#include "gui/text/numbers.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/widgets/empty_hint.hpp"
#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

AlertPage::AlertPage(const std::vector<pipeline::AlertRule>& rules, const QStringList& regions,
                     const QStringList& labels, const std::map<QString, QString>& sources, QWidget* parent)
    : QWidget(parent), m_rules(rules), m_list(new QListWidget) {
    m_list->setAccessibleName(tr("Alerts"));
    auto* left = new QVBoxLayout;
    left->addWidget(m_list);
    m_list->setObjectName(QStringLiteral("framed"));
    new EmptyHint(tr("No alert yet. Add creates an alert, which is active at once."), m_list);
    auto* buttons = new QHBoxLayout;
    m_plus = new QPushButton(tr("&Add"));
    auto* minus = new QPushButton(tr("&Remove"));
    buttons->addWidget(m_plus);
    buttons->addWidget(minus);
    left->addLayout(buttons);
    auto* row = new QHBoxLayout(this);
    row->addLayout(left, 2);
    row->addWidget(buildForm(regions, labels), 3);
    for (const auto& [source, title] : sources)
        m_source->addItem(title, QString::fromStdString(safeName(source.toStdString())));
    for (const pipeline::AlertRule& rule : m_rules)
        m_list->addItem(QString::fromStdString(rule.name));
    connect(m_plus, &QPushButton::clicked, this, &AlertPage::add);
    connect(minus, &QPushButton::clicked, this, &AlertPage::remove);
    connect(m_list, &QListWidget::currentRowChanged, this, &AlertPage::show);
    m_list->setCurrentRow(m_rules.empty() ? -1 : 0);
    limit();
    show(m_list->currentRow());
}

QDoubleSpinBox* AlertPage::addSeconds(QFormLayout* form, const QString& name) {
    auto* box = new QDoubleSpinBox;
    box->setRange(0, 86'400);
    box->setDecimals(1);
    box->setSuffix(tr(" s"));
    box->setAccessibleName(name);
    form->addRow(name, box);
    connect(box, &QDoubleSpinBox::valueChanged, this, &AlertPage::read);
    return box;
}

QWidget* AlertPage::buildForm(const QStringList& regions, const QStringList& labels) {
    m_form = new QWidget;
    auto* form = new QFormLayout(m_form);
    form->addRow(tr("Name"), m_name = new QLineEdit);
    form->addRow(tr("When"), m_of = new QComboBox);
    m_of->addItems({tr("tokens kept"), tr("share of a class"), tr("luminance"), tr("the source is down"),
                    tr("number of objects"), tr("time an object stays"), tr("an object left after a stay")});
    form->addRow(tr("Class"), m_label = new QComboBox);
    m_label->addItem(QString());  // for objects of every class
    m_label->addItems(labels);
    form->addRow(tr("In"), m_region = new QComboBox);
    m_region->addItem(tr("the whole image"), QString());
    for (const QString& region : regions)
        m_region->addItem(region, region);
    form->addRow(tr("is"), m_above = new QComboBox);
    m_above->addItems({tr("above"), tr("below")});
    auto* threshold = new QHBoxLayout;
    threshold->addWidget(m_threshold = new QDoubleSpinBox);
    threshold->addWidget(m_now = plainLabel(), 1);
    m_threshold->setAccessibleName(tr("Threshold"));
    form->addRow(tr("Threshold"), threshold);
    form->addRow(tr("Source"), m_source = new QComboBox);
    m_source->addItem(tr("every source"), QString());
    form->addRow(tr("Hours"), buildHours());
    m_hold = addSeconds(form, tr("For at least"));
    m_coolDown = addSeconds(form, tr("Not again for"));
    form->addRow(QString(), m_desktop = new QCheckBox(tr("Notify the desktop")));
    form->addRow(QString(), m_record = new QCheckBox(tr("Record a video around it")));
    form->addRow(tr("Run"), m_command = new QLineEdit);
    m_command->setPlaceholderText(tr("program and arguments"));
    form->addRow(m_times = plainLabel());
    m_times->setObjectName(QStringLiteral("muted"));
    setPlainToolTip(m_command,
                    tr("Runs without a shell; MPM_ALERT, MPM_SOURCE, MPM_VALUE and MPM_TEXT are set."));
    for (QSpinBox* box : {m_from, m_to})
        connect(box, &QSpinBox::valueChanged, this, &AlertPage::read);
    for (QComboBox* box : {m_of, m_label, m_region, m_above, m_source})
        connect(box, &QComboBox::activated, this, &AlertPage::read);
    for (QLineEdit* edit : {m_name, m_command})
        connect(edit, &QLineEdit::editingFinished, this, &AlertPage::read);
    for (QCheckBox* box : {m_desktop, m_record})
        connect(box, &QCheckBox::clicked, this, &AlertPage::read);
    connect(m_threshold, &QDoubleSpinBox::valueChanged, this, &AlertPage::read);
    return m_form;
}

QLayout* AlertPage::buildHours() {
    auto* row = new QHBoxLayout;
    for (auto [box, name] : {std::pair(&m_from, tr("From hour")), std::pair(&m_to, tr("To hour"))}) {
        *box = new QSpinBox;
        (*box)->setRange(0, 24);
        (*box)->setSuffix(tr(" h"));
        (*box)->setAccessibleName(name);
        row->addWidget(*box);
        if (*box == m_from) row->addWidget(plainLabel(tr("to")));
    }
    row->addStretch();
    return row;
}

void AlertPage::add() {
    pipeline::AlertRule rule;
    rule.name = tr("Alert %1").arg(m_rules.size() + 1).toStdString();
    rule.threshold = 500;
    rule.hold = std::chrono::seconds(3);
    m_rules.push_back(rule);
    limit();
    m_list->addItem(QString::fromStdString(rule.name));
    m_list->setCurrentRow(m_list->count() - 1);
    m_name->setFocus();
    m_name->selectAll();
    emit changed();
}

void AlertPage::limit() {
    m_plus->setEnabled(m_rules.size() < pipeline::AlertWatch::kMostRules);
}

void AlertPage::remove() {
    const int row = m_list->currentRow();
    if (row < 0) return;
    m_rules.erase(m_rules.begin() + row);
    limit();
    delete m_list->takeItem(row);
    show(m_list->currentRow());
    emit changed();
}

void AlertPage::fitToQuantity() {
    using Of = pipeline::AlertRule::Of;
    using Unit = pipeline::AlertUnit;
    const Unit unit = pipeline::unitOf(of());
    m_label->setEnabled(of() == Of::ClassShare || pipeline::isOfObjects(of()));
    m_region->setEnabled(of() == Of::Tokens || m_label->isEnabled());
    m_above->setEnabled(of() != Of::SourceDown);
    m_threshold->setEnabled(of() != Of::SourceDown);
    m_hold->setEnabled(unit != Unit::Seconds);  // a rule about the length of a stay needs no hold time
    m_threshold->setSuffix(unit == Unit::Count ? QString() : unit == Unit::Share ? tr(" %") : tr(" s"));
    m_threshold->setSingleStep(of() == Of::Tokens ? 10 : unit == Unit::Share ? 0.1 : 1);
    m_threshold->setRange(0, unit == Unit::Share ? 100 : 1e6);
    if (unit == Unit::Count || m_threshold->decimals() == 0)
        m_threshold->setDecimals(unit == Unit::Count ? 0 : 1);
}

double AlertPage::scale() const {
    return pipeline::unitOf(of()) == pipeline::AlertUnit::Share ? 100 : 1;
}

/// Shows as many decimals as the threshold needs, so that a rule from a file is not rounded.
void AlertPage::showThreshold(double threshold) {
    const double value = scale() * threshold;
    int decimals = pipeline::unitOf(of()) == pipeline::AlertUnit::Count ? 0 : 1;
    while (decimals < 8 && std::abs(value - QString::number(value, 'f', decimals).toDouble()) > 1e-9)
        ++decimals;
    m_threshold->setDecimals(decimals);
    m_threshold->setValue(value);
    m_thresholdShown = m_threshold->value();
}

void AlertPage::setInput(const pipeline::AlertInput& input) {
    m_input = input;
    showValue();
}

void AlertPage::renameRegion(const std::string& before, const std::string& now, const std::string& source,
                             bool everywhere) {
    for (pipeline::AlertRule& rule : m_rules)
        if (rule.region == before && (rule.source == source || (rule.source.empty() && everywhere)))
            rule.region = now;
    const QString name = QString::fromStdString(now);
    const int at = m_region->findData(QString::fromStdString(before));
    if (at < 0) return;
    m_region->setItemText(at, name);
    m_region->setItemData(at, name);
}

void AlertPage::showValue() {
    const int row = m_list->currentRow();
    const auto value = row < 0 ? std::nullopt : valueFor(m_rules[static_cast<std::size_t>(row)], m_input);
    const pipeline::AlertUnit unit = pipeline::unitOf(of());
    m_now->setText(!value || !m_threshold->isEnabled()    ? QString()
                   : unit == pipeline::AlertUnit::Count   ? tr("now %1").arg(readable(*value, 0))
                   : unit == pipeline::AlertUnit::Seconds ? tr("now %1 s").arg(readable(*value, 0))
                                                          : tr("now %1 %").arg(readable(100 * *value, 1)));
}

void AlertPage::askForTimes() {
    m_times->clear();
    const int row = m_list->currentRow();
    // The store lacks the data for rules about sources that are down, and for rules about single objects.
    if (row < 0 || !m_threshold->isEnabled() || !m_hold->isEnabled()) return;
    emit timesWanted(m_rules[static_cast<std::size_t>(row)]);
}

void AlertPage::setTimes(const pipeline::AlertRule& rule, int times) {
    const int row = m_list->currentRow();
    if (row < 0 || !(m_rules[static_cast<std::size_t>(row)] == rule)) return;
    m_times->setText(times == 1 ? tr("would have fired once in the last day")
                                : tr("would have fired %1 times in the last day").arg(times));
}

void AlertPage::show(int row) {
    m_form->setEnabled(row >= 0);
    if (row < 0) return;
    const pipeline::AlertRule& rule = m_rules[static_cast<std::size_t>(row)];
    m_showing = true;
    m_name->setText(QString::fromStdString(rule.name));
    m_of->setCurrentIndex(static_cast<int>(rule.of));
    fitToQuantity();
    const QString label = QString::fromStdString(rule.label);
    if (!label.isEmpty() && m_label->findText(label) < 0) m_label->addItem(label);  // from another model
    m_label->setCurrentText(label);
    const QString region = QString::fromStdString(rule.region);
    if (m_region->findData(region) < 0) m_region->addItem(region, region);  // a region of another source
    m_region->setCurrentIndex(m_region->findData(region));
    m_above->setCurrentIndex(rule.above ? 0 : 1);
    showThreshold(rule.threshold);
    const QString source = QString::fromStdString(rule.source);
    if (m_source->findData(source) < 0) m_source->addItem(source, source);  // a source that is not open now
    m_source->setCurrentIndex(m_source->findData(source));
    m_from->setValue(rule.fromHour);
    m_to->setValue(rule.toHour);
    m_hold->setValue(double(rule.hold.count()) / 1000);
    m_coolDown->setValue(double(rule.coolDown.count()) / 1000);
    m_desktop->setChecked(rule.desktop);
    m_record->setChecked(rule.record);
    m_command->setText(QString::fromStdString(rule.command));
    m_showing = false;
    showValue();
    askForTimes();
}

void AlertPage::read() {
    const int row = m_list->currentRow();
    if (m_showing || row < 0) return;
    pipeline::AlertRule& rule = m_rules[static_cast<std::size_t>(row)];
    m_showing = true;  // so that changes to the boxes below do not change the rule
    const bool noClass = m_label->count() < 2 && m_label->currentText().isEmpty();
    if (of() == pipeline::AlertRule::Of::ClassShare && noClass)
        m_of->setCurrentIndex(static_cast<int>(rule.of));
    const bool sameQuantity = of() == rule.of;
    fitToQuantity();
    m_showing = false;
    if (!m_name->text().trimmed().isEmpty()) rule.name = m_name->text().trimmed().toStdString();
    rule.of = of();
    const bool share = rule.of == pipeline::AlertRule::Of::ClassShare;
    if (share && m_label->currentText().isEmpty()) m_label->setCurrentIndex(m_label->count() > 1 ? 1 : 0);
    rule.label = m_label->isEnabled() ? m_label->currentText().toStdString() : std::string();
    rule.region = m_region->isEnabled() ? m_region->currentData().toString().toStdString() : std::string();
    rule.above = m_above->currentIndex() == 0;
    if (!sameQuantity || m_threshold->value() != m_thresholdShown)
        rule.threshold = m_threshold->value() / scale();
    m_thresholdShown = m_threshold->value();
    rule.source = m_source->currentData().toString().toStdString();
    if (m_from->value() != m_to->value()) rule.fromHour = m_from->value(), rule.toHour = m_to->value();
    const auto milliseconds = [](double seconds) {
        return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
    };
    rule.hold = milliseconds(m_hold->value());
    rule.coolDown = milliseconds(m_coolDown->value());
    rule.desktop = m_desktop->isChecked();
    rule.record = m_record->isChecked();
    rule.command = m_command->text().toStdString();
    m_list->item(row)->setText(QString::fromStdString(rule.name));
    showValue();
    askForTimes();
    emit changed();
}

}  // namespace mpm::gui
