// Rules that watch a measurement: over (or under) a threshold for a time, then not again for another.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/watch/region.hpp"

namespace mpm::pipeline {

struct AlertRule {
    enum class Of { Tokens, ClassShare, Luminance, SourceDown };

    std::string name;
    Of of = Of::Tokens;
    std::string region;             ///< empty: the whole image; not for luminance and source
    std::string source;             ///< empty: every source
    int fromHour = 0, toHour = 24;  ///< of the local day, 0..24; over midnight if from exceeds to
    std::string label;              ///< ClassShare: the class's name
    bool above = true;              ///< or below
    double threshold = 0;           ///< tokens kept; share and luminance 0..1; SourceDown has none
    std::chrono::milliseconds hold{0};
    std::chrono::milliseconds coolDown{60'000};  ///< between two alerts of the same rule

    bool desktop = true;  ///< a notification of the desktop
    bool record = false;  ///< a video around it
    std::string command;  ///< program and arguments, run without a shell; empty: none
};

/// Values that rules are checked against. An absent value leaves the rules on it unchanged.
struct AlertInput {
    std::string source;
    std::optional<int> hour;  ///< of the local day, 0..23; absent: any
    std::optional<int> tokens;
    std::optional<double> luminance;
    std::vector<std::string> labels;  ///< names by class id
    std::vector<double> classShares;  ///< of the whole image
    std::vector<RegionReading> regions;
    std::optional<bool> sourceDown;
};

struct Alert {
    std::string rule;
    std::size_t index = 0;  ///< of the rule in AlertWatch::rules()
    double value = 0;
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
    /// reported once.
    std::vector<Alert> update(const AlertInput& input, Clock::time_point now);

private:
    struct State {
        std::optional<Clock::time_point> since;  ///< the condition holds since then
        std::optional<Clock::time_point> told;   ///< last alert
        bool open = false;                       ///< reported in this episode
    };
    std::vector<AlertRule> m_rules;
    std::vector<State> m_states;
};

/// Whether the rule is for this source and hour.
bool applies(const AlertRule& rule, const AlertInput& input);

/// The value that a rule checks, if the input has it.
std::optional<double> valueFor(const AlertRule& rule, const AlertInput& input);

bool operator==(const AlertRule& a, const AlertRule& b);

}  // namespace mpm::pipeline
