#include "gui/session/session.hpp"

#include <QFileInfo>

#include "base/private_files.hpp"
#include "gui/text/safe_text.hpp"

namespace mpm::gui {

Session::Session(const Options& options)
    : m_options(options),
      m_profile(options.profile),
      m_state(m_profile.load()),
      m_services(options.profile, m_profile.videosPath()),
      m_sources(m_profile, m_state, options.dayCycle, m_network, m_services) {
    m_network.setClassNames(m_state.classNames);
    connect(&m_services, &Services::messagePosted, this, &Session::messagePosted);
    connect(&m_sources, &Sources::opened, this, [this](const Engine& engine) {
        const auto found = m_names.extract(&engine);
        if (found) nameSource(engine, found.mapped());
    });
    lockProfile();
}

/// Locks the profile. QLockFile itself removes the lock of a killed program, unless another process now has
/// the killed program's process id.
void Session::lockProfile() {
    try {
        makePrivateFolders(QFileInfo(m_profile.lockPath()).absolutePath().toStdString());
    } catch (const cv::Exception&) {
        return;  // the store reports the error
    }
    m_lock = std::make_unique<QLockFile>(m_profile.lockPath());
    m_lock->setStaleLockTime(0);  // a lock stays valid, even if its program runs for weeks
    if (m_lock->tryLock() || m_lock->error() != QLockFile::LockFailedError) return;
    // In a container, this process may have the process id of a killed monitor, whose lock then seems valid.
    // If another process really holds the lock, removeStaleLockFile() fails.
    if (m_lock->removeStaleLockFile() && m_lock->tryLock()) return;
    qint64 process = 0;
    QString host, program;
    m_lock->getLockInfo(&process, &host, &program);
    m_readOnly = tr("Profile '%1' is in use by process %2 (%3): settings and measurements are only read")
                     .arg(m_profile.name())
                     .arg(process)
                     .arg(safeText(program));
    m_sources.setReadOnly();
    m_services.setReadOnly();
}

void Session::applyWatch(WatchSettings settings) {
    if (!m_readOnly.isEmpty()) {
        settings.alerts.clear();
        settings.mqtt.on = settings.metrics.on = false;
    }
    m_services.apply(settings);
}

void Session::readWatch() {
    try {
        applyWatch(readWatchSettings(m_profile.watchPath()));
    } catch (const WatchError&) {
        m_watchDamaged = true;
        WatchSettings hidden;  // hides images, because the masks are unknown
        hidden.keepsImages = false;
        hidden.thumbnails.days = 36'500;  // keeps all stored images: their limits are unknown too
        hidden.thumbnails.megabytes = 100'000'000;
        m_services.apply(hidden);
        throw;
    }
    moveSecrets();
}

void Session::setWatch(const WatchSettings& settings) {
    applyWatch(settings);
    emit watchChanged();
    if (m_watchDamaged) return;         // the user must repair the file, which is never overwritten
    if (!m_readOnly.isEmpty()) return;  // another program writes the profile
    try {
        writeWatchSettings(m_profile.watchPath(), settings);
    } catch (const WatchError& error) {
        emit messagePosted(QString::fromUtf8(error.what()), true);
    }
}

/// Moves the passwords of further sources to the keychain, because earlier versions wrote these passwords to
/// the watch file.
void Session::moveSecrets() {
    if (!m_readOnly.isEmpty()) return;
    for (const QString& source : QStringList(m_services.settings().further))
        if (needsKeychain(source)) keepFurther(source);
}

void Session::keepFurther(const QString& source) {
    const QString shown = safeText(pipeline::Address(source.toStdString()).shown());
    // Without passwords, the addresses of several cameras of a network video recorder may be equal, so each
    // camera needs a separate entry.
    const QString name = freeName(shown, [this](const QString& taken) {
        return m_sources.isStored(storedAs(taken)) || m_movedSecrets.contains(taken);
    });
    m_movedSecrets << name;
    m_services.secrets().keepAddress(name, source, [this, source, shown, name](const QString& problem) {
        if (!problem.isEmpty()) {
            emit messagePosted(
                tr("The watch file still holds the password of %1: the keychain did not take it "
                   "(%2)")
                    .arg(shown, problem),
                true);
            return;
        }
        rename(source, storedAs(name));
    });
}

/// Renames one of the additional sources in the watch file.
void Session::rename(const QString& former, const QString& stored) {
    WatchSettings watch = m_services.settings();
    const qsizetype index = watch.further.indexOf(former);
    if (index < 0) return;
    watch.further[index] = stored;
    m_sources.rename(former, stored);
    setWatch(watch);
}

void Session::start() {
    if (!m_readOnly.isEmpty()) emit messagePosted(m_readOnly, true);
    m_network.openModel(m_options.model.value_or(m_state.model));
    m_sources.open(m_sources.count() > 0 ? m_sources.at(0) : m_sources.add(),
                   m_options.source.value_or(m_state.source));
    if (m_options.source) return;
    for (const QString& further : m_services.settings().further)
        m_sources.open(m_sources.add(), further);
}

void Session::save() {
    if (!m_readOnly.isEmpty()) return;
    const bool failed = !m_profile.save(m_state);
    if (failed == std::exchange(m_saveFailed, failed)) return;
    emit messagePosted(failed ? tr("The settings cannot be written: %1").arg(m_profile.path())
                              : tr("The settings are written again"),
                       failed);
}

void Session::openSource(Engine& engine, const QString& source, const std::optional<QString>& name) {
    m_names.erase(&engine);
    if (name) m_names[&engine] = *name;
    const bool first = m_sources.indexOf(engine) == 0;
    const QString former = m_sources.storedName(engine);
    const QString stored = m_sources.nameForSettings(engine, source);
    noteRecent(stored);
    const auto remember = [this, first, former, stored] {
        if (first)
            m_state.source = stored;
        else
            rename(former, stored);
    };
    // Makes an entry in the keychain before the settings refer to this entry.
    if (needsKeychain(source))
        keepSecret(engine, source, remember);
    else if (stored == source)
        remember();
    m_sources.open(engine, source);
}

QString Session::keyOf(const QString& stored) {
    const std::optional<QString> key = keychainName(stored);
    return key ? shownKey(*key) : safeText(pipeline::Address(stored.toStdString()).shown());
}

bool Session::isNameFree(const QString& name, const QString& source) const {
    QStringList open;
    for (const auto& engine : m_sources.engines())
        open << engine->sourceName();
    return m_services.settings().isNameFree(name, source, open);
}

void Session::nameSource(const Engine& engine, const QString& name) {
    const QString& source = engine.sourceName();
    const QString safe = QString::fromStdString(safeName(name.toStdString())).trimmed();
    if (source.isEmpty() || safe == m_services.settings().of(source).name) return;
    if (!isNameFree(safe, source))
        return emit messagePosted(tr("Another source has the name '%1'").arg(safe), true);
    WatchSettings watch = m_services.settings();
    watch.sources[source].name = safe;
    setWatch(watch);
}

void Session::noteRecent(const QString& stored) {
    constexpr int kMost = 8;
    if (pipeline::Address(stored.toStdString()).hasSecrets()) return;
    m_state.recentSources.removeAll(stored);
    m_state.recentSources.prepend(stored);
    while (m_state.recentSources.size() > kMost)
        m_state.recentSources.removeLast();
}

Engine& Session::addSource(const QString& source, const std::optional<QString>& name) {
    Engine& engine = m_sources.add();
    if (name) m_names[&engine] = *name;
    WatchSettings watch = m_services.settings();
    watch.further << m_sources.nameForSettings(engine, source);
    noteRecent(watch.further.last());
    setWatch(watch);
    if (needsKeychain(source)) keepSecret(engine, source, [] {});
    m_sources.open(engine, source);
    return engine;
}

void Session::keepSecret(const Engine& engine, const QString& source, std::function<void()> then) {
    m_sources.keepSecret(engine, source, [this, then = std::move(then)](const QString& problem) {
        if (problem.isEmpty()) return then();
        emit messagePosted(
            tr("The address is not kept, so this source will not return at the next start: %1").arg(problem),
            true);
    });
}

void Session::closeSource(int index) {
    if (m_sources.count() < 2 || index < 0 || index >= m_sources.count()) return;
    // The source at index 0 is always the profile's source. If it is closed, the next source replaces it.
    if (index == 0) m_state.source = m_sources.storedName(m_sources.at(1));
    WatchSettings watch = m_services.settings();
    watch.further.removeOne(index == 0 ? m_state.source : m_sources.storedName(m_sources.at(index)));
    setWatch(watch);
    m_names.erase(&m_sources.at(index));
    m_sources.remove(index);
}

}  // namespace mpm::gui
