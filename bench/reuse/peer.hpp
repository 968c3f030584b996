// Another program that runs the same model, as a standard export, with all tokens.
#pragma once

#include <string>

namespace mpm::bench {

/// Runs a command that prints a line of JSON with ms.median, as bench/peers/peer.py does. Throws if it does
/// not.
double peerMs(const std::string& command);

}  // namespace mpm::bench
