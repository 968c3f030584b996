// Tests the emulation of a GPU: threads synchronise as on a GPU, and mistakes in kernels are found.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mpm_layer/cuda/kernels/launch.cuh"
#include "mpm_layer/cuda/kernels/tensor_core.cuh"

// launch.cuh calls these functions of the library to report errors.
namespace mpm::cuda {
void checkRuntime(cudaError_t status, const char* operation, const char*, int) {
    if (status != cudaSuccess)
        throw CudaFailure(std::string(operation) + ": " + cudaGetErrorString(status), false);
}
void checkLaunch(cudaError_t status, const char* kernel) {
    checkRuntime(status, kernel, "", 0);
}
}  // namespace mpm::cuda

namespace mpm::cuda::test {
namespace {

constexpr unsigned kAll = 0xffffffffu;

class Emulation : public testing::Test {
protected:
    Emulation() { cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking); }
    ~Emulation() override {
        cudaStreamDestroy(m_stream);
        for (void* memory : m_memory)
            cudaFree(memory);
    }

    template <class T>
    T* onDevice(const std::vector<T>& values) {
        void* memory = nullptr;
        EXPECT_EQ(cudaMalloc(&memory, values.size() * sizeof(T)), cudaSuccess);
        cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
        m_memory.push_back(memory);
        return static_cast<T*>(memory);
    }

    /// Runs the kernel, and returns the error of the stream; empty if there is none.
    template <class... Parameters, class... Arguments>
    std::string run(void (*kernel)(Parameters...), LaunchShape shape, const Arguments&... arguments) {
        launchKernel("kernel", kernel, shape, m_stream, arguments...);
        const cudaError_t status = cudaStreamSynchronize(m_stream);
        return status == cudaSuccess ? "" : cudaGetErrorString(status);
    }

    cudaStream_t m_stream = nullptr;
    std::vector<void*> m_memory;
};

// Every thread reads the values of both neighbours.
template <bool Waits>
__global__ void neighboursKernel(int* sums) {
    __shared__ int values[64];
    const int own = threadIdx.x;
    values[own] = 0;
    __syncthreads();
    values[own] = own + 1;
    if (Waits) __syncthreads();
    sums[own] = values[(own + 1) % 64] + values[(own + 63) % 64];
}

TEST_F(Emulation, ThreadsMeetAtABarrier) {
    int* sums = onDevice(std::vector<int>(64));
    EXPECT_EQ(run(neighboursKernel<true>, {1, 64}, sums), "");
    for (int i = 0; i < 64; ++i)
        EXPECT_EQ(sums[i], (i + 1) % 64 + 1 + (i + 63) % 64 + 1);
}

TEST_F(Emulation, AMissingBarrierShows) {
    int* sums = onDevice(std::vector<int>(64));
    EXPECT_EQ(run(neighboursKernel<false>, {1, 64}, sums), "");
    EXPECT_NE(sums[0] == 2 + 64 && sums[63] == 1 + 63, true) << "the first and the last came too early";
}

__global__ void divergentKernel(bool warp) {
    if (warp ? threadIdx.x == 5 : threadIdx.x < 32) return;
    if (warp) __shfl_sync(kAll, 1, 0);
    __syncthreads();
}

TEST_F(Emulation, NamesThreadsThatDoNotMeet) {
    EXPECT_NE(run(divergentKernel, {dim3(1, 2), 64}, false)
                  .find("block (0, 0, 0): 32 of 64 threads reach __syncthreads()"),
              std::string::npos);
    cudaStreamDestroy(m_stream);
    cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking);
    EXPECT_NE(run(divergentKernel, {1, 64}, true).find("some lanes of a warp do not reach __shfl_sync"),
              std::string::npos);
}

__global__ void shuffleKernel(int* to) {
    const int lane = threadIdx.x;
    to[lane] = __shfl_xor_sync(kAll, lane, 5);
    to[32 + lane] = __shfl_up_sync(kAll, lane, 3);
    to[64 + lane] = __shfl_sync(kAll, lane * 2, 31);
}

TEST_F(Emulation, LanesExchangeValues) {
    int* to = onDevice(std::vector<int>(96));
    EXPECT_EQ(run(shuffleKernel, {1, 32}, to), "");
    for (int lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(to[lane], lane ^ 5);
        EXPECT_EQ(to[32 + lane], lane < 3 ? lane : lane - 3);
        EXPECT_EQ(to[64 + lane], 62);
    }
}

