#include "cli/docs/documents.hpp"

#include <mpm/mpm.hpp>

namespace mpm::cli {

namespace {

/// Escapes text for roff, so that hyphens remain hyphens and roff does not read any line as a request.
std::string roff(const std::string& text) {
    std::string result;
    bool lineStart = true;
    for (char c : text) {
        if (lineStart && (c == '.' || c == '\'')) result += "\\&";
        result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
        lineStart = c == '\n';
    }
    return result;
}

std::string bold(const std::string& text) {
    return "\\fB" + roff(text) + "\\fR";
}

std::string italic(const std::string& text) {
    return "\\fI" + roff(text) + "\\fR";
}

std::string synopsis(const DeclaredVerb& verb) {
    std::string text = bold(verb.name.empty() ? "mpm" : "mpm " + verb.name);
    for (const DeclaredOption& position : verb.positions)
        text += " " + italic(position.position) + (position.several ? "..." : "");
    return text + " [" + italic("OPTION") + "]...\n";
}

std::string entry(const DeclaredOption& option) {
    std::string head;
    for (const std::string& name : option.names)
        head += (head.empty() ? "" : ", ") + bold(name);
    if (!option.position.empty()) head = italic(option.position);
    if (option.position.empty() && !option.form.empty()) head += " " + italic(option.form);
    return ".TP\n" + head + "\n" + roff(option.help) + "\n";
}

/// Returns the section of examples: the footer of --help, without a first line that ends in a colon.
std::string examples(const std::string& footer) {
    if (footer.empty()) return {};
    const size_t line = footer.find('\n');
    const bool headed = line != std::string::npos && line > 0 && footer[line - 1] == ':';
    return ".SH EXAMPLES\n.nf\n" + roff(headed ? footer.substr(line + 1) : footer) + "\n.fi\n";
}

constexpr const char* kStatus = R"(.SH EXIT STATUS
.TP
0
done
.TP
1
failed while running, or some images were left out
.TP
2
wrong usage
.TP
3
unusable input: missing, damaged, not a model, a model without a ViT encoder
)";

}  // namespace

std::string manualPage(const std::vector<DeclaredVerb>& verbs, const DeclaredVerb& verb) {
    const std::string name = verb.name.empty() ? "mpm" : "mpm-" + verb.name;
    std::string upper;
    for (char c : name)
        upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string page = ".TH " + upper + " 1 \"\" \"mpm " + mpm::version() + "\" \"Mutual Pair Merging\"\n";
    page += ".SH NAME\n" + roff(name) + " \\- " + roff(verb.help) + "\n.SH SYNOPSIS\n" + synopsis(verb);
    if (verb.name.empty()) {
        page += ".SH VERBS\n";
        for (const DeclaredVerb& other : verbs)
            if (!other.name.empty()) page += ".TP\n" + bold(other.name) + "\n" + roff(other.help) + "\n";
    }
    page += ".SH OPTIONS\n";
    for (const std::vector<DeclaredOption>* list : {&verb.positions, &verb.options})
        for (const DeclaredOption& option : *list)
            page += entry(option);
    page += examples(verb.footer) + kStatus + ".SH SEE ALSO\n";
    std::string others;
    for (const DeclaredVerb& other : verbs)
        if (other.name != verb.name)
            others +=
                (others.empty() ? "" : ", ") + bold(other.name.empty() ? "mpm" : "mpm-" + other.name) + "(1)";
    return page + others + "\n";
}

}  // namespace mpm::cli
