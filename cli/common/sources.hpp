// The words for sources, and how they are read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "pipeline/source/source.hpp"

namespace mpm::cli {

/// `--source-from FILE`.
void addSourceFrom(CLI::App& verb, std::string& file);

/// The sources of the command line, then those of the file, line by line ("-": standard input); # begins a
/// comment. env: and secret: are resolved. Throws Error.
std::vector<pipeline::Address> sourcesFrom(const std::vector<std::string>& words, const std::string& file);

/// The source, not opened yet. A read ends when the user stops the program, and after `longest` seconds if
/// that is more than 0.
std::unique_ptr<pipeline::Source> patientSource(const pipeline::Address& address,
                                                const pipeline::SourceOptions& options, double longest = 0);

}  // namespace mpm::cli
