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
    /// Must be called at the end. Returns `status`, or 1 instead of 0 if measurements were lost.
    int finish(int status);

signals:
    /// The monitor cannot continue; `status`: the exit status of the program.
    void failed(int status);

private:
    void connectEngine(Engine& engine);
    void onReport(const Engine& engine, const SourceReport& report);
    void onModel(const ModelFactsPtr& facts);

    std::map<const Engine*, pipeline::SourceState> m_logged;  // by source: the newest state in the log
    std::set<const Engine*> m_measured;
    Session m_session;
};

/// Runs until SIGINT or SIGTERM, or for `--after` seconds. Returns the program's exit status: 0; 3 if the
/// profile, the source, the model or the store cannot be used; 1 if a part stopped or measurements were lost.
int runHeadless(int& argc, char** argv, const Options& options);

}  // namespace mpm::gui
