// Tries a source: the newest image, and the size, rate and codec.
#pragma once

#include <QImage>

#include "gui/engine/worker.hpp"
#include "pipeline/source/reader.hpp"
#include "pipeline/watch/region.hpp"

namespace mpm::gui {

struct ProbeResult {
    QImage image;  ///< the newest; null until the first
    cv::Size size;
    double rate = 0;    ///< frames a second, as measured or of the video; 0: not known yet
    std::string codec;  ///< four letters; empty: not known
    bool failed = false;
    pipeline::SourceProblem problem;  ///< without secrets
};

/// Deletes itself when its thread has ended: a driver may hang.
class Probe : public Worker {
    Q_OBJECT
public:
    Probe(pipeline::Address address, std::vector<pipeline::Polygon> masks);
    ~Probe() override { finish(); }

    /// Stops without waiting; nothing is reported any more.
    void abandon();

    static constexpr std::chrono::seconds kPatience{20};

signals:
    /// Several times a second while images come; once if none can come.
    void found(const mpm::gui::ProbeResult& result);

protected:
    void work() override;

private:
    const pipeline::Address m_address;
    const std::vector<pipeline::Polygon> m_masks;
};

}  // namespace mpm::gui
