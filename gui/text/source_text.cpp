#include "gui/text/source_text.hpp"

#include <algorithm>
#include <utility>

#include "base/printable.hpp"

namespace mpm::gui {

namespace {

using Kind = pipeline::SourceProblem::Kind;

/// Returns the translated sentence; empty for a message from a library.
QString textOf(Kind kind) {
    const std::pair<Kind, QString> texts[] = {
        {Kind::NoSuchSource,
         SourceText::tr(
             "no such source; name a camera index, a video, an image, a folder or glob of images, a URL, "
             "gst: and a pipeline, env:NAME, secret:NAME, or demo")},
        {Kind::PermissionDenied, SourceText::tr("permission denied")},
        {Kind::NoSuchCamera,
         SourceText::tr("no such camera, or it is in use; list them with 'ls /dev/video*'")},
        {Kind::PipelineRejected,
         SourceText::tr(
             "GStreamer rejected the pipeline; try it with gst-launch-1.0, it must end in appsink")},
        {Kind::CannotConnect,
         SourceText::tr("cannot connect; check address, port, user and password, and that the stream runs")},
        {Kind::NotAVideo, SourceText::tr("not a video that can be read (damaged, or of an unknown format)")},
        {Kind::NotAFile,
         SourceText::tr("not a regular file; a pipe is read through gst:filesrc, a camera by its index")},
        {Kind::Playlist, SourceText::tr("a playlist or another text, not a video; name the video itself")},
        {Kind::PlaylistElsewhere,
         SourceText::tr("the playlist names another host; its parts must be on the playlist's host")},
        {Kind::NoImages,
         SourceText::tr("no image there; name an image, a folder with images, or a glob as 'in/*.jpg'")},
        {Kind::VideoDamaged, SourceText::tr("damaged after frame %1 of %2")},
        {Kind::StreamBroke, SourceText::tr("the stream broke off after %1 frames")},
        {Kind::StreamEnded, SourceText::tr("the stream ended")},
        {Kind::NotEightBit, SourceText::tr("frames are not 8-bit images; convert them to BGR")},
        {Kind::AllImagesUnreadable, SourceText::tr("none of its images can be read")},
        {Kind::Empty, SourceText::tr("it is empty")},
        {Kind::StillReading, SourceText::tr("an earlier read has not returned")},
        {Kind::NoFrameInTime, SourceText::tr("no frame came in time")},
        {Kind::NoSuchVariable,
         SourceText::tr("there is no such variable in the environment; set and export it first")},
        {Kind::EmptyName, SourceText::tr("it is empty; it must hold a source")},
        {Kind::NestedName, SourceText::tr("it names another env: or secret:; it must hold a source itself")},
        {Kind::NoKeychainEntry, SourceText::tr("the keychain has no such entry")},
        {Kind::KeychainUnavailable, SourceText::tr("the keychain is not available (%1)")},
        {Kind::BuiltWithoutKeychain, SourceText::tr("this program was built without a keychain")}};
    const auto* const found = std::find_if(std::begin(texts), std::end(texts),
                                           [kind](const auto& entry) { return entry.first == kind; });
    return found != std::end(texts) ? found->second : QString();
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
    QString text = textOf(problem.kind);
    if (text.isEmpty()) return QString::fromStdString(problem.message());
    QStringList arguments;
    for (const std::string& argument : problem.arguments)
        arguments << QString::fromStdString(argument);
    // Inserts all arguments in one call, because an argument may contain %2.
    if (arguments.size() == 1) text = text.arg(arguments[0]);
    if (arguments.size() == 2) text = text.arg(arguments[0], arguments[1]);
    return problem.source.empty() ? text
                                  : QString::fromStdString(problem.source) + QStringLiteral(": ") + text;
}

}  // namespace mpm::gui
