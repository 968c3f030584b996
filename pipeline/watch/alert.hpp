// Rules that raise an alert if a value is above (or below) a threshold for a time.
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
    /// The value that the rule checks. Objects: the number of objects. ObjectStays: seconds for which each
    /// object has been in the region so far. ObjectLeft: seconds that an object was in the region before it
    /// left.
    enum class Of { Tokens, ClassShare, Luminance, SourceDown, Objects, ObjectStays, ObjectLeft };

    std::string name;
    Of of = Of::Tokens;
    std::string region;             ///< empty: the whole image; not used for Luminance and SourceDown
    std::string source;             ///< empty: every source
    int fromHour = 0, toHour = 24;  ///< local hours of the rule, 0..24; may span midnight
    std::string label;              ///< name of the class; if empty, rules for objects check every class
    bool above = true;              ///< false: alert below the threshold
    double threshold = 0;  ///< a count of tokens or objects, a share or a luminance (both 0..1), or seconds
    std::chrono::milliseconds hold{0};
    std::chrono::milliseconds coolDown{60'000};  ///< least time between two alerts of the rule

    bool desktop = true;  ///< show a desktop notification
    bool record = false;  ///< record a video around the alert
    std::string command;  ///< program and arguments, run without a shell; empty: none
};

/// An object of a frame, with the values that rules check.
struct ObjectPresence {
    std::int64_t id = 0;
    int label = 0;
    std::map<std::string, double> stays;   ///< seconds in each region so far; "" is the whole image
    std::map<std::string, double> left;    ///< seconds in each region that the object left in this frame
    std::map<std::string, double> before;  ///< the part of `stays` before the program started
};

/// Values that rules check. If a value is absent, the rules for this value keep their state.
struct AlertInput {
    std::string source;
    std::optional<int> hour;  ///< local hour, 0..23; if absent, rules of all hours apply
    std::optional<int> tokens;
    std::optional<double> luminance;
    std::vector<std::string> labels;     ///< names by class id
    std::vector<std::string> ownLabels;  ///< the model's names, if `labels` are the user's; rules use either
    std::vector<double> classShares;     ///< shares in the whole image, by class id
    std::vector<RegionReading> regions;
    std::optional<std::map<int, int>> objectCounts;  ///< numbers in the whole image, by class id
    std::optional<std::vector<ObjectPresence>> objects;
    std::optional<bool> sourceDown;
};

struct Alert {
    std::string rule;
    std::size_t index = 0;  ///< index of the rule in AlertWatch::rules()
    double value = 0;
    std::int64_t object = 0;  ///< the object whose stay raised the alert; 0: no single object
};

/// The rules for a source and their state. `now` must come from a steady clock.
class AlertWatch {
public:
    using Clock = std::chrono::steady_clock;

    /// The number of rules is limited, because many rules would delay every reading.
    static constexpr std::size_t kMostRules = 200;

    /// Throws cv::Exception if a rule is invalid or there are too many rules. Unchanged rules keep their
    /// state.
    void setRules(const std::vector<AlertRule>& rules);
    const std::vector<AlertRule>& rules() const { return m_rules; }

    /// Returns an alert for each rule whose condition has been true for `hold`. While the condition stays
    /// true, the rule gives no further alert. If alerts about single objects occur during the rule's
    /// `coolDown`, keeps these alerts, and returns them together after the cool-down.
    std::vector<Alert> update(const AlertInput& input, Clock::time_point now);

    /// Returns the objects whose alerts wait for the end of a cool-down.
    std::set<std::int64_t> waiting() const;

private:
    struct State {
        std::optional<Clock::time_point> since;  ///< when the condition became true
        std::optional<Clock::time_point> told;   ///< time of the latest alert
        bool open = false;                       ///< whether an alert was raised after `since`
        std::set<std::int64_t> objects;          ///< ids of objects whose stay currently fulfils the rule
        std::vector<Alert> waiting;              ///< alerts of objects; within a frame, longest stay first
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

bool applies(const AlertRule& rule, const AlertInput& input);

/// Returns whether the rule is about the class with the id `label`.
bool isOf(const AlertRule& rule, const AlertInput& input, int label);

std::optional<double> valueFor(const AlertRule& rule, const AlertInput& input);

bool operator==(const AlertRule& a, const AlertRule& b);

}  // namespace mpm::pipeline
