#include "gui/dialogs/model_dialog.hpp"

#include <QDialogButtonBox>
#include <QFontDatabase>
#include <QVBoxLayout>

#include "gui/text/safe_text.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

ModelDialog::ModelDialog(const ModelFacts& facts, QWidget* parent)
    : QDialog(parent), m_path(facts.path), m_report(new QPlainTextEdit) {
    setWindowTitle(tr("About the model"));
    auto* layout = new QVBoxLayout(this);
    auto* name = plainLabel(facts.name);
    name->setFont(bold(name->font()));
    auto* path = plainLabel(facts.random ? tr("Random weights: labels mean nothing") : safeText(facts.path));
    path->setObjectName(QStringLiteral("muted"));
    path->setWordWrap(true);
    path->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_report->setReadOnly(true);
    m_report->setAccessibleName(tr("Report of the model"));
    m_report->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    m_report->setPlainText(facts.random ? QString() : tr("Reading the file…"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    for (QWidget* widget : std::initializer_list<QWidget*>{name, path, m_report, buttons})
        layout->addWidget(widget);
    resize(680, 380);
}

}  // namespace mpm::gui
