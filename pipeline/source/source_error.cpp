#include "pipeline/source/source_error.hpp"

#include <utility>

#include "pipeline/source/address.hpp"

namespace mpm::pipeline {

namespace {

using Kind = SourceProblem::Kind;

/// The sentence of each kind, except None. %1 and %2 stand for the arguments.
constexpr std::pair<Kind, const char*> kSentences[] = {
    {Kind::Other, "%1"},
    {Kind::NoSuchSource,
     "no such source; name a camera index, a video, an image, a folder or glob of images, a URL, gst: and a "
     "pipeline, env:NAME, secret:NAME, or demo"},
    {Kind::PermissionDenied, "permission denied"},
    {Kind::NoSuchCamera, "no such camera, or it is in use; list them with 'ls /dev/video*'"},
    {Kind::PipelineRejected,
     "GStreamer rejected the pipeline; try it with gst-launch-1.0, it must end in appsink"},
    {Kind::CannotConnect, "cannot connect; check address, port, user and password, and that the stream runs"},
    {Kind::NotAVideo, "not a video that can be read (damaged, or of an unknown format)"},
    {Kind::NotAFile, "not a regular file; a pipe is read through gst:filesrc, a camera by its index"},
    {Kind::Playlist, "a playlist or another text, not a video; name the video itself"},
    {Kind::PlaylistElsewhere, "the playlist names another host; its parts must be on its own"},
    {Kind::VideoDamaged, "damaged after frame %1 of %2"},
    {Kind::StreamBroke, "the stream broke off after %1 frames"},
    {Kind::StreamEnded, "the stream ended"},
    {Kind::NotEightBit, "frames are not 8-bit images; convert them to BGR"},
    {Kind::NoImages, "no image there; name an image, a folder with images, or a glob as 'in/*.jpg'"},
    {Kind::UnreadableImage, "%1"},
    {Kind::AllImagesUnreadable, "none of its images can be read"},
    {Kind::Empty, "it is empty"},
    {Kind::StillReading, "an earlier read has not returned"},
    {Kind::NoFrameInTime, "no frame came in time"},
    {Kind::NoSuchVariable, "there is no such variable in the environment; set and export it first"},
    {Kind::EmptyName, "it is empty; it must hold a source"},
    {Kind::NestedName, "it names another env: or secret:; it must hold a source itself"},
    {Kind::NoKeychainEntry,
     "the keychain has no such entry; keep one with 'secret-tool store --label=NAME server mpm-monitor user "
     "NAME'"},
    {Kind::KeychainUnavailable,
     "the keychain is not available (%1); start a desktop session with one, or use env:NAME or --source-from "
     "FILE"},
    {Kind::BuiltWithoutKeychain,
     "this program was built without a keychain (libsecret); use env:NAME or --source-from FILE"},
};

const char* sentenceOf(Kind kind) {
    for (const auto& [known, sentence] : kSentences)
        if (known == kind) return sentence;
    return "";
}

std::string withArguments(const std::string& sentence, const std::vector<std::string>& arguments) {
    std::string text;
    for (size_t i = 0; i < sentence.size(); ++i) {
        const bool place = sentence[i] == '%' && i + 1 < sentence.size() && sentence[i + 1] >= '1';
        const size_t index = place ? static_cast<size_t>(sentence[i + 1] - '1') : 0;
        if (!place || index >= arguments.size()) {
            text += sentence[i];
            continue;
        }
        text += arguments[index];
        ++i;
    }
    return text;
}

}  // namespace

std::string SourceProblem::message() const {
    const std::string sentence = withArguments(sentenceOf(kind), arguments);
    return source.empty() || sentence.empty() ? sentence : source + ": " + sentence;
}

SourceProblem redacted(SourceProblem problem) {
    problem.source = redacted(problem.source);
    for (std::string& argument : problem.arguments)
        argument = redacted(argument);
    return problem;
}

}  // namespace mpm::pipeline
