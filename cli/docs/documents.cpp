#include "cli/docs/documents.hpp"

#include <filesystem>

#include "cli/common/files.hpp"

namespace fs = std::filesystem;

namespace mpm::cli {

void writeDocuments(const std::string& folder, const CLI::App& app) {
    makeFolder(folder);
    const std::vector<DeclaredVerb> verbs = declared(app);
    for (const DeclaredVerb& verb : verbs)
        writeText(fs::path(folder) / ((verb.name.empty() ? "mpm" : "mpm-" + verb.name) + ".1"),
                  manualPage(verbs, verb));
    writeText(fs::path(folder) / "mpm.bash", bashCompletion(verbs));
    writeText(fs::path(folder) / "_mpm", zshCompletion(verbs));
    writeText(fs::path(folder) / "mpm.fish", fishCompletion(verbs));
}

}  // namespace mpm::cli
