// Replaces an address env:NAME or secret:NAME with the address that is stored under the name.
#include <algorithm>
#include <cstdlib>

#include "pipeline/source/address.hpp"
#include "pipeline/source/source.hpp"

namespace mpm::pipeline {

namespace {

constexpr const char* kEnvironment = "env:";
constexpr const char* kKeychain = "secret:";

/// Returns the text after `prefix`, or an empty string if `text` does not begin with `prefix`.
std::string nameAfter(const std::string& text, const std::string& prefix) {
    return text.compare(0, prefix.size(), prefix) == 0 ? text.substr(prefix.size()) : std::string();
}

std::string fromEnvironment(const std::string& name, const Address& address) {
    const bool good = name.find_first_of("=:/@ ") == std::string::npos;
    const char* value = good ? std::getenv(name.c_str()) : nullptr;
    if (value == nullptr) throw SourceError(SourceProblem::Kind::NoSuchVariable, address.shown());
    return value;
}

}  // namespace

Address resolved(const Address& address) {
    if (address.isNamed()) return address;
    const std::string variable = nameAfter(address.reveal(), kEnvironment);
    const std::string entry = nameAfter(address.reveal(), kKeychain);
    if (variable.empty() && entry.empty()) return address;
    const std::string text =
        variable.empty() ? secretFromKeychain(entry) : fromEnvironment(variable, address);
    if (text.empty()) throw SourceError(SourceProblem::Kind::EmptyName, address.shown());
    if (!nameAfter(text, kEnvironment).empty() || !nameAfter(text, kKeychain).empty())
        throw SourceError(SourceProblem::Kind::NestedName, address.shown());
    return Address::named(address, text);
}

}  // namespace mpm::pipeline
