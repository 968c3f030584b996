// Stores passwords, only in the desktop's keychain (Secret Service or KWallet).
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
    /// `profile`: part of the keys of addresses.
    explicit Secrets(const QString& profile = {}) : m_profile(profile) {}

    /// keep() and find() return immediately, and call `then` later in the thread of this object. `problem`:
    /// empty on success; never contains the secret.
    void keep(const QString& key, const QString& secret, std::function<void(const QString& problem)> then);
    void find(const QString& key,
              std::function<void(std::optional<QString> secret, const QString& problem)> then);

    /// keepAddress() and findAddress() use the key PROFILE/NAME, because two profiles may have sources with
    /// the same name. If this key does not exist, findAddress() looks for the key NAME, which a user or an
    /// earlier version may have made.
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

/// Returns the address of a source: for env:NAME, from the environment variable NAME; else `source` itself.
/// Throws pipeline::SourceError if there is no such variable. For secret:NAME, use findAddress().
pipeline::Address addressOf(const QString& source);

/// Returns the environment variables that contain addresses. Child processes must not inherit them.
const QStringList& variablesOfSources();

/// Returns the text in the settings for a source whose address is in the keychain: "secret:" and the key.
QString storedAs(const QString& name);

/// Returns the key with any password masked, because a user may have typed an address after "secret:".
QString shownKey(const QString& key);

/// Returns the key in the keychain for a source in the settings; absent if the settings contain the address.
/// If `source` contains ***, which earlier versions wrote in place of the password, the key is `source`.
std::optional<QString> keychainName(const QString& source);

}  // namespace mpm::gui
