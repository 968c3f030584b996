// Rules that watch a measurement: over (or under) a threshold for a time, then not again for another.
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
    /// Objects: how many there are. ObjectStays, ObjectLeft: each object raises an alert, once its stay
    /// reaches the threshold, or when it leaves after such a stay.
    enum class Of { Tokens, ClassShare, Luminance, SourceDown, Objects, ObjectStays, ObjectLeft };

    std::string name;
    Of of = Of::Tokens;
    std::string region;             ///< empty: the whole image; not for luminance and source
    std::string source;             ///< empty: every source
    int fromHour = 0, toHour = 24;  ///< of the local day, 0..24; over midnight if from exceeds to
    std::string label;              ///< the class's name; of objects empty: every class
    bool above = true;              ///< or below
    double threshold = 0;  ///< tokens kept; share and luminance 0..1; objects; seconds; SourceDown has none
    std::chrono::milliseconds hold{0};
    std::chrono::milliseconds coolDown{60'000};  ///< between two alerts of the same rule

    bool desktop = true;  ///< a notification of the desktop
    bool record = false;  ///< a video around it
    std::string command;  ///< program and arguments, run without a shell; empty: none
};

/// An object of a frame, as rules see it.
struct ObjectPresence {
    std::int64_t id = 0;
    int label = 0;
    std::map<std::string, double> stays;   ///< seconds in each region so far; "": in the image
    std::map<std::string, double> left;    ///< the same of those that it left with this frame
    std::map<std::string, double> before;  ///< seconds that the same stays had before the program began
};

/// Values that rules are checked against. An absent value leaves the rules on it unchanged.
struct AlertInput {
    std::string source;
    std::optional<int> hour;  ///< of the local day, 0..23; absent: any
    std::optional<int> tokens;
    std::optional<double> luminance;
    std::vector<std::string> labels;     ///< names by class id
    std::vector<std::string> ownLabels;  ///< the model's, if the user has others: a rule can have either
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
    std::int64_t object = 0;  ///< whose stay it is; 0: of no single object
};

/// The state of a list of rules for a source. `now` is a clock that never jumps.
class AlertWatch {
public:
    using Clock = std::chrono::steady_clock;

    /// More would delay every reading.
    static constexpr std::size_t kMostRules = 200;

    /// Throws cv::Exception if a rule makes no sense, or if there are too many. Rules that stay the same keep
    /// their state.
    void setRules(const std::vector<AlertRule>& rules);
    const std::vector<AlertRule>& rules() const { return m_rules; }

    /// Rules whose condition has now held long enough. A condition that persists is
    /// reported once. Objects whose alerts fall into the cool-down are reported together when it ends.
    std::vector<Alert> update(const AlertInput& input, Clock::time_point now);

    /// Objects whose alerts wait for the end of a cool-down.
    std::set<std::int64_t> waiting() const;

private:
    struct State {
        std::optional<Clock::time_point> since;  ///< the condition holds since then
        std::optional<Clock::time_point> told;   ///< last alert
        bool open = false;                       ///< reported in this episode
        std::set<std::int64_t> objects;          ///< whose present stay was found
        std::vector<Alert> waiting;              ///< of objects; in a frame the longest stay first
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

/// Whether the rule is for this source and hour.
bool applies(const AlertRule& rule, const AlertInput& input);

/// Whether the rule is about this class.
bool isOf(const AlertRule& rule, const AlertInput& input, int label);

/// The value that a rule checks, if the input has it.
std::optional<double> valueFor(const AlertRule& rule, const AlertInput& input);

bool operator==(const AlertRule& a, const AlertRule& b);

}  // namespace mpm::pipeline
