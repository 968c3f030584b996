// Which source to open: cameras by name, recent sources, an address; tried before it is opened.
#pragma once

#include <functional>

#include <QDialog>
#include <QPointer>

#include "gui/engine/probe.hpp"

class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;

namespace mpm::gui {

class SourceDialog : public QDialog {
    Q_OBJECT
public:
    struct Choices {
        QStringList cameras;  ///< "0: Integrated Camera"
        QStringList recent;   ///< without passwords
        bool showsImages = true;
        std::function<std::vector<pipeline::Polygon>(const QString& source)> masks;
    };
    SourceDialog(const QString& title, Choices choices, QWidget* parent = nullptr);
    ~SourceDialog() override;

signals:
    void chosen(const QString& source);

private:
    void addChoices();
    /// "0: Integrated Camera": the number is the source.
    QString source() const;
    void test();
    void showResult(const ProbeResult& result);
    void endTest();

    const Choices m_choices;
    QListWidget* m_list;
    QLineEdit* m_address;
    QLabel *m_image, *m_facts;
    QPushButton *m_test, *m_open;
    QPointer<Probe> m_probe;
};

}  // namespace mpm::gui
