// A job: the memory and time budget of a conversion. A thread has at most one current job. The job is not
// passed as an argument, because tensors are created deep inside the passes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/budget.hpp"
#include "base/checked.hpp"
#include "models/onnx/ir/list.hpp"

namespace mpm::models {

/// Limits of a job. If a limit is 0, the job derives the limit from the sizes of the model's files.
struct Limits {
    std::int64_t bytes = 0;
    double seconds = 0;
};

/// While a job exists, the memory of every tensor that the job's thread creates is charged to the job. If the
/// thread already has a job, a new job has no effect.
class Job {
public:
    explicit Job(const Limits& limits);
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

private:
    bool m_outermost;
};

/// Bytes charged to the job until the object is destroyed. Without a job, nothing is charged.
class Held {
public:
    Held() = default;
    /// Throws BudgetError if the bytes exceed the budget. `purpose` is for the message, such as "a tensor of
    /// shape [2, 3]".
    Held(std::int64_t bytes, const std::string& purpose) { add(bytes, purpose); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    Held(Held&& other) noexcept : m_budget(std::move(other.m_budget)), m_bytes(other.m_bytes) {
        other.m_bytes = 0;
    }
    Held& operator=(Held&& other) noexcept {
        std::swap(m_budget, other.m_budget);
        std::swap(m_bytes, other.m_bytes);
        return *this;
    }
    ~Held();

    void add(std::int64_t bytes, const std::string& purpose);

private:
    std::shared_ptr<Budget> m_budget;
    std::int64_t m_bytes = 0;
};

/// Raises the limits of the current job according to `bytes`, the size of a file. Does not change limits that
/// Limits sets. `device` and `node` (inode) identify the file: each file raises the limits only once.
void allowFor(std::uint64_t device, std::uint64_t node, std::int64_t bytes);

/// Throws BudgetError after the time limit. Loops over nodes should call this function, which is cheap.
void checkTime();

/// The time limit, for threads of a parallel loop. After the limit, these threads stop early, but throw
/// nothing. The caller of the loop must then call checkTime(), which throws.
class Deadline {
public:
    Deadline();
    bool isOver() const { return m_budget && m_budget->isTimeOver(); }

private:
    std::shared_ptr<Budget> m_budget;
};

/// Returns body(). Turns exceptions about impossible sizes into Refusal.
template <class Body>
auto refusing(const Body& body) -> decltype(body()) {
    try {
        return body();
    } catch (const SizeError& error) {
        throw Refusal(error.err + "; the file is damaged");
    } catch (const std::length_error&) {
        throw Refusal("a size in it is out of range; the file is damaged");
    }
}

/// Throws BudgetError if another `bytes` bytes would exceed the budget.
void checkRoom(std::int64_t bytes, const std::string& purpose);

}  // namespace mpm::models
