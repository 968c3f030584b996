#include "models/torch/train/checkpoint.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <torch/serialize.h>

#include "models/torch/files/file_error.hpp"
#include "models/torch/files/pickle.hpp"
#include "models/torch/model/named_tensors.hpp"
#include "models/torch/train/train.hpp"
#include "tests/models/torch/small_model.hpp"

namespace fs = std::filesystem;
using namespace mpm::models;

namespace {

SegmenterOptions tinyOptions() {
    auto options = smallOptions(32, 48, 3);
    options.vit.dim = 8;
    options.vit.depth = 2;
    return options;
}

std::string bytesOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void expectSameWeights(Segmenter& a, Segmenter& b) {
    const auto others = b->named_parameters();
    for (const auto& entry : a->named_parameters())
        EXPECT_TRUE(torch::equal(entry.value(), others[entry.key()])) << entry.key();
}

void giveGradients(Segmenter& model) {
    for (auto& parameter : model->parameters())
        parameter.mutable_grad() = torch::randn(parameter.sizes());
}

class CheckpointTest : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "mpm_checkpoint_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        m_folder = name;
    }
    void TearDown() override { fs::remove_all(m_folder); }
    std::string in(const char* name) const { return (m_folder / name).string(); }
    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(m_folder), fs::directory_iterator()));
    }

    fs::path m_folder;
};

/// Writes an archive as earlier versions wrote it with LibTorch. The key of a weight in the optimiser's state
/// is the weight's address in memory.
class Archive {
public:
    explicit Archive(const SegmenterOptions& options) {
        m_archive.write("format", c10::IValue(std::string("mpm-models 1")));
        m_archive.write("options", c10::IValue(options.toJson()));
    }
    void write(const std::string& name, const torch::nn::Module& module) {
        torch::serialize::OutputArchive inner(m_archive.compilation_unit());
        module.save(inner);
        m_archive.write(name, inner);
    }
    void write(torch::optim::AdamW& adam, const std::vector<torch::Tensor>& momenta) {
        torch::serialize::OutputArchive optimiser(m_archive.compilation_unit()),
            inner(m_archive.compilation_unit());
        adam.save(inner);
        optimiser.write("adam", inner);
        for (size_t i = 0; i < momenta.size(); ++i)
            optimiser.write("momentum" + std::to_string(i), momenta[i]);
        m_archive.write("optimiser", optimiser);
        m_archive.write("step", c10::IValue(int64_t{5000000000}));
        m_archive.write("images", c10::IValue(int64_t{12}));
        m_archive.write("best", c10::IValue(0.625));
        m_archive.write("seconds", c10::IValue(7.5));
    }
    void save(const std::string& path) { m_archive.save_to(path); }

private:
    torch::serialize::OutputArchive m_archive;
};

/// The weights in the groups of Optimiser.
struct Groups {
    std::vector<torch::Tensor> matrices, decaying, rest;

    explicit Groups(Segmenter& model) {
        for (auto& entry : model->named_parameters()) {
            const auto& name = entry.key();
            const bool matrix = entry.value().dim() == 2;
            const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
            const bool exempt = has("pos_embed") || has("cls_token") || has("cls_emb");
            if (matrix && (has(".blocks.") || has("proj_")))
                matrices.push_back(entry.value());
            else
                (entry.value().dim() >= 2 && !exempt ? decaying : rest).push_back(entry.value());
        }
    }
    std::vector<torch::Tensor> adam() const {
        auto all = decaying;
        all.insert(all.end(), rest.begin(), rest.end());
        return all;
    }
};

