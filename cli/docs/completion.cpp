
#include "cli/docs/documents.hpp"

namespace mpm::cli {

namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

std::vector<std::string> verbNames(const std::vector<DeclaredVerb>& verbs) {
    std::vector<std::string> names;
    for (const DeclaredVerb& verb : verbs)
        if (!verb.name.empty()) names.push_back(verb.name);
    return names;
}

std::vector<std::string> optionNames(const DeclaredVerb& verb) {
    std::vector<std::string> names;
    for (const DeclaredOption& option : verb.options)
        names.insert(names.end(), option.names.begin(), option.names.end());
    return names;
}

/// Returns the words that a model or source argument accepts besides files, such as "default".
std::vector<std::string> specialWords(const DeclaredVerb& verb) {
    std::vector<std::string> words;
    for (const DeclaredOption& position : verb.positions) {
        if (position.position == "MODEL") words.insert(words.end(), {"default", "random"});
        if (position.position == "SOURCE") words.emplace_back("demo");
    }
    return words;
}

/// Escapes text for use inside single quotes in bash and zsh. `also`: further characters to escape.
std::string quoted(const std::string& text, const std::string& also = "") {
    std::string result;
    for (char c : text) {
        if (also.find(c) != std::string::npos) result += '\\';
        result += c == '\'' ? "'\\''" : std::string(1, c);
    }
    return result;
}

/// Quotes text for fish: within single quotes, ' and \ need a backslash in front.
std::string fishQuoted(const std::string& text) {
    std::string result;
    for (char c : text)
        result += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return "'" + result + "'";
}

std::string bashValues(const DeclaredVerb& verb) {
    std::string cases;
    for (const DeclaredOption& option : verb.options) {
        if (option.form.empty()) continue;
        const std::string words = joined(option.words());
        const std::string action = !words.empty()
                                       ? "COMPREPLY=($(compgen -W '" + quoted(words) + "' -- \"$cur\"))"
                                   : option.isFolder() ? "COMPREPLY=($(compgen -d -- \"$cur\"))"
                                   : option.isFile()   ? "COMPREPLY=($(compgen -f -- \"$cur\"))"
                                                       : ":";
        cases += "        '" + verb.name + " " + option.longName() + "') " + action + "; return ;;\n";
    }
    return cases;
}

std::string zshSpec(const DeclaredOption& option) {
    std::string action;
    if (!option.form.empty()) {
        const std::string words = joined(option.words());
        action = ":" + quoted(option.form, ":[]|") + ":" +
                 (!words.empty()      ? "(" + words + ")"
                  : option.isFolder() ? "_files -/"
                  : option.isFile()   ? "_files"
                                      : " ");
    }
    std::string specs;
    for (const std::string& name : option.names)
        specs += " \\\n            '" + name + "[" + quoted(option.help, "[]:") + "]" + action + "'";
    return specs;
}

}  // namespace

std::string bashCompletion(const std::vector<DeclaredVerb>& verbs) {
    std::string values, words, special;
    for (const DeclaredVerb& verb : verbs) {
        if (verb.name.empty()) continue;
        values += bashValues(verb);
        words += "        " + verb.name + ") words='" + joined(optionNames(verb)) + "' special='" +
                 joined(specialWords(verb)) + "' ;;\n";
    }
    return R"(# bash completion of mpm; written from its declared options.
_mpm() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} words special
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W ')" +
           joined(verbNames(verbs)) + " " + joined(optionNames(verbs.front())) + R"(' -- "$cur"))
        return
    fi
    case "$verb $prev" in
)" + values +
           R"(    esac
    case "$verb" in
)" + words +
           R"(    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    else
        COMPREPLY=($(compgen -W "$special" -- "$cur") $(compgen -f -- "$cur"))
    fi
}
complete -o filenames -F _mpm mpm
)";
}

std::string zshCompletion(const std::vector<DeclaredVerb>& verbs) {
    std::string list, cases;
    for (const DeclaredVerb& verb : verbs) {
        if (verb.name.empty()) continue;
        list += "        '" + verb.name + ":" + quoted(verb.help, ":") + "'\n";
        cases += "    " + verb.name + ")\n        _arguments";
        for (const DeclaredOption& option : verb.options)
            cases += zshSpec(option);
        const std::string words = joined(specialWords(verb));
        cases += " \\\n            '*:" +
                 (words.empty() ? std::string("file:_files")
                                : "argument:_alternative \"words\\:word\\:(" + words +
                                      ")\" \"files\\:file\\:_files\"") +
                 "'\n        ;;\n";
    }
    return "#compdef mpm\n# zsh completion of mpm; written from its declared options.\n_mpm() {\n"
           "    local -a verbs=(\n" +
           list +
           "    )\n    if ((CURRENT == 2)); then\n        _describe verb verbs\n        return\n    fi\n"
           "    local verb=$words[2]\n    shift words\n    ((CURRENT--))\n    case $verb in\n" +
           cases + "    esac\n}\n_mpm \"$@\"\n";
}

std::string fishCompletion(const std::vector<DeclaredVerb>& verbs) {
    std::string text = "# fish completion of mpm; written from its declared options.\n";
    for (const DeclaredVerb& verb : verbs) {
        const std::string seen = "complete -c mpm -n '__fish_seen_subcommand_from " + verb.name + "'";
        const std::string begin = verb.name.empty() ? "complete -c mpm -n __fish_use_subcommand" : seen;
        if (!verb.name.empty())
            text += "complete -c mpm -n __fish_use_subcommand -f -a " + verb.name + " -d " +
                    fishQuoted(verb.help) + "\n";
        for (const DeclaredOption& option : verb.options) {
            text += begin;
            for (const std::string& name : option.names)
                text += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
            const std::string words = joined(option.words());
            if (!words.empty())
                text += " -x -a " + fishQuoted(words);
            else if (option.isFolder())
                text += " -x -a '(__fish_complete_directories)'";
            else if (!option.form.empty())
                text += option.isFile() ? " -r -F" : " -x";
            text += " -d " + fishQuoted(option.help) + "\n";
        }
        const std::string words = joined(specialWords(verb));
        if (!words.empty()) text += seen + " -a " + fishQuoted(words) + "\n";
    }
    return text;
}

}  // namespace mpm::cli
