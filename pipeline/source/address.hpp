// The address of a source. An address may contain a password, so the type does not convert to text. Code
// therefore cannot print, store or send the password by mistake.
#pragma once

#include <string>
#include <vector>

namespace mpm::pipeline {

/// Text converts to an Address implicitly. An Address gives text only through shown() and reveal().
class Address {
public:
    Address() = default;
    Address(std::string text);  // NOLINT(google-explicit-constructor): this direction is safe
    Address(const char* text) : Address(std::string(text)) {}  // NOLINT(google-explicit-constructor)

    /// Returns an address whose reveal() is `text`, but whose shown() is `name` (env:NAME or secret:NAME).
    static Address named(const Address& name, const std::string& text);

    /// Returns the text that programs may show, store and send. The text of a URL is its scheme,
    /// host and path; of a pipeline, its elements without their properties; of a file, its path. env:NAME and
    /// secret:NAME stay as they are. "..." replaces omitted parts of a URL's host or path.
    const std::string& shown() const { return m_shown; }

    /// Returns the whole text. Use it only to open the source.
    const std::string& reveal() const { return m_text; }

    /// Returns whether shown() omits a part of the address.
    bool hasSecrets() const { return !m_secrets.empty(); }

    bool empty() const { return m_text.empty(); }

    bool isNamed() const { return m_named; }

    /// Removes secrets from a library's message about this source. Replaces the address with shown() and
    /// each piece that shown() omits with "...", and then calls redacted().
    std::string redact(std::string message) const;

    bool operator==(const Address& other) const { return m_text == other.m_text && m_shown == other.m_shown; }
    bool operator!=(const Address& other) const { return !(*this == other); }

private:
    std::string m_text, m_shown;
    std::vector<std::string> m_secrets;  ///< the pieces that shown() omits, longest first
    bool m_named = false;
};

/// Removes secrets from text of unknown origin. Replaces each URL with its Address::shown(). Writes
/// "..." in place of credentials in HTTP headers, and of values of parameters such as "password".
std::string redacted(const std::string& text);

/// For env:NAME, returns the address in the environment variable NAME. For secret:NAME, returns the address
/// in the keychain's entry NAME. Returns any other address unchanged. Throws SourceError if there is no such
/// variable or entry. Waits up to 60 seconds for the user to unlock the keychain.
Address resolved(const Address& address);

/// Returns the secret that was stored as `name` by the monitor or by `secret-tool store --label=NAME server
/// mpm-monitor user NAME`. Throws SourceError if there is no such secret, the keychain cannot be reached, or
/// nobody unlocks the keychain within 60 seconds.
std::string secretFromKeychain(const std::string& name);

}  // namespace mpm::pipeline
