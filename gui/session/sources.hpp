// The sources of a session and their engines: opens sources, and names them for the settings.
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
    /// `dayCycle`: frames in which a day of the built-in street passes; 0: the usual pace. All references
    /// must outlive the object.
    Sources(const Profile& profile, const ProfileState& state, int dayCycle, SharedNetwork& network,
            Services& services);

    /// Sources added from now on only read measurements.
    void setReadOnly() { m_access = pipeline::Store::Access::ReadOnly; }

    const std::vector<std::unique_ptr<Engine>>& engines() const { return m_engines; }
    int count() const { return static_cast<int>(m_engines.size()); }
    Engine& at(int index) const { return *m_engines.at(static_cast<std::size_t>(index)); }
    int indexOf(const Engine& engine) const;  ///< -1: `engine` is not one of these

    /// A new engine, without a source yet.
    Engine& add();
    void remove(int index);
    /// `source`: as the settings or the command line name it. Answers with opened() or rejected(), later
    /// if the keychain must be asked.
    void open(Engine& engine, const QString& source);
    /// The engine's source as the settings name it.
    QString storedName(const Engine& engine) const;
    /// Whether the settings name a source so.
    bool isStored(const QString& stored) const;
    /// How the settings must name `source` if `engine` opens it: an address with a password gets the name
    /// of an entry of the keychain. storedName() returns it from now on.
    QString nameForSettings(const Engine& engine, const QString& source);
    /// Call it after the settings gave a source another name.
    void rename(const QString& former, const QString& stored);
    /// Keeps an address with a password in the keychain, under the name that nameForSettings() gave it.
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
    std::map<const Engine*, int> m_openings;  // number of sources opened so far
    std::map<const Engine*, QString> m_stored;
    std::map<QString, pipeline::Address> m_addresses;  // opened in this session, by name
    std::vector<std::unique_ptr<Engine>> m_engines;
};

/// Whether `source` holds a password that only the keychain may keep.
bool needsKeychain(const QString& source);

}  // namespace mpm::gui
