// Tests which calls libmpm_cuda gets for forwards over device memory, single merges and settings. A library
// that only records calls replaces libmpm_cuda. The device addresses are invalid: if the CPU reads one, the
// test crashes.
#include <dlfcn.h>

#include <cstdlib>
#include <numeric>

#include <gtest/gtest.h>
#include <mpm/mpm.h>
#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/runner.hpp"
#include "support/encoder_case.hpp"

namespace mpm::test {
namespace {

const std::string kLibrary = std::string(MPM_FAKE_FOLDER) + "/libmpm_cuda_records.so";

/// Returns an invalid pointer that stands for device memory.
float* at(size_t address) {
    return reinterpret_cast<float*>(address);
}

class CudaMemory : public testing::Test {
protected:
    CudaMemory() {
        setenv("MPM_CUDA_LIBRARY", kLibrary.c_str(), 1);
        m_options.schedule = {1};
        m_encoder = makeEncoder(m_options);
        m_control = std::make_shared<EncoderControl>(m_encoder.config);
        m_runner = std::make_shared<EncoderRunner>(m_control);
        m_control->setRunner(m_runner);
    }
    ~CudaMemory() override {
        for (const char* name :
             {"MPM_CUDA_LIBRARY", "MPM_CUDA_GRAPHS", "MPM_CUDA_NEAREST", "MPM_BATCH_INDEPENDENT"})
            unsetenv(name);
        mpm_set_batch_independent(nullptr);
    }

    Encoder ready() {
        m_runner->setWeights(m_encoder.weights);
        Encoder handle(m_control);
        handle.setDevice(Device::Cuda, 1);
        return handle;
    }

    /// Runs a forward over device memory, and returns the calls that the library recorded.
    static std::string forward(Encoder& handle) {
        call<void>("fake_forget");
        handle.forwardOnDevice(at(0x1000), 2, 25, {at(0x2000)}, at(0x30));
        return call<const char*>("fake_log");
    }

    template <class Result>
    static Result call(const char* name) {
        void* library = dlopen(kLibrary.c_str(), RTLD_NOW | RTLD_NOLOAD);
        if (!library) throw std::runtime_error("the library is not loaded");
        const auto function = reinterpret_cast<Result (*)()>(dlsym(library, name));
        dlclose(library);
        return function();
    }

    static void expectRefusal(Encoder& handle, const std::vector<float*>& outputs, const std::string& words,
                              int images = 2) {
        try {
            handle.forwardOnDevice(at(0x1000), images, 25, outputs);
            FAIL() << "was accepted";
        } catch (const cv::Exception& e) {
            EXPECT_NE(e.err.find(words), std::string::npos) << e.err;
        }
    }

