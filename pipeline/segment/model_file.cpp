#include "pipeline/segment/model_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace fs = std::filesystem;

namespace mpm::pipeline {

namespace {

/// default.onnx, or the first model of the folder by name.
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

}  // namespace

std::vector<std::string> modelFolders() {
    std::vector<std::string> folders;
    if (const char* chosen = std::getenv("MPM_MODELS")) folders.emplace_back(chosen);
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error) {
        folders.push_back((program.parent_path() / ".." / "share" / "mpm").lexically_normal());
        folders.push_back(program.parent_path());
    }
    return folders;
}

bool hasDefaultModel() {
    return !defaultModel().empty();
}

std::string findModel(const std::string& model) {
    if (model == "default") {
        const std::string found = defaultModel();
        if (!found.empty()) return found;
        throw ModelError(
            "default: no model is shipped with this build; name a model file ('mpm convert' makes one)");
    }
    std::error_code error;
    if (faccessat(AT_FDCWD, model.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES)
        throw ModelError(model + ": permission denied; name a model that this program may read");
    if (fs::is_regular_file(model, error)) return model;
    throw ModelError(model + (fs::exists(model, error) ? ": not a file" : ": no such file") +
                     "; name an ONNX model, or default");
}

}  // namespace mpm::pipeline
