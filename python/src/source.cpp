// The frames of sources, for mpm.Model.stream.
#include "pipeline/source/patient.hpp"
#include "python/src/border.hpp"

using namespace mpm::python;
namespace pipeline = mpm::pipeline;

struct mpm_source {
    explicit mpm_source(const char* address)
        : source(pipeline::makeSource(pipeline::Address(address)),
                 [this](double) { return progress(0, 0) != 0; }) {}

    pipeline::PatientSource source;
    mpm_progress progress = nullptr;  ///< the callback of the current call
    double seconds = 0;
};

/// Runs `read`. Throws Stopped if `progress` asked to stop.
template <class Read>
static void readWith(mpm_source& source, mpm_progress progress, const Read& read) {
    source.progress = progress;
    try {
        read();
    } catch (const pipeline::LeftBehind&) {
        if (progress(0, 0) != 0) throw Stopped();
        throw;
    }
}

int mpm_source_open(const char* address, mpm_source** source, mpm_progress progress, char** error) {
    return guarded(error, [&] {
        auto opened = std::make_unique<mpm_source>(address);
        readWith(*opened, progress, [&] { opened->source.open(); });
        *source = opened.release();
    });
}

void mpm_source_free(mpm_source* source) {
    delete source;
}

int mpm_source_next(mpm_source* source, mpm_buffer** image, char** name, char** skipped,
                    mpm_progress progress, char** error) {
    return guarded(error, [&] {
        pipeline::Frame frame;
        *image = nullptr;
        std::string unreadable;
        bool more = false;
        readWith(*source, progress, [&] {
            more = pipeline::nextReadable(source->source, frame, [&](const std::string& message) {
                unreadable += (unreadable.empty() ? "" : "; ") + message;
                return true;
            });
        });
        if (!unreadable.empty()) *skipped = textOf(unreadable);
        if (!more) return;
        *image = bufferOf(frame.image);
        *name = textOf(frame.name);
        source->seconds = frame.seconds;
    });
}

double mpm_source_seconds(const mpm_source* source) {
    return source->seconds;
}
