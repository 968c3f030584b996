// Parsers for values of the command line, and the options of all verbs that run a model.
#pragma once

#include <climits>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <mpm/mpm.hpp>
#include <opencv2/core.hpp>

#include "street/street.hpp"

namespace mpm::cli {

struct DeviceChoice {
    Device device = Device::Auto;
    int index = 0;  ///< number of the GPU
};

/// The parsers below throw an Error(kWrongUse) that names `option`, the text and the expected form.
DeviceChoice parseDevice(const std::string& option, const std::string& text);  ///< cpu, cuda, cuda:N, auto
Precision parsePrecision(const std::string& option, const std::string& text);  ///< f32 ... auto-fast
/// Returns the precision of a forward without --precision: MPM_PRECISION, else f32. If MPM_PRECISION is
/// invalid, also returns f32; the forward then rejects the value.
Precision usualPrecision();
/// Returns "f32|tf32|..." for help. `onProcessor`: leaves out precisions that only a GPU has.
std::string precisionForm(bool onProcessor);
std::vector<int> parseBlocks(const std::string& option, const std::string& text);  ///< 2,5 or none
cv::Size parseSize(const std::string& option, const std::string& text);            ///< HxW
int parseCount(const std::string& option, const std::string& text, int smallest,
               int largest = INT_MAX);  ///< a whole number
/// Reads a number of bytes, which may end in K, M or G (factors of 1024), such as 4096 or 500M.
std::int64_t parseBytes(const std::string& option, const std::string& text);
double parseNumber(const std::string& option, const std::string& text);
double parseSeconds(const std::string& option, const std::string& text);  ///< above 0
std::vector<int> parseCounts(const std::string& option, const std::string& text, int smallest);
std::vector<double> parseNumbers(const std::string& option, const std::string& text, size_t count);
std::vector<std::string> splitList(const std::string& text, char separator = ',');

/// Options of every verb that runs a model.
struct CommonOptions {
    std::optional<DeviceChoice> device;  ///< absent: MPM_DEVICE, else auto
    std::optional<Precision> precision;  ///< absent: MPM_PRECISION, else f32
    bool batchIndependent = false;       ///< the bits of a result do not depend on the batch, even on a GPU
    std::optional<std::vector<int>> blocks;  ///< absent: the model's schedule
    std::optional<int> threads;              ///< absent: OpenCV's choice
    std::int64_t maxMemory = 0;              ///< bytes; 0: the defaults
    std::optional<Reuse> reuse;              ///< absent: every frame is computed in full
    std::string reuseText;                   ///< the text of --reuse; empty if not given
};

/// Adds `--device`, `--batch-independent`, `--threads`, `--blocks` if `withBlocks`, and `--precision` if
/// `withPrecision`.
void addCommonOptions(CLI::App& verb, CommonOptions& options, bool withBlocks = true,
                      bool withPrecision = true);
void addSizeOption(CLI::App& verb, cv::Size& size);
void addMemoryOption(CLI::App& verb, CommonOptions& options);

void addReuseOption(CLI::App& verb, CommonOptions& options);

/// Adds an option. Calls `parse` with the option's text; `parse` may throw Error.
template <typename Parse>
CLI::Option* addParsed(CLI::App& verb, const std::string& name, const std::string& help,
                       const std::string& form, Parse parse) {
    return verb.add_option_function<std::string>(name, parse, help)->type_name(form);
}

/// Adds an option whose value is parse(name, text, further...).
template <typename Value, typename Parse, typename... Further>
CLI::Option* addParsed(CLI::App& verb, const std::string& name, const std::string& help,
                       const std::string& form, Value& value, Parse parse, Further... further) {
    const auto assign = [=, &value](const std::string& text) { value = parse(name, text, further...); };
    return addParsed(verb, name, help, form, assign);
}

void applyThreads(const CommonOptions& options);

std::string blocksText(const std::vector<int>& blocks);  ///< "2,5" or "none"

using NightOption = std::optional<street::NightParameters>;

/// Reads the values of --night; "default" means the default values. Throws Error(kWrongUse).
street::NightParameters parseNight(const std::string& option, const std::string& text);

void addNightOption(CLI::App& verb, NightOption& night);

/// Adds --night, which may be given several times.
void addNightOptions(CLI::App& verb, std::vector<street::NightParameters>& nights);

}  // namespace mpm::cli
