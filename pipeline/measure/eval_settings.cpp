#include "pipeline/measure/eval_settings.hpp"

namespace mpm::pipeline {

bool isSweep(const Method& method) {
    return method.name == "singles" || method.name == "pairs";
}

std::vector<Method> expanded(const std::vector<Method>& methods, int blocks) {
    if (methods.empty()) return methodsFrom("mpm");
    std::vector<Method> all;
    for (const Method& method : methods) {
        if (!isSweep(method)) {
            all.push_back(method);
            continue;
        }
        for (int first = 0; first < blocks; ++first) {
            if (method.name == "singles") all.push_back(mutualPairsBefore({first}));
            for (int second = first + 1; method.name == "pairs" && second < blocks; ++second)
                all.push_back(mutualPairsBefore({first, second}));
        }
    }
    return all;
}

std::vector<Setting> settingsOf(const EvalRequest& request, int blocks) {
    std::vector<std::optional<street::NightParameters>> lights;
    if (request.nights.empty() || request.paired) lights.emplace_back();
    lights.insert(lights.end(), request.nights.begin(), request.nights.end());
    const std::vector<Method> methods = expanded(request.methods, blocks);
    std::vector<Setting> settings;
    for (const std::optional<street::NightParameters>& night : lights)
        for (const Precision precision : request.precisions)
            for (const int batch : request.batches)
                for (const Method& method : methods)
                    settings.push_back({method, precision, batch, night});
    return settings;
}

}  // namespace mpm::pipeline
