// The reason why a source cannot be used: a kind with arguments, so that programs can translate the reason.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace mpm::pipeline {

struct SourceProblem {
    enum class Kind {
        None,
        Other,              ///< arguments: the text of a driver or a library
        NoSuchSource,       ///< no source has this address
        PermissionDenied,   ///< the file or folder exists, and this program may not read it
        NoSuchCamera,       ///< no such camera, or another program uses it
        PipelineRejected,   ///< GStreamer rejected the pipeline
        CannotConnect,      ///< no connection to a stream
        NotAVideo,          ///< the file is damaged, or of an unknown format
        NotAFile,           ///< a pipe or a device in place of a video
        Playlist,           ///< a playlist or another text in place of a video
        PlaylistElsewhere,  ///< a playlist with parts on another host
        VideoDamaged,       ///< arguments: numbers of frames read and announced
        StreamBroke,        ///< arguments: number of frames read
        StreamEnded,        ///< the sender closed the stream
        NotEightBit,        ///< frames of a format that is not supported
        NoImages,           ///< a folder or glob without images
        UnreadableImage,    ///< an image among several; arguments: the reason
        AllImagesUnreadable,
        Empty,         ///< the source has no frame
        StillReading,  ///< an earlier read has not returned yet
        NoFrameInTime,
        NoSuchVariable,       ///< the variable of env:NAME does not exist
        EmptyName,            ///< the value of env:NAME or secret:NAME is empty
        NestedName,           ///< the value of env:NAME or secret:NAME is env:... or secret:...
        NoKeychainEntry,      ///< the entry of secret:NAME does not exist
        KeychainUnavailable,  ///< arguments: the reason
        BuiltWithoutKeychain,
    };
    static constexpr int kKinds = static_cast<int>(Kind::BuiltWithoutKeychain) + 1;

    Kind kind = Kind::None;
    std::string source;  ///< the address, without passwords
    std::vector<std::string> arguments;

    /// Returns "SOURCE: sentence" in English; empty for Kind::None.
    std::string message() const;

    bool operator==(const SourceProblem& other) const {
        return kind == other.kind && source == other.source && arguments == other.arguments;
    }
};

/// Returns `problem` with redacted() applied to each text.
SourceProblem redacted(SourceProblem problem);

/// Thrown if a source cannot be opened or read. Contains no password.
class SourceError : public std::runtime_error {
public:
    explicit SourceError(SourceProblem problem)
        : std::runtime_error(problem.message()), m_problem(std::move(problem)) {}
    SourceError(SourceProblem::Kind kind, const std::string& source, std::vector<std::string> arguments = {})
        : SourceError(SourceProblem{kind, source, std::move(arguments)}) {}
    /// Makes an error of Kind::Other with this message.
    explicit SourceError(const std::string& message)
        : SourceError(SourceProblem::Kind::Other, std::string(), {message}) {}

    const SourceProblem& problem() const { return m_problem; }
    SourceProblem::Kind kind() const { return m_problem.kind; }

private:
    SourceProblem m_problem;
};

/// Thrown if an image cannot be read; the next call continues with the next image.
class BadImage : public SourceError {
public:
    using SourceError::SourceError;
};

}  // namespace mpm::pipeline
