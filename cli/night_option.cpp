#include "cli/night_option.hpp"

#include "cli/error.hpp"

namespace mpm::cli {

void addNightOption(CLI::App& verb, NightOption& night) {
    addParsed(verb, "--night", "simulate night: luminance, photons, deviation (default: 0.35,250,0.01)",
              "[L,P,S]", [&night](const std::string& text) {
                  night.emplace();
                  if (text == "default") return;
                  const std::vector<double> values = parseNumbers("--night", text, 3);
                  if (values[0] < 0 || values[1] <= 0 || values[2] < 0)
                      throw Error(kWrongUse,
                                  "--night: \"" + text + "\" is out of range; L >= 0, P > 0, S >= 0");
                  night->luminance = values[0];
                  night->photons = values[1];
                  night->deviation = values[2];
              });
}

}  // namespace mpm::cli
