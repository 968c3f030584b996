#include "pipeline/source/source_error.hpp"

#include "pipeline/source/address.hpp"

namespace mpm::pipeline {

namespace {

using Kind = SourceProblem::Kind;

/// For sources by name (env:, secret:). %1 and %2 are the arguments.
const char* nameSentenceOf(Kind kind) {
    switch (kind) {
        case Kind::NoSuchVariable:
            return "there is no such variable in the environment; set and export it first";
        case Kind::EmptyName:
            return "it is empty; it must hold a source";
        case Kind::NestedName:
            return "it names another env: or secret:; it must hold a source itself";
        case Kind::NoKeychainEntry:
            return "the keychain has no such entry; keep one with 'secret-tool store --label=NAME server "
                   "mpm-monitor user NAME'";
        case Kind::KeychainUnavailable:
            return "the keychain is not available (%1); start a desktop session with one, or use env:NAME or "
                   "--source-from FILE";
        case Kind::BuiltWithoutKeychain:
            return "this program was built without a keychain (libsecret); use env:NAME or --source-from "
                   "FILE";
        default:
            return "";
    }
}

const char* sentenceOf(Kind kind) {
    switch (kind) {
        case Kind::None:
            return "";
        case Kind::Other:
        case Kind::UnreadableImage:
            return "%1";
        case Kind::NoSuchSource:
            return "no such source; name a camera index, a video, an image, a folder or glob of images, a "
                   "URL, gst: and a pipeline, env:NAME, secret:NAME, or demo";
        case Kind::PermissionDenied:
            return "permission denied";
        case Kind::NoSuchCamera:
            return "no such camera, or it is in use; list them with 'ls /dev/video*'";
        case Kind::PipelineRejected:
            return "GStreamer rejected the pipeline; try it with gst-launch-1.0, it must end in appsink";
        case Kind::CannotConnect:
            return "cannot connect; check address, port, user and password, and that the stream runs";
        case Kind::NotAVideo:
            return "not a video that can be read (damaged, or of an unknown format)";
        case Kind::NotAFile:
            return "not a regular file; a pipe is read through gst:filesrc, a camera by its index";
        case Kind::Playlist:
            return "a playlist or another text, not a video; name the video itself";
        case Kind::PlaylistElsewhere:
            return "the playlist names another host; its parts must be on its own";
        case Kind::VideoDamaged:
            return "damaged after frame %1 of %2";
        case Kind::StreamBroke:
            return "the stream broke off after %1 frames";
        case Kind::StreamEnded:
            return "the stream ended";
        case Kind::NotEightBit:
            return "frames are not 8-bit images; convert them to BGR";
        case Kind::NoImages:
            return "no image there; name an image, a folder with images, or a glob as 'in/*.jpg'";
        case Kind::AllImagesUnreadable:
            return "none of its images can be read";
        case Kind::Empty:
            return "it is empty";
        case Kind::StillReading:
            return "an earlier read has not returned";
        case Kind::NoFrameInTime:
            return "no frame came in time";
        default:
            return nameSentenceOf(kind);
    }
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
