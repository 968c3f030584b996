// --night L,P,S: images as they would look by night.
#pragma once

#include <optional>

#include "cli/common/options.hpp"
#include "street/night.hpp"

namespace mpm::cli {

using NightOption = std::optional<street::NightParameters>;

/// Throws Error(kWrongUse). "default" is the default.
street::NightParameters parseNight(const std::string& option, const std::string& text);

void addNightOption(CLI::App& verb, NightOption& night);

/// May be given several times.
void addNightOptions(CLI::App& verb, std::vector<street::NightParameters>& nights);

}  // namespace mpm::cli
