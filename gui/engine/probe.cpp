#include "gui/engine/probe.hpp"

#include "base/printable.hpp"
#include "gui/engine/analysis.hpp"
#include "gui/text/source_text.hpp"

namespace mpm::gui {

namespace {

constexpr std::chrono::milliseconds kProbePoll{100};
constexpr double kMeasured = 1.5;  // seconds of measurement before the rate is shown

}  // namespace

Probe::Probe(pipeline::Address address, std::vector<pipeline::Polygon> masks)
    : Worker("probe"), m_address(std::move(address)), m_masks(std::move(masks)) {
    connect(this, &QThread::finished, this, &QObject::deleteLater);
}

void Probe::abandon() {
    disconnect(this, &Probe::found, nullptr, nullptr);
    stop();
    if (!isRunning()) deleteLater();
}

void Probe::work() {
    pipeline::ReaderOptions options;
    options.loop = true;
    pipeline::Reader reader(m_address, options);
    const Steady::time_point begun = Steady::now();
    std::optional<Steady::time_point> first;
    ProbeResult result;
    std::int64_t before = 0;
    for (pipeline::Frame frame; !stopping();) {
        const bool came = reader.take(frame, kProbePoll);
        const pipeline::SourceStatus status = reader.status();
        if (came) {
            if (!first) first = Steady::now(), before = status.frames;
            pipeline::applyMasks(frame.image, m_masks);
            result.image = toImage(frame.image);
            result.size = frame.image.size();
            result.codec = printable(status.codec, 8);
            const double seconds = std::chrono::duration<double>(Steady::now() - *first).count();
            // If a live stream has no rate, OpenCV reports an invented rate. So the rate of every live source
            // is measured.
            result.rate = status.rate > 0 && !status.live ? status.rate
                          : seconds > kMeasured           ? double(status.frames - before) / seconds
                                                          : 0;
            post([this, result] { emit found(result); });
            continue;
        }
        const bool silent = !first && Steady::now() - begun > kPatience;
        const bool broken =
            status.state == pipeline::SourceState::Failed || status.state == pipeline::SourceState::Retrying;
        if (first || !(silent || broken)) continue;
        result.failed = true;
        result.problem = safeProblem(m_address, status.problem, 400);
        post([this, result] { emit found(result); });
        return;
    }
}

}  // namespace mpm::gui
