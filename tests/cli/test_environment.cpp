// Environment variables in place of options: an option that is given overrides its variable.
#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>

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

}  // namespace
}  // namespace mpm::test
