// What `mpm eval` says: Markdown tables, CSV, and the JSON of the contract.
#pragma once

#include <string>

#include "cli/eval/eval_summary.hpp"

namespace mpm::cli {

/// One row a setting; the published figures beside the measured ones where there are any.
std::string resultTable(const EvalSummary& summary);
std::string classTable(const EvalSummary& summary);
std::string regionTable(const EvalSummary& summary);  ///< along boundaries and inside, by size of object
std::string pairTable(const EvalSummary& summary);  ///< day against night; empty where not both were measured

Json evalJson(const EvalSummary& summary);
std::string evalCsv(const EvalSummary& summary);

}  // namespace mpm::cli
