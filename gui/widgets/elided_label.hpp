// A line of text that ends in an ellipsis if there is no room for the whole text.
#pragma once

#include <QLabel>

namespace mpm::gui {

class ElidedLabel : public QLabel {
    Q_OBJECT
public:
    /// Uses the available room, but requires none.
    explicit ElidedLabel(const QString& text = {}, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;
};

}  // namespace mpm::gui
