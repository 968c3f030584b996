#include "cli/docs/documents.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cli/common/files.hpp"
#include "cli/common/options.hpp"

namespace mpm::cli {

namespace {

DeclaredOption optionOf(const CLI::Option& option) {
    DeclaredOption result;
    for (const std::string& name : option.get_snames())
        result.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        result.names.push_back("--" + name);
    result.help = option.get_description();
    if (option.get_type_size() != 0) result.form = option.get_type_name();
    if (option.get_positional()) result.position = option.get_name(true);
    result.several = option.get_items_expected_max() > 1;
    return result;
}

DeclaredVerb declaredVerb(const CLI::App& app, const std::string& name) {
    DeclaredVerb verb{name, app.get_description(), app.get_footer(), {}, {}};
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;
        DeclaredOption one = optionOf(*option);
        (one.position.empty() ? verb.options : verb.positions).push_back(one);
    }
    return verb;
}

}  // namespace

std::vector<std::string> DeclaredOption::words() const {
    std::vector<std::string> words;
    if (form.find('|') == std::string::npos) return words;
    for (const std::string& word : splitList(form, '|')) {
        const bool stands =
            std::any_of(word.begin(), word.end(), [](unsigned char c) { return !std::isupper(c); });
        if (stands) words.push_back(word.substr(0, word.find('[')));  // skips kinds of values, such as LIST
    }
    return words;
}

std::string DeclaredOption::longName() const {
    return names.empty() ? position : names.back();
}

std::vector<DeclaredVerb> declared(const CLI::App& app) {
    std::vector<DeclaredVerb> verbs = {declaredVerb(app, "")};
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
        if (!verb->get_group().empty()) verbs.push_back(declaredVerb(*verb, verb->get_name()));
    return verbs;
}

void writeDocuments(const std::string& folder, const CLI::App& app) {
    makeFolder(folder);
    const std::vector<DeclaredVerb> verbs = declared(app);
    for (const DeclaredVerb& verb : verbs)
        writeBytes(std::filesystem::path(folder) / ((verb.name.empty() ? "mpm" : "mpm-" + verb.name) + ".1"),
                   manualPage(verbs, verb));
    writeBytes(std::filesystem::path(folder) / "mpm.bash", bashCompletion(verbs));
    writeBytes(std::filesystem::path(folder) / "_mpm", zshCompletion(verbs));
    writeBytes(std::filesystem::path(folder) / "mpm.fish", fishCompletion(verbs));
}

}  // namespace mpm::cli
