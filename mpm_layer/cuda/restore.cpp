// MpmRestore on the device, which needs no encoder.
#include "mpm_layer/cuda/session.hpp"

namespace mpm::cuda {
namespace {

/// Borrows an executor for a single call, then returns it to the pool if its stream has not failed.
class Lease {
public:
    explicit Lease(int device) : m_executor(takeExecutor(device)) {}
    ~Lease() {
        if (cudaStreamSynchronize(m_executor->stream) == cudaSuccess) giveBack(std::move(m_executor));
        cudaGetLastError();
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Executor& operator*() const { return *m_executor; }

private:
    std::unique_ptr<Executor> m_executor;
};

}  // namespace

void restore(int device, const MpmCudaRestore& r) {
    const DeviceGuard guard(device);
    const Lease lease(device);
    Executor& e = *lease;
    const int tokens = r.rows - r.special_tokens;
    const size_t in = static_cast<size_t>(r.images) * r.merged_rows * r.dim;
    const size_t out = static_cast<size_t>(r.images) * r.rows * r.dim;
    const size_t ids = static_cast<size_t>(r.images) * tokens;
    if (out == 0) return;
    std::vector<int> offsets(r.images + 1);
    for (int i = 0; i <= r.images; ++i)
        offsets[i] = i * r.merged_rows;
    uploadInSlices(r.merged, in, e.up, e.batch.rows.reserve(in), r.parallel, e.stream);
    copyUp(e.batch.offsets, offsets, e.stream);
    e.composed.reserve(ids);
    if (ids > 0) {
        MPM_CUDA_CHECK(
            cudaMemcpyAsync(e.composed.data(), r.map, ids * sizeof(int), cudaMemcpyHostToDevice, e.stream));
    }
    OutputBuffers& buffers = e.output(0);
    const BatchView batch{e.batch.offsets.data(), r.images,     r.special_tokens, r.dim,
                          offsets.back(),         r.merged_rows};
    restoreRows(batch, e.batch.rows.data(), NormView{}, e.composed.data(), tokens, buffers.rows.reserve(out),
                e.stream);
    copyDown(buffers.down.reserve(out), buffers.rows.data(), out, e.stream);
    e.stream.wait();
    copyOut({buffers.down.data(), r.output, out}, r.parallel);
}

}  // namespace mpm::cuda
