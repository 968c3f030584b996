// A dialog for the rule that tells day from night: by luminance, infrared, the clock, the sun, or by hand.
#pragma once

#include <QComboBox>
#include <QDialog>

#include "pipeline/daynight/day_night.hpp"

class QDoubleSpinBox;
class QFormLayout;
class QSpinBox;
class QStackedWidget;
class QTimeEdit;

namespace mpm::gui {

class LevelBar;

/// Every change applies to the next frame, without confirmation.
class DayNightDialog : public QDialog {
    Q_OBJECT
public:
    explicit DayNightDialog(const pipeline::DayNightRule& rule, QWidget* parent = nullptr);

    pipeline::DayNightRule rule() const;
    /// Shows the levels of the newest frame next to the thresholds.
    void showLevels(double luminance, double saturation);

signals:
    void ruleChanged(const pipeline::DayNightRule& rule);

private:
    void fillLuminance(QFormLayout* form, const pipeline::DayNightRule& rule);
    void fillInfrared(QFormLayout* form, const pipeline::DayNightRule& rule);
    void fillSchedule(QFormLayout* form, const pipeline::DayNightRule& rule);
    void fillSun(QFormLayout* form, const pipeline::DayNightRule& rule);
    void fillHand(QFormLayout* form, const pipeline::DayNightRule& rule);
    QDoubleSpinBox* addNumber(QFormLayout* form, const QString& name, double value, double least, double most,
                              int digits);
    QTimeEdit* addTime(QFormLayout* form, const QString& name, int minutes);
    static LevelBar* addLevel(QFormLayout* form, const QString& name, double night, double day);
    static std::pair<double, double> thresholds(const QDoubleSpinBox* one, const QDoubleSpinBox* other);
    pipeline::DayNightRule::By by() const {
        return static_cast<pipeline::DayNightRule::By>(m_by->currentData().toInt());
    }
    void showPage();
    void emitRule();

    QComboBox *m_by, *m_hand = nullptr;
    QStackedWidget* m_pages;
    QDoubleSpinBox *m_dark = nullptr, *m_bright = nullptr, *m_latitude = nullptr, *m_longitude = nullptr,
                   *m_elevation = nullptr;
    QDoubleSpinBox *m_grey = nullptr, *m_coloured = nullptr;
    LevelBar *m_luminance = nullptr, *m_saturation = nullptr;
    QSpinBox* m_hold = nullptr;
    QWidget* m_holdRow = nullptr;
    QTimeEdit *m_dayFrom = nullptr, *m_nightFrom = nullptr;
};

}  // namespace mpm::gui
