// The places of model files.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace mpm::pipeline {

/// A model that cannot be used: missing, damaged or incomplete. The message is a line with fault, place and
/// remedy.
class ModelError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The folders searched for the shipped model, in order: $MPM_MODELS; share/mpm of the prefix or build folder
/// that the file with this code belongs to; mpm in the data folders of the user and of the system
/// ($XDG_DATA_HOME, $XDG_DATA_DIRS). The folder of a program is not searched: models there are the user's.
std::vector<std::string> modelFolders();

/// The file MODEL names: a path, or `default` for the shipped model. Throws ModelError if there is none.
std::string findModel(const std::string& model);

/// Whether there is a shipped model.
bool hasDefaultModel();

}  // namespace mpm::pipeline
