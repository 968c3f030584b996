#include "gui/dialogs/publish_page.hpp"

#include <QCheckBox>
#include <QFormLayout>
#include <QGroupBox>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>

#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

QSpinBox* portBox(int port) {
    auto* box = new QSpinBox;
    box->setRange(1, 65535);
    box->setValue(port);
    return box;
}

}  // namespace

PublishPage::PublishPage(const MqttSettings& mqtt, const MetricsSettings& metrics, QWidget* parent)
    : QWidget(parent),
      m_mqtt(new QGroupBox(tr("MQTT, with discovery for Home Assistant"))),
      m_metrics(new QGroupBox(tr("Metrics for Prometheus"))) {
    buildMqtt(mqtt);
    buildMetrics(metrics);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(m_mqtt);
    layout->addWidget(m_metrics);
    layout->addStretch();
    for (QGroupBox* group : {m_mqtt, m_metrics})
        connect(group, &QGroupBox::clicked, this, &PublishPage::changed);
    for (QLineEdit* edit : {m_host, m_user, m_prefix, m_discovery, m_address})
        connect(edit, &QLineEdit::editingFinished, this, &PublishPage::changed);
    for (QSpinBox* box : {m_port, m_metricsPort})
        connect(box, &QSpinBox::editingFinished, this, &PublishPage::changed);
    connect(m_tls, &QCheckBox::clicked, this, &PublishPage::changed);
    connect(m_password, &QLineEdit::editingFinished, this, [this] {
        if (!m_password->text().isEmpty()) emit passwordGiven(m_password->text());
        m_password->clear();
    });
}

void PublishPage::buildMqtt(const MqttSettings& mqtt) {
    m_mqtt->setCheckable(true);
    m_mqtt->setChecked(mqtt.on);
    auto* form = new QFormLayout(m_mqtt);
    form->addRow(tr("Broker"), m_host = new QLineEdit(mqtt.host));
    form->addRow(tr("Port"), m_port = portBox(mqtt.port));
    form->addRow(QString(), m_tls = new QCheckBox(tr("Encrypted (TLS)")));
    m_tls->setChecked(mqtt.tls);
    form->addRow(tr("User"), m_user = new QLineEdit(mqtt.user));
    form->addRow(tr("Password"), m_password = new QLineEdit);
    m_password->setEchoMode(QLineEdit::Password);
    m_password->setPlaceholderText(tr("kept in the keychain; leave empty to change nothing"));
    form->addRow(tr("Topics begin with"), m_prefix = new QLineEdit(mqtt.prefix));
    form->addRow(tr("Discovery prefix"), m_discovery = new QLineEdit(mqtt.discovery));
    m_discovery->setPlaceholderText(tr("empty: not announced"));
    auto* test = new QPushButton(tr("Test"));
    setPlainToolTip(test, tr("Connects again, and shows the answer of the broker"));
    m_status = plainLabel();
    m_status->setObjectName(QStringLiteral("muted"));
    m_status->setWordWrap(true);
    form->addRow(test, m_status);
    connect(test, &QPushButton::clicked, this, &PublishPage::testWanted);
}

void PublishPage::buildMetrics(const MetricsSettings& metrics) {
    m_metrics->setCheckable(true);
    m_metrics->setChecked(metrics.on);
    auto* form = new QFormLayout(m_metrics);
    form->addRow(tr("Address"), m_address = new QLineEdit(metrics.address));
    setPlainToolTip(m_address,
                    tr("127.0.0.1: this machine alone; 0.0.0.0: every machine that reaches this one"));
    form->addRow(tr("Port"), m_metricsPort = portBox(metrics.port));
}

MqttSettings PublishPage::mqtt() const {
    return {m_mqtt->isChecked(),          m_host->text().trimmed(), m_port->value(),
            m_user->text().trimmed(),     m_tls->isChecked(),       m_prefix->text().trimmed(),
            m_discovery->text().trimmed()};
}

void PublishPage::setStatus(const QString& status, bool connected) {
    setMark(*m_status, "trouble", !connected && !status.isEmpty());
    m_status->setText((connected ? QStringLiteral("✓ ") : QString()) + status);
}

MetricsSettings PublishPage::metrics() const {
    return {m_metrics->isChecked(), m_address->text().trimmed(), m_metricsPort->value()};
}

}  // namespace mpm::gui
