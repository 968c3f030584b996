// Passwords, in the keychain of the desktop (Secret Service or KWallet) and nowhere else.
#pragma once

#include <functional>
#include <optional>

#include <QObject>
#include <QString>

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

/// Whether a source's name has a place where a password stood.
bool wantsPassword(const QString& source);

}  // namespace mpm::gui
