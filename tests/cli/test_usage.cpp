// Checks every documented kind of wrong usage: the exit status, and a single line with the reason.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <opencv2/imgcodecs.hpp>

#include "cli/process.hpp"
#include "cli/small_model.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

class Usage : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        s_folder = new TempFolder;
        writeSmallModel(path("model.onnx"));
        SmallModel features, bare;
        features.features = true;
        bare.metadata = false;
        writeSmallModel(path("features.onnx"), features);
        writeSmallModel(path("bare.onnx"), bare);
        cv::imwrite(path("image.png"), testImage(1));
        std::ofstream(path("broken.png")) << "\x89PNG\r\n cut";
        std::ofstream(path("notes.txt")) << "no model, no video";
        std::ofstream(path("empty.onnx"));
        std::filesystem::copy_file(path("model.onnx"), path("half.onnx"));
        std::filesystem::resize_file(path("half.onnx"), std::filesystem::file_size(path("model.onnx")) / 2);
        std::filesystem::create_directory(path("nothing"));
    }
    static void TearDownTestSuite() { delete s_folder; }
    static std::string path(const std::string& name) { return *s_folder / name; }

    /// Expects this exit status, and a single line on standard error that contains `word`.
    static void expect(int status, const std::vector<std::string>& arguments, const std::string& word) {
        const Outcome outcome = mpmProgram(arguments);
        std::string line = "mpm";
        for (const std::string& argument : arguments)
            line += " " + argument;
        EXPECT_EQ(outcome.status, status) << line << "\n" << outcome.err;
        EXPECT_EQ(outcome.lines(), 1) << line << "\n" << outcome.err;
        EXPECT_TRUE(outcome.says(word)) << line << "\n" << outcome.err;
        EXPECT_EQ(outcome.out, "") << line;
    }

    static TempFolder* s_folder;
};
TempFolder* Usage::s_folder = nullptr;

TEST_F(Usage, HelpAndVersionAreResults) {
    for (const std::string verb : {"run", "bench", "eval", "tune", "convert", "info", "doctor"}) {
        const Outcome help = mpmProgram({verb, "--help"});
        EXPECT_EQ(help.status, 0);
        EXPECT_NE(help.out.find("Example"), std::string::npos) << verb;
        EXPECT_EQ(mpmProgram({verb, "--version"}).status, 0) << verb;
    }
    EXPECT_EQ(mpmProgram({"--help"}).status, 0);
    const Outcome version = mpmProgram({"--version"});
    EXPECT_EQ(version.status, 0);
    EXPECT_NE(version.out.find("mpm "), std::string::npos);
    EXPECT_EQ(version.err, "");
}

TEST_F(Usage, WrongWordsAreStatusTwo) {
    expect(2, {}, "subcommand");
    expect(2, {"dance"}, "dance");
    expect(2, {"run"}, "MODEL");
    expect(2, {"run", path("model.onnx")}, "SOURCE");
    expect(2, {"run", path("model.onnx"), path("image.png"), "--frobnicate"}, "--frobnicate");
    expect(2, {"eval", path("model.onnx")}, "--dataset");
    expect(2, {"eval", path("model.onnx"), "--dataset", "camvid"}, "--root");
    expect(2, {"eval", path("model.onnx"), "--dataset", "mnist", "--root", "/"}, "mnist");
}

