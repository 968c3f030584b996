// A source with a time limit for reads: a read may hang forever in a driver, a server or a file system.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "pipeline/source/source.hpp"

namespace mpm::pipeline {

/// Thrown if a read did not return; its thread was left behind.
class LeftBehind : public SourceError {
public:
    using SourceError::SourceError;
};

/// Opens and reads another source in a separate thread.
class PatientSource : public Source {
public:
    /// Limit for each opening, and for the wait for the first frame.
    static constexpr std::chrono::seconds kFirstFrame{60};

    /// Called a few times a second with the duration of the present call; true ends the wait.
    using GiveUp = std::function<bool(double seconds)>;

    PatientSource(std::unique_ptr<Source> source, GiveUp giveUp,
                  std::chrono::milliseconds firstFrame = kFirstFrame);
    ~PatientSource() override;

    /// Like the functions of the wrapped source, but these also throw LeftBehind.
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
    std::optional<std::chrono::milliseconds> m_firstFrame;  ///< absent after the first frame
    std::string m_name;
};

/// Whether a thread of a source still hangs. Then the program must end without destroying its objects.
bool anyLeftBehind();
void noteLeftBehind();

}  // namespace mpm::pipeline
