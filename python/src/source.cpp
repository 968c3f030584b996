// Frames of sources, for mpm.Model.stream.
#include "pipeline/source/source.hpp"

#include "python/src/border.hpp"

using namespace mpm::python;

struct mpm_source {
    std::unique_ptr<mpm::pipeline::Source> source;
    double seconds = 0;
};

int mpm_source_open(const char* address, mpm_source** source, char** error) {
    return guarded(error, [&] {
        auto opened = std::make_unique<mpm_source>();
        opened->source = mpm::pipeline::makeSource(mpm::pipeline::Address(address), {});
        opened->source->open();
        *source = opened.release();
    });
}

void mpm_source_free(mpm_source* source) {
    delete source;
}

int mpm_source_next(mpm_source* source, mpm_buffer** image, char** name, char** skipped, char** error) {
    return guarded(error, [&] {
        mpm::pipeline::Frame frame;
        *image = nullptr;
        std::string unreadable;
        const bool more =
            mpm::pipeline::nextReadable(*source->source, frame, [&](const std::string& message) {
                unreadable += (unreadable.empty() ? "" : "; ") + message;
                return true;
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
