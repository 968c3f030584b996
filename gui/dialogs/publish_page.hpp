// A page of settings for publishing: MQTT, and metrics for Prometheus.
#pragma once

#include <QLabel>
#include <QWidget>

#include "gui/services/watch_settings.hpp"

class QCheckBox;
class QGroupBox;
class QLineEdit;
class QSpinBox;

namespace mpm::gui {

class PublishPage : public QWidget {
    Q_OBJECT
public:
    PublishPage(const MqttSettings& mqtt, const MetricsSettings& metrics, QWidget* parent = nullptr);

    MqttSettings mqtt() const;
    MetricsSettings metrics() const;
    /// Shows the state of the connection to the broker. `status`: empty if MQTT is off.
    void setStatus(const QString& status, bool connected);
    QString status() const { return m_status->text(); }

signals:
    /// Emitted if the user asks to connect again. By then, changed() has applied the settings in the form.
    void testWanted();
    void changed();
    void passwordGiven(const QString& password);

private:
    void buildMqtt(const MqttSettings& mqtt);
    void buildMetrics(const MetricsSettings& metrics);

    QGroupBox *m_mqtt, *m_metrics;
    QLineEdit *m_host, *m_user, *m_password, *m_prefix, *m_discovery, *m_address;
    QSpinBox *m_port, *m_metricsPort;
    QCheckBox* m_tls;
    QLabel* m_status;
};

}  // namespace mpm::gui
