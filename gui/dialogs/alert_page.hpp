// The list of alert rules and a form for the chosen rule.
#pragma once

#include <vector>

#include <QWidget>

#include "pipeline/watch/alert.hpp"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLineEdit;
class QListWidget;
class QPushButton;

namespace mpm::gui {

class AlertPage : public QWidget {
    Q_OBJECT
public:
    AlertPage(const std::vector<pipeline::AlertRule>& rules, const QStringList& regions,
              const QStringList& labels, QWidget* parent = nullptr);

    const std::vector<pipeline::AlertRule>& rules() const { return m_rules; }

public slots:
    void add();
    void remove();

signals:
    void changed();

private:
    QWidget* buildForm(const QStringList& regions, const QStringList& labels);
    QDoubleSpinBox* addSeconds(QFormLayout* form, const QString& name);
    void show(int row);
    void read();
    void fitToQuantity();
    void limit();

    std::vector<pipeline::AlertRule> m_rules;
    bool m_showing = false;
    QListWidget* m_list;
    QPushButton* m_plus = nullptr;
    QWidget* m_form = nullptr;
    QLineEdit *m_name = nullptr, *m_command = nullptr;
    QComboBox *m_of = nullptr, *m_region = nullptr, *m_label = nullptr, *m_above = nullptr;
    QDoubleSpinBox *m_threshold = nullptr, *m_hold = nullptr, *m_coolDown = nullptr;
    QCheckBox *m_desktop = nullptr, *m_record = nullptr;
};

}  // namespace mpm::gui
