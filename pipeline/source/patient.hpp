// A source whose calls have a time limit, because a driver, a server or a file system may hang forever.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "pipeline/source/source.hpp"

namespace mpm::pipeline {

/// Thrown if a call did not return in time. The thread of the call still hangs and is never joined.
class LeftBehind : public SourceError {
public:
    using SourceError::SourceError;
};

/// A source that opens and reads another source in a separate thread.
class PatientSource : public Source {
public:
    /// Time limit of each call until the first frame is read.
    static constexpr std::chrono::seconds kFirstFrame{60};

    /// A function that a PatientSource calls ten times a second while it waits, with the seconds since the
    /// wait began. If the function returns true, the PatientSource gives up.
    using GiveUp = std::function<bool(double seconds)>;

    PatientSource(std::unique_ptr<Source> source, GiveUp giveUp,
                  std::chrono::milliseconds firstFrame = kFirstFrame);
    ~PatientSource() override;

    /// The next three functions call the wrapped source's functions; a call that hangs throws LeftBehind.
    void open() override;
    bool next(Frame& frame) override;
    bool seek(std::int64_t frame) override;

    bool live() const override;
    std::string name() const override { return m_name; }
    std::int64_t length() const override;
    double rate() const override;

private:
    class Worker;
    void call(std::function<void()> work);

    std::shared_ptr<Worker> m_worker;
    GiveUp m_giveUp;
    std::optional<std::chrono::milliseconds> m_firstFrame;  ///< the limit; absent after the first frame
    std::string m_name;
};

/// Returns whether a thread of a source still hangs. If so, the program must end without destroying objects
/// that the thread may use.
bool anyLeftBehind();
void noteLeftBehind();

}  // namespace mpm::pipeline
