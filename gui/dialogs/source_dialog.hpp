// A dialog that asks for a source: a camera, a recent source or an address. The user can first test the
// source.
#pragma once

#include <functional>

#include <QDialog>
#include <QPointer>

#include "gui/engine/probe.hpp"
#include "gui/services/watch_settings.hpp"

class QLabel;
class QLineEdit;
class QListWidget;
class QListWidgetItem;
class QPushButton;

namespace mpm::gui {

class SourceDialog : public QDialog {
    Q_OBJECT
public:
    struct Choices {
        QStringList cameras;  ///< such as "0: Integrated Camera"
        QStringList recent;   ///< addresses without passwords
        bool showsImages = true;
        std::function<SourceWatch(const QString& source)> watch;  ///< the name and the masks of a source
        std::function<bool(const QString& name, const QString& source)> isNameFree;
    };
    SourceDialog(const QString& title, Choices choices, QWidget* parent = nullptr);
    ~SourceDialog() override { endTest(); }

signals:
    void chosen(const QString& source, const QString& name);

private:
    void addChoices();
    void choose(const QListWidgetItem* item);
    void offerName(const QString& name);
    void check();
    SourceWatch watchOf(const QString& source) const;
    QString source() const;
    bool isFree(const QString& name) const;
    void test();
    void showResult(const ProbeResult& result);
    void endTest();

    const Choices m_choices;
    QString m_offered;
    QListWidget* m_list;
    QLineEdit *m_address, *m_name;
    QLabel *m_image, *m_facts, *m_taken;
    QPushButton *m_test, *m_open;
    QPointer<Probe> m_probe;
};

}  // namespace mpm::gui
