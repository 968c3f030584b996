// Manual pages and shell completion, written from the declared options.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace mpm::cli {

struct DeclaredOption {
    std::vector<std::string> names;  ///< such as "-h", "--help"; empty for a positional argument
    std::string position;            ///< such as "MODEL"; empty for an option
    std::string help, form;          ///< form: such as "cpu|cuda[:N]|auto"; empty for a flag
    bool several = false;

    bool isFile() const { return form == "FILE" || form == "FILES"; }
    bool isFolder() const { return form == "DIR"; }
    std::vector<std::string> words() const;  ///< the possible values, if `form` lists them
    std::string longName() const;            ///< such as "--help"
};

struct DeclaredVerb {
    std::string name, help, footer;  ///< name: such as "run"; "" for the program itself
    std::vector<DeclaredOption> options, positions;
};

/// Returns the program first, then the verbs that are not hidden.
std::vector<DeclaredVerb> declared(const CLI::App& app);

/// Returns the manual page mpm.1 (if the verb's name is "") or mpm-NAME.1, in the format of man(7).
std::string manualPage(const std::vector<DeclaredVerb>& verbs, const DeclaredVerb& verb);

std::string bashCompletion(const std::vector<DeclaredVerb>& verbs);
std::string zshCompletion(const std::vector<DeclaredVerb>& verbs);
std::string fishCompletion(const std::vector<DeclaredVerb>& verbs);

/// Writes all documents to a folder: mpm.1, mpm-VERB.1, mpm.bash, _mpm, mpm.fish. Throws Error(kFailed).
void writeDocuments(const std::string& folder, const CLI::App& app);

}  // namespace mpm::cli
