// The monitor without a window: same profile, same engine, same alerts and publishing; no display needed.
#pragma once

#include <memory>
#include <vector>

#include "gui/engine/engine.hpp"
#include "gui/services/services.hpp"
#include "gui/session/options.hpp"
#include "gui/session/profile.hpp"

namespace mpm::gui {

class Headless : public QObject {
    Q_OBJECT
public:
    /// Throws WatchError where the profile's watch file is damaged: without its masks nothing is watched.
    explicit Headless(const Options& options, QObject* parent = nullptr);
    ~Headless() override;

    const std::vector<std::unique_ptr<Engine>>& engines() const { return m_engines; }
    Services& services() { return m_services; }
    /// At the end: the program's status, which is 1 instead of 0 where measurements were lost.
    int finish(int status);

signals:
    /// It cannot go on; `status` is the program's.
    void gaveUp(int status);

private:
    void open(const QString& source);
    void start(Engine& engine, const QString& source, const QString& key);
    void onReport(Engine& engine, const SourceReport& report);
    void onModel(const ModelFactsPtr& facts);

    const Profile m_profile;
    const ProfileState m_state;
    const int m_dayCycle;
    const bool m_ownSource;  // none was named on the command line
    SharedNetwork m_network;
    Services m_services;
    std::vector<std::unique_ptr<Engine>> m_engines;
    std::map<const Engine*, pipeline::SourceState> m_told;
};

/// Runs until SIGINT, SIGTERM, or `--after` seconds. Returns the program's exit status: 0, or 3 where source
/// or model cannot be used.
int runHeadless(int& argc, char** argv, const Options& options);

}  // namespace mpm::gui
