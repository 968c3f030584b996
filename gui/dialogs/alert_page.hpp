// The list of alert rules and a form for the chosen rule.
#pragma once

#include <map>
#include <vector>

#include <QComboBox>
#include <QWidget>

#include "pipeline/watch/alert.hpp"

class QCheckBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;
class QSpinBox;

namespace mpm::gui {

class AlertPage : public QWidget {
    Q_OBJECT
public:
    /// `sources`: addresses (without passwords) and names of the sources that a rule can apply to.
    AlertPage(const std::vector<pipeline::AlertRule>& rules, const QStringList& regions,
              const QStringList& labels, const std::map<QString, QString>& sources,
              QWidget* parent = nullptr);

    const std::vector<pipeline::AlertRule>& rules() const { return m_rules; }
    /// Sets the current values of the source in front. The form shows the current value of the rule's
    /// quantity next to the threshold.
    void setInput(const pipeline::AlertInput& input);
    /// Renames a region in the rules of a source. `everywhere`: whether to also rename the region in rules
    /// that apply to every source; true if no other source has a region with the old name.
    void renameRegion(const std::string& before, const std::string& now, const std::string& source,
                      bool everywhere);
    /// Emits timesWanted() for the rule shown, if the store has the data for an answer.
    void askForTimes();
    /// Shows the answer to timesWanted(): how often the rule would have fired in the last day.
    void setTimes(const pipeline::AlertRule& rule, int times);

public slots:
    void add();
    void remove();

signals:
    void changed();
    void timesWanted(const pipeline::AlertRule& rule);

private:
    QLayout* buildHours();
    QWidget* buildForm(const QStringList& regions, const QStringList& labels);
    QDoubleSpinBox* addSeconds(QFormLayout* form, const QString& name);
    void show(int row);
    void read();
    void fitToQuantity();
    pipeline::AlertRule::Of of() const { return static_cast<pipeline::AlertRule::Of>(m_of->currentIndex()); }
    /// Returns the factor from a rule's threshold to the number in the box.
    double scale() const;
    void showThreshold(double threshold);
    void showValue();
    void limit();

    std::vector<pipeline::AlertRule> m_rules;
    pipeline::AlertInput m_input;
    bool m_showing = false;
    double m_thresholdShown = 0;  // the box's value at the last update; any other value is from the user
    QListWidget* m_list;
    QPushButton* m_plus = nullptr;
    QWidget* m_form = nullptr;
    QLineEdit *m_name = nullptr, *m_command = nullptr;
    QLabel *m_now = nullptr, *m_times = nullptr;
    QSpinBox *m_from = nullptr, *m_to = nullptr;
    QComboBox* m_source = nullptr;
    QComboBox *m_of = nullptr, *m_region = nullptr, *m_label = nullptr, *m_above = nullptr;
    QDoubleSpinBox *m_threshold = nullptr, *m_hold = nullptr, *m_coolDown = nullptr;
    QCheckBox *m_desktop = nullptr, *m_record = nullptr;
};

}  // namespace mpm::gui