TEST_F(CheckpointTest, ArchivesOfEarlierVersionsLoadWithAllThatARunNeeds) {
    auto model = smallModel(tinyOptions(), 1), mean = smallModel(tinyOptions(), 2);
    const Groups groups(model);
    std::vector<torch::optim::OptimizerParamGroup> parts{torch::optim::OptimizerParamGroup(groups.decaying),
                                                         torch::optim::OptimizerParamGroup(groups.rest)};
    torch::optim::AdamW adam(parts, torch::optim::AdamWOptions(1e-3));
    giveGradients(model);
    adam.step();
    adam.step();
    std::vector<torch::Tensor> momenta;
    for (const auto& matrix : groups.matrices)
        momenta.push_back(torch::randn(matrix.sizes()));
    Archive archive(model->options());
    archive.write("model", *model);
    archive.write("mean", *mean);
    archive.write(adam, momenta);
    archive.save(in("old.pt"));

    auto loaded = smallModel(tinyOptions(), 3), loadedMean = smallModel(tinyOptions(), 4);
    Optimiser optimiser(loaded, {});
    const Progress progress = loadCheckpoint(in("old.pt"), loaded, loadedMean, optimiser);
    EXPECT_EQ(progress.step, 5000000000);
    EXPECT_EQ(progress.images, 12);
    EXPECT_EQ(progress.best, 0.625);
    EXPECT_EQ(progress.seconds, 7.5);
    expectSameWeights(loaded, model);
    expectSameWeights(loadedMean, mean);
    const auto state = optimiser.state();
    ASSERT_EQ(state.size(), momenta.size() + 3 * groups.adam().size());
    for (size_t i = 0; i < momenta.size(); ++i)
        EXPECT_TRUE(torch::equal(state.at("momentum" + std::to_string(i)), momenta[i]));
    const auto weights = groups.adam();
    for (size_t i = 0; i < weights.size(); ++i) {  // after two equal gradients g, the mean is (1 - 0.9^2) g
        const std::string name = "adam." + std::to_string(i);
        EXPECT_EQ(state.at(name + ".step").item<int64_t>(), 2);
        EXPECT_TRUE(torch::allclose(state.at(name + ".exp_avg"), weights[i].grad() * 0.19, 1e-4, 1e-6)) << i;
        EXPECT_TRUE(torch::allclose(state.at(name + ".exp_avg_sq"), weights[i].grad().square() * 0.001999,
                                    1e-3, 1e-7))
            << i;
    }
    auto weightsAlone = loadModel(in("old.pt"));
    expectSameWeights(weightsAlone, mean);
}

TEST_F(CheckpointTest, WeightsAloneOfEarlierVersionsLoad) {
    auto model = smallModel(tinyOptions(), 1);
    Archive archive(model->options());
    archive.write("mean", *model);
    archive.save(in("old.pt"));
    auto loaded = loadModel(in("old.pt"));
    expectSameWeights(loaded, model);
}

TEST_F(CheckpointTest, KeepsTheOptimisersState) {
    auto model = smallModel(tinyOptions(), 1), mean = smallModel(tinyOptions(), 2);
    Optimiser optimiser(model, {});
    giveGradients(model);
    optimiser.step(1);
    const mode_t before = umask(0027);
    saveCheckpoint(in("new.pt"), model, mean, optimiser, {3, 4, -1, 0.1});
    umask(before);
    auto loaded = smallModel(tinyOptions(), 3), loadedMean = smallModel(tinyOptions(), 4);
    Optimiser other(loaded, {});
    const Progress progress = loadCheckpoint(in("new.pt"), loaded, loadedMean, other);
    EXPECT_EQ(progress.seconds, 0.1);
    expectSameWeights(loaded, model);
    expectSameWeights(loadedMean, mean);
    const auto expected = optimiser.state(), found = other.state();
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, tensor] : expected)
        EXPECT_TRUE(torch::equal(tensor, found.at(name))) << name;
    EXPECT_EQ(fs::status(in("new.pt")).permissions(),
              fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read)
        << "a checkpoint follows the umask";
}

