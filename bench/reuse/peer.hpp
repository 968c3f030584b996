// Another program that runs the same model, as a standard export, with all tokens.
#pragma once

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace mpm::bench {

/// Runs a command that prints a line of JSON with ms.median, such as bench/peers/peer.py. Returns the median;
/// throws if the line has none.
inline double peerMs(const std::string& command) {
    const auto close = [](std::FILE* pipe) { pclose(pipe); };
    const std::unique_ptr<std::FILE, decltype(close)> pipe(popen(command.c_str(), "r"), close);
    std::string text;
    char part[4096];
    while (pipe && std::fgets(part, sizeof part, pipe.get()))
        text += part;
    const auto result = nlohmann::json::parse(text, nullptr, false);
    const auto median = nlohmann::json::json_pointer("/ms/median");
    if (result.is_discarded() || !result.contains(median))
        throw std::runtime_error("the peer printed no JSON with ms.median: " + command);
    return result.at(median).get<double>();
}

}  // namespace mpm::bench