    EncoderOptions m_options;
    EncoderCase m_encoder;
    std::shared_ptr<EncoderControl> m_control;
    std::shared_ptr<EncoderRunner> m_runner;
};

TEST_F(CudaMemory, GoesInAndOutByPointer) {
    Encoder handle = ready();
    const std::string log = forward(handle);
    const std::string expected =
        "begin on 1: 2 images of 25 rows at 0x1000, on the device 1, stream 0x30\n"
        "reads counts 1, fixed 0, graphs 2, nearest 1\n"
        "attend 0\nrun_mlp 0\nreduce by pairs\nattend 1\nrun_mlp 1\nattend 2\nrun_mlp 2\n"
        "emit to 0x2000, norm 1, on the device 1\nfinish\n";
    EXPECT_EQ(log, expected);
    const Report report = handle.report();
    EXPECT_EQ(report.device, Device::Cuda);
    ASSERT_EQ(report.images.size(), 2u);
    EXPECT_EQ(report.images[1].map.total(), 24u);
    EXPECT_EQ(report.images[1].tokens, std::vector<int>(3, 24));
    EXPECT_EQ(report.times.merge, 0.25);
}

TEST_F(CudaMemory, SaysWhatIsMissing) {
    Encoder handle(m_control);
    handle.setDevice(Device::Cuda, 1);
    expectRefusal(handle, {at(0x2000)}, "run the network once before");
    m_runner->setWeights(m_encoder.weights);
    expectRefusal(handle, {}, "1 outputs, none of them null; got 2 images of 25 rows and 0 outputs");
    expectRefusal(handle, {nullptr}, "none of them null");
    expectRefusal(handle, {at(0x2000)}, "at least one image", 0);
    handle.setDevice(Device::Cpu);
    expectRefusal(handle, {at(0x2000)}, "needs setDevice(Device::Cuda)");
    m_runner.reset();
    expectRefusal(handle, {at(0x2000)}, "the network of this handle is gone");
}

TEST_F(CudaMemory, BatchIndependenceAsksForFixedKernels) {
    Encoder handle = ready();
    const auto isFixed = [&] { return forward(handle).find("fixed 1") != std::string::npos; };
    EXPECT_FALSE(isFixed());
    setenv("MPM_BATCH_INDEPENDENT", "on", 1);
    EXPECT_TRUE(isFixed());
    ASSERT_EQ(mpm_set_batch_independent("off"), 0);
    EXPECT_FALSE(isFixed()) << "the C interface goes before the environment";
    handle.setBatchIndependent(true);
    EXPECT_TRUE(isFixed()) << "the handle goes before all";
    EXPECT_EQ(mpm_set_batch_independent("perhaps"), -1);
    EXPECT_NE(std::string(mpm_last_error()).find("expected on or off"), std::string::npos);
}

TEST_F(CudaMemory, TakesTheLibrarysChoicesFromTheEnvironment) {
    Encoder handle = ready();
    setenv("MPM_CUDA_GRAPHS", "always", 1);
    setenv("MPM_CUDA_NEAREST", "plain", 1);
    EXPECT_NE(forward(handle).find("graphs 1, nearest 0"), std::string::npos);
    setenv("MPM_CUDA_GRAPHS", "sometimes", 1);
    expectRefusal(handle, {at(0x2000)}, "MPM_CUDA_GRAPHS is 'sometimes'; expected never, always or auto");
}

// The merge of the recording library keeps all tokens, so each image's output equals the input.
TEST_F(CudaMemory, MergesAndRestoresWithoutAnEncoder) {
    const auto backend = makeBackend(Device::Cuda, 1);
    const int special = 2, images = 3, count = 5, dim = 4;
    const int sizes[] = {images, special + count, dim};
    cv::Mat tokens(3, sizes, CV_32F);
    std::iota(tokens.begin<float>(), tokens.end<float>(), 0.0f);
    std::vector<MergeMap> maps;
    std::vector<std::vector<float>> rows(images, std::vector<float>(count * dim));
    backend->merge(tokens, special, [&](const std::vector<MergeMap>& found) {
        maps = found;
        return std::vector<float*>{rows[0].data(), rows[1].data(), rows[2].data()};
    });
    ASSERT_EQ(maps.size(), 3u);
    for (int i = 0; i < images; ++i) {
        EXPECT_EQ(maps[i].clusters, count);
        EXPECT_EQ(maps[i].ids, identityMap(count).ids);
        const float* image = tokens.ptr<float>(i) + special * dim;
        EXPECT_EQ(rows[i], std::vector<float>(image, image + count * dim)) << "image " << i;
    }
    call<void>("fake_forget");
    for (MergeMap& map : maps)
        map.ids = {0, 0, 1, 1, 2}, map.clusters = 3;
    cv::Mat restored(3, sizes, CV_32F);
    backend->restore(tokens, maps, special, restored);
    EXPECT_EQ(call<const char*>("fake_log"),
              std::string("restore on 1: 3 images of 7 rows to 7 of 4, 2 special\n"));
    const int expected[] = {0, 1, 2, 2, 3, 3, 4};
    for (int i = 0; i < images; ++i) {
        for (int r = 0; r < special + count; ++r)
            EXPECT_EQ(*restored.ptr<float>(i, r), *tokens.ptr<float>(i, expected[r])) << i << ", " << r;
    }
}

}  // namespace
}  // namespace mpm::test
