#include "pipeline/segment/model_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/own_file.hpp"
#include "base/printable.hpp"

namespace fs = std::filesystem;

namespace mpm::pipeline {

namespace {

/// Returns default.onnx in the folder. If there is no default.onnx, returns the model whose name sorts first.
std::string modelIn(const fs::path& folder) {
    std::error_code error;
    if (fs::is_regular_file(folder / "default.onnx", error)) return folder / "default.onnx";
    std::vector<std::string> models;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (entry.path().extension() == ".onnx") models.push_back(entry.path());
    return models.empty() ? std::string() : *std::min_element(models.begin(), models.end());
}

std::string defaultModel() {
    for (const std::string& folder : modelFolders())
        if (std::string found = modelIn(folder); !found.empty()) return found;
    return {};
}

/// Returns the folders that may contain share/mpm for the program or library with this code. A program is
/// in a subfolder of the prefix (such as /usr). The GStreamer plugin is in a subfolder of the build folder.
/// The Python package's library is two levels below the prefix or build folder; in a pip package, the library
/// is next to the folder share. An installed library is at any depth below the prefix's lib.
std::vector<fs::path> ownPrefixes() {
    const OwnFile own = ownFile(reinterpret_cast<void*>(&modelFolders));
    if (own.path.empty()) return {};
    const fs::path above = own.path.parent_path().parent_path();
    if (own.isProgram) return {above};
    std::vector<fs::path> prefixes = {own.path.parent_path(), above, above.parent_path()};
    for (fs::path folder = above; folder.has_relative_path(); folder = folder.parent_path())
        if (folder.filename() == "lib" || folder.filename() == "lib64") {
            prefixes.push_back(folder.parent_path());
            break;
        }
    return prefixes;
}

/// Returns the data folders of the user and of the system, as in the XDG Base Directory Specification.
/// Ignores relative paths, as the specification requires.
std::vector<fs::path> dataFolders() {
    const auto set = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value ? value : "");
    };
    std::string list = set("XDG_DATA_HOME"), system = set("XDG_DATA_DIRS");
    if (list.empty()) list = set("HOME") + "/.local/share";
    std::istringstream folders(list + ":" + (system.empty() ? "/usr/local/share:/usr/share" : system));
    std::vector<fs::path> absolute;
    for (std::string folder; std::getline(folders, folder, ':');)
        if (fs::path(folder).is_absolute()) absolute.emplace_back(folder);
    return absolute;
}

std::string searched() {
    std::string list;
    for (const std::string& folder : modelFolders())
        list += (list.empty() ? "" : ", ") + printable(folder);
    return list;
}

}  // namespace

std::vector<std::string> modelFolders() {
    std::vector<std::string> folders;
    const auto add = [&](const fs::path& folder) {
        const std::string name = folder.lexically_normal();
        if (std::find(folders.begin(), folders.end(), name) == folders.end()) folders.push_back(name);
    };
    if (const char* chosen = std::getenv("MPM_MODELS"); chosen && *chosen) add(chosen);
    for (const fs::path& prefix : ownPrefixes())
        add(prefix / "share" / "mpm");
    for (const fs::path& data : dataFolders())
        add(data / "mpm");
    return folders;
}

bool hasDefaultModel() {
    return !defaultModel().empty();
}

std::string findModel(const std::string& model) {
    if (model == "default") {
        const std::string found = defaultModel();
        if (!found.empty()) return found;
        throw ModelError("default: no shipped model in " + searched() +
                         "; name a model file ('mpm convert' makes one), or set MPM_MODELS to its folder");
    }
    std::error_code error;
    if (faccessat(AT_FDCWD, model.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES)
        throw ModelError(model + ": permission denied; name a model that this program may read");
    if (fs::is_regular_file(model, error)) return model;
    throw ModelError(model + (fs::exists(model, error) ? ": not a file" : ": no such file") +
                     "; name an ONNX model, or default");
}

}  // namespace mpm::pipeline
