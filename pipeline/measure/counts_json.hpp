// Writes and reads the counts of an evaluation as JSON, for counts files and for the heads of reports.
#pragma once

#include <nlohmann/json.hpp>

#include "pipeline/measure/eval_counts.hpp"

namespace mpm::pipeline {

using Json = nlohmann::ordered_json;

/// A number, or null if it is not finite: JSON has neither NaN nor infinity.
Json finite(double value);

/// Null without reuse.
Json reuseJson(const ReuseCounts& reuse);

/// Mean and worst frame; null without frames.
Json agreementJson(const std::vector<double>& agreement);

/// Writer and reader, for the same list of names and members.
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

/// Returns the first entry that differs in two heads; empty if both are of the same evaluation.
std::string difference(const Json& one, const Json& other, bool shardToo);

void to_json(Json& json, const Shard& shard);
Json toJson(const MeasureHead& head);
Json toJson(const EvalHead& head);
Json toJson(const Group& group);

/// These functions throw nlohmann::json::exception.
void from_json(const Json& json, Shard& shard);
EvalHead headFrom(const Json& json);
Group groupFrom(const Json& json, int classes, int ignored);

}  // namespace mpm::pipeline