TEST_F(CheckpointTest, TheCurveFollowsLinksAndTheUmask) {
    fs::create_symlink("target.csv", in("curve.csv"));
    const mode_t before = umask(0022);
    {
        Curve curve(in("curve.csv"), 0);
        curve.add({1, 2, 0.1, 0.5});
        curve.add({2, 4, 0.1, 0.4});
    }
    umask(before);
    EXPECT_EQ(fs::status(in("target.csv")).permissions(), fs::perms::owner_read | fs::perms::owner_write |
                                                              fs::perms::group_read | fs::perms::others_read);
    EXPECT_TRUE(fs::is_symlink(in("curve.csv")));
    EXPECT_EQ(Curve(in("curve.csv"), 2).rows().size(), 2u);
    EXPECT_EQ(Curve(in("curve.csv"), 1).rows().size(), 1u) << "a row of lost work";
}

TEST(CopyWeights, OtherHeadsAndBlocksAreRejected) {
    const auto options = tinyOptions();
    auto heads = options, encoder = options, decoder = options, size = options;
    heads.vit.heads = 4;
    ++encoder.vit.depth;
    ++decoder.decoderDepth;
    std::swap(size.vit.height, size.vit.width);
    Segmenter to(options);
    for (const auto& other : {heads, encoder, decoder})
        EXPECT_THROW(copyWeights(to, Segmenter(other)), c10::Error) << other.toJson();
    decoder.decoder = "linear";  // only the encoder is copied
    for (const auto& other : {size, decoder})
        EXPECT_NO_THROW(copyWeights(to, Segmenter(other))) << other.toJson();
}

