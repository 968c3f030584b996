// Finds model files.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace mpm::pipeline {

/// Thrown if a model cannot be used: missing, damaged or incomplete.
class ModelError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Returns the folders to search for the shipped model, in order: $MPM_MODELS; share/mpm in the prefix or
/// build folder to which this program or library belongs; mpm in the data folders of the user and of the
/// system ($XDG_DATA_HOME, $XDG_DATA_DIRS). The program's own folder is not in the list, because models there
/// are the user's, not the shipped model.
std::vector<std::string> modelFolders();

/// Returns the path of a model's file. `model`: a path, or `default` for the shipped model. Throws ModelError
/// if there is no such file.
std::string findModel(const std::string& model);

bool hasDefaultModel();

}  // namespace mpm::pipeline
