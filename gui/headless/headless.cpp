#include "gui/headless/headless.hpp"

#include <cstdio>

#include <QCoreApplication>
#include <QTimer>

#include "gui/headless/unix_signals.hpp"
#include "gui/text/plain_numbers.hpp"
#include "gui/text/safe_text.hpp"

namespace mpm::gui {

namespace {

constexpr int kBadInput = 3;

/// Lines for the journal: no time, it has its own.
void tell(const QString& text) {
    std::fprintf(stderr, "mpm-monitor: %s\n", printable(text.toStdString(), 1500).c_str());
}

QStringList sourcesOf(const Options& options, const ProfileState& state, const WatchSettings& watch) {
    QStringList sources{options.source.value_or(state.source)};
    if (!options.source) sources += watch.further;
    return sources;
}

}  // namespace

Headless::Headless(const Options& options, QObject* parent)
    : QObject(parent),
      m_profile(options.profile),
      m_state(m_profile.load()),
      m_dayCycle(options.dayCycle),
      m_ownSource(!options.source),
      m_services(options.profile, m_profile.videosPath()) {
    connect(&m_services, &Services::said, this, [](const QString& text) { tell(text); });
    connect(&m_services, &Services::alerted, this, [](const AlertNotice& notice) {
        tell(tr("alert '%1' at %2: %3").arg(notice.rule, notice.source, notice.text));
    });
    connect(&m_network, &SharedNetwork::modelLoaded, this, &Headless::onModel);
    connect(&m_network, &SharedNetwork::modelFailed, this, [this](const QString&, const QString& message) {
        tell(message);
        emit gaveUp(kBadInput);
    });
    connect(&m_network, &SharedNetwork::networkFailed, this, [this](const QString& message) {
        tell(tr("the network stopped: %1").arg(message));
        emit gaveUp(1);
    });
    WatchSettings watch = readWatchSettings(m_profile.watchPath());
    m_services.apply(watch);
    m_network.openModel(options.model.value_or(m_state.model));
    for (const QString& source : sourcesOf(options, m_state, watch))
        open(source);
}

Headless::~Headless() = default;

void Headless::open(const QString& source) {
    m_engines.push_back(std::make_unique<Engine>(m_profile.storePath(), &m_network));
    Engine& engine = *m_engines.back();
    m_services.attach(engine);
    // Drawn only for videos around alerts.
    const auto& alerts = m_services.settings().alerts;
    engine.setWatched(
        std::any_of(alerts.begin(), alerts.end(), [](const auto& rule) { return rule.record; }));
    engine.setDayCycle(m_dayCycle);
    if (m_state.rule) engine.setRule(*m_state.rule);
    engine.setRequest(m_state.request);
    connect(&engine, &Engine::sourceReported, this,
            [this, &engine](const SourceReport& report) { onReport(engine, report); });
    connect(&engine, &Engine::imageSkipped, this, [](const pipeline::SourceProblem& problem) {
        tell(tr("skipped: %1").arg(QString::fromStdString(problem.message())));
    });
    connect(&engine, &Engine::broke, this, [this](const QString& message) {
        tell(tr("a part of the monitor stopped: %1").arg(message));
        emit gaveUp(1);  // whoever started it may start it again
    });
    connect(&engine.recorder(), &Recorder::failing, this, [this](const QString& message, bool forGood) {
        tell(tr("measurements are not kept: %1").arg(message));
        if (forGood) emit gaveUp(kBadInput);
    });
    connect(&engine.recorder(), &Recorder::replaced, this, [](const QString& message) { tell(message); });
    connect(&engine.recorder(), &Recorder::recovered, this, [] { tell(tr("measurements are kept again")); });
    const std::optional<QString> key = keychainName(source);
    if (!key) return start(engine, source, {});
    m_services.secrets().find(
        *key, [this, &engine, key](const std::optional<QString>& whole, const QString& problem) {
            if (whole) return start(engine, *whole, *key);
            tell(tr("%1: its address is not in the keychain: %2").arg(shownKey(*key), problem));
            emit gaveUp(kBadInput);
        });
}

/// `key`: of the keychain, empty where it did not come from there.
void Headless::start(Engine& engine, const QString& source, const QString& key) {
    try {
        const pipeline::Address address = addressOf(source);
        engine.openSource(address, nameOf(address, key, m_engines, engine), key);
        m_services.sourceOpened(engine);
    } catch (const pipeline::SourceError& error) {
        tell(safeText(error.what()));
        emit gaveUp(kBadInput);
    }
}

/// Everything that waits is written, or said to be lost.
int Headless::finish(int status) {
    std::int64_t lost = 0;
    for (const auto& engine : m_engines) {
        engine->recorder().finish();
        lost += engine->recorder().lost();
    }
    if (lost == 0) return status;
    tell(tr("%1 measurements and events were never written").arg(lost));
    return status == 0 ? 1 : status;
}

void Headless::onReport(Engine& engine, const SourceReport& report) {
    const pipeline::SourceState state = report.status.state;
    const auto before = m_told.find(&engine);
    if (before != m_told.end() && before->second == state) return;
    m_told[&engine] = state;
    QString line = report.name + QStringLiteral(": ") + QLatin1String(pipeline::stateName(state));
    const std::string message = report.status.message();
    if (!message.empty() && state != pipeline::SourceState::Live)
        line += QStringLiteral(" (") + QString::fromStdString(message) + QLatin1Char(')');
    tell(line);
    if (state == pipeline::SourceState::Failed) emit gaveUp(kBadInput);
}

void Headless::onModel(const ModelFactsPtr& facts) {
    tell(tr("model %1").arg(facts->random ? tr("of random weights: labels mean nothing") : facts->name));
    Request request = m_state.request;
    if (m_state.ownSchedule) request.schedule = facts->schedule;
    for (const auto& engine : m_engines)
        engine->setRequest(m_services.requestFor(*engine, request));
}

int runHeadless(int& argc, char** argv, const Options& options) {
    QCoreApplication application(argc, argv);
    usePlainNumbers();
    UnixSignals signals_;
    QObject::connect(&signals_, &UnixSignals::endWanted, &application, [] { QCoreApplication::exit(0); });
    try {
        Headless headless(options);
        // Queued: it may give up before the loop runs.
        QObject::connect(
            &headless, &Headless::gaveUp, &application, [](int status) { QCoreApplication::exit(status); },
            Qt::QueuedConnection);
        if (options.afterGiven)
            QTimer::singleShot(static_cast<int>(options.after * 1000), &application,
                               [] { QCoreApplication::exit(0); });
        notifySystemd("READY=1");
        const int status = QCoreApplication::exec();
        notifySystemd("STOPPING=1");
        return headless.finish(status);
    } catch (const WatchError& error) {
        tell(QString::fromUtf8(error.what()));
        return kBadInput;
    }
}

}  // namespace mpm::gui
