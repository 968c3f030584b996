// What one conversion may spend. Tensors are made deep inside of rewriting steps, so the job in hand is known
// by thread, not passed to each of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/budget.hpp"
#include "base/checked.hpp"
#include "models/onnx/ir/list.hpp"

namespace mpm::models {

/// Limits of a job; zero: as the size of the file has it.
struct Limits {
    std::int64_t bytes = 0;
    double seconds = 0;
};

/// While one stands, every tensor that its thread makes is charged to it. Where one stands already, a second
/// one joins it.
class Job {
public:
    explicit Job(const Limits& limits);
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

private:
    bool m_outermost;
};

/// Bytes of a job, given back when the object goes. Outside of a job it counts nothing.
class Held {
public:
    Held() = default;
    /// Throws BudgetError where they are too many. `what` names them: "a tensor of shape [2, 3]".
    Held(std::int64_t bytes, const std::string& what) { add(bytes, what); }
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

    void add(std::int64_t bytes, const std::string& what);

private:
    std::shared_ptr<Budget> m_budget;
    std::int64_t m_bytes = 0;
};

/// A file is read: its size raises the limits that the caller has left open, once for each file.
void allowFor(std::uint64_t device, std::uint64_t node, std::int64_t bytes);

/// Throws BudgetError once the time of the job is over. Cheap: call it in every loop over nodes.
void checkTime();

/// Whether it is over, for threads of a loop, which stop early; the caller checks behind it.
class Deadline {
public:
    Deadline();
    bool isOver() const { return m_budget && m_budget->isTimeOver(); }

private:
    std::shared_ptr<Budget> m_budget;
};

/// What body() returns. Sizes that make no sense, wherever they are noticed, are a Refusal.
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

/// Throws BudgetError where `bytes` more for a moment are too many.
void checkRoom(std::int64_t bytes, const std::string& what);

}  // namespace mpm::models
