// Passwords, in the keychain of the desktop (Secret Service or KWallet) and nowhere else.
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
    using QObject::QObject;

    /// Both return at once and answer later, in this thread. `problem` is empty where all went well; it never
    /// holds the secret.
    void keep(const QString& key, const QString& secret, std::function<void(const QString& problem)> then);
    void find(const QString& key,
              std::function<void(std::optional<QString> secret, const QString& problem)> then);
};

/// The address that env:NAME stands for, and any other as it is. Throws pipeline::SourceError where there is
/// no such variable. For secret:NAME see Secrets::find: this would wait.
pipeline::Address addressOf(const QString& source);

/// The variables that hold addresses: not for programs that are started from here.
const QStringList& variablesOfSources();

/// How the settings name a source whose address lies in the keychain: "secret:" and its name there.
QString storedAs(const QString& name);

/// As the name may be shown: somebody may have typed an address behind "secret:".
QString shownKey(const QString& key);

/// Under which name the keychain has the address of a source from the settings; absent: it stands there as it
/// is. Earlier versions wrote *** where the password stood.
std::optional<QString> keychainName(const QString& source);

}  // namespace mpm::gui
