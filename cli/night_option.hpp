// --night L,P,S: any picture as it would look by night.
#pragma once

#include <optional>

#include "cli/options.hpp"
#include "pipeline/scene/night.hpp"

namespace mpm::cli {

using NightOption = std::optional<pipeline::NightParameters>;

void addNightOption(CLI::App& verb, NightOption& night);

}  // namespace mpm::cli
