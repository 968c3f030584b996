#include "mpm_layer/dnn/attributes.hpp"

#include <cmath>

#include "base/printable.hpp"
#include "mpm_layer/encoder/config.hpp"

namespace mpm::dnn {
namespace {

using cv::dnn::DictValue;
using cv::dnn::LayerParams;

// Reads a whole number. Returns false if the value is a string, has a fraction, or is out of range.
bool readWhole(const DictValue& value, int index, int lowest, int highest, int& result) {
    if (value.isString()) return false;
    if (value.isReal()) {
        const double number = value.get<double>(index);
        if (!(number >= lowest && number <= highest) || number != std::floor(number)) return false;
        result = static_cast<int>(number);
        return true;
    }
    const int64 number = value.get<int64>(index);
    if (number < lowest || number > highest) return false;
    result = static_cast<int>(number);
    return true;
}

std::string rangeText(int lowest, int highest) {
    return std::to_string(lowest) + ".." + std::to_string(highest);
}

}  // namespace

void rejectAttribute(const LayerParams& params, const char* name, const std::string& expected) {
    const std::string domain = "mpm.", own = params.type;
    const std::string type = own.rfind(domain, 0) == 0 ? own.substr(domain.size()) : own;
    CV_Error(cv::Error::StsOutOfRange,
             "mpm: " + printable(type, 80) + "'s attribute " + name + " must be " + expected);
}

int wholeAttribute(const LayerParams& params, const char* name, int fallback, int lowest, int highest) {
    if (!params.has(name)) return fallback;
    const DictValue& value = params.get(name);
    int result = 0;
    if (value.size() != 1 || !readWhole(value, 0, lowest, highest, result))
        rejectAttribute(params, name, "a whole number of " + rangeText(lowest, highest));
    return result;
}

std::vector<int> wholeAttributes(const LayerParams& params, const char* name, int lowest, int highest) {
    std::vector<int> values;
    if (!params.has(name)) return values;
    const DictValue& value = params.get(name);
    for (int i = 0; i < value.size(); ++i) {
        int number = 0;
        if (!readWhole(value, i, lowest, highest, number))
            rejectAttribute(params, name, "whole numbers of " + rangeText(lowest, highest));
        values.push_back(number);
    }
    return values;
}

bool switchAttribute(const LayerParams& params, const char* name) {
    return wholeAttribute(params, name, 0, 0, 1) != 0;
}

float numberAttribute(const LayerParams& params, const char* name, float fallback, float lowest) {
    if (!params.has(name)) return fallback;
    const DictValue& value = params.get(name);
    const bool isNumber = value.size() == 1 && !value.isString();
    const float number = isNumber ? static_cast<float>(value.get<double>(0)) : 0;
    if (!isNumber || !std::isfinite(number) || number < lowest)
        rejectAttribute(params, name, lowest == 0 ? "a finite number and not negative" : "a finite number");
    return number;
}

NormRule normAttributes(const LayerParams& params, const std::string& prefix, const NormRule& usual) {
    NormRule rule = usual;
    rule.epsilon = numberAttribute(params, (prefix + "epsilon").c_str(), usual.epsilon, 0);
    const std::string name = prefix + "norm";
    const std::string kind = textAttribute(params, name.c_str(), namesOf(usual.kind).attribute);
    std::string known;
    for (const NormNames& norm : normNames()) {
        rule.kind = norm.kind;
        if (kind == norm.attribute) return rule;
        known += (known.empty() ? "" : " or ") + std::string(norm.attribute);
    }
    rejectAttribute(params, name.c_str(), known);
}

bool choiceAttribute(const LayerParams& params, const char* name, const char* usual, const char* other) {
    const std::string value = textAttribute(params, name, usual);
    if (value != usual && value != other) rejectAttribute(params, name, std::string(usual) + " or " + other);
    return value == other;
}

kernels::Activation activationAttribute(const LayerParams& params) {
    const std::string name = textAttribute(params, "activation", "none");
    return name == "none" ? kernels::Activation::None : activationFrom(name);
}

std::string textAttribute(const LayerParams& params, const char* name, const std::string& fallback) {
    if (!params.has(name)) return fallback;
    const DictValue& value = params.get(name);
    if (value.size() != 1 || !value.isString()) rejectAttribute(params, name, "a string");
    return value.get<cv::String>(0);
}

}  // namespace mpm::dnn
