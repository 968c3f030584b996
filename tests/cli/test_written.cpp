// Output files are written atomically. Links are followed, and devices are not replaced.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>

#include "cli/process.hpp"
#include "cli/small_model.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::test {
namespace {

class Written : public ::testing::Test {
protected:
    void SetUp() override {
        writeSmallModel(in("model.onnx"));
        cv::imwrite(in("p.png"), testImage(1));
    }

    std::string in(const std::string& name) const { return m_folder / name; }

    Outcome bench(const std::string& json) const {
        return mpmProgram({"bench", in("model.onnx"), in("p.png"), "--rounds", "1", "--json", json});
    }

    static std::string textOf(const std::string& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    static bool isReport(const std::string& text) {
        return nlohmann::json::parse(text, nullptr, false).contains("results");
    }

    size_t filesHere() const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(m_folder.path()), {}));
    }

    TempFolder m_folder;
};

TEST_F(Written, ALinkIsFollowedAndItsTargetReplaced) {
    std::ofstream(in("real.json")) << "before";
    fs::permissions(in("real.json"), fs::perms(0640));
    fs::create_symlink("real.json", in("link.json"));
    fs::create_symlink("new.json", in("dangling.json"));
    ASSERT_EQ(bench(in("link.json")).status, 0);
    ASSERT_EQ(bench(in("dangling.json")).status, 0);
    EXPECT_TRUE(fs::is_symlink(in("link.json")));
    EXPECT_TRUE(isReport(textOf(in("real.json"))));
    EXPECT_EQ(fs::status(in("real.json")).permissions(), fs::perms(0640));
    EXPECT_TRUE(fs::is_symlink(in("dangling.json")));
    EXPECT_TRUE(isReport(textOf(in("new.json"))));
}

// Uses a pipe instead of /dev/null, because a failing test could replace /dev/null.
TEST_F(Written, APipeTakesTheReportAndStaysAPipe) {
    ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
    const int reader = open(in("pipe").c_str(), O_RDONLY | O_NONBLOCK);
    const Outcome outcome = bench(in("pipe"));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(fs::is_fifo(in("pipe")));
    std::string text(60'000, '\0');
    const ssize_t count = read(reader, text.data(), text.size());
    close(reader);
    text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    EXPECT_TRUE(isReport(text)) << text;
}

TEST_F(Written, StandardOutputTakesTheReportAfterTheTable) {
    const Outcome outcome = bench("/dev/stdout");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const size_t table = outcome.out.find("| method"), report = outcome.out.find("\n{");
    ASSERT_NE(table, std::string::npos);
    ASSERT_NE(report, std::string::npos);
    EXPECT_LT(table, report);
    EXPECT_TRUE(isReport(outcome.out.substr(report)));
}

TEST_F(Written, NothingElseIsTouchedAndNothingLeftBehind) {
    std::ofstream(in("b.json.part")) << "somebody's";
    const size_t before = filesHere();
    ASSERT_EQ(bench(in("b.json")).status, 0);
    EXPECT_EQ(textOf(in("b.json.part")), "somebody's");
    EXPECT_EQ(filesHere(), before + 1);
}

TEST_F(Written, AFolderIsRefusedBeforeAnythingRuns) {
    fs::create_directory(in("there"));
    for (const std::string& json : {in("there"), in("there/")}) {
        const Outcome outcome = bench(json);
        EXPECT_EQ(outcome.status, 2) << outcome.err;
        EXPECT_EQ(outcome.lines(), 1) << outcome.err;
        EXPECT_TRUE(outcome.says("folder")) << outcome.err;
        EXPECT_EQ(outcome.out, "") << "it measured first";
    }
    const Outcome outcome = mpmProgram({"convert", in("model.onnx"), in("there")});
    EXPECT_EQ(outcome.status, 2) << outcome.err;
}

TEST_F(Written, TheReasonIsTheSystems) {
    for (const Outcome& outcome :
         {bench(in("missing/b.json")), mpmProgram({"convert", in("model.onnx"), in("missing/b.json")})}) {
        EXPECT_EQ(outcome.status, 1);
        EXPECT_EQ(outcome.lines(), 1) << outcome.err;
        EXPECT_TRUE(outcome.says("missing/b.json: cannot be written (No such file or directory)"))
            << outcome.err;
        EXPECT_FALSE(outcome.says(".part")) << outcome.err;
    }
}

TEST_F(Written, ConvertDoesNotWriteOverItsInput) {
    const std::string before = textOf(in("model.onnx"));
    fs::create_hard_link(in("model.onnx"), in("same.onnx"));
    fs::create_symlink("model.onnx", in("link.onnx"));
    for (const char* out : {"model.onnx", "same.onnx", "link.onnx"}) {
        const Outcome outcome = mpmProgram({"convert", in("model.onnx"), in(out)});
        EXPECT_EQ(outcome.status, 2) << out;
        EXPECT_EQ(outcome.lines(), 1) << outcome.err;
        EXPECT_TRUE(outcome.says("is the input itself")) << outcome.err;
    }
    EXPECT_EQ(textOf(in("model.onnx")), before);
}

TEST_F(Written, ConvertWritesThroughALinkAndIntoAPipe) {
    std::ofstream(in("real.onnx")) << "before";
    fs::create_symlink("real.onnx", in("out.onnx"));
    ASSERT_EQ(mpmProgram({"convert", in("model.onnx"), in("out.onnx")}).status, 0);
    EXPECT_TRUE(fs::is_symlink(in("out.onnx")));
    EXPECT_EQ(mpmProgram({"info", in("real.onnx")}).status, 0);
    ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
    Process process({"convert", in("model.onnx"), in("pipe")});
    const std::string piped = textOf(in("pipe"));
    EXPECT_EQ(process.wait().status, 0);
    EXPECT_TRUE(fs::is_fifo(in("pipe")));
    EXPECT_EQ(piped, textOf(in("real.onnx")));
}

TEST_F(Written, ConvertInASandboxWritesTheSame) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the check for leaks traces the process, which the sandbox denies";
#endif
    ASSERT_EQ(mpmProgram({"convert", in("model.onnx"), in("out.onnx")}).status, 0);
    const Outcome outcome = mpmProgram({"convert", in("model.onnx"), in("held.onnx"), "--sandbox"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(textOf(in("held.onnx")), textOf(in("out.onnx")));
    ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
    Process process({"convert", in("model.onnx"), in("pipe"), "--sandbox"});
    EXPECT_EQ(textOf(in("pipe")), textOf(in("out.onnx")));
    EXPECT_EQ(process.wait().status, 0);
}

TEST_F(Written, AResultThatIsLostIsAFailure) {
    const std::vector<std::vector<std::string>> commands = {{"--help"},
                                                            {"--version"},
                                                            {"info", in("model.onnx")},
                                                            {"convert", in("model.onnx"), in("out.onnx")},
                                                            {"run", in("model.onnx"), in("p.png")}};
    for (const auto& command : commands) {
        const Outcome outcome = Process(command, "/dev/full").wait();
        EXPECT_EQ(outcome.status, 1) << command[0];
        EXPECT_EQ(outcome.lines(), 1) << command[0] << "\n" << outcome.err;
    }
    EXPECT_EQ(Process({"info", in("model.onnx")}, "/dev/null").wait().status, 0);
}

}  // namespace
}  // namespace mpm::test
