// The counts of an evaluation as JSON, the form of counts files and of the head of reports.
#pragma once

#include <nlohmann/json.hpp>

#include "pipeline/measure/eval_counts.hpp"

namespace mpm::pipeline {

using Json = nlohmann::ordered_json;

/// A number, or null if it is not finite: JSON has neither NaN nor infinity.
Json finite(double value);

/// A line of a counts file, with its line break.
std::string lineOf(const Json& json);

/// The first entry in which the heads of two counts files differ; empty if both are of the same evaluation.
std::string difference(const Json& one, const Json& other, bool shardToo);

Json toJson(const MeasureHead& head);
Json toJson(const EvalHead& head);
Json toJson(const Group& group);

/// They throw nlohmann::json::exception.
EvalHead headFrom(const Json& json);
Group groupFrom(const Json& json, int classes, int ignored);

}  // namespace mpm::pipeline
