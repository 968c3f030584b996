// The address of a source, which may hold a password: a type that cannot be printed, stored or sent by
// mistake.
#pragma once

#include <string>
#include <vector>

namespace mpm::pipeline {

class Address {
public:
    Address() = default;
    explicit Address(std::string text);

    /// What may be shown, stored and sent: scheme, host and path of a URL, the elements of a pipeline without
    /// their properties, the path of a file. Everything that was left out stands as "...".
    const std::string& shown() const { return m_shown; }

    /// The whole text, to open the source and for nothing else.
    const std::string& reveal() const { return m_text; }

    /// Whether shown() left something out.
    bool hasSecrets() const { return !m_secrets.empty(); }

    bool empty() const { return m_text.empty(); }

    /// `message`, which somebody else wrote about this source, with the address as shown() and without any
    /// piece that shown() leaves out; then as redacted().
    std::string redact(std::string message) const;

private:
    std::string m_text, m_shown;
    std::vector<std::string> m_secrets;  ///< the pieces left out, longest first
};

/// Text of unknown origin with every URL in it as Address::shown() and every value of a parameter that names
/// a secret (password=..., access_token=...) as "...".
std::string redacted(const std::string& text);

}  // namespace mpm::pipeline
