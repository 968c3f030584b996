// The monitor without a window: the same session, no display needed.
#pragma once

#include <map>
#include <stdexcept>

#include "gui/session/session.hpp"

namespace mpm::gui {

/// Another program measures with the same profile.
class ProfileInUse : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Headless : public QObject {
    Q_OBJECT
public:
    /// Throws ProfileInUse, and WatchError where the profile's watch file is damaged: without its masks no
    /// source is opened.
    explicit Headless(const Options& options);

    Session& session() { return m_session; }
    /// At the end: the program's status, which is 1 instead of 0 if measurements were lost.
    int finish(int status);

signals:
    /// It cannot go on; `status` is the program's.
    void failed(int status);

private:
    void connectEngine(Engine& engine);
    void onReport(const Engine& engine, const SourceReport& report);
    void onModel(const ModelFactsPtr& facts);

    std::map<const Engine*, pipeline::SourceState> m_logged;  // the state of each source in the log
    Session m_session;
};

/// Runs until SIGINT, SIGTERM, or `--after` seconds. Returns the program's exit status: 0, or 3 where source
/// or model cannot be used.
int runHeadless(int& argc, char** argv, const Options& options);

}  // namespace mpm::gui
