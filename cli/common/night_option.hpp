// --night L,P,S: any picture as it would look by night.
#pragma once

#include <optional>

#include "cli/common/options.hpp"
#include "pipeline/scene/night.hpp"

namespace mpm::cli {

using NightOption = std::optional<pipeline::NightParameters>;

/// Throws Error(kWrongUse). "default" is the default.
pipeline::NightParameters parseNight(const std::string& option, const std::string& text);

void addNightOption(CLI::App& verb, NightOption& night);

/// May be given several times.
void addNightOptions(CLI::App& verb, std::vector<pipeline::NightParameters>& nights);

}  // namespace mpm::cli
