#include "models/onnx/ir/job.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/checked.hpp"

namespace mpm::models {
namespace {

// With these limits, a ViT-g of a billion weights in int8 (1 GB) gets 17 GB. A ViT-Ti (22 MB) gets 1.4 GB,
// enough for the attention of three images of 1024x1024.
constexpr std::int64_t kBaseBytes = std::int64_t{1} << 30;
constexpr std::int64_t kBytesPerByte = 16;
constexpr double kBaseSeconds = 25;
constexpr double kSecondsPerByte = 5.0 / (1 << 20);

struct Current {
    std::shared_ptr<Budget> budget;
    Limits limits;
    std::int64_t fileBytes = 0;
    std::set<std::pair<std::uint64_t, std::uint64_t>> files;
};

thread_local Current t_job;

void applyLimits() {
    const std::int64_t bytes =
        checkedSum<std::int64_t>(kBaseBytes, checkedProduct<std::int64_t>(kBytesPerByte, t_job.fileBytes));
    const double seconds = kBaseSeconds + kSecondsPerByte * static_cast<double>(t_job.fileBytes);
    t_job.budget->setLimits(t_job.limits.bytes > 0 ? t_job.limits.bytes : bytes,
                            t_job.limits.seconds > 0 ? t_job.limits.seconds : seconds);
}

}  // namespace

Job::Job(const Limits& limits) : m_outermost(t_job.budget == nullptr) {
    if (!m_outermost) return;
    t_job.budget = std::make_shared<Budget>();
    t_job.limits = limits;
    applyLimits();
}

Job::~Job() {
    if (m_outermost) t_job = {};
}

Held::~Held() {
    if (m_budget) m_budget->giveBytes(m_bytes);
}

void Held::add(std::int64_t bytes, const std::string& purpose) {
    if (!m_budget) m_budget = t_job.budget;
    if (!m_budget) return;
    m_budget->takeBytes(bytes, purpose);
    m_bytes += bytes;
}

void allowFor(std::uint64_t device, std::uint64_t node, std::int64_t bytes) {
    if (!t_job.budget || !t_job.files.emplace(device, node).second) return;
    t_job.fileBytes = std::min(checkedSum<std::int64_t>(t_job.fileBytes, bytes), std::int64_t{1} << 50);
    applyLimits();
}

void checkTime() {
    if (t_job.budget) t_job.budget->checkTime();
}

Deadline::Deadline() : m_budget(t_job.budget) {}

void checkRoom(std::int64_t bytes, const std::string& purpose) {
    const Held held(bytes, purpose);
}

}  // namespace mpm::models
