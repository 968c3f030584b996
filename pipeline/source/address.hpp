// The address of a source, which may hold a password. An Address cannot be printed, stored or sent by
// mistake.
#pragma once

#include <string>
#include <vector>

namespace mpm::pipeline {

/// Text converts to an Address implicitly; an Address gives text only through shown() or reveal().
class Address {
public:
    Address() = default;
    Address(std::string text);  // NOLINT(google-explicit-constructor): this direction is safe
    Address(const char* text) : Address(std::string(text)) {}  // NOLINT(google-explicit-constructor)

    /// An address from env:NAME or secret:NAME: opened as `text`, shown as `name`.
    static Address named(const Address& name, const std::string& text);

    /// The part that may be shown, stored and sent: scheme, host and path of a URL, the elements of a
    /// pipeline without their properties, the path of a file, env:NAME and secret:NAME. Omitted parts of a
    /// URL's path or host become "...".
    const std::string& shown() const { return m_shown; }

    /// The whole text; use only to open the source.
    const std::string& reveal() const { return m_text; }

    /// Whether shown() left something out.
    bool hasSecrets() const { return !m_secrets.empty(); }

    bool empty() const { return m_text.empty(); }

    /// Whether named() made this address.
    bool isNamed() const { return m_named; }

    /// Cleans a library's message about this source: replaces the address by shown() and each piece that
    /// shown() leaves out by "...", and applies redacted().
    std::string redact(std::string message) const;

    bool operator==(const Address& other) const { return m_text == other.m_text && m_shown == other.m_shown; }
    bool operator!=(const Address& other) const { return !(*this == other); }

private:
    std::string m_text, m_shown;
    std::vector<std::string> m_secrets;  ///< the pieces left out, longest first
    bool m_named = false;
};

/// Cleans text of unknown origin: each URL becomes Address::shown(), and the value of each parameter or
/// header that names a secret (password=..., Authorization: ...) becomes "...".
std::string redacted(const std::string& text);

/// Returns the value of env:NAME (an environment variable) or secret:NAME (an entry of the desktop's
/// keychain); any other address unchanged. Throws SourceError if there is no such variable or entry. Waits up
/// to 60 seconds for the user to unlock the keychain.
Address resolved(const Address& address);

/// Returns the secret stored as `name` by the monitor or `secret-tool store --label=NAME server mpm-monitor
/// user NAME`. Throws SourceError with the reason if there is none, the keychain cannot be reached, or nobody
/// unlocked the keychain for 60 seconds.
std::string secretFromKeychain(const std::string& name);

}  // namespace mpm::pipeline
