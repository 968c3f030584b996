// The desktop's keychain (Secret Service), through libsecret.
#pragma once

#include <string>

namespace mpm::pipeline {

/// The secret that the monitor, or `secret-tool store --label=NAME server mpm-monitor user NAME`, stores as
/// `name`. Throws SourceError with the reason if there is none, the keychain cannot be reached, or nobody
/// unlocked it for 60 seconds.
std::string secretFromKeychain(const std::string& name);

}  // namespace mpm::pipeline
