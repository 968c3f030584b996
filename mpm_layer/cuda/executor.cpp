#include "mpm_layer/cuda/executor.hpp"

#include <map>
#include <mutex>

namespace mpm::cuda {
namespace {

struct Pool {
    std::mutex guard;
    std::map<int, std::vector<std::unique_ptr<Executor>>> idle;

    // Never destroyed, since the driver may be unloaded before static objects are destroyed.
    static Pool& instance() {
        static Pool& pool = *new Pool;
        return pool;
    }
};

}  // namespace

std::unique_ptr<Executor> takeExecutor(int device) {
    Pool& pool = Pool::instance();
    {
        const std::lock_guard<std::mutex> lock(pool.guard);
        auto& idle = pool.idle[device];
        if (!idle.empty()) {
            std::unique_ptr<Executor> executor = std::move(idle.back());
            idle.pop_back();
            return executor;
        }
    }
    return std::make_unique<Executor>(device);
}

void giveBack(std::unique_ptr<Executor> executor) {
    Pool& pool = Pool::instance();
    const std::lock_guard<std::mutex> lock(pool.guard);
    pool.idle[executor->device].push_back(std::move(executor));
}

bool dropIdleExecutors(int device) {
    Pool& pool = Pool::instance();
    const std::lock_guard<std::mutex> lock(pool.guard);
    auto& idle = pool.idle[device];
    const bool any = !idle.empty();
    idle.clear();
    return any;
}

}  // namespace mpm::cuda
