#include "gui/session/sources.hpp"

#include <QPointer>
#include <QUrl>
#include <QUrlQuery>

#include "gui/text/safe_text.hpp"
#include "pipeline/source/address_parts.hpp"

namespace mpm::gui {

namespace {

/// Returns the address without user, password and access token, because these may change for the same camera.
QUrl cameraOf(const pipeline::Address& address) {
    QUrl url = QUrl(QString::fromStdString(address.reveal())).adjusted(QUrl::RemoveUserInfo);
    QUrlQuery query(url);
    for (const auto& [key, value] : query.queryItems())
        if (pipeline::namesSecret(key.toStdString())) query.removeAllQueryItems(key);
    url.setQuery(query);
    return url;
}

bool isSameCamera(const pipeline::Address& one, const pipeline::Address& other) {
    const QUrl camera = cameraOf(one);
    return one.reveal() == other.reveal() || (camera.isValid() && camera == cameraOf(other));
}

}  // namespace

bool needsKeychain(const QString& source) {
    return pipeline::Address(source.toStdString()).hasSecrets() && !keychainName(source);
}

Sources::Sources(const Profile& profile, const ProfileState& state, int dayCycle, SharedNetwork& network,
                 Services& services)
    : m_profile(profile), m_state(state), m_dayCycle(dayCycle), m_network(network), m_services(services) {}

int Sources::indexOf(const Engine& engine) const {
    for (std::size_t i = 0; i < m_engines.size(); ++i)
        if (m_engines[i].get() == &engine) return static_cast<int>(i);
    return -1;
}

Engine& Sources::add() {
    m_engines.push_back(std::make_unique<Engine>(m_profile.storePath(), &m_network, m_access));
    Engine& engine = *m_engines.back();
    m_services.attach(engine);
    engine.setDayCycle(m_dayCycle);
    if (m_state.rule) engine.setRule(*m_state.rule);
    emit added(engine);
    return engine;
}

void Sources::remove(int index) {
    Engine& engine = at(index);
    m_stored.erase(&engine);
    m_openings.erase(&engine);
    m_services.detach(engine);
    m_engines.erase(m_engines.begin() + index);
}

void Sources::open(Engine& engine, const QString& source) {
    m_stored.try_emplace(&engine, source);
    const int opening = ++m_openings[&engine];
    const std::optional<QString> key = keychainName(source);
    if (!key) return start(engine, source, keychainName(storedName(engine)).value_or(QString()));
    // Never tries the source without its password, because some cameras lock a client out after failed
    // attempts.
    const QPointer<Engine> target(&engine);
    m_services.secrets().findAddress(*key, [this, target, key, opening](const std::optional<QString>& whole,
                                                                        const QString& problem) {
        if (!target || m_openings[target] != opening) return;  // another source was opened meanwhile
        if (whole) return start(*target, *whole, *key);
        const QString text =
            tr("its address is not in the keychain (%1); open the source again with it").arg(problem);
        reject(*target, shownKey(*key),
               {pipeline::SourceProblem::Kind::Other, shownKey(*key).toStdString(), {text.toStdString()}});
    });
}

/// Opens a source. `key`: key of the address in the keychain; empty if the address is not in the keychain.
void Sources::start(Engine& engine, const QString& source, const QString& key) {
    try {
        const pipeline::Address address = addressOf(source);
        engine.openSource(address, nameOf(address, key, m_engines, engine));
        m_addresses[engine.sourceName()] = address;
    } catch (const pipeline::SourceError& error) {
        return reject(engine, safeText(pipeline::Address(source.toStdString()).shown()), error.problem());
    }
    m_services.sourceOpened(engine);
    emit opened(engine);
}

void Sources::reject(Engine& engine, const QString& name, const pipeline::SourceProblem& problem) {
    SourceReport report;
    report.name = m_services.settings().titleOf(name);
    report.kind = pipeline::SourceKind::Stream;
    report.status.state = pipeline::SourceState::Failed;
    report.status.problem = problem;
    emit rejected(engine, report);
}

QString Sources::storedName(const Engine& engine) const {
    const auto found = m_stored.find(&engine);
    return found != m_stored.end() ? found->second : QString();
}

bool Sources::isStored(const QString& stored) const {
    return m_state.source == stored || m_services.settings().further.contains(stored);
}

/// Returns whether another camera has the name. If no source of this name was opened in this session, the
/// source's address is unknown. The name is then taken if the settings use it for another engine's source.
bool Sources::isTaken(const QString& name, const pipeline::Address& address, const Engine& engine) const {
    if (othersHave(name, address, m_engines, engine)) return true;
    const auto known = m_addresses.find(name);
    if (known != m_addresses.end()) return !isSameCamera(known->second, address);
    const QString stored = storedAs(name), own = indexOf(engine) == 0 ? m_state.source : storedName(engine);
    return own != stored && isStored(stored);
}

QString Sources::nameForSettings(const Engine& engine, const QString& source) {
    const pipeline::Address address(source.toStdString());
    QString& stored = m_stored[&engine];
    const auto taken = [&](const QString& name) { return isTaken(name, address, engine); };
    stored = needsKeychain(source)  ? storedAs(freeName(safeText(address.shown()), taken))
             : address.hasSecrets() ? QString::fromStdString(address.shown())
                                    : source;
    return stored;
}

void Sources::rename(const QString& former, const QString& stored) {
    for (auto& [engine, name] : m_stored)
        if (name == former) name = stored;
}

void Sources::keepSecret(const Engine& engine, const QString& source,
                         std::function<void(const QString& problem)> then) {
    m_services.secrets().keepAddress(*keychainName(storedName(engine)), source, std::move(then));
}

}  // namespace mpm::gui
