// Tests how libmpm_cuda is loaded: rejected libraries, messages, and Device::Auto after a rejection.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "mpm_layer/cuda/interface/entry.h"
#include "mpm_layer/encoder/backend.hpp"

namespace mpm::test {
namespace {

class CudaLoader : public testing::Test {
protected:
    void TearDown() override { unsetenv("MPM_CUDA_LIBRARY"); }

    static void use(const std::string& library) { setenv("MPM_CUDA_LIBRARY", library.c_str(), 1); }
    static std::string fake(const std::string& name) {
        std::string file = MPM_FAKE_FOLDER "/libmpm_cuda_";
        return file.append(name).append(".so");
    }

    /// Expects that Device::Cuda fails with a message with these words, and that Device::Auto uses the CPU.
    static void expectRefusal(const std::vector<std::string>& words, int index = 0) {
        try {
            makeBackend(Device::Cuda, index);
            FAIL() << "was accepted";
        } catch (const cv::Exception& e) {
            EXPECT_NE(e.err.find("cuda"), std::string::npos) << e.err;
            for (const std::string& word : words)
                EXPECT_NE(e.err.find(word), std::string::npos) << e.err << " does not say " << word;
        }
        EXPECT_EQ(makeBackend(Device::Auto, index)->device(), Device::Cpu);
    }
};

TEST_F(CudaLoader, RefusesAMissingLibrary) {
    use("/nowhere/libmpm_cuda.so");
    expectRefusal({"library /nowhere/libmpm_cuda.so cannot be loaded"});
}

TEST_F(CudaLoader, RefusesALibraryWithoutTheEntry) {
    use(fake("without_entry"));
    expectRefusal({"no function mpm_cuda_entry"});
}

TEST_F(CudaLoader, RefusesAStaleLibrary) {
    use(fake("newer"));
    expectRefusal({"stale", "has version " + std::to_string(MPM_CUDA_ENTRY_VERSION + 1),
                   "expected version " + std::to_string(MPM_CUDA_ENTRY_VERSION)});
    use(fake("smaller"));
    expectRefusal({"stale", "of 8 bytes"});
    use(fake("older"));
    expectRefusal({"stale", "other versions only"});
}

TEST_F(CudaLoader, SaysThatThereIsNoDriver) {
    use(fake("no_driver"));
    expectRefusal({"there is no NVIDIA driver"});
}

TEST_F(CudaLoader, SaysThatThereIsNoDevice) {
    use(fake("no_device"));
    expectRefusal({"no device"});
}

TEST_F(CudaLoader, ChoosesDevicesByIndex) {
    use(fake("three_devices"));
    expectRefusal({"device index 3", "there are 3"}, 3);
    expectRefusal({"cuda:0, Fake, has compute capability 7.0"}, 0);
    for (Device device : {Device::Cuda, Device::Auto}) {
        const auto backend = makeBackend(device, 1);
        EXPECT_EQ(backend->device(), Device::Cuda);
        EXPECT_EQ(backend->resolve(Precision::Auto), Precision::BF16);
        EXPECT_EQ(backend->resolve(Precision::TF32), Precision::TF32);
    }
}

// The loader looks for the library in the program's folder, never in the current folder.
TEST_F(CudaLoader, LooksBesideTheProgramAndNotInTheCurrentFolder) {
    namespace fs = std::filesystem;
    const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path() / "libmpm_cuda.so";
    const fs::path before = fs::current_path(), scratch = testing::TempDir() + "mpm_cuda_loader";
    fs::create_directories(scratch);
    fs::copy_file(fake("older"), scratch / "libmpm_cuda.so", fs::copy_options::overwrite_existing);
    fs::current_path(scratch);
    expectRefusal({"libmpm_cuda.so", "the loader finds none"});
    fs::copy_file(fake("no_device"), beside, fs::copy_options::overwrite_existing);
    expectRefusal({"no device"});
    fs::remove(beside);
    fs::current_path(before);
    fs::remove_all(scratch);
}

// If this build makes the library, it must load, even without a GPU.
TEST_F(CudaLoader, LoadsTheLibraryOfThisBuild) {
#ifdef MPM_CUDA_LIBRARY_FILE
    use(MPM_CUDA_LIBRARY_FILE);
    try {
        EXPECT_EQ(makeBackend(Device::Cuda, 0)->device(), Device::Cuda);
    } catch (const cv::Exception& e) {
        const bool noGpu =
            e.err.find("driver") != std::string::npos || e.err.find("device") != std::string::npos;
        EXPECT_TRUE(noGpu && e.err.find("cannot be loaded") == std::string::npos) << e.err;
    }
#else
    GTEST_SKIP() << "this build has no libmpm_cuda (MPM_BUILD_CUDA is off)";
#endif
}

}  // namespace
}  // namespace mpm::test
