// The protocol between ContainedConversion and the child.
#pragma once

namespace mpm::models {

constexpr const char* kContainedVerb = "--contained-conversion";
constexpr const char* kWithoutLandlock = "without-landlock";
constexpr const char* kWithoutFilter = "without-filter";

/// Every line of the child begins with one of these words.
constexpr const char* kMissingWord = "missing";
constexpr const char* kMessageWord = "message";

/// The child's exit statuses.
constexpr int kContainedDone = 0, kContainedFailed = 1, kContainedRefused = 3, kContainedMemory = 4;

}  // namespace mpm::models
