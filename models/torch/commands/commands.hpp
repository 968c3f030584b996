// The subcommands of mpm-models. Each function adds a subcommand and options to the parser.
#pragma once

namespace CLI {
class App;
}

namespace mpm::models {

void addTrain(CLI::App& app);
void addEval(CLI::App& app);
void addExport(CLI::App& app);
void addImport(CLI::App& app);
void addMean(CLI::App& app);
void addPolicy(CLI::App& app);
void addScene(CLI::App& app);

}  // namespace mpm::models
