#include "gui/text/source_text.hpp"

#include "base/printable.hpp"

namespace mpm::gui {

namespace {

using Kind = pipeline::SourceProblem::Kind;

QString openingText(Kind kind) {
    switch (kind) {
        case Kind::NoSuchSource:
            return SourceText::tr(
                "no such source; name a camera index, a video, an image, a folder or glob of images, a URL, "
                "gst: and a pipeline, env:NAME, secret:NAME, or demo");
        case Kind::PermissionDenied:
            return SourceText::tr("permission denied");
        case Kind::NoSuchCamera:
            return SourceText::tr("no such camera, or it is in use; list them with 'ls /dev/video*'");
        case Kind::PipelineRejected:
            return SourceText::tr(
                "GStreamer rejected the pipeline; try it with gst-launch-1.0, it must end in appsink");
        case Kind::CannotConnect:
            return SourceText::tr(
                "cannot connect; check address, port, user and password, and that the stream runs");
        case Kind::NotAVideo:
            return SourceText::tr("not a video that can be read (damaged, or of an unknown format)");
        case Kind::NotAFile:
            return SourceText::tr(
                "not a regular file; a pipe is read through gst:filesrc, a camera by its index");
        case Kind::Playlist:
            return SourceText::tr("a playlist or another text, not a video; name the video itself");
        case Kind::PlaylistElsewhere:
            return SourceText::tr("the playlist names another host; its parts must be on its own");
        case Kind::NoImages:
            return SourceText::tr(
                "no image there; name an image, a folder with images, or a glob as 'in/*.jpg'");
        default:
            return {};
    }
}

QString readingText(Kind kind) {
    switch (kind) {
        case Kind::VideoDamaged:
            return SourceText::tr("damaged after frame %1 of %2");
        case Kind::StreamBroke:
            return SourceText::tr("the stream broke off after %1 frames");
        case Kind::StreamEnded:
            return SourceText::tr("the stream ended");
        case Kind::NotEightBit:
            return SourceText::tr("frames are not 8-bit images; convert them to BGR");
        case Kind::AllImagesUnreadable:
            return SourceText::tr("none of its images can be read");
        case Kind::Empty:
            return SourceText::tr("it is empty");
        case Kind::StillReading:
            return SourceText::tr("an earlier read has not returned");
        case Kind::NoFrameInTime:
            return SourceText::tr("no frame came in time");
        default:
            return {};
    }
}

QString nameText(Kind kind) {
    switch (kind) {
        case Kind::NoSuchVariable:
            return SourceText::tr("there is no such variable in the environment; set and export it first");
        case Kind::EmptyName:
            return SourceText::tr("it is empty; it must hold a source");
        case Kind::NestedName:
            return SourceText::tr("it names another env: or secret:; it must hold a source itself");
        case Kind::NoKeychainEntry:
            return SourceText::tr("the keychain has no such entry");
        case Kind::KeychainUnavailable:
            return SourceText::tr("the keychain is not available (%1)");
        case Kind::BuiltWithoutKeychain:
            return SourceText::tr("this program was built without a keychain");
        default:
            return {};
    }
}

}  // namespace

QString shownTitle(const QString& title) {
    return title == QStringLiteral("demo") ? SourceText::tr("Built-in street") : title;
}

pipeline::SourceProblem safeProblem(const pipeline::Address& address, pipeline::SourceProblem problem,
                                    std::size_t limit) {
    problem.source = printable(address.redact(problem.source), limit);
    for (std::string& argument : problem.arguments)
        argument = printable(address.redact(argument), limit);
    return problem;
}

QString sourceProblemText(const pipeline::SourceProblem& problem) {
    QString text = openingText(problem.kind) + readingText(problem.kind) + nameText(problem.kind);
    if (text.isEmpty()) return QString::fromStdString(problem.message());  // the words of a library
    QStringList arguments;
    for (const std::string& argument : problem.arguments)
        arguments << QString::fromStdString(argument);
    // All at once: an argument may hold %2 itself.
    if (arguments.size() == 1) text = text.arg(arguments[0]);
    if (arguments.size() == 2) text = text.arg(arguments[0], arguments[1]);
    return problem.source.empty() ? text
                                  : QString::fromStdString(problem.source) + QStringLiteral(": ") + text;
}

}  // namespace mpm::gui
