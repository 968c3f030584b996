// A dialog with the report of `mpm info` about the model in use.
#pragma once

#include <QDialog>
#include <QPlainTextEdit>

#include "gui/engine/analysis.hpp"

namespace mpm::gui {

class ModelDialog : public QDialog {
    Q_OBJECT
public:
    explicit ModelDialog(const ModelFacts& facts, QWidget* parent = nullptr);

    /// Shows the report of the file `path`; a report of another file is ignored.
    void setReport(const QString& path, const QString& report) {
        if (path == m_path) m_report->setPlainText(report);
    }
    QString report() const { return m_report->toPlainText(); }

private:
    const QString m_path;
    QPlainTextEdit* m_report;
};

}  // namespace mpm::gui
