// Rules for alerts: a measurement is over (or under) a threshold for a time. A pause follows each alert.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/watch/region.hpp"

namespace mpm::pipeline {

struct AlertRule {
    /// Objects: their number. ObjectStays: each object raises an alert when its stay reaches the threshold;
    /// ObjectLeft: when it leaves after such a stay.
    enum class Of { Tokens, ClassShare, Luminance, SourceDown, Objects, ObjectStays, ObjectLeft };

    std::string name;
    Of of = Of::Tokens;
    std::string region;             ///< empty: the whole image; unused for luminance and source
    std::string source;             ///< empty: every source
    int fromHour = 0, toHour = 24;  ///< of the local day, 0..24; spans midnight if fromHour > toHour
    std::string label;              ///< name of the class; for objects, empty means every class
    bool above = true;              ///< false: below
    double threshold = 0;  ///< tokens, share or luminance (0..1), objects, seconds; unused for SourceDown
    std::chrono::milliseconds hold{0};
    std::chrono::milliseconds coolDown{60'000};  ///< between two alerts of the same rule

    bool desktop = true;  ///< show a desktop notification
    bool record = false;  ///< record a video around the alert
    std::string command;  ///< program and arguments, run without a shell; empty: none
};

/// An object of a frame, with the values that rules check.
struct ObjectPresence {
    std::int64_t id = 0;
    int label = 0;
    std::map<std::string, double> stays;   ///< seconds in each region so far; "": in the image
    std::map<std::string, double> left;    ///< seconds in each region that the object left in this frame
    std::map<std::string, double> before;  ///< seconds of these stays before the program started
};

/// Values that rules check. If a value is absent, the state of its rules does not change.
struct AlertInput {
    std::string source;
    std::optional<int> hour;  ///< of the local day, 0..23; absent: any
    std::optional<int> tokens;
    std::optional<double> luminance;
    std::vector<std::string> labels;     ///< names by class id
    std::vector<std::string> ownLabels;  ///< the model's names, if the user has others: rules may use either
    std::vector<double> classShares;     ///< of the whole image
    std::vector<RegionReading> regions;
    std::optional<std::map<int, int>> objectCounts;  ///< of the whole image, by class id
    std::optional<std::vector<ObjectPresence>> objects;
    std::optional<bool> sourceDown;
};

struct Alert {
    std::string rule;
    std::size_t index = 0;  ///< of the rule in AlertWatch::rules()
    double value = 0;
    std::int64_t object = 0;  ///< the object whose stay raised the alert; 0: not a single object
};

/// Checks a list of rules for a source. `now` is from a clock that never jumps.
class AlertWatch {
public:
    using Clock = std::chrono::steady_clock;

    /// More rules would delay every reading.
    static constexpr std::size_t kMostRules = 200;

    /// Throws cv::Exception if a rule is invalid or there are too many rules. Unchanged rules keep their
    /// state.
    void setRules(const std::vector<AlertRule>& rules);
    const std::vector<AlertRule>& rules() const { return m_rules; }

    /// Returns alerts for conditions that have now held long enough. A condition that persists is reported
    /// once. Alerts of objects during a cool-down are reported together when the cool-down ends.
    std::vector<Alert> update(const AlertInput& input, Clock::time_point now);

    /// Objects whose alerts wait for the end of a cool-down.
    std::set<std::int64_t> waiting() const;

private:
    struct State {
        std::optional<Clock::time_point> since;  ///< when the condition began to hold
        std::optional<Clock::time_point> told;   ///< time of the last alert
        bool open = false;                       ///< whether the present episode was reported
        std::set<std::int64_t> objects;          ///< ids of objects whose present stay fulfils the rule
        std::vector<Alert> waiting;  ///< alerts of objects; within a frame, the longest stay first
    };
    static void findObjects(const AlertRule& rule, const AlertInput& input, State& state);

    std::string m_source;
    std::vector<AlertRule> m_rules;
    std::vector<State> m_states;
};

enum class AlertUnit { Count, Share, Seconds };
AlertUnit unitOf(AlertRule::Of of);
inline bool isOfObjects(AlertRule::Of of) {
    return of >= AlertRule::Of::Objects;
}

/// Whether the rule applies to this source and hour.
bool applies(const AlertRule& rule, const AlertInput& input);

/// Whether the rule is about this class.
bool isOf(const AlertRule& rule, const AlertInput& input, int label);

/// The value that a rule checks, if the input has it.
std::optional<double> valueFor(const AlertRule& rule, const AlertInput& input);

bool operator==(const AlertRule& a, const AlertRule& b);

}  // namespace mpm::pipeline
