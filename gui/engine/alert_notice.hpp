// The data about an alert for the list of alerts, the publishers and the recordings.
#pragma once

#include <QDateTime>
#include <QImage>
#include <QMetaType>
#include <QString>

namespace mpm::gui {

struct AlertNotice {
    QDateTime time;
    QString source, rule;  ///< names for the user
    double value = 0;
    QString text;         ///< for the user
    bool record = false;  ///< whether a video around the alert is recorded
    QString key = {};     ///< the source's address without passwords
    QImage cutOut = {};   ///< image of the object; null if the alert has no object or no images are kept
};

}  // namespace mpm::gui

Q_DECLARE_METATYPE(mpm::gui::AlertNotice)
