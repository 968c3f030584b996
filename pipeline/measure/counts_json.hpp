// Functions that write and read the counts of an evaluation as JSON, for counts files and heads of reports.
#pragma once

#include <nlohmann/json.hpp>

#include "pipeline/measure/eval_counts.hpp"

namespace mpm::pipeline {

using Json = nlohmann::ordered_json;

/// Returns `value`, or null if `value` is not finite, because JSON has neither NaN nor infinity.
Json finite(double value);

/// Returns the shares of reuse; null if no forward ran with reuse.
Json reuseJson(const ReuseCounts& reuse);

/// Returns mean and worst agreement; null if there are no frames.
Json agreementJson(const std::vector<double>& agreement);

/// FieldWriter and FieldReader have the same functions, so that a single template with a list of members can
/// both write and read the members.
struct FieldWriter {
    Json& json;

    template <class T>
    void operator()(const char* name, const T& value) const {
        json[name] = value;
    }
    void operator()(const char* name, double value) const { json[name] = finite(value); }
    FieldWriter at(const char* name) const { return {json[name]}; }
};
struct FieldReader {
    const Json& json;

    template <class T>
    void operator()(const char* name, T& value) const {
        json.at(name).get_to(value);
    }
    void operator()(const char* name, double& value) const;  ///< NaN for null
    FieldReader at(const char* name) const { return {json.at(name)}; }
};

/// Returns a line of a counts file, with a line break.
std::string lineOf(const Json& json);

/// Returns the key of the first entry that differs between two heads; empty if both heads belong to the same
/// evaluation. Ignores entries about the machine and the path of the model. `shardToo`: whether to compare
/// the entry "shard".
std::string difference(const Json& one, const Json& other, bool shardToo);

void to_json(Json& json, const Shard& shard);
Json toJson(const MeasureHead& head);
Json toJson(const EvalHead& head);
Json toJson(const Group& group);

/// The functions below throw nlohmann::json::exception if an entry is missing or has another type.
void from_json(const Json& json, Shard& shard);
EvalHead headFrom(const Json& json);
Group groupFrom(const Json& json, int classes, int ignored);

}  // namespace mpm::pipeline
