// The model in use: the report of `mpm info`.
#pragma once

#include <QDialog>
#include <QPlainTextEdit>

#include "gui/engine/analysis.hpp"

namespace mpm::gui {

class ModelDialog : public QDialog {
    Q_OBJECT
public:
    explicit ModelDialog(const ModelFacts& facts, QWidget* parent = nullptr);

    /// Of the file `path`; of another file it is ignored.
    void setReport(const QString& path, const QString& report) {
        if (path == m_path) m_report->setPlainText(report);
    }
    QString report() const { return m_report->toPlainText(); }

private:
    const QString m_path;
    QPlainTextEdit* m_report;
};

}  // namespace mpm::gui
