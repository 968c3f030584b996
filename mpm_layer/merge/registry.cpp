#include "mpm_layer/merge/registry.hpp"

#include <algorithm>

#include "base/printable.hpp"

namespace mpm {

// A function for each reducer, defined in the reducer's source file.
ReducerEntry mutualPairsEntry();
ReducerEntry gentleEntry();
ReducerEntry tomeEntry();
ReducerEntry algmEntry();
ReducerEntry localPairsEntry();
ReducerEntry randomPairsEntry();
ReducerEntry gridPoolingEntry();

const std::vector<ReducerEntry>& reducerEntries() {
    static const std::vector<ReducerEntry> entries = {
        mutualPairsEntry(), gentleEntry(),      tomeEntry(),       algmEntry(),
        localPairsEntry(),  randomPairsEntry(), gridPoolingEntry()};
    return entries;
}

namespace {

[[noreturn]] void rejectName(const std::string& name) {
    std::string known = "none";
    const std::vector<ReducerEntry>& entries = reducerEntries();
    for (const ReducerEntry& entry : entries)
        known += (&entry == &entries.back() ? " or " : ", ") + entry.name;
    CV_Error(cv::Error::StsBadArg,
             "mpm: method '" + printable(name, 80) + "' is not known; expected " + known);
}

const ReducerEntry& entryOf(const std::string& name) {
    const std::vector<ReducerEntry>& entries = reducerEntries();
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const ReducerEntry& entry) { return entry.name == name; });
    if (found == entries.end()) rejectName(name);
    return *found;
}

}  // namespace

std::shared_ptr<const Reducer> makeReducer(const std::string& method) {
    const MethodText text(method);
    const ReducerEntry& entry = entryOf(text.name);
    return entry.make(Arguments(text, entry.parameters));
}

std::vector<ReducerInfo> reducers() {
    std::vector<ReducerInfo> all;
    for (const ReducerEntry& entry : reducerEntries()) {
        all.push_back({entry.name, entry.description, {}});
        for (const Parameter& parameter : entry.parameters)
            all.back().parameters.push_back({parameter.key, parameter.fallback(), parameter.values()});
    }
    return all;
}

std::vector<int> usualBlocks(const std::string& method, int blocks) {
    if (method == "none") return {};
    const std::shared_ptr<const Reducer> reducer = makeReducer(method);
    const MethodText text(method);
    const ReducerEntry& entry = entryOf(text.name);
    return entry.usualBlocks != nullptr ? entry.usualBlocks(blocks) : reducer->ownSchedule(blocks);
}

bool ignoresSchedule(const std::string& method) {
    constexpr int kAnyDepth = 12;
    return method != "none" && !makeReducer(method)->ownSchedule(kAnyDepth).empty();
}

double matchingCost(const std::string& method, const MatchingSize& size) {
    if (method == "none") return 0;
    const MethodText text(method);
    const ReducerEntry& entry = entryOf(text.name);
    return entry.matchingCost(Arguments(text, entry.parameters), size);
}

}  // namespace mpm