TEST_F(CheckpointTest, AnInterruptedWriteLeavesTheOldFile) {
    auto model = smallModel(tinyOptions(), 1), other = smallModel(tinyOptions(), 2);
    saveModel(in("weights.pt"), model);
    const std::string before = bytesOf(in("weights.pt"));
    const auto old = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    for (const std::size_t room : {std::size_t{0}, std::size_t{10}, before.size() / 2, before.size() - 1}) {
        const rlimit small{room, limit.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
        EXPECT_THROW(saveModel(in("weights.pt"), other), cv::Exception) << room;
        setrlimit(RLIMIT_FSIZE, &limit);
        EXPECT_EQ(bytesOf(in("weights.pt")), before) << room;
        EXPECT_EQ(files(), 1u) << room;
    }
    std::signal(SIGXFSZ, old);
}

/// Large sizes in a checkpoint must not allocate memory before the reader has found weights of these sizes.
TEST_F(CheckpointTest, SizesWithoutWeightsAreRejected) {
    for (const char* sizes :
         {R"("dim":8192,"depth":256,"heads":1,"height":32,"width":32,"patch":16)",
          R"("dim":64,"depth":1,"heads":1,"height":32768,"width":32768,"patch":1)",
          R"("dim":64,"depth":9223372036854775807,"heads":1,"height":32,"width":32,"patch":16)",
          R"("dim":1e300,"depth":1,"heads":1,"height":32,"width":32,"patch":16)",
          R"("dim":64,"depth":1,"heads":0,"height":32,"width":32,"patch":0)"}) {
        const std::string options =
            "{" + std::string(sizes) +
            R"(,"drop_path":0.0,"distilled":false,"classes":2,"decoder":"linear","decoder_depth":0})";
        {
            mpm::PendingFile file(in("liar.pt"));
            writeCheckpoint(file, options, nullptr, {});
            file.keep();
        }
        EXPECT_THROW(loadModel(in("liar.pt")), FileError) << sizes;
    }
}

/// A pickle can store a large value once and refer to it many times, with two bytes each time. Copying the
/// value for each reference would exceed any memory.
TEST(Pickle, WorkStaysInStepWithTheFile) {
    const auto number = [](size_t value) {
        std::string bytes(4, '\0');
        for (size_t i = 0; i < 4; ++i)
            bytes[i] = static_cast<char>(value >> (8 * i));
        return bytes;
    };
    const auto text = [&](const std::string& value) { return "X" + number(value.size()) + value; };
    const auto storage = [&](const std::string& key) {
        return "(" + text("storage") + "ctorch\nFloatStorage\n" + text(key) + text("cpu") + "K\x08t";
    };
    const auto many = [](const std::string& part) {
        std::string all;
        for (int i = 0; i < 100000; ++i)
            all += part;
        return all;
    };
    const std::string begin = "\x80\x02(", end = "t.";
    EXPECT_NO_THROW(readPickle(begin + storage("k") + "Q" + end));
    EXPECT_THROW(readPickle(begin + storage(std::string(1 << 20, 'k')) + "q\x01Q" + many("h\x01Q") + end),
                 FileError);
    const std::string shape = "(" + many("K\x01") + "tq\x01";
    const std::string tensor = "(" + storage("k") + std::string("QK\0", 3) + "h\x01h\x01tq\x02";
    EXPECT_THROW(readPickle(begin + shape + "ctorch._utils\n_rebuild_tensor_v2\nq\x03" + tensor +
                            many("h\x03h\x02R") + end),
                 FileError);
    EXPECT_THROW(readPickle(begin + std::string(1 << 22, 'N') + end), FileError);
}

struct Outcome {
    int status;
    std::string error;
};

Outcome runProgram(const std::string& arguments) {
    const std::string command =
        "timeout 60 '" + std::string(MPM_MODELS_PROGRAM) + "' " + arguments + " 2>&1 >/dev/null";
    FILE* pipe = popen(command.c_str(), "r");
    Outcome outcome{-1, {}};
    std::array<char, 4096> part{};
    for (size_t count; (count = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
        outcome.error.append(part.data(), count);
    outcome.status = WEXITSTATUS(pclose(pipe));
    return outcome;
}

void expectOneLine(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 3) << outcome.error;
    EXPECT_LT(outcome.error.size(), 1200u);
    EXPECT_EQ(outcome.error.find('\n'), outcome.error.size() - 1) << outcome.error;
    for (const char c : outcome.error.substr(0, outcome.error.size() - 1))
        EXPECT_GE(static_cast<unsigned char>(c), 0x20) << outcome.error;
}

TEST_F(CheckpointTest, ProgramNeitherWaitsForPipesNorRunsArchives) {
    ASSERT_EQ(mkfifo(in("pipe.pt").c_str(), 0600), 0);
    expectOneLine(runProgram("eval --dataset scene '" + in("pipe.pt") + "'"));
    expectOneLine(runProgram("import '" + in("pipe.pt") + "' '" + in("out.pt") + "'"));
    torch::jit::Module foreign("Foreign");
    foreign.define("def forward(self, x):\n    return x\n");
    foreign.save(in("foreign.pt"));
    expectOneLine(runProgram("export '" + in("foreign.pt") + "' '" + in("out.onnx") + "'"));
    std::ofstream(in("garbage.pt")) << "\x1b[2J" << std::string(1 << 20, 'x');
    expectOneLine(runProgram("mean '" + in("garbage.pt") + "' '" + in("garbage.pt") + "' --out '" +
                             in("mean.pt") + "'"));
}

TEST_F(CheckpointTest, ProgramSaysNothingOfItsLibraries) {
    const std::string header = R"({"\u001b[2J\n)" + std::string(1 << 20, 'n') +
                               R"(":{"dtype":"F9","shape":[1],"data_offsets":[0,1]}})";
    std::string length(8, '\0');
    for (size_t i = 0; i < 8; ++i)
        length[i] = static_cast<char>(header.size() >> (8 * i));
    std::ofstream(in("names.safetensors"), std::ios::binary) << length << header << 'x';
    expectOneLine(runProgram("import '" + in("names.safetensors") + "' '" + in("out.pt") + "'"));
    EXPECT_FALSE(fs::exists(in("out.pt")));
}

}  // namespace
