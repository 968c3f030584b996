// The registry of reducers. Error messages, help, documentation and operation counts come from the entries of
// the registry.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "mpm_layer/merge/parameters.hpp"
#include "mpm_layer/merge/reducer.hpp"

namespace mpm {

struct ReducerEntry {
    std::string name;
    std::string description;
    std::vector<Parameter> parameters;
    std::function<std::shared_ptr<const Reducer>(const Arguments&)> make;
    /// Returns the number of operations that a stage needs to decide which tokens merge.
    std::function<double(const Arguments&, const MatchingSize&)> matchingCost;
    /// Returns the recommended schedule of the reducer. If this pointer is null, mpm::usualBlocks() calls
    /// Reducer::ownSchedule() instead.
    std::vector<int> (*usualBlocks)(int blocks) = nullptr;
};

/// Returns all entries; the default, mutual pairs, is first.
const std::vector<ReducerEntry>& reducerEntries();

}  // namespace mpm
