#include "cli/common/options.hpp"

#include "cli/common/error.hpp"

namespace mpm::cli {

street::NightParameters parseNight(const std::string& option, const std::string& text) {
    street::NightParameters night;
    if (text == "default") return night;
    if (text.find_first_of(",;") == std::string::npos)
        throw Error(kWrongUse,
                    option + ": \"" + text +
                        "\" is one value of three; write L,P,S, as 0.35,250,0.01, or name a camera "
                        "before " +
                        option);
    const std::vector<double> values = parseNumbers(option, text, 3);
    if (values[0] < 0 || values[1] <= 0 || values[2] < 0)
        throw Error(kWrongUse, option + ": \"" + text + "\" is out of range; L >= 0, P > 0, S >= 0");
    night.luminance = values[0];
    night.photons = values[1];
    night.deviation = values[2];
    return night;
}

void addNightOption(CLI::App& verb, NightOption& night) {
    addParsed(verb, "--night", "simulate night: luminance, photons, deviation (default: 0.35,250,0.01)",
              "[L,P,S]", [&night](const std::string& text) { night = parseNight("--night", text); });
}

void addNightOptions(CLI::App& verb, std::vector<street::NightParameters>& nights) {
    const auto parse = [&nights](const std::vector<std::string>& texts) {
        for (const std::string& text : texts)
            nights.push_back(parseNight("--night", text));
    };
    verb.add_option_function<std::vector<std::string>>("--night", parse,
                                                       "simulate night: luminance, photons, deviation "
                                                       "(default: 0.35,250,0.01); may be given several times")
        ->type_name("[L,P,S]")
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace mpm::cli
