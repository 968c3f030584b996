// A thread that tries a source: finds its newest image, size, rate and codec.
#pragma once

#include <QImage>

#include "gui/engine/worker.hpp"
#include "pipeline/source/reader.hpp"
#include "pipeline/watch/region.hpp"

namespace mpm::gui {

struct ProbeResult {
    QImage image;  ///< the newest image; null before the first image
    cv::Size size;
    double rate = 0;    ///< frames a second, as the video states or as measured; 0: not known yet
    std::string codec;  ///< four letters; empty: not known
    bool failed = false;
    pipeline::SourceProblem problem;  ///< contains no secrets
};

/// Deletes itself after its thread ends. Nothing waits for the thread, because a driver may hang.
class Probe : public Worker {
    Q_OBJECT
public:
    Probe(pipeline::Address address, std::vector<pipeline::Polygon> masks);
    ~Probe() override { finish(); }

    /// Stops without waiting; found() is not emitted any more.
    void abandon();

    static constexpr std::chrono::seconds kPatience{20};

signals:
    /// Emitted for each image, or once if no image comes.
    void found(const mpm::gui::ProbeResult& result);

protected:
    void work() override;

private:
    const pipeline::Address m_address;
    const std::vector<pipeline::Polygon> m_masks;
};

}  // namespace mpm::gui