__global__ void pokeKernel(float* at, int index) {
    if (threadIdx.x == 7) at[index] = 1;
}
__global__ void pokeSharedKernel(int index) {
    (&blockMemory<float>())[index] = 1;
}

TEST_F(Emulation, FindsAccessesOutsideOfMemory) {
    float* memory = onDevice(std::vector<float>(100));
    EXPECT_EQ(run(pokeKernel, {1, 32}, memory, 99), "");
    EXPECT_EQ(run(pokeSharedKernel, {1, 32, 400}, 99), "");
    const std::string outside = "reads or writes outside of its memory";
    const std::string found = run(pokeKernel, {1, 32}, memory, 100);
    EXPECT_NE(found.find("thread (7, 0, 0) " + outside), std::string::npos) << found;
    cudaStreamDestroy(m_stream);
    cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking);
    EXPECT_NE(run(pokeSharedKernel, {1, 32, 400}, 100).find(outside), std::string::npos);
}

TEST_F(Emulation, RejectsLaunchesThatAGpuRejects) {
    float* memory = onDevice(std::vector<float>(1));
    EXPECT_THROW(run(pokeKernel, {0, 32}, memory, 0), CudaFailure) << "no blocks";
    EXPECT_THROW(run(pokeKernel, {dim3(1, 65536), 32}, memory, 0), CudaFailure) << "too many blocks";
    EXPECT_THROW(run(pokeKernel, {1, 1056}, memory, 0), CudaFailure) << "too many threads";
    EXPECT_THROW(run(pokeSharedKernel, {1, 32, 256 << 10}, 0), CudaFailure) << "too much shared memory";
}

template <bool Waits>
__global__ void copyKernel(const float* from, float* to) {
    float* shared = &blockMemory<float>();
    if (threadIdx.x < 2) copyAsync(shared + 4 * threadIdx.x, from, threadIdx.x == 0);
    closeCopies();
    if (Waits) awaitCopies<0>();
    __syncthreads();
    if (threadIdx.x < 8) to[8 * blockIdx.x + threadIdx.x] = shared[threadIdx.x];
}

TEST_F(Emulation, CopiesInTheBackgroundMustBeAwaited) {
    constexpr int kBlocks = 16;
    const float* from = onDevice(std::vector<float>{1, 2, 3, 4});
    float* to = onDevice(std::vector<float>(8 * kBlocks));
    EXPECT_EQ(run(copyKernel<true>, {kBlocks, 32, 32}, from, to), "");
    for (int i = 0; i < 8 * kBlocks; ++i)
        EXPECT_EQ(to[i], i % 8 < 4 ? i % 8 + 1 : 0);
    EXPECT_EQ(run(copyKernel<false>, {kBlocks, 32, 32}, from, to), "");
    int late = 0;
    for (int i = 0; i < kBlocks; ++i)
        late += std::isnan(to[8 * i]);
    EXPECT_GT(late, 0);
    EXPECT_LT(late, kBlocks) << "copies may also arrive early";
}

// Multiplies a [16][16] with b, which is stored as [n][k], so that ldmatrix loads the fragments of b
// directly. If `turned`, b is loaded transposed.
template <class T>
__global__ void productKernel(const T* a, const T* b, float* sums, bool turned) {
    T* shared = &blockMemory<T>();
    const int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32)
        shared[i] = a[i], shared[256 + i] = b[i];
    __syncthreads();
    std::uint32_t ofA[4], ofB[4];
    const int at = (lane % 16) * 16 + lane / 16 * 8;
    loadMatrices(ofA, shared + at);
    if (turned) {
        loadMatricesTurned(ofB, shared + 256 + at);
    } else {
        loadMatrices(ofB, shared + 256 + at);
    }
    // ofB has four 8x8 matrices: rows 0-7 and 8-15 of columns 0-7 of b, then the same rows of columns 8-15.
    float sum[2][4] = {};
    multiplyAdd<T>(sum[0], ofA, ofB[0], turned ? ofB[1] : ofB[2]);
    multiplyAdd<T>(sum[1], ofA, turned ? ofB[2] : ofB[1], ofB[3]);
    for (int half = 0; half < 2; ++half) {
        for (int e = 0; e < 4; ++e)
            sums[(lane / 4 + e / 2 * 8) * 16 + half * 8 + lane % 4 * 2 + e % 2] = sum[half][e];
    }
}

