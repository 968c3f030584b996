// The address of a source, which may hold a password: a type that cannot be printed, stored or sent by
// mistake.
#pragma once

#include <string>
#include <vector>

namespace mpm::pipeline {

/// Text converts to an Address implicitly, an Address to text only by shown() or reveal().
class Address {
public:
    Address() = default;
    Address(std::string text);  // NOLINT(google-explicit-constructor): this direction is safe
    Address(const char* text) : Address(std::string(text)) {}  // NOLINT(google-explicit-constructor)

    /// The value of env:NAME or secret:NAME: opened as `text`, shown as `name`.
    static Address named(const Address& name, const std::string& text);

    /// The part that may be shown, stored and sent: scheme, host and path of a URL, the elements of a
    /// pipeline without their properties, the path of a file, env:NAME and secret:NAME. Omitted parts of a
    /// URL's path or host become "...".
    const std::string& shown() const { return m_shown; }

    /// The whole text, to open the source and for nothing else.
    const std::string& reveal() const { return m_text; }

    /// Whether shown() left something out.
    bool hasSecrets() const { return !m_secrets.empty(); }

    bool empty() const { return m_text.empty(); }

    /// Whether it was made by named().
    bool isNamed() const { return m_named; }

    /// `message` of a library about this source, with the address as shown() and without any piece that
    /// shown() leaves out; then as redacted().
    std::string redact(std::string message) const;

    bool operator==(const Address& other) const { return m_text == other.m_text && m_shown == other.m_shown; }
    bool operator!=(const Address& other) const { return !(*this == other); }

private:
    std::string m_text, m_shown;
    std::vector<std::string> m_secrets;  ///< the pieces left out, longest first
    bool m_named = false;
};

/// Text of unknown origin with every URL in it as Address::shown(), and the value of every parameter or
/// header that names a secret (password=..., Authorization: ...) as "...".
std::string redacted(const std::string& text);

/// The value of env:NAME (a variable of the environment) or secret:NAME (an entry of the desktop's keychain);
/// any other address unchanged. Throws SourceError if there is no such variable or entry. The keychain may
/// wait until the user unlocks it, 60 seconds at most.
Address resolved(const Address& address);

/// The secret that the monitor, or `secret-tool store --label=NAME server mpm-monitor user NAME`, stores as
/// `name`. Throws SourceError with the reason if there is none, the keychain cannot be reached, or nobody
/// unlocked it for 60 seconds.
std::string secretFromKeychain(const std::string& name);

}  // namespace mpm::pipeline
