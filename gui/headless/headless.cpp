#include "gui/headless/headless.hpp"

#include <algorithm>
#include <cstdio>

#include <QCoreApplication>
#include <QTimer>

#include "gui/session/unix_signals.hpp"
#include "gui/text/numbers.hpp"
#include "gui/text/safe_text.hpp"

namespace mpm::gui {

namespace {

constexpr int kBadInput = 3;

/// Writes a line to stderr. The line contains no time, because the journal adds the time.
void log(const QString& text) {
    std::fprintf(stderr, "mpm-monitor: %s\n", printable(text.toStdString(), 1500).c_str());
}

}  // namespace

Headless::Headless(const Options& options) : m_session(options) {
    if (!m_session.readOnlyReason().isEmpty()) throw ProfileInUse(m_session.readOnlyReason().toStdString());
    connect(&m_session, &Session::messagePosted, this, [](const QString& text) { log(text); });
    connect(&m_session.services(), &Services::alerted, this, [](const AlertNotice& notice) {
        log(tr("alert '%1' at %2: %3").arg(notice.rule, notice.source, notice.text));
    });
    SharedNetwork& network = m_session.network();
    connect(&network, &SharedNetwork::modelLoaded, this, &Headless::onModel);
    connect(&network, &SharedNetwork::modelFailed, this, [this](const QString&, const QString& message) {
        log(message);
        emit failed(kBadInput);
    });
    connect(&network, &SharedNetwork::networkFailed, this, [this](const QString& message) {
        log(tr("the network stopped: %1").arg(message));
        emit failed(1);
    });
    Sources& sources = m_session.sources();
    connect(&sources, &Sources::added, this, &Headless::connectEngine);
    connect(&sources, &Sources::rejected, this, [this](const Engine&, const SourceReport& report) {
        log(QString::fromStdString(report.status.message()));
        emit failed(kBadInput);
    });
    m_session.readWatch();
    m_session.start();
}

void Headless::connectEngine(Engine& engine) {
    // Frames are drawn only for videos around alerts.
    const auto& alerts = m_session.services().settings().alerts;
    engine.setWatched(
        std::any_of(alerts.begin(), alerts.end(), [](const auto& rule) { return rule.record; }));
    engine.setRequest(m_session.state().request);
    connect(&engine, &Engine::sourceReported, this,
            [this, &engine](const SourceReport& report) { onReport(engine, report); });
    connect(&engine, &Engine::measured, this, [this, &engine] { m_measured.insert(&engine); });
    connect(&engine, &Engine::imageSkipped, this, [](const pipeline::SourceProblem& problem) {
        log(tr("skipped: %1").arg(QString::fromStdString(problem.message())));
    });
    connect(&engine, &Engine::crashed, this, [this](const QString& message) {
        log(tr("a part of the monitor stopped: %1").arg(message));
        emit failed(1);  // so that systemd can start the program again
    });
    connect(&engine.recorder(), &Recorder::failing, this, [this](const QString& message, bool forGood) {
        log(tr("measurements are not kept: %1").arg(message));
        if (forGood) emit failed(kBadInput);
    });
    connect(&engine.recorder(), &Recorder::replaced, this, [](const QString& message) { log(message); });
    connect(&engine.recorder(), &Recorder::recovered, this, [] { log(tr("measurements are kept again")); });
}

/// Writes all waiting measurements and events. Reports how many of them are lost, and which sources have no
/// measurement.
int Headless::finish(int status) {
    std::int64_t lost = 0;
    for (const auto& engine : m_session.sources().engines()) {
        engine->recorder().finish();
        lost += engine->recorder().lost();
        if (status == 0 && m_measured.count(engine.get()) == 0)
            log(tr("%1: no frame was measured").arg(engine->title()));
    }
    if (lost == 0) return status;
    log(tr("%1 measurements and events were never written").arg(lost));
    return status == 0 ? 1 : status;
}

void Headless::onReport(const Engine& engine, const SourceReport& report) {
    const pipeline::SourceState state = report.status.state;
    const auto before = m_logged.find(&engine);
    if (before != m_logged.end() && before->second == state) return;
    m_logged[&engine] = state;
    QString line = report.name + QStringLiteral(": ") + QLatin1String(pipeline::stateName(state));
    const std::string message = report.status.message();
    if (!message.empty() && state != pipeline::SourceState::Live)
        line += QStringLiteral(" (") + QString::fromStdString(message) + QLatin1Char(')');
    log(line);
    if (state == pipeline::SourceState::Failed) emit failed(kBadInput);
}

void Headless::onModel(const ModelFactsPtr& facts) {
    log(tr("model %1").arg(facts->random ? tr("of random weights: labels mean nothing") : facts->name));
    for (const auto& engine : m_session.sources().engines())
        engine->setRequest(m_session.services().requestFor(*engine, m_session.state().request));
}

int runHeadless(int& argc, char** argv, const Options& options) {
    QCoreApplication application(argc, argv);
    setNumericLocale();
    UnixSignals signals_;
    QObject::connect(&signals_, &UnixSignals::endWanted, &application, [] { QCoreApplication::exit(0); });
    try {
        Headless headless(options);
        // The connection is queued, because exit() does nothing before the event loop runs.
        QObject::connect(
            &headless, &Headless::failed, &application, [](int status) { QCoreApplication::exit(status); },
            Qt::QueuedConnection);
        if (options.afterGiven)
            QTimer::singleShot(static_cast<int>(options.after * 1000), &application,
                               [] { QCoreApplication::exit(0); });
        notifySystemd("READY=1");
        const int status = QCoreApplication::exec();
        notifySystemd("STOPPING=1");
        return headless.finish(status);
    } catch (const ProfileInUse& error) {
        log(QString::fromStdString(error.what()));
        return kBadInput;
    } catch (const WatchError& error) {
        log(QString::fromUtf8(error.what()));
        return kBadInput;
    }
}

}  // namespace mpm::gui
