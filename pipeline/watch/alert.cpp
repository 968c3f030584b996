#include "pipeline/watch/alert.hpp"

#include <algorithm>
#include <tuple>

namespace mpm::pipeline {

namespace {

constexpr std::size_t kMostWaiting = 100;  // largest number of waiting alerts of a rule

void checkRule(const AlertRule& rule) {
    CV_Check(rule.name.size(), !rule.name.empty(), "name: must not be empty");
    CV_Check(rule.threshold, rule.threshold >= 0, "threshold: expected 0 or more");
    CV_Check(double(rule.hold.count()), rule.hold.count() >= 0, "hold: expected no negative time");
    CV_Check(double(rule.coolDown.count()), rule.coolDown.count() >= 0,
             "cool-down: expected no negative time");
    for (const int hour : {rule.fromHour, rule.toHour})
        CV_Check(hour, hour >= 0 && hour <= 24, "hours: expected 0 to 24");
    CV_Check(rule.fromHour, rule.fromHour != rule.toHour, "hours: expected different ones");
    if (rule.of == AlertRule::Of::ClassShare)
        CV_Check(rule.label.size(), !rule.label.empty(), "label: expected the name of a class");
}

bool isNamed(const AlertInput& input, std::size_t id, const std::string& name) {
    const auto has = [&](const std::vector<std::string>& names) {
        return id < names.size() && names[id] == name;
    };
    return has(input.labels) || has(input.ownLabels);
}

std::optional<double> shareOf(const AlertRule& rule, const AlertInput& input) {
    const RegionReading* region = rule.region.empty() ? nullptr : readingOf(input.regions, rule.region);
    if (!rule.region.empty() && region == nullptr) return std::nullopt;
    const std::vector<double>& shares = region != nullptr ? region->classShares : input.classShares;
    std::optional<double> sum;
    for (std::size_t id = 0; id < shares.size(); ++id)
        if (isNamed(input, id, rule.label)) sum = sum.value_or(0) + shares[id];
    return sum;
}

std::optional<double> tokensOf(const AlertRule& rule, const AlertInput& input) {
    if (rule.region.empty()) return input.tokens ? std::optional<double>(*input.tokens) : std::nullopt;
    const RegionReading* region = readingOf(input.regions, rule.region);
    return region != nullptr ? std::optional<double>(region->tokens) : std::nullopt;
}

std::optional<double> countOf(const AlertRule& rule, const AlertInput& input) {
    const RegionReading* region = rule.region.empty() ? nullptr : readingOf(input.regions, rule.region);
    if (!input.objectCounts || (!rule.region.empty() && region == nullptr)) return std::nullopt;
    double count = 0;
    for (const auto& [label, objects] : region != nullptr ? region->objects : *input.objectCounts)
        if (isOf(rule, input, label)) count += objects;
    return count;
}

/// Returns the seconds of the object's stay in the rule's region. Returns nothing if the object was not in
/// the region or the rule is about another class.
std::optional<double> stayOf(const AlertRule& rule, const AlertInput& input, const ObjectPresence& object) {
    const auto& stays = rule.of == AlertRule::Of::ObjectLeft ? object.left : object.stays;
    const auto found = stays.find(rule.region);
    if (found == stays.end() || !isOf(rule, input, object.label)) return std::nullopt;
    return found->second;
}

std::optional<double> longestStay(const AlertRule& rule, const AlertInput& input) {
    if (!input.objects) return std::nullopt;
    double longest = 0;
    for (const ObjectPresence& object : *input.objects)
        longest = std::max(longest, stayOf(rule, input, object).value_or(0));
    return longest;
}

bool fulfilled(const AlertRule& rule, double value) {
    if (rule.of == AlertRule::Of::SourceDown) return value > 0;
    return rule.above ? value > rule.threshold : value < rule.threshold;
}

}  // namespace

bool operator==(const AlertRule& a, const AlertRule& b) {
    const auto all = [](const AlertRule& r) {
        return std::tie(r.name, r.of, r.region, r.label, r.above, r.threshold, r.hold, r.coolDown, r.desktop,
                        r.record, r.command, r.source, r.fromHour, r.toHour);
    };
    return all(a) == all(b);
}

AlertUnit unitOf(AlertRule::Of of) {
    using Of = AlertRule::Of;
    if (of == Of::ObjectStays || of == Of::ObjectLeft) return AlertUnit::Seconds;
    return of == Of::Tokens || of == Of::Objects ? AlertUnit::Count : AlertUnit::Share;
}

bool isOf(const AlertRule& rule, const AlertInput& input, int label) {
    return rule.label.empty() || isNamed(input, static_cast<std::size_t>(label), rule.label);
}

bool applies(const AlertRule& rule, const AlertInput& input) {
    if (!rule.source.empty() && rule.source != input.source) return false;
    if (!input.hour) return true;
    const bool after = *input.hour >= rule.fromHour, before = *input.hour < rule.toHour;
    return rule.fromHour < rule.toHour ? after && before : after || before;
}

std::optional<double> valueFor(const AlertRule& rule, const AlertInput& input) {
    switch (rule.of) {
        case AlertRule::Of::Tokens:
            return tokensOf(rule, input);
        case AlertRule::Of::ClassShare:
            return shareOf(rule, input);
        case AlertRule::Of::Luminance:
            return input.luminance;
        case AlertRule::Of::SourceDown:
            return input.sourceDown ? std::optional<double>(*input.sourceDown ? 1 : 0) : std::nullopt;
        case AlertRule::Of::Objects:
            return countOf(rule, input);
        case AlertRule::Of::ObjectStays:
            return longestStay(rule, input);
        case AlertRule::Of::ObjectLeft:
            break;  // update() handles objects that leave
    }
    return std::nullopt;
}

void AlertWatch::setRules(const std::vector<AlertRule>& rules) {
    CV_Check(rules.size(), rules.size() <= kMostRules, "alerts: expected at most 200 rules");
    std::vector<State> states(rules.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
        checkRule(rules[i]);
        const auto before = std::find(m_rules.begin(), m_rules.end(), rules[i]);
        if (before != m_rules.end()) states[i] = m_states[static_cast<std::size_t>(before - m_rules.begin())];
    }
    m_rules = rules;
    m_states = std::move(states);
}

void AlertWatch::findObjects(const AlertRule& rule, const AlertInput& input, State& state) {
    std::vector<Alert> found;
    std::set<std::int64_t> known;
    for (const ObjectPresence& object : *input.objects) {
        const auto stay = stayOf(rule, input, object);
        if (!stay || !fulfilled(rule, *stay)) continue;
        known.insert(object.id);
        // If a stay exceeded the threshold before the program was restarted, does not report the stay again.
        const auto before = object.before.find(rule.region);
        const bool old = rule.of == AlertRule::Of::ObjectStays && rule.above &&
                         before != object.before.end() && before->second > rule.threshold;
        if (!old && state.objects.count(object.id) == 0) found.push_back({rule.name, 0, *stay, object.id});
    }
    state.objects = std::move(known);
    std::stable_sort(found.begin(), found.end(),
                     [](const Alert& a, const Alert& b) { return a.value > b.value; });
    found.resize(std::min(found.size(), kMostWaiting - state.waiting.size()));
    state.waiting.insert(state.waiting.end(), found.begin(), found.end());
}

std::set<std::int64_t> AlertWatch::waiting() const {
    std::set<std::int64_t> ids;
    for (const State& state : m_states)
        for (const Alert& alert : state.waiting)
            ids.insert(alert.object);
    return ids;
}

std::vector<Alert> AlertWatch::update(const AlertInput& input, Clock::time_point now) {
    if (input.source != m_source)  // ids of objects are different in a new source
        for (State& state : m_states)
            state.objects.clear(), state.waiting.clear();
    m_source = input.source;
    std::vector<Alert> alerts;
    for (std::size_t i = 0; i < m_rules.size(); ++i) {
        const AlertRule& rule = m_rules[i];
        State& state = m_states[i];
        const bool cooled = !state.told || now - *state.told >= rule.coolDown;
        if (unitOf(rule.of) == AlertUnit::Seconds) {
            if (input.objects && applies(rule, input)) findObjects(rule, input, state);
            if (!cooled || state.waiting.empty()) continue;
            for (Alert& alert : state.waiting)
                alert.index = i;
            alerts.insert(alerts.end(), state.waiting.begin(), state.waiting.end());
            state.waiting.clear();
            state.told = now;
            continue;
        }
        const std::optional<double> value = valueFor(rule, input);
        if (!value) continue;
        if (!applies(rule, input) || !fulfilled(rule, *value)) {
            state.since.reset();
            state.open = false;
            continue;
        }
        if (!state.since) state.since = now;
        if (state.open || now - *state.since < rule.hold || !cooled) continue;
        state.open = true;
        state.told = now;
        alerts.push_back({rule.name, i, *value});
    }
    return alerts;
}

}  // namespace mpm::pipeline
