// Runs a training, once for each system call that may fail: every checkpoint must be the complete old or the
// complete new file. If the argument is a folder, this program is the program under test.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "faults/trial.hpp"
#include "models/torch/train/checkpoint.hpp"
#include "models/torch/train/train.hpp"
#include "street/street.hpp"
#include "support/temp_folder.hpp"
#include "tests/models/torch/small_model.hpp"

namespace fs = std::filesystem;

namespace mpm::models {
namespace {

constexpr int kFew = 13, kBefore = 1, kAfter = 3;

TrainOptions tinyOptions(const std::string& out, int64_t steps) {
    TrainOptions options;
    options.model = smallOptions(32, 48, 11);
    options.model.vit.dim = 16;
    options.model.vit.depth = 1;
    options.model.decoderDepth = 1;
    options.data.batch = 1;
    options.data.scene = 0;
    options.data.augment.height = 32;
    options.data.augment.width = 48;
    options.out = out;
    options.warmUp = 1;
    options.steps = steps;
    options.parts = options.workers = 1;
    options.checkpointEvery = options.validateEvery = 1;
    options.quiet = true;
    return options;
}

int trainIn(const std::string& out, int64_t steps) {
    try {
        const auto frame = street::Street({48, 32}, 100, 1).at(12, 3);
        const std::vector<pipeline::Sample> samples = {{frame.image, frame.labels, "street"}};
        torch::set_num_threads(1);
        train(tinyOptions(out, steps), {samples, samples, 11});
        return 0;
    } catch (const std::bad_alloc&) {
        std::fputs("train: out of memory\n", stderr);
    } catch (const cv::Exception& error) {
        std::fprintf(stderr, "train: %s\n", error.err.c_str());  // what() has several lines
    } catch (const c10::Error& error) {
        std::fprintf(stderr, "train: %s\n", error.what_without_backtrace());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "train: %s\n", error.what());
    }
    return 1;
}

/// Returns the number of steps of a checkpoint; -1 if there is none. Throws if the checkpoint is not
/// complete.
int64_t stepsIn(const fs::path& folder) {
    if (fs::exists(folder / "best.pt")) loadModel((folder / "best.pt").string());
    if (!fs::exists(folder / "checkpoint.pt")) return -1;
    const TrainOptions options = tinyOptions("", 1);
    Segmenter model(options.model), mean(options.model);
    Optimiser optimiser(model, options.optimiser);
    return loadCheckpoint((folder / "checkpoint.pt").string(), model, mean, optimiser).step;
}

int64_t rowsIn(const fs::path& folder) {
    std::ifstream file(folder / "curve.csv");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return std::count(text.begin(), text.end(), '\n') - 1;
}

TEST(TrainFaults, CheckpointsAreWhole) {
    const test::TempFolder first;
    ASSERT_EQ(trainIn(first / "out", kBefore), 0);
    test::Faulty program{"train", {"/proc/self/exe", "@/out", std::to_string(kAfter)}, {}};
    program.command[0] = fs::read_symlink("/proc/self/exe").string();
    bool before = false;
    program.prepare = [&](const fs::path& folder, bool old) {
        before = old;
        if (old) fs::copy(first / "out", folder / "out", fs::copy_options::recursive);
    };
    program.judge = [&](const fs::path& folder, const test::Ending& ending) -> std::string {
        try {
            const int64_t steps = stepsIn(folder / "out");
            if (before && steps < kBefore) return "lost the checkpoint that was there";
            if (ending.status == 0 && steps != kAfter)
                return "left a checkpoint of step " + std::to_string(steps);
            if (ending.status == 0 && rowsIn(folder / "out") != kAfter) return "left rows out of the curve";
            return before && rowsIn(folder / "out") < kBefore ? "lost rows of the curve" : "";
        } catch (const std::exception& error) {
            return std::string("left a file that cannot be read: ") + error.what();
        }
    };
    program.leaves = {"out/checkpoint.pt", "out/best.pt", "out/curve.csv", "out/curve.png"};
    program.prefix = "train: ";
    const int points = test::faultPoints(kFew);
    EXPECT_GE(test::tryFaults(program, points), points);
}

}  // namespace
}  // namespace mpm::models

int main(int argc, char** argv) {
    if (argc == 3) return mpm::models::trainIn(argv[1], std::stoll(argv[2]));
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
