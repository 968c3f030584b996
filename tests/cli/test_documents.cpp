// Manual pages and completions must have all options, and shells must be able to read the completions.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "cli/eval_set.hpp"
#include "cli/process.hpp"

namespace mpm::test {
namespace {

const std::vector<std::string> kVerbs = {"convert", "run", "bench", "eval", "tune", "info", "doctor"};

std::string document(const std::string& name) {
    return std::string(MPM_DOCUMENTS) + "/" + name;
}

/// Runs a command line, and returns standard output and standard error.
std::string said(const std::string& command) {
    FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
    std::string text;
    char buffer[4096];
    while (const size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
        text.append(buffer, count);
    pclose(pipe);
    return text;
}

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
    const std::regex expression(pattern);
    std::set<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
        found.insert((*at)[1]);
    return found;
}

/// Returns the options at the beginning of the lines of --help.
const std::set<std::string>& options(const std::string& verb) {
    static std::map<std::string, std::set<std::string>> known;
    std::set<std::string>& found = known[verb];
    if (found.empty()) found = matches(mpmProgram({verb, "--help"}).out, "\n {2,6}(?:-h, ?)?(--[a-z-]+)");
    return found;
}

std::string bash(const std::string& words) {
    return said("bash --norc -c 'source " + document("mpm.bash") + "; COMP_WORDS=(" + words +
                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _mpm; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
}

TEST(Documents, ManualPagesHaveEveryOption) {
    for (const std::string& verb : kVerbs) {
        ASSERT_GE(options(verb).size(), 3u) << verb;
        std::string page = readText(document("mpm-" + verb + ".1"));
        EXPECT_NE(page.find("SH EXAMPLES"), std::string::npos) << verb;
        page = std::regex_replace(page, std::regex(R"(\\-)"), "-");
        EXPECT_EQ(matches(page, R"(\\fB(--[a-z-]+)\\fR)"), options(verb)) << verb;
    }
    for (const std::string& verb : kVerbs)
        EXPECT_NE(readText(document("mpm.1")).find("\\fB" + verb + "\\fR"), std::string::npos);
}

TEST(Documents, ManualPagesAreCleanRoff) {
    if (std::system("command -v groff >/dev/null") != 0) GTEST_SKIP() << "groff is not here";
    for (const std::string& verb : kVerbs) {
        EXPECT_EQ(said("groff -man -ww -z " + document("mpm-" + verb + ".1")), "") << verb;
        const std::string text = said("groff -man -Tascii -P-cbou " + document("mpm-" + verb + ".1"));
        EXPECT_NE(text.find("mpm " + verb), std::string::npos) << text;
    }
}

TEST(Documents, BashKnowsVerbsOptionsAndValues) {
    const std::string verbs = bash("mpm \"\"");
    for (const std::string& verb : kVerbs)
        EXPECT_NE(verbs.find(verb + "\n"), std::string::npos) << verb;
    EXPECT_EQ(verbs.find("documents"), std::string::npos);
    for (const std::string& verb : kVerbs)
        EXPECT_EQ(matches(bash("mpm " + verb + " --"), "(--[a-z-]+)"), options(verb)) << verb;
    EXPECT_EQ(bash("mpm run --device c"), "cpu\ncuda\n");
    EXPECT_EQ(bash("mpm eval --dataset ca"), "camvid\n");
    EXPECT_EQ(bash("mpm run de"), "default\ndemo\n");
}

TEST(Documents, FishKnowsVerbsOptionsAndValues) {
    if (std::system("command -v fish >/dev/null") != 0) GTEST_SKIP() << "fish is not here";
    const auto fish = [](const std::string& line) {
        return said("fish -N -c \"source " + document("mpm.fish") + "; complete -C '" + line + "'\"");
    };
    for (const std::string& verb : kVerbs) {
        EXPECT_NE(fish("mpm ").find(verb), std::string::npos);
        EXPECT_EQ(matches("\n" + fish("mpm " + verb + " --"), "\n(--[a-z-]+)"), options(verb)) << verb;
    }
    EXPECT_EQ(matches(fish("mpm run --device "), "(cpu|cuda|auto)"),
              (std::set<std::string>{"auto", "cpu", "cuda"}));
}

// zsh completes only in a terminal, so the test only checks that zsh reads the file, and that the file has
// the options.
TEST(Documents, ZshReadsItsFile) {
    const std::string text = readText(document("_mpm"));
    EXPECT_EQ(text.rfind("#compdef mpm\n", 0), 0u);
    for (const std::string& verb : kVerbs) {
        const size_t begin = text.find("\n    " + verb + ")");
        ASSERT_NE(begin, std::string::npos) << verb;
        EXPECT_EQ(matches(text.substr(begin, text.find(";;", begin) - begin), R"('(--[a-z-]+)\[)"),
                  options(verb))
            << verb;
    }
    if (std::system("command -v zsh >/dev/null") != 0) GTEST_SKIP() << "zsh is not here";
    EXPECT_EQ(said("zsh -f -n " + document("_mpm")), "");
}

}  // namespace
}  // namespace mpm::test
