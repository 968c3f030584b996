// Limits on the memory and the time that a job, such as reading a file, may use.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include <opencv2/core.hpp>

namespace mpm {

/// Reports that a limit was exceeded. The message names the limit and its value, and the option that raises
/// the limit, if there is one; programs exit with status 3.
class BudgetError : public cv::Exception {
public:
    explicit BudgetError(const std::string& message)
        : cv::Exception(cv::Error::StsOutOfRange, message, "", __FILE__, __LINE__) {}
};

/// The limits of a job, and the bytes in use. All functions of the job receive the same Budget by reference.
/// Several threads may call takeBytes() and giveBytes() in parallel.
class Budget {
public:
    /// Allows `maxBytes` in use at the same time, and `maxSeconds` from now. 0 or less means no limit.
    explicit Budget(std::int64_t maxBytes = 0, double maxSeconds = 0)
        : m_maxBytes(maxBytes), m_maxSeconds(maxSeconds), m_start(Clock::now()) {}

    std::int64_t maxBytes() const { return m_maxBytes; }
    std::int64_t bytes() const { return m_bytes; }  ///< taken and not yet given back

    /// Replaces the limits, for jobs that learn the size of their input late. Does not restart the time.
    void setLimits(std::int64_t maxBytes, double maxSeconds) {
        m_maxBytes = maxBytes;
        m_maxSeconds = maxSeconds;
    }

    /// Takes `bytes`, or throws BudgetError if too few are left. `what` describes the bytes, for example "the
    /// output of Expand".
    void takeBytes(std::int64_t bytes, const std::string& what) {
        if (bytes < 0) throwBytes(what);
        const std::int64_t before = m_bytes.fetch_add(bytes);
        if (m_maxBytes <= 0 || bytes <= m_maxBytes - before) return;
        m_bytes -= bytes;
        throwBytes(what);
    }
    void giveBytes(std::int64_t bytes) { m_bytes -= bytes; }

    /// Throws BudgetError if `maxSeconds` have passed. The check is cheap enough for every step of a loop.
    void checkTime() const {
        if (isTimeOver())
            throw BudgetError("more time is needed than allowed (--max-seconds " + secondsText() +
                              "); raise --max-seconds if the file is yours");
    }
    bool isTimeOver() const {
        if (m_maxSeconds <= 0) return false;
        const std::chrono::duration<double> spent = Clock::now() - m_start;
        return spent.count() > m_maxSeconds;
    }

private:
    using Clock = std::chrono::steady_clock;

    [[noreturn]] void throwBytes(const std::string& what) const {
        throw BudgetError(what + " needs more memory than allowed (--max-memory " +
                          std::to_string(m_maxBytes) + " bytes); raise --max-memory if the file is yours");
    }

    std::string secondsText() const {
        std::string text = std::to_string(m_maxSeconds);  // six digits after the point
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.' || text.back() == ',') text.pop_back();
        return text;
    }

    std::int64_t m_maxBytes;
    double m_maxSeconds;
    Clock::time_point m_start;
    std::atomic<std::int64_t> m_bytes{0};
};

}  // namespace mpm
