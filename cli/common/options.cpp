#include "cli/common/options.hpp"

#include <charconv>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include <mpm/precisions.hpp>

#include "base/checked.hpp"
#include "cli/common/error.hpp"
#include "pipeline/measure/method.hpp"
#include "pipeline/segment/names.hpp"

namespace mpm::cli {

namespace {

// Limits the size of images, because attention compares every patch with every other patch: an image with
// four times the pixels needs sixteen times the work.
constexpr std::int64_t kMostPixels = 4096 * 4096;
constexpr int kMostThreads = 1024;

[[noreturn]] void reject(const std::string& option, const std::string& text, const std::string& expected) {
    throw Error(kWrongUse, option + ": \"" + text + "\" is not understood; write " + expected);
}

std::optional<int> wholeNumber(const std::string& text) {
    int value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
    return value;
}

}  // namespace

std::vector<std::string> splitList(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        parts.push_back(part);
    if (!text.empty() && text.back() == separator) parts.emplace_back();
    return parts;
}

DeviceChoice parseDevice(const std::string& option, const std::string& text) {
    if (text == "auto") return {Device::Auto, 0};
    if (text == "cpu") return {Device::Cpu, 0};
    if (text == "cuda") return {Device::Cuda, 0};
    if (text.rfind("cuda:", 0) == 0) {
        const auto index = wholeNumber(text.substr(5));
        if (index && *index >= 0) return {Device::Cuda, *index};
    }
    reject(option, text, "cpu, cuda, cuda:N or auto");
}

std::string precisionForm(bool onProcessor) {
    std::string form;
    for (const PrecisionInfo& known : precisions())
        if (known.onProcessor || !onProcessor) form += (form.empty() ? "" : "|") + known.name;
    return form;
}

Precision parsePrecision(const std::string& option, const std::string& text) {
    const auto precision = pipeline::precisionFrom(text);
    if (!precision) reject(option, text, precisionNames());
    return *precision;
}

Precision usualPrecision() {
    const char* text = std::getenv("MPM_PRECISION");
    return pipeline::precisionFrom(text == nullptr ? "" : text).value_or(Precision::F32);
}

std::vector<int> parseBlocks(const std::string& option, const std::string& text) {
    if (text == "none") return {};
    const auto blocks = pipeline::blocksFrom(text);
    if (!blocks) reject(option, text, "block numbers from 0, increasing, with commas between (2,5), or none");
    return *blocks;
}

cv::Size parseSize(const std::string& option, const std::string& text) {
    const std::vector<std::string> parts = splitList(text, 'x');
    if (parts.size() == 2) {
        const auto height = wholeNumber(parts[0]);
        const auto width = wholeNumber(parts[1]);
        if (height && width && *height > 0 && *width > 0 && *height <= 32768 && *width <= 32768) {
            if (std::int64_t{*height} * *width <= kMostPixels) return {*width, *height};
            reject(option, text, "at most as many pixels as 4096x4096 has, 65,536 patches of 16x16");
        }
    }
    reject(option, text, "height x width in pixels, as 512x512");
}

int parseCount(const std::string& option, const std::string& text, int smallest, int largest) {
    const auto value = wholeNumber(text);
    if (!value || *value < smallest || *value > largest)
        reject(option, text,
               "a whole number of at least " + std::to_string(smallest) +
                   (largest < INT_MAX ? " and at most " + std::to_string(largest) : ""));
    return *value;
}

std::int64_t parseBytes(const std::string& option, const std::string& text) {
    const std::string units = "KMG";
    const size_t unit = text.empty() ? std::string::npos : units.find(text.back());
    const char* end = text.data() + text.size() - (unit == std::string::npos ? 0 : 1);
    std::int64_t value = 0, bytes = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    const std::int64_t scale = unit == std::string::npos ? 1 : std::int64_t{1024} << (10 * unit);
    if (text.empty() || error != std::errc() || stop != end || value <= 0 ||
        !productFits(bytes, value, scale))
        reject(option, text, "a number of bytes above 0, as 2000000000, 512M or 2G");
    return bytes;
}

double parseNumber(const std::string& option, const std::string& text) {
    return parseNumbers(option, text, 1)[0];
}

double parseSeconds(const std::string& option, const std::string& text) {
    const double seconds = parseNumber(option, text);
    if (!(seconds > 0)) reject(option, text, "a number of seconds above 0");
    return seconds;
}

std::vector<int> parseCounts(const std::string& option, const std::string& text, int smallest) {
    std::vector<int> counts;
    for (const std::string& part : splitList(text))
        counts.push_back(parseCount(option, part, smallest));
    if (counts.empty()) reject(option, text, "whole numbers with commas between");
    return counts;
}

std::vector<double> parseNumbers(const std::string& option, const std::string& text, size_t count) {
    std::vector<double> numbers;
    for (const std::string& part : splitList(text)) {
        char* end = nullptr;
        numbers.push_back(std::strtod(part.c_str(), &end));
        if (part.empty() || *end != '\0' || !std::isfinite(numbers.back())) numbers.resize(count + 1);
        if (numbers.size() > count) break;
    }
    if (numbers.size() != count)
        reject(option, text,
               std::to_string(count) + (count == 1 ? " number" : " numbers with commas between"));
    return numbers;
}

void addCommonOptions(CLI::App& verb, CommonOptions& options, bool withBlocks, bool withPrecision) {
    addParsed(verb, "--device", "where the encoder runs (default: MPM_DEVICE, else auto)",
              "cpu|cuda[:N]|auto", options.device, parseDevice);
    if (withPrecision)
        addParsed(verb, "--precision", "of the encoder's products (default: MPM_PRECISION, else f32)",
                  precisionForm(false), options.precision, parsePrecision);
    verb.add_flag("--batch-independent", options.batchIndependent,
                  "on a GPU too, an image's bits do not depend on its batch");
    addParsed(verb, "--threads", "CPU threads to use (default: all)", "N", options.threads, parseCount, 1,
              kMostThreads);
    if (!withBlocks) return;
    addParsed(verb, "--blocks", "blocks to merge before, or none (default: the model's own)", "2,5|none",
              options.blocks, parseBlocks);
}

void addSizeOption(CLI::App& verb, cv::Size& size) {
    addParsed(verb, "--size", "input size, if the model leaves it open", "HxW", size, parseSize);
}

void addMemoryOption(CLI::App& verb, CommonOptions& options) {
    addParsed(verb, "--max-memory", "limit for models, images and results (default: 2G for an image)",
              "BYTES", options.maxMemory, parseBytes);
}

void addReuseOption(CLI::App& verb, CommonOptions& options) {
    verb.add_flag("--reuse{on}", options.reuseText,
                  "compute only the tokens that changed since the frame before (on, off or values: "
                  "refresh=30,full=0.25)")
        ->type_name("[=VALUES]")
        ->each([&options](const std::string& text) {
            options.reuse = orError<cv::Exception>(kWrongUse, "--reuse: ", [&] { return reuseFrom(text); });
        });
}

void applyThreads(const CommonOptions& options) {
    if (options.threads) cv::setNumThreads(*options.threads);
}

std::string blocksText(const std::vector<int>& blocks) {
    if (blocks.empty()) return "none";
    std::string text;
    for (int block : blocks)
        text += (text.empty() ? "" : ",") + std::to_string(block);
    return text;
}

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
