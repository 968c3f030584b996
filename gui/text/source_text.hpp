// Why a source cannot be used, in the language of the window.
#pragma once

#include <QString>

#include "pipeline/source/source_error.hpp"

namespace mpm::gui {

/// "SOURCE: sentence"; empty where there is no problem.
QString sourceProblemText(const pipeline::SourceProblem& problem);

}  // namespace mpm::gui
