#include "gui/dialogs/profiles_dialog.hpp"

#include <QDialogButtonBox>
#include <QListWidget>
#include <QMessageBox>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/dialogs/questions.hpp"
#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

ProfilesDialog::ProfilesDialog(const QString& present, Profiles profiles, QWidget* parent)
    : QDialog(parent), m_present(present), m_profiles(std::move(profiles)), m_list(new QListWidget) {
    setWindowTitle(tr("Profiles"));
    m_list->setObjectName(QStringLiteral("framed"));
    m_list->setAccessibleName(tr("Profiles"));
    m_list->setSpacing(4);
    auto* note = plainLabel(tr("Each profile has sources, a model, rules and measurements of its own."));
    note->setWordWrap(true);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    m_switch = buttons->addButton(tr("&Switch"), QDialogButtonBox::AcceptRole);
    auto* plus = buttons->addButton(tr("&New…"), QDialogButtonBox::ActionRole);
    m_remove = buttons->addButton(tr("&Delete…"), QDialogButtonBox::DestructiveRole);
    m_switch->setDefault(true);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(note);
    layout->addWidget(m_list);
    layout->addWidget(buttons);
    resize(520, 320);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] { emit switchWanted(chosen()); });
    connect(m_list, &QListWidget::itemActivated, m_switch, &QPushButton::click);
    connect(plus, &QPushButton::clicked, this, &ProfilesDialog::add);
    connect(m_remove, &QPushButton::clicked, this, &ProfilesDialog::remove);
    connect(m_list, &QListWidget::currentRowChanged, this, &ProfilesDialog::updateButtons);
    fill();
}

void ProfilesDialog::fill() {
    m_list->clear();
    for (const auto& [name, sources] : m_profiles.all()) {
        const QString text = name == m_present ? tr("%1 (this window)").arg(name) : name;
        auto* item = new QListWidgetItem(text + QLatin1Char('\n') + sources, m_list);
        item->setData(Qt::UserRole, name);
        if (name == m_present) m_list->setCurrentItem(item);
    }
    updateButtons();
}

QString ProfilesDialog::chosen() const {
    const QListWidgetItem* item = m_list->currentItem();
    return item != nullptr ? item->data(Qt::UserRole).toString() : QString();
}

void ProfilesDialog::updateButtons() {
    const bool other = !chosen().isEmpty() && chosen() != m_present;
    m_switch->setEnabled(other);
    m_remove->setEnabled(other);
}

void ProfilesDialog::add() {
    const auto problem = [this](const QString& name) {
        for (const auto& entry : m_profiles.all())
            if (entry.first.compare(name, Qt::CaseInsensitive) == 0)
                return tr("There is a profile of this name");
        return name.isEmpty() || m_profiles.isName(name)
                   ? QString()
                   : tr("Letters, digits, blanks, dots and dashes only");
    };
    askForName(*this, tr("Name of the new profile"), {}, tr("such as yard"), problem,
               [this](const QString& name) {
                   if (!name.isEmpty()) emit switchWanted(name);
               });
}

void ProfilesDialog::remove() {
    const QString name = chosen();
    QMessageBox* box =
        plainBox(QMessageBox::NoIcon, tr("Delete a profile"), tr("Delete the profile '%1'?").arg(name),
                 tr("Its settings, rules, measurements and small images are deleted. Recordings stay, and "
                    "passwords in the keychain."),
                 QMessageBox::Cancel, this);
    const QPushButton* yes = box->addButton(tr("Delete"), QMessageBox::DestructiveRole);
    connect(yes, &QPushButton::clicked, this, [this, name] {
        const QString problem = m_profiles.remove(name);
        fill();
        if (problem.isEmpty()) return;
        plainBox(QMessageBox::NoIcon, tr("Delete a profile"), problem, {}, QMessageBox::Ok, this)->open();
    });
    box->open();
}

}  // namespace mpm::gui
