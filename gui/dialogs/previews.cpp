#include "gui/dialogs/previews.hpp"

#include "gui/engine/analysis.hpp"

namespace mpm::gui {

namespace {

constexpr std::chrono::milliseconds kPoll{100}, kPatience{3'000};

}  // namespace

void Previews::work() {
    for (const QString& file : m_files) {
        pipeline::Reader reader(pipeline::Address(file.toStdString()), pipeline::ReaderOptions());
        pipeline::Frame frame;
        const Steady::time_point begun = Steady::now();
        bool came = false;
        while (!came && !stopping() && reader.running() && Steady::now() - begun < kPatience)
            came = reader.take(frame, kPoll);
        if (stopping()) return;
        if (!came) continue;
        const pipeline::SourceStatus status = reader.status();
        const double seconds = status.rate > 0 ? double(status.length) / status.rate : 0;
        const QImage image = toImage(frame.image).scaledToWidth(kWidth, Qt::SmoothTransformation);
        post([this, file, image, seconds] { emit found(file, image, seconds); });
    }
}

}  // namespace mpm::gui
