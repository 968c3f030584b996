// An executor is a CUDA stream, with the memory of the largest forward that has run on the stream. Executors
// are kept for the next session, so that later forwards allocate no memory.
#pragma once

#include <memory>
#include <vector>

#include "mpm_layer/cuda/device/graphs.hpp"
#include "mpm_layer/cuda/device/products.hpp"
#include "mpm_layer/cuda/device/resources.hpp"
#include "mpm_layer/cuda/kernels/merge.hpp"

namespace mpm::cuda {

/// The rows of a batch, and the size, key bias and position of each row.
struct RowBuffers {
    DeviceBuffer<float> rows, sizes, bias;
    DeviceBuffer<int> positions, offsets;

    RowState state(bool biased) const {
        return {rows.data(), sizes.data(), biased ? bias.data() : nullptr, positions.data()};
    }
};

struct StageBuffers {
    DeviceBuffer<int> ids, counts;
    PinnedBuffer<int> downIds, downCounts;
};

struct OutputBuffers {
    DeviceBuffer<float> rows;
    PinnedBuffer<float> down;
};

struct EventPair {
    Event start, stop;
};

struct Executor {
    explicit Executor(int deviceIndex) : device(deviceIndex) {}

    int device;
    Stream stream;
    Products products;
    Graphs graphs;

    RowBuffers batch, merged;
    DeviceBuffer<float> logits, unit, keys;
    DeviceBuffer<__nv_bfloat16> split;
    DeviceBuffer<unsigned char> finite;
    DeviceBuffer<Candidate> best;
    DeviceBuffer<int> starts, members, composed;
    DeviceBuffer<Extent> extent;
    DeviceBuffer<unsigned char> input, qkv, attended, hidden, gate;  ///< in the encoder's element type
    std::vector<std::unique_ptr<StageBuffers>> stages;
    std::vector<std::unique_ptr<OutputBuffers>> outputs;

    PinnedBuffer<float> up, upBias;
    PinnedBuffer<Extent> downExtent;
    Event extentKnown, callerReady;
    std::vector<EventPair> mergeTimes, restoreTimes;

    /// Returns the addresses of all memory that transformer blocks use. A graph is valid only for these
    /// addresses.
    std::vector<const void*> addressesOfBlocks() const {
        return {batch.rows.data(), batch.offsets.data(), batch.positions.data(), logits.data(), input.data(),
                qkv.data(),        attended.data(),      hidden.data(),          gate.data()};
    }

    StageBuffers& stage(size_t index) { return at(stages, index); }
    OutputBuffers& output(size_t index) { return at(outputs, index); }
    static EventPair& pair(std::vector<EventPair>& pairs, size_t index) {
        while (pairs.size() <= index)
            pairs.emplace_back();
        return pairs[index];
    }

private:
    template <class T>
    static T& at(std::vector<std::unique_ptr<T>>& kept, size_t index) {
        while (kept.size() <= index)
            kept.push_back(std::make_unique<T>());
        return *kept[index];
    }
};

/// Returns an idle or a new executor of the device, which must be current in the calling thread.
std::unique_ptr<Executor> takeExecutor(int device);
void giveBack(std::unique_ptr<Executor> executor);
/// Frees all idle executors of a device; returns false if there are none.
bool dropIdleExecutors(int device);

}  // namespace mpm::cuda
