// The monitor without a window: a session on a machine that may have no display.
#pragma once

#include <map>
#include <set>
#include <stdexcept>

#include "gui/session/session.hpp"

namespace mpm::gui {

/// Thrown if another program measures with the same profile.
class ProfileInUse : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Headless : public QObject {
    Q_OBJECT
public:
    /// Throws ProfileInUse. Throws WatchError if the profile's watch file is damaged, because sources must
    /// not be opened without their masks.
    explicit Headless(const Options& options);

    Session& session() { return m_session; }
    /// Must be called at the end. Returns `status`, but 1 instead of 0 if measurements were lost.
    int finish(int status);

signals:
    /// Emitted if the monitor cannot continue. `status`: the exit status of the program.
    void failed(int status);

private:
    void connectEngine(Engine& engine);
    void onReport(const Engine& engine, const SourceReport& report);
    void onModel(const ModelFactsPtr& facts);

    std::map<const Engine*, pipeline::SourceState> m_logged;  // the last logged state of each source
    std::set<const Engine*> m_measured;
    Session m_session;
};

/// Runs until SIGINT or SIGTERM, or for `--after` seconds. Returns the program's exit status: 3 if profile,
/// source, model or store cannot be used; 1 if a thread failed or measurements were lost; otherwise 0.
int runHeadless(int& argc, char** argv, const Options& options);

}  // namespace mpm::gui
