// Manual pages and shell completion, written from the declared options.
#pragma once

#include <string>

#include "cli/docs/declared.hpp"

namespace mpm::cli {

/// mpm.1 (name "") or mpm-NAME.1, in man(7).
std::string manualPage(const std::vector<DeclaredVerb>& verbs, const DeclaredVerb& verb);

std::string bashCompletion(const std::vector<DeclaredVerb>& verbs);
std::string zshCompletion(const std::vector<DeclaredVerb>& verbs);
std::string fishCompletion(const std::vector<DeclaredVerb>& verbs);

/// All of them into a folder: mpm.1, mpm-VERB.1, mpm.bash, _mpm, mpm.fish. Throws Error(kFailed).
void writeDocuments(const std::string& folder, const CLI::App& app);

}  // namespace mpm::cli
