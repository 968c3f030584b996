// The sources of a session and their engines. Opens sources, and finds the names under which the settings of
// a source are stored.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "gui/services/services.hpp"
#include "gui/session/profile.hpp"

namespace mpm::gui {

class Sources : public QObject {
    Q_OBJECT
public:
    /// `dayCycle`: number of frames in a day of the built-in street; 0: the usual number. All references must
    /// outlive this object.
    Sources(const Profile& profile, const ProfileState& state, int dayCycle, SharedNetwork& network,
            Services& services);

    /// Makes the store read-only for sources that are added later.
    void setReadOnly() { m_access = pipeline::Store::Access::ReadOnly; }

    const std::vector<std::unique_ptr<Engine>>& engines() const { return m_engines; }
    int count() const { return static_cast<int>(m_engines.size()); }
    Engine& at(int index) const { return *m_engines.at(static_cast<std::size_t>(index)); }
    int indexOf(const Engine& engine) const;  ///< -1 if `engine` is not in this session

    /// Adds an engine, still without a source.
    Engine& add();
    void remove(int index);
    /// Opens a source. `source`: as written in the settings or on the command line. Emits opened() or
    /// rejected(), immediately or after the keychain has answered.
    void open(Engine& engine, const QString& source);
    /// Returns the engine's source as written in the settings.
    QString storedName(const Engine& engine) const;
    /// Returns whether the settings contain a source that is written as `stored`.
    bool isStored(const QString& stored) const;
    /// Returns the name that the settings must use for `source` if `engine` opens it: for an address with a
    /// password, an entry in the keychain. After this call, storedName() returns this name.
    QString nameForSettings(const Engine& engine, const QString& source);
    /// Must be called after a source has been renamed in the settings.
    void rename(const QString& former, const QString& stored);
    /// Stores an address with a password in the keychain, under the name from nameForSettings().
    void keepSecret(const Engine& engine, const QString& source,
                    std::function<void(const QString& problem)> then);

signals:
    void added(mpm::gui::Engine& engine);
    void opened(mpm::gui::Engine& engine);
    void rejected(mpm::gui::Engine& engine, const mpm::gui::SourceReport& report);

private:
    void start(Engine& engine, const QString& source, const QString& key);
    bool isTaken(const QString& name, const pipeline::Address& address, const Engine& engine) const;
    void reject(Engine& engine, const QString& name, const pipeline::SourceProblem& problem);

    const Profile& m_profile;
    const ProfileState& m_state;
    const int m_dayCycle;
    SharedNetwork& m_network;
    Services& m_services;
    pipeline::Store::Access m_access = pipeline::Store::Access::ReadWrite;
    std::map<const Engine*, int> m_openings;  // number of sources that the engine has opened
    std::map<const Engine*, QString> m_stored;
    std::map<QString, pipeline::Address> m_addresses;  // addresses opened in this session, by name
    std::vector<std::unique_ptr<Engine>> m_engines;
};

/// Returns whether `source` contains a password, which only the keychain may store.
bool needsKeychain(const QString& source);

}  // namespace mpm::gui