template <class T>
void expectProduct(const std::vector<T>& a, const std::vector<T>& b, const float* sums, bool turned) {
    for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < 16; ++column) {
            double expected = 0;
            for (int k = 0; k < 16; ++k)
                expected += static_cast<double>(toFloat(a[row * 16 + k])) *
                            toFloat(b[turned ? k * 16 + column : column * 16 + k]);
            EXPECT_NEAR(sums[row * 16 + column], expected, 1e-5) << row << ", " << column;
        }
    }
}

TEST_F(Emulation, TensorCoresMultiply) {
    std::vector<__nv_bfloat16> a, b;
    std::vector<__half> c, d;
    for (int i = 0; i < 256; ++i) {
        const float first = std::sin(0.7f * i), second = std::cos(1.3f * i);
        a.push_back(__float2bfloat16_rn(first)), b.push_back(__float2bfloat16_rn(second));
        c.push_back(__float2half_rn(first)), d.push_back(__float2half_rn(second));
    }
    float* sums = onDevice(std::vector<float>(256));
    for (bool turned : {false, true}) {
        EXPECT_EQ(run(productKernel<__nv_bfloat16>, {1, 32, 1024}, onDevice(a), onDevice(b), sums, turned),
                  "");
        expectProduct(a, b, sums, turned);
        EXPECT_EQ(run(productKernel<__half>, {1, 32, 1024}, onDevice(c), onDevice(d), sums, turned), "");
        expectProduct(c, d, sums, turned);
    }
}

TEST_F(Emulation, StreamsRunWhenSomebodyWaits) {
    float* memory = onDevice(std::vector<float>{1, 2});
    float down[2] = {};
    cudaMemcpyAsync(down, memory, sizeof down, cudaMemcpyDeviceToHost, m_stream);
    EXPECT_EQ(down[1], 0) << "not before the stream is waited for";
    EXPECT_EQ(cudaStreamSynchronize(m_stream), cudaSuccess);
    EXPECT_EQ(down[1], 2);
    cudaMemcpyAsync(down, memory + 1, sizeof down, cudaMemcpyDeviceToHost, m_stream);
    EXPECT_EQ(cudaStreamSynchronize(m_stream), cudaErrorLaunchFailure) << "leaves the allocation";
}

TEST(EmulatedElements, RoundAsTheyShould) {
    for (int bits = 0; bits < 65536; ++bits) {
        const __half half{static_cast<std::uint16_t>(bits)};
        const __nv_bfloat16 bfloat{static_cast<std::uint16_t>(bits)};
        if (!std::isnan(__half2float(half))) {
            ASSERT_EQ(__float2half_rn(__half2float(half)).bits, bits);
        }
        if (!std::isnan(__bfloat162float(bfloat))) {
            ASSERT_EQ(__float2bfloat16_rn(__bfloat162float(bfloat)).bits, bits);
        }
    }
    // A value halfway between two f16 values is rounded to the even value, all others to the nearest.
    EXPECT_EQ(__half2float(__float2half_rn(1.0f + 0x1p-11f)), 1.0f);
    EXPECT_EQ(__half2float(__float2half_rn(1.0f + 0x1.2p-11f)), 1.0f + 0x1p-10f);
    EXPECT_EQ(__half2float(__float2half_rn(1.0f + 0x3p-11f)), 1.0f + 0x1p-9f);
    EXPECT_EQ(__half2float(__float2half_rn(0x1.8p-24f)), 0x1p-23f);
    EXPECT_EQ(__half2float(__float2half_rn(65519.0f)), 65504.0f);
    EXPECT_EQ(__half2float(__float2half_rn(-65520.0f)), -INFINITY);
    EXPECT_EQ(__bfloat162float(__float2bfloat16_rn(1.0f + 0x1p-8f)), 1.0f);
    EXPECT_EQ(__bfloat162float(__float2bfloat16_rn(1.0f + 0x3p-8f)), 1.0f + 0x1p-6f);
}

}  // namespace
}  // namespace mpm::cuda::test