TEST_F(Usage, WrongValuesAreStatusTwo) {
    const auto run = [&](const std::string& option, const std::string& value) {
        expect(2, {"run", path("model.onnx"), path("image.png"), option, value}, option);
    };
    run("--blocks", "2;5");
    run("--blocks", "5,2");
    run("--blocks", "2,2");
    run("--blocks", "-1");
    run("--blocks", "2,99");
    run("--device", "tpu");
    run("--device", "cuda:x");
    run("--precision", "f64");
    run("--threads", "0");
    run("--threads", "many");
    run("--threads", "1025");
    run("--size", "512");
    run("--size", "0x512");
    run("--size", "20000x20000");
    run("--size", "4096x4112");
    run("--window", "64");
    run("--window", "640x640");
    run("--stride", "0");
    run("--every", "-1");
    run("--duration", "soon");
    run("--opacity", "2");
    run("--save", "labels");
    for (const char* night : {"1,2", "1,2,3,4", "0.35", "5", "-1", "1;2;3", "0.35,250,low", "0.35,250,"})
        run("--night", night);
    expect(2, {"run", path("model.onnx"), path("image.png"), "--out", path("o"), "--save", "labels,colours"},
           "colours");
    expect(2, {"bench", path("model.onnx"), "--batch", "0"}, "--batch");
    expect(2, {"bench", path("model.onnx"), path("image.png"), "--compare", "none,magic"}, "magic");
    expect(2, {"bench", path("model.onnx"), path("image.png"), "--compare", "tome:r=x"}, "tome");
    expect(2, {"bench", path("model.onnx"), path("image.png"), "--compare", "mpm:2+99"}, "99");
    expect(2, {"bench", path("model.onnx"), path("image.png"), "--compare", ""}, "--compare");
    const auto eval = [&](const std::string& option, const std::string& value) {
        // The model does not exist, but the program checks the usage first.
        expect(2, {"eval", path("missing.onnx"), "--dataset", "camvid", "--root", "/nowhere", option, value},
               option);
    };
    eval("--compare", "none,magic");
    eval("--compare", "tome:r=x");
    eval("--compare", "tome:speed=2");
    eval("--compare", "none,tome:r=2:2+5");
    eval("--shard", "0/4");
    eval("--shard", "5/4");
    eval("--shard", "half");
    eval("--night", "1,2");
    eval("--precision", "f32,f8");
    eval("--batch", "1,0");
    eval("--limit", "none");
    expect(2, {"eval", path("missing.onnx"), "--dataset", "camvid", "--root", "/nowhere", "--paired"},
           "--paired");
    expect(2, {"eval", "--dataset", "camvid", "--root", "/nowhere"}, "MODEL");
}

TEST_F(Usage, InputThatCannotBeUsedIsStatusThree) {
    const auto model = [&](const std::string& file, const std::string& word) {
        expect(3, {"run", path(file), path("image.png")}, word);
        expect(3, {"bench", path(file), path("image.png")}, word);
    };
    model("missing.onnx", "missing.onnx");
    model("notes.txt", "notes.txt");
    model("empty.onnx", "empty.onnx");
    model("half.onnx", "half.onnx");
    model("nothing", "nothing");
    const auto source = [&](const std::string& text, const std::string& word) {
        expect(3, {"run", path("model.onnx"), text}, word);
        expect(3, {"bench", path("model.onnx"), text}, word);
    };
    source("/nowhere/a.png", "/nowhere/a.png");
    source(path("nothing"), "nothing");
    source(path("*.gif"), "*.gif");
    source(path("broken.png"), "broken.png");
    source(path("notes.txt"), "notes.txt");
    // A model without classes can be run, but not evaluated.
    expect(2, {"run", path("features.onnx"), path("image.png"), "--out", path("out"), "--save", "labels,map"},
           "no classes");
    expect(3, {"run", path("features.onnx"), path("image.png"), "--window", "8x8"}, "no classes");
    expect(3, {"run", path("model.onnx"), path("image.png"), "--size", "640x640"}, "640");
    expect(3, {"eval", path("model.onnx"), "--dataset", "camvid", "--root", "/nowhere"}, "/nowhere");
}

TEST_F(Usage, WrongUseOfConvertInfoAndDoctor) {
    const auto convert = [&](int status, const std::string& option, const std::string& value) {
        expect(status, {"convert", path("model.onnx"), path("out.onnx"), option, value}, option);
    };
    convert(2, "--form", "round");
    convert(2, "--output", "pictures");
    convert(2, "--mean", "1,2");
    convert(2, "--std", "0,1,1");
    convert(2, "--normalise", "dino");
    expect(2, {"convert", path("model.onnx"), path("out.onnx"), "--normalise", "clip", "--mean", ".5,.5,.5"},
           "--normalise");
    convert(2, "--size", "5");
    convert(2, "--batch", "0");
    convert(2, "--max-memory", "much");
    convert(2, "--max-memory", "9000000000G");
    convert(2, "--max-seconds", "0");
    convert(3, "--max-memory", "4K");
    convert(3, "--max-seconds", "0.000001");
    convert(2, "--blocks", "9,2");
    convert(2, "--blocks", "2,50");
    convert(2, "--method", "best");
    convert(2, "--method", "none,gentle");
    convert(2, "--method", "reuse");
    convert(2, "--method", "gentle:5+3");
    expect(2, {"convert", path("model.onnx"), path("out.onnx"), "--method", "gentle:1+3", "--blocks", "2"},
           "--method");
    std::ofstream(path("two.json"))
        << R"([{"name": "a", "color": [1, 2, 3]}, {"name": "b", "color": [4, 5, 6]}])";
    convert(2, "--labels", path("two.json"));
    convert(3, "--labels", path("missing.json"));
    convert(3, "--labels", path("notes.txt"));
    expect(2, {"convert"}, "IN");
    expect(2, {"convert", path("model.onnx")}, "OUT");
    expect(3, {"convert", path("missing.onnx"), path("out.onnx")}, "no such file");
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    expect(3, {"convert", path("pipe"), path("out.onnx")}, "pipe: not a file");
    expect(3, {"convert", path("notes.txt"), path("out.onnx")}, "notes.txt");
    expect(3, {"convert", path("half.onnx"), path("out.onnx")}, "half.onnx");
    expect(1, {"convert", path("model.onnx"), "/nowhere/out.onnx"}, "/nowhere");
    EXPECT_FALSE(std::filesystem::exists(path("out.onnx")));
    expect(2, {"info"}, "MODEL");
    expect(2, {"info", path("model.onnx"), "--frobnicate"}, "--frobnicate");
    expect(2, {"info", path("model.onnx"), "--device", "tpu"}, "--device");
    EXPECT_EQ(
        mpmProgram({"info", path("model.onnx"), "--device", "cpu", "--threads", "1", "--precision", "i8"})
            .status,
        0);
    expect(3, {"info", path("missing.onnx")}, "missing.onnx");
    expect(3, {"info", path("notes.txt")}, "notes.txt");
    expect(2, {"doctor", "more"}, "more");
}

