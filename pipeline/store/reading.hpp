// A reading and the table of its fields. Store, exports, MQTT, Home Assistant, Prometheus and timeline use
// the table, so a new field needs a member below and a row in reading.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "pipeline/daynight/day_night.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "pipeline/watch/region.hpp"

namespace mpm::pipeline {

using Millis = std::chrono::milliseconds;  ///< as a time: since 1970-01-01 00:00 UTC

/// Model, method and schedule of a reading. Only readings of the same setup can be compared.
struct Setup {
    std::string model, method;
    std::vector<int> schedule;  ///< blocks before which tokens merge

    bool operator==(const Setup& other) const {
        return model == other.model && method == other.method && schedule == other.schedule;
    }
};

struct Measurement {
    Millis time{0};
    std::int64_t frame = 0;
    int tokensIn = 0;              ///< image tokens of the frame
    std::vector<int> stageTokens;  ///< tokens after each merge
    double luminance = 0;          ///< 0..1
    Phase phase = Phase::Day;
    double captureMs = 0, networkMs = 0, encoderMs = 0, mergeMs = 0, drawMs = 0;
    std::int64_t dropped = 0;         ///< frames dropped since the last measurement
    std::vector<double> classShares;  ///< shares of the pixels by class id, 0..1; may be empty
    std::vector<RegionReading> regions;
    Setup setup;                       ///< written to the store, but not read from it
    std::optional<double> recomputed;  ///< with reuse: share of tokens that were computed
    int pass = 0;                      ///< pass of a video that repeats, from 0
    std::optional<double> tokenAge;    ///< with reuse: mean age of the tokens, in frames
    std::optional<double> savedMs;     ///< time saved compared with all tokens, if measured recently
    std::optional<double> objects;     ///< number of objects, if objects are followed
    std::map<int, int> objectCounts;   ///< by class id, for followed classes

    int tokensKept() const { return stageTokens.empty() ? tokensIn : stageTokens.back(); }
    /// Returns how many tokens the last block computed. With reuse, tokens do not merge, and the block
    /// computes only changed and refreshed tokens. While reuse is suspended, tokens merge, and the block
    /// computes all tokens that remain.
    int tokensComputed() const {
        if (!recomputed) return tokensKept();
        return std::min(tokensKept(), static_cast<int>(std::lround(*recomputed * tokensIn)));
    }
};

/// Returns the part of a reading that comes from a segmentation: tokens, times and reuse.
Measurement measurementOf(const Segmentation& segmentation);

/// Fields whose mean is stored for each minute and hour.
enum class Summed { Luminance, Latency, TokenAge, SavedMs, TokensIn, Objects };
constexpr std::size_t kSummed = 6;

/// A field of a reading: a number.
struct ReadingField {
    using Value = std::optional<double>;
    /// The readings that have the field. In a CSV, the fields that some readings lack are the last columns.
    enum class When { Always, Reuse, Compared, Followed };

    const char* name;  ///< column of the store and of CSV, key of JSON and MQTT
    Value (*get)(const Measurement&);
    void (*set)(Measurement&, double) = nullptr;  ///< null if the field is computed, not stored
    When when = When::Always;
    bool whole = false;  ///< whether values are whole numbers
    bool csv = true, json = true, mqtt = false;
    double otherwise = NAN;  ///< published if the value is missing; NaN: null in MQTT, nothing in Prometheus
    struct {
        std::optional<Summed> field;
        /// Columns of `bucket`. `count` is null if every reading has the field.
        const char *sum = nullptr, *count = nullptr;
    } summed = {};
    struct {
        const char *name = nullptr, *help = nullptr;
        double scale = 1;
    } prometheus = {};
    struct {
        const char *id = nullptr, *title = nullptr, *unit = nullptr;
    } sensor = {};  ///< in Home Assistant; with the unit "%", the value is multiplied by 100
};

const std::vector<ReadingField>& readingFields();

/// A summary of all measurements of a minute or an hour.
struct Bucket {
    struct Mean {
        std::int64_t count = 0;
        double mean = 0;

        void add(double value) { mean += (value - mean) / static_cast<double>(++count); }
    };

    Millis time{0};  ///< when the minute or hour begins
    std::int64_t count = 0, nights = 0;
    double tokensMean = 0,
           tokensSquares = 0;  ///< means of the number of computed tokens and of its square
    int tokensLeast = 0, tokensMost = 0;
    double dayTokens = 0, nightTokens = 0;  ///< means; 0 without readings by day or by night
    std::array<Mean, kSummed> means;

    Mean& of(Summed field) { return means[static_cast<std::size_t>(field)]; }
    const Mean& of(Summed field) const { return means[static_cast<std::size_t>(field)]; }
};

struct Event {
    Millis time{0};
    std::string kind;  ///< "day", "night", "alert", "source", ...
    std::string text;
};

/// Identifies a value of a reading for a class or a region. The table of fields has no such values, but each
/// kind has a row in quantities.cpp.
struct Quantity {
    enum class Kind { ClassShare, RegionTokens, RegionShare, ClassObjects, RegionObjects };
    Kind kind = Kind::ClassShare;
    int classId = -1;    ///< for kinds with a class
    std::string region;  ///< name, for kinds with a region

    bool operator<(const Quantity& other) const {
        return std::tie(kind, classId, region) < std::tie(other.kind, other.classId, other.region);
    }
};

/// Returns the value of a quantity: a share 0..1 or a number of objects; nothing if the reading lacks the
/// value.
std::optional<double> valueOf(const Quantity& quantity, const Measurement& measurement);

/// A quantity over a span of time.
struct QuantitySpan {
    Millis time{0};  ///< when the span begins
    double count = 0, mean = 0, least = 0, most = 0;

    void add(double value) {
        least = count > 0 ? std::min(least, value) : value;
        most = count > 0 ? std::max(most, value) : value;
        mean += (value - mean) / ++count;
    }
};

/// Returns the name of a class for store and exports; "class_17" for class 17 if it has no name.
inline std::string storedName(int classId, const std::vector<std::string>& names) {
    const auto at = static_cast<std::size_t>(classId);
    return classId >= 0 && at < names.size() ? names[at] : "class_" + std::to_string(classId);
}

/// An object that the next run of the program should recognise.
struct KnownObject {
    std::int64_t id = 0;
    std::string label;  ///< name of the class, because class ids change with the model
    cv::Rect2d place;   ///< in fractions of the image's width and height
    Millis since{0}, last{0};
    Millis still{0};  ///< how long the object has not moved; 0: the object moves
};

struct KnownObjects {
    std::int64_t nextId = 1;
    std::vector<KnownObject> present;
};

struct StoredEvent {
    std::int64_t id = 0;
    std::string source;
    Event event;
};

}  // namespace mpm::pipeline
