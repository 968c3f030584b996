// A dialog with the result of a search for the fastest method of a model.
#pragma once

#include <QDialog>

#include "gui/services/model_tuner.hpp"

class QTableWidget;

namespace mpm::gui {

class TuneDialog : public QDialog {
    Q_OBJECT
public:
    explicit TuneDialog(const TuneFound& found, QWidget* parent = nullptr);

signals:
    void useWanted();

private:
    static QTableWidget* tableOf(const TuneFound& found);
};

}  // namespace mpm::gui
