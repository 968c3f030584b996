// A dialog that switches to another profile of this user, adds a profile, or deletes a profile.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <QDialog>

class QListWidget;
class QPushButton;

namespace mpm::gui {

class ProfilesDialog : public QDialog {
    Q_OBJECT
public:
    struct Profiles {
        std::function<std::vector<std::pair<QString, QString>>()>
            all;  ///< names of profiles, and their sources as text
        std::function<bool(const QString& text)> isName;
        std::function<QString(const QString& name)> remove;  ///< returns why the deletion failed, or nothing
    };
    /// `present`: the profile that the window uses.
    ProfilesDialog(const QString& present, Profiles profiles, QWidget* parent = nullptr);

    QListWidget* list() const { return m_list; }

signals:
    /// Emitted if the user chooses an existing profile or names a new profile.
    void switchWanted(const QString& name);

private:
    void fill();
    void add();
    void remove();
    QString chosen() const;
    void updateButtons();

    const QString m_present;
    const Profiles m_profiles;
    QListWidget* m_list;
    QPushButton *m_switch, *m_remove;
};

}  // namespace mpm::gui
