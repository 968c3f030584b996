// Passwords, in the keychain of the desktop only (Secret Service or KWallet).
#pragma once

#include <functional>
#include <optional>

#include <QObject>
#include <QString>
#include <QStringList>

#include "pipeline/source/address.hpp"

namespace mpm::gui {

class Secrets : public QObject {
    Q_OBJECT
public:
    /// `profile`: addresses are kept for it.
    explicit Secrets(const QString& profile = {}) : m_profile(profile) {}

    /// Both functions return at once and answer later, in this thread. `problem` is empty if all went well;
    /// it never contains the secret.
    void keep(const QString& key, const QString& secret, std::function<void(const QString& problem)> then);
    void find(const QString& key,
              std::function<void(std::optional<QString> secret, const QString& problem)> then);

    /// The same for the address of a source, as PROFILE/NAME: sources of two profiles may have the same name.
    /// An entry NAME, of a user or an earlier version, is found if there is no other.
    void keepAddress(const QString& name, const QString& address,
                     std::function<void(const QString& problem)> then);
    void findAddress(const QString& name,
                     std::function<void(std::optional<QString> address, const QString& problem)> then);

private:
    QString keyOf(const QString& name) const { return m_profile + QLatin1Char('/') + name; }
    void findFirst(const QStringList& keys,
                   std::function<void(std::optional<QString> secret, const QString& problem)> then);

    const QString m_profile;
};

/// The address that env:NAME stands for, or any other address as it is. Throws pipeline::SourceError if there
/// is no such variable. For secret:NAME use Secrets::find(): this function does not wait.
pipeline::Address addressOf(const QString& source);

/// The variables that hold addresses. Child processes must not inherit them.
const QStringList& variablesOfSources();

/// The settings' name for a source whose address is in the keychain: "secret:" and its name there.
QString storedAs(const QString& name);

/// The name, masked: a user may have typed an address after "secret:".
QString shownKey(const QString& key);

/// The keychain's name for the address of a source in the settings; absent: the settings hold the address
/// itself. Earlier versions wrote *** for the password.
std::optional<QString> keychainName(const QString& source);

}  // namespace mpm::gui
