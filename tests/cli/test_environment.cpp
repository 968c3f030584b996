// Environment variables set defaults of options. An option on the command line overrides the variable.
#include <gtest/gtest.h>

#include "cli/eval_set.hpp"
#include "cli/process.hpp"
#include "cli/small_model.hpp"

namespace mpm::test {
namespace {

class Variables : public ::testing::Test {
protected:
    Outcome with(const std::string& variable, const std::string& value,
                 const std::vector<std::string>& words) const {
        setenv(variable.c_str(), value.c_str(), 1);
        const Outcome outcome = mpmProgram(words);
        unsetenv(variable.c_str());
        return outcome;
    }

    std::vector<std::vector<std::string>> measuring() const {
        return {{"bench", m_model, m_images, "--rounds", "1"},
                {"tune", m_model, m_images, "--keep", "0.01"},
                m_set.words({})};
    }

    const EvalSet m_set{8};
    const std::string m_model = m_set.path("model.onnx"), m_images = m_set.path("val/images");
};

TEST_F(Variables, AnOptionTurnsOffReuse) {
    const auto reuses = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words = {"run",    m_model, m_images, "--out", m_set.path("out"),
                                          "--save", "jsonl"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = with("MPM_REUSE", "on", words);
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        return readText(m_set.path("out/tokens.jsonl")).find("\"reuse\"") != std::string::npos;
    };
    EXPECT_TRUE(reuses({}));
    EXPECT_FALSE(reuses({"--reuse=off"}));
}

// With --window, reuse is off. Otherwise reuse would compare each window with the window before.
TEST_F(Variables, WindowsReuseNothing) {
    const std::vector<std::string> words = {"run", m_model, m_images, "--window", "8x8"};
    const Outcome outcome = with("MPM_REUSE", "on", words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::vector<std::string> wrong = words;
    wrong.emplace_back("--reuse");
    EXPECT_EQ(mpmProgram(wrong).status, 2);
}

TEST_F(Variables, PrecisionIsThatOfTheOptionElseOfTheEnvironment) {
    for (const std::vector<std::string>& words : measuring()) {
        std::vector<std::string> more = words;
        more.insert(more.end(), {"--json", m_set.path("r.json")});
        with("MPM_PRECISION", "i8", more);
        EXPECT_EQ(readJson(m_set.path("r.json"))["results"][0]["precision"], "i8") << words[0];
        more.insert(more.end(), {"--precision", "f32"});
        with("MPM_PRECISION", "i8", more);
        EXPECT_EQ(readJson(m_set.path("r.json"))["results"][0]["precision"], "f32") << words[0];
    }
}

TEST_F(Variables, CountsOfAnotherPrecisionAreNotContinued) {
    const std::vector<std::string> words = m_set.words({"--counts", m_set.path("counts")});
    EXPECT_EQ(with("MPM_PRECISION", "i8", words).status, 0);
    EXPECT_EQ(with("MPM_PRECISION", "i8", words).status, 0);
    const Outcome refused = mpmProgram(words);
    EXPECT_EQ(refused.status, 2);
    EXPECT_TRUE(refused.says("settings")) << refused.err;
}

TEST_F(Variables, InvalidValuesAreNamedUnlessAnOptionOverridesThem) {
    std::vector<std::vector<std::string>> verbs = measuring();
    verbs.push_back({"run", m_model, m_images});
    for (const std::vector<std::string>& words : verbs) {
        const auto expect = [&](const char* variable, const char* message, const std::string& option,
                                const std::string& value) {
            const Outcome outcome = with(variable, "bogus", words);
            EXPECT_EQ(outcome.status, 1) << words[0];
            EXPECT_TRUE(outcome.says(message)) << words[0] << ": " << outcome.err;
            std::vector<std::string> more = words;
            more.insert(more.end(), {option, value});
            EXPECT_FALSE(with(variable, "bogus", more).says("bogus")) << words[0];
        };
        expect("MPM_DEVICE", "MPM_DEVICE: device 'bogus' is not known", "--device", "cpu");
        expect("MPM_PRECISION", "MPM_PRECISION: precision 'bogus' is not known", "--precision", "f32");
    }
}

}  // namespace
}  // namespace mpm::test
