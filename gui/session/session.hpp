// A run of the monitor, with or without a window: profile, network, services and sources.
#pragma once

#include <memory>

#include <QLockFile>

#include "gui/session/options.hpp"
#include "gui/session/sources.hpp"

namespace mpm::gui {

class Session : public QObject {
    Q_OBJECT
public:
    explicit Session(const Options& options);
    ~Session() override { m_services.disconnect(this); }

    /// Returns why this program only reads the profile; empty if it also writes the profile. Only a single
    /// program at a time may write a profile.
    const QString& readOnlyReason() const { return m_readOnly; }
    const Options& options() const { return m_options; }
    const Profile& profile() const { return m_profile; }
    ProfileState& state() { return m_state; }
    SharedNetwork& network() { return m_network; }
    Services& services() { return m_services; }
    Sources& sources() { return m_sources; }

    /// Reads the profile's watch file and applies it. Throws WatchError if the file is damaged. The masks are
    /// then unknown, and the session never overwrites the file.
    void readWatch();
    bool watchDamaged() const { return m_watchDamaged; }
    /// Applies the settings immediately and writes them to the profile.
    void setWatch(const WatchSettings& settings);
    /// Loads the model and opens the sources. The command line or the profile determines both.
    void start();
    /// Writes the profile if it changed. After a failure is reported, further failures are not reported until
    /// writing succeeds again.
    void save();

    /// Open a source for the user; the next start opens it again. `engine`: any engine of the session.
    /// `name`: passed to nameSource() when the source is open; if absent, the source keeps its name.
    void openSource(Engine& engine, const QString& source, const std::optional<QString>& name = {});
    Engine& addSource(const QString& source, const std::optional<QString>& name = {});
    /// Closes a source, unless it is the only source.
    void closeSource(int index);
    /// Sets the name for tabs, events, alerts and publishing; empty: the address. Rejects a name that another
    /// source has.
    void nameSource(const Engine& engine, const QString& name);
    bool isNameFree(const QString& name, const QString& source) const;
    /// Returns the source's key in the watch settings. `stored`: the source as written in the settings.
    static QString keyOf(const QString& stored);

signals:
    void messagePosted(const QString& text, bool trouble);
    void watchChanged();

private:
    void lockProfile();
    /// Applies the settings. If another program writes the profile, applies no alerts and no publishing,
    /// because that program does both.
    void applyWatch(WatchSettings settings);
    void noteRecent(const QString& stored);
    void rename(const QString& former, const QString& stored);
    void keepSecret(const Engine& engine, const QString& source, std::function<void()> then);
    void moveSecrets();
    void keepFurther(const QString& source);

    const Options m_options;
    Profile m_profile;
    std::unique_ptr<QLockFile> m_lock;
    QString m_readOnly;
    ProfileState m_state;
    SharedNetwork m_network;
    Services m_services;
    bool m_watchDamaged = false, m_saveFailed = false;
    QStringList m_movedSecrets;                // names of the entries made for passwords in the watch file
    std::map<const Engine*, QString> m_names;  // names for sources that are being opened
    Sources m_sources;                         // must be last: its workers use the other members
};

}  // namespace mpm::gui