TEST_F(Usage, AModelWithoutSizeAsksForOne) {
    const Outcome outcome = mpmProgram({"run", path("bare.onnx"), path("image.png")});
    if (outcome.status != 0) {
        EXPECT_EQ(outcome.status, 3) << outcome.err;
        EXPECT_TRUE(outcome.says("--size")) << outcome.err;
    }
    EXPECT_EQ(mpmProgram({"run", path("bare.onnx"), path("image.png"), "--size", "32x48"}).status, 0);
}

TEST_F(Usage, CudaWithoutAGpuFails) {
    const Outcome outcome = mpmProgram({"run", path("model.onnx"), path("image.png"), "--device", "cuda"});
    if (outcome.status == 0) GTEST_SKIP() << "there is a GPU here";
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.lines(), 1) << outcome.err;
    EXPECT_TRUE(outcome.says("cuda"));
}

TEST_F(Usage, OutputThatCannotBeWrittenFails) {
    expect(1, {"run", path("model.onnx"), path("image.png"), "--out", path("image.png") + "/x"}, "image.png");
    expect(1, {"bench", path("model.onnx"), path("image.png"), "--rounds", "1", "--json", "/nowhere/b.json"},
           "/nowhere");
}

TEST_F(Usage, PasswordsAreNotRepeated) {
    const Outcome outcome =
        mpmProgram({"run", path("model.onnx"), "file://user:secret@/nowhere.avi", "--duration", "1"});
    EXPECT_EQ(outcome.err.find("secret"), std::string::npos) << outcome.err;
}

TEST_F(Usage, DoctorTellsWhatCanBePasted) {
    unsetenv("MPM_MAX_CPU_ISA");
    const Outcome outcome = mpmProgram({"doctor"});
    EXPECT_EQ(outcome.status, 0);
    for (const char* word :
         {"OpenCV", "CPU features", "CPU threads", "cuda", "shipped model", "cameras", "resource limits"})
        EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
    EXPECT_EQ(outcome.out.find("limited by"), std::string::npos);
    setenv("MPM_MAX_CPU_ISA", "avx9", 1);
    const Outcome limited = mpmProgram({"doctor"});
    unsetenv("MPM_MAX_CPU_ISA");
    EXPECT_NE(limited.out.find("limited by MPM_MAX_CPU_ISA=avx9"), std::string::npos);
    EXPECT_NE(limited.out.find("'avx9' is not known"), std::string::npos);
}

TEST_F(Usage, NormaliseNamesMeanAndStd) {
    const std::vector<std::pair<std::string, std::string>> known{
        {"imagenet", "0.485 0.456 0.406, 0.229 0.224 0.225"},
        {"clip", "0.481455 0.457827 0.408211, 0.26863 0.261303 0.275777"},
        {"half", "0.5 0.5 0.5, 0.5 0.5 0.5"},
        {"none", "0 0 0, 1 1 1"}};
    for (const auto& [name, values] : known) {
        const Outcome outcome =
            mpmProgram({"convert", path("model.onnx"), path("out.onnx"), "--normalise", name});
        ASSERT_EQ(outcome.status, 0) << outcome.err;
        EXPECT_NE(outcome.out.find("mean, std  " + values + ": from the options"), std::string::npos)
            << outcome.out;
        const Outcome info = mpmProgram({"info", path("out.onnx")});
        EXPECT_NE(info.out.find("mean, std  " + values), std::string::npos) << info.out;
    }
}

}  // namespace
}  // namespace mpm::test
