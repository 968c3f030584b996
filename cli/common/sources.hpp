// Reads the sources of the command line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "pipeline/source/source.hpp"

namespace mpm::cli {

void addSourceFrom(CLI::App& verb, std::string& file);

/// Returns the sources in `words`, then the sources in `file` ("-": standard input). Each line of `file` has
/// a source, or a comment that begins with #. Resolves the forms env:NAME and secret:NAME. Throws Error.
std::vector<pipeline::Address> sourcesFrom(const std::vector<std::string>& words, const std::string& file);

/// Makes a source without opening it. A read of a frame ends early if the user stops the program, or if
/// `longest` is above 0 and the read takes more than `longest` seconds.
std::unique_ptr<pipeline::Source> patientSource(const pipeline::Address& address,
                                                const pipeline::SourceOptions& options, double longest = 0);

}  // namespace mpm::cli
