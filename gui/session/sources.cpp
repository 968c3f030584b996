#include "gui/session/sources.hpp"

#include <QPointer>

#include "gui/text/safe_text.hpp"

namespace mpm::gui {

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
    if (!key) return start(engine, source, {});
    // The source is never tried without its password: some cameras lock a client out after failed attempts.
    const QPointer<Engine> target(&engine);
    m_services.secrets().find(*key, [this, target, key, opening](const std::optional<QString>& whole,
                                                                 const QString& problem) {
        if (!target || m_openings[target] != opening) return;  // another source was opened meanwhile
        if (whole) return start(*target, *whole, *key);
        const QString text =
            tr("its address is not in the keychain (%1); open the source again with it").arg(problem);
        reject(*target, shownKey(*key),
               {pipeline::SourceProblem::Kind::Other, shownKey(*key).toStdString(), {text.toStdString()}});
    });
}

/// `key`: name in the keychain; empty: the address is not from there.
void Sources::start(Engine& engine, const QString& source, const QString& key) {
    try {
        const pipeline::Address address = addressOf(source);
        engine.openSource(address, nameOf(address, key, m_engines, engine));
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

QString Sources::nameForSettings(const Engine& engine, const QString& source) {
    const pipeline::Address address(source.toStdString());
    QString& stored = m_stored[&engine];
    stored = needsKeychain(source)  ? storedAs(nameFor(address, m_engines, engine))
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
    m_services.secrets().keep(*keychainName(storedName(engine)), source, std::move(then));
}

}  // namespace mpm::gui
