// Tests the kernels on an emulated GPU (tests/support/cuda). Comparisons must find intentional mistakes in
// copies of the kernels, and the backend must handle calls that fail. The suite in encoder_test.cpp checks
// the kernels without mistakes.
#include <dlfcn.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/runner.hpp"
#include "support/encoder_case.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

std::string libraryNamed(const std::string& name) {
    return std::string(MPM_EMULATED_FOLDER) + "/lib" + name + ".so";
}

class EmulatedCuda : public testing::Test {
protected:
    ~EmulatedCuda() override {
        for (const char* name : {"MPM_CUDA_LIBRARY", "MPM_CUDA_NEAREST", "MPM_CUDA_GRAPHS"})
            unsetenv(name);
    }

    static void use(const std::string& name) { setenv("MPM_CUDA_LIBRARY", libraryNamed(name).c_str(), 1); }

    /// Makes a function of the emulated CUDA runtime fail: the first `skip` calls succeed, then `times` calls
    /// fail.
    static void refuse(const char* function, int skip, int times) {
        void* library = dlopen(std::getenv("MPM_CUDA_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
        ASSERT_NE(library, nullptr) << "the library is not loaded";
        const auto call =
            reinterpret_cast<void (*)(const char*, int, int)>(dlsym(library, "mpm_emulated_refuse"));
        dlclose(library);
        ASSERT_NE(call, nullptr);
        call(function, skip, times);
    }
};

struct Forward {
    explicit Forward(const EncoderOptions& options)
        : encoder(makeEncoder(options)),
          control(std::make_shared<EncoderControl>(encoder.config)),
          runner(control) {
        runner.setWeights(encoder.weights);
    }

    cv::Mat operator()(const cv::Mat& batch, Device device, Precision precision = Precision::F32) {
        control->change([&](Settings& s) { s.device = device, s.precision = precision; });
        std::vector<cv::Mat> outputs{cv::Mat(3, batch.size.p, CV_32F)};
        runner.run(batch, cv::Mat(), outputs);
        return outputs[0];
    }

    EncoderCase encoder;
    std::shared_ptr<EncoderControl> control;
    EncoderRunner runner;
};

/// Returns an empty text if the encoder gives the same result on device and CPU, else the difference.
std::string encoderDiffers(Precision precision, double tolerance) {
    EncoderOptions o;
    o.rope = "half", o.headSize = 32, o.imageTokens = 200, o.blocks = 2;
    // In bf16, rounding may change the order of nearly equal similarities, so only the f32 encoder merges.
    if (precision == Precision::F32) o.schedule = {1};
    Forward forward(o);
    const cv::Mat batch = makeBatch(o, 2, o.imageTokens, 3);
    const cv::Mat here = forward(batch, Device::Cuda, precision), there = forward(batch, Device::Cpu);
    const double error = relativeError(here, there);
    return error < tolerance ? "" : "the encoder is off by " + std::to_string(error);
}

/// Returns an empty text if merge and restore give equal results on device and CPU, else the difference.
std::string mergeDiffers(const char* nearest, int tokens) {
    setenv("MPM_CUDA_NEAREST", nearest, 1);
    EncoderOptions o;
    const cv::Mat batch = makeBatch(o, 2, tokens, 5);
    std::vector<MergeMap> maps[2];
    std::vector<std::vector<float>> rows[2];
    cv::Mat restored[2];
    for (int way = 0; way < 2; ++way) {
        const auto backend = makeBackend(way == 0 ? Device::Cuda : Device::Cpu, 0);
        backend->merge(batch, o.special, [&](const std::vector<MergeMap>& found) {
            maps[way] = found;
            std::vector<float*> to;
            for (const MergeMap& map : found)
                rows[way].emplace_back(static_cast<size_t>(map.clusters) * o.dim());
            for (std::vector<float>& image : rows[way])
                to.push_back(image.data());
            return to;
        });
        restored[way].create(3, batch.size.p, CV_32F);
        backend->restore(batch, maps[0], o.special, restored[way]);
    }
    for (size_t i = 0; i < maps[0].size(); ++i)
        if (maps[0][i].ids != maps[1][i].ids) return "maps differ";
    if (rows[0] != rows[1]) return "means differ";
    return sameBits(restored[0], restored[1]) ? "" : "restored rows differ";
}

/// Returns the first difference between device and CPU, or the error that the device reports.
std::string firstDifference() {
    try {
        for (const char* nearest : {"plain", "tensor"}) {
            for (int tokens : {60, 1100}) {
                const std::string found = mergeDiffers(nearest, tokens);
                if (!found.empty()) return found;
            }
        }
        for (auto [precision, tolerance] :
             {std::pair{Precision::F32, 1e-4}, {Precision::BF16, 2e-2}, {Precision::F16, 5e-3}}) {
            const std::string found = encoderDiffers(precision, tolerance);
            if (!found.empty()) return found;
        }
        return "";
    } catch (const cv::Exception& e) {
        return e.err;
    }
}

TEST_F(EmulatedCuda, AgreesWithTheProcessor) {
    use("mpm_cuda_emulated");
    EXPECT_EQ(firstDifference(), "");
}

class PlantedMistake : public EmulatedCuda,
                       public testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(PlantedMistake, IsFound) {
    const auto [name, expected] = GetParam();
    use(std::string("mpm_cuda_planted_") + name);
    ASSERT_EQ(makeBackend(Device::Cuda, 0)->device(), Device::Cuda) << "the library loads";
    const std::string found = firstDifference();
    EXPECT_NE(found.find(expected), std::string::npos) << "found: '" << found << "'";
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, PlantedMistake,
    testing::Values(std::pair{"late_copy", "maps differ"}, std::pair{"early_copy", "the encoder is off"},
                    std::pair{"barrier_in_loop", "the encoder is off"},
                    std::pair{"barrier_in_scan", "maps differ"},
                    std::pair{"divergence", "threads reach __syncthreads()"},
                    std::pair{"fragment", "the encoder is off"}, std::pair{"half_a_warp", "maps differ"},
                    std::pair{"index", "outside of its memory"}, std::pair{"sign", "the encoder is off"},
                    std::pair{"outside", "outside of its memory"}),
    [](const auto& one) { return std::string(one.param.first); });

// If recording a CUDA graph fails, the current and all later forwards launch kernels without a graph.
TEST_F(EmulatedCuda, RecordingMayBeRefused) {
    use("mpm_cuda_emulated");
    setenv("MPM_CUDA_GRAPHS", "always", 1);
    const EncoderOptions o;
    Forward forward(o);
    const cv::Mat batch = makeBatch(o, 2, 24, 8), expected = forward(batch, Device::Cuda);
    for (const char* function :
         {"cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiateWithFlags"}) {
        Forward other(o);
        for (int round = 0; round < 3; ++round) {
            refuse(function, 0, 1);
            EXPECT_TRUE(sameBits(other(batch, Device::Cuda), expected)) << function << ", round " << round;
        }
        refuse(function, 0, 0);
    }
}

TEST_F(EmulatedCuda, MemoryMayRunOut) {
    use("mpm_cuda_emulated");
    const EncoderOptions o;
    Forward forward(o);
    const cv::Mat batch = makeBatch(o, 2, 24, 9), larger = makeBatch(o, 9, 24, 9);
    const cv::Mat expected = forward(batch, Device::Cuda);
    int failures = 0;
    for (const char* function : {"cudaMalloc", "cudaHostAlloc"}) {
        for (int skip = 0; skip < 12; ++skip) {
            // After a failed allocation, the backend frees memory and tries the forward once more. Both tries
            // must fail, so the number of failing calls is large.
            refuse(function, skip, 50);
            try {
                forward(larger, Device::Cuda);
            } catch (const cv::Exception& e) {
                EXPECT_EQ(e.code, cv::Error::StsNoMem) << e.err;
                ++failures;
            }
            refuse(function, 0, 0);
            EXPECT_TRUE(sameBits(forward(batch, Device::Cuda), expected)) << function << " after " << skip;
        }
    }
    EXPECT_GT(failures, 0);
}

// The GPU's backend does not support reuse. If reuse is on, Device::Auto selects the CPU, else the GPU.
TEST_F(EmulatedCuda, AutoReusesOnTheProcessor) {
    use("mpm_cuda_emulated");
    const EncoderOptions o;
    Forward forward(o);
    const cv::Mat batch = makeBatch(o, 1, o.imageTokens, 4);
    forward(batch, Device::Auto);
    EXPECT_EQ(forward.control->report().device, Device::Cuda);
    forward.control->change([](Settings& s) { s.reuse = Reuse{}; });
    forward(batch, Device::Auto);
    EXPECT_EQ(forward.control->report().device, Device::Cpu);
    forward.control->change([](Settings& s) { s.reuse = std::optional<Reuse>(); });
    forward(batch, Device::Auto);
    EXPECT_EQ(forward.control->report().device, Device::Cuda);
}

}  // namespace
}  // namespace mpm::test
