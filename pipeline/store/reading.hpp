// A reading and the table of its fields. The store, its exports, MQTT, Home Assistant, Prometheus and the
// timeline follow the table, so a new field needs a member below and a row in reading.cpp.
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

using Millis = std::chrono::milliseconds;  ///< since 1970-01-01 00:00 UTC, if it is a time

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
    std::vector<int> stageTokens;  ///< after each merge
    double luminance = 0;          ///< 0..1
    Phase phase = Phase::Day;
    double captureMs = 0, networkMs = 0, encoderMs = 0, mergeMs = 0, drawMs = 0;
    std::int64_t dropped = 0;         ///< frames of the source dropped since the measurement before
    std::vector<double> classShares;  ///< by class id, 0..1; may be empty
    std::vector<RegionReading> regions;
    Setup setup;                       ///< written, not read back
    std::optional<double> recomputed;  ///< share of tokens that were computed, with reuse
    int pass = 0;                      ///< of a video that repeats: 0 is the first
    std::optional<double> tokenAge;    ///< with reuse: mean age of the tokens, in frames
    std::optional<double> savedMs;     ///< against all tokens, if a comparison ran lately
    std::optional<double> objects;     ///< how many there are, if objects are followed
    std::map<int, int> objectCounts;   ///< by class id, of the classes that are followed

    int tokensKept() const { return stageTokens.empty() ? tokensIn : stageTokens.back(); }
    /// Tokens that the last block computed. With reuse all are kept, and those of frames before are not
    /// computed again; a suspended stream merges.
    int tokensComputed() const {
        if (!recomputed) return tokensKept();
        return std::min(tokensKept(), static_cast<int>(std::lround(*recomputed * tokensIn)));
    }
};

/// The part of a reading that the segmentation knows: counts, times, reuse.
Measurement measurementOf(const Segmentation& segmentation);

/// Fields of which minutes and hours have a mean.
enum class Summed { Luminance, Latency, TokenAge, SavedMs, TokensIn, Objects };
constexpr std::size_t kSummed = 6;

/// One number of a reading.
struct ReadingField {
    using Value = std::optional<double>;
    /// Which readings have it. Fields of some readings only are the last columns of a CSV.
    enum class When { Always, Reuse, Compared, Followed };

    const char* name;  ///< column of the store and of CSV, key of JSON and MQTT
    Value (*get)(const Measurement&);
    void (*set)(Measurement&, double) = nullptr;  ///< null: computed from the others, not stored
    When when = When::Always;
    bool whole = false;  ///< a count
    bool csv = true, json = true, mqtt = false;
    double otherwise = NAN;  ///< published if a reading has no value; NaN: null, and not on the page
    struct {
        std::optional<Summed> field;
        const char *sum = nullptr, *count = nullptr;  ///< columns of `bucket`; no count: every reading has it
    } summed = {};
    struct {
        const char *name = nullptr, *help = nullptr;
        double scale = 1;
    } prometheus = {};
    struct {
        const char *id = nullptr, *title = nullptr, *unit = nullptr;
    } sensor = {};  ///< of Home Assistant; a unit of "%" shows the value times 100
};

const std::vector<ReadingField>& readingFields();

/// All measurements of a minute or an hour.
struct Bucket {
    struct Mean {
        std::int64_t count = 0;
        double mean = 0;

        void add(double value) { mean += (value - mean) / static_cast<double>(++count); }
    };

    Millis time{0};  ///< beginning
    std::int64_t count = 0, nights = 0;
    double tokensMean = 0,
           tokensSquares = 0;  ///< of the tokens computed; mean of the squares, for the spread
    int tokensLeast = 0, tokensMost = 0;
    double dayTokens = 0, nightTokens = 0;  ///< means; 0 if there was no day or night
    std::array<Mean, kSummed> means;

    Mean& of(Summed field) { return means[static_cast<std::size_t>(field)]; }
    const Mean& of(Summed field) const { return means[static_cast<std::size_t>(field)]; }
};

struct Event {
    Millis time{0};
    std::string kind;  ///< "day", "night", "alert", "source", ...
    std::string text;
};

/// A number of a reading that has no column: it belongs to a class or a region. A kind is a row in
/// quantities.cpp.
struct Quantity {
    enum class Kind { ClassShare, RegionTokens, RegionShare, ClassObjects, RegionObjects };
    Kind kind = Kind::ClassShare;
    int classId = -1;    ///< of shares and objects
    std::string region;  ///< name

    bool operator<(const Quantity& other) const {
        return std::tie(kind, classId, region) < std::tie(other.kind, other.classId, other.region);
    }
};

/// 0..1, or a number of objects; absent: the reading does not have it.
std::optional<double> valueOf(const Quantity& quantity, const Measurement& measurement);

/// A quantity over a span of time.
struct QuantitySpan {
    Millis time{0};  ///< beginning
    double count = 0, mean = 0, least = 0, most = 0;

    void add(double value) {
        least = count > 0 ? std::min(least, value) : value;
        most = count > 0 ? std::max(most, value) : value;
        mean += (value - mean) / ++count;
    }
};

/// The name of a class in the store and in exports; without one "class_17".
inline std::string storedName(int classId, const std::vector<std::string>& names) {
    const auto at = static_cast<std::size_t>(classId);
    return classId >= 0 && at < names.size() ? names[at] : "class_" + std::to_string(classId);
}

/// An object that the next run of the program is to know again.
struct KnownObject {
    std::int64_t id = 0;
    std::string label;  ///< name of the class: the model may be another one
    cv::Rect2d place;   ///< 0..1 across and down
    Millis since{0}, last{0};
    Millis still{0};  ///< for so long it has not moved; 0: it moves
};

struct KnownObjects {
    std::int64_t nextId = 1;
    std::vector<KnownObject> present;
};

/// An event as the store has it.
struct StoredEvent {
    std::int64_t id = 0;
    std::string source;
    Event event;
};

}  // namespace mpm::pipeline
