// Opens every form of an address, and searches all outputs of the monitor and of mpm for its secrets. Must be
// run inside `dbus-run-session`: the test starts a keychain and a notification daemon.

#include <QComboBox>
#include <QDBusConnection>
#include <QDBusConnectionInterface>
#include <QJsonDocument>
#include <QJsonObject>

#include <opencv2/core/utils/logger.hpp>

#include "gui/broker.hpp"
#include "gui/process.hpp"
#include "gui/registry.hpp"
#include "gui/secret_search.hpp"
#include "gui/services_fixture.hpp"
#include "gui/window/main_window.hpp"
#include "pipeline/source/stream_server.hpp"
#include "support/address_forms.hpp"

using namespace mpm::gui;
using mpm::pipeline::AlertRule;
using mpm::test::AddressForm;

/// Receives the notifications that the monitor sends to the desktop.
class Desktop : public QObject {
    Q_OBJECT
    Q_CLASSINFO("D-Bus Interface", "org.freedesktop.Notifications")
public slots:
    uint Notify(const QString&, uint, const QString&, const QString& summary, const QString& body,
                const QStringList&, const QVariantMap&, int) {
        said << summary + QLatin1Char('|') + body;
        return uint(said.size());
    }

public:
    QStringList said;
};

class SecretsTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void cleanupTestCase();
    void everyFormThroughEveryService();
    void everyFormThroughTheWindow();
    void aStreamThatRuns();
    void theProgramsFromOutside();
    void passwordsInTheWatchFileMoveToTheKeychain();
    void camerasOfARecorderAreKeptApart();
    void aSourceOfTheKeychainBeginsAnew();

private:
    QString path(const char* name) const { return m_sandbox.path(QLatin1String(name)); }
    QString script();
    test::Sandbox m_sandbox;
    Desktop m_desktop;
    QProcess m_keyring;
};

void SecretsTest::initTestCase() {
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);  // as the program does
    QDir().mkpath(path("home"));
    qputenv("HOME", path("home").toUtf8());
    // The keychain's file is not searched: encrypted bytes may contain a short secret by chance.
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("XDG_DATA_HOME"), path("home"));
    m_keyring.setProcessEnvironment(environment);
    m_keyring.start(
        QStringLiteral("gnome-keyring-daemon"),
        {QStringLiteral("--unlock"), QStringLiteral("--foreground"), QStringLiteral("--components=secrets")});
    QVERIFY(m_keyring.waitForStarted());
    m_keyring.write("login-password\n");
    m_keyring.closeWriteChannel();
    QDBusConnection bus = QDBusConnection::sessionBus();
    QVERIFY(QTest::qWaitFor(
        [&] { return bus.interface()->isServiceRegistered(QStringLiteral("org.freedesktop.secrets")); },
        test::patience(10'000)));
    QVERIFY(bus.registerService(QStringLiteral("org.freedesktop.Notifications")));
    QVERIFY(bus.registerObject(QStringLiteral("/org/freedesktop/Notifications"), &m_desktop,
                               QDBusConnection::ExportAllSlots));
}

void SecretsTest::cleanupTestCase() {
    m_keyring.terminate();
    m_keyring.waitForFinished();
}

/// Returns an alert command that writes its environment and arguments to a file, without the address of the
/// bus: the address has random letters, which may by chance contain a short secret.
QString SecretsTest::script() {
    QFile script(path("note.sh"));
    if (!script.open(QIODevice::WriteOnly)) return {};
    script.write(
        "#!/bin/sh\n{ env -u DBUS_SESSION_BUS_ADDRESS; tr '\\0' ' ' </proc/self/cmdline; echo; } >>" +
        path("commands").toUtf8() + "\n");
    script.close();
    script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return script.fileName();
}

void SecretsTest::everyFormThroughEveryService() {
    const std::vector<AddressForm>& forms = mpm::test::addressForms();
    test::Broker broker(path("."));
    QVERIFY2(broker.start(), qPrintable(broker.log()));
    test::Subscriber subscriber(broker.port());
    const ErrorOutput errors(path("stderr"));
    QByteArray page, said;
    {
        Services services(QStringLiteral("leaks"), path("out/videos"));
        QSignalSpy told(&services, &Services::messagePosted);
        WatchSettings watch;
        watch.mqtt.on = watch.metrics.on = true;
        watch.mqtt.host = QStringLiteral("127.0.0.1");
        watch.mqtt.port = broker.port();
        watch.metrics.port = 0;
        AlertRule gone = test::rule("gone", AlertRule::Of::SourceDown, 0);
        gone.hold = std::chrono::milliseconds(0);
        gone.desktop = gone.record = true;
        gone.command = script().toStdString();
        watch.alerts = {gone};
        services.apply(watch);
        QTRY_VERIFY_WITH_TIMEOUT(services.mqtt()->connected(), test::patience(15'000));
        SharedNetwork network;
        std::vector<std::unique_ptr<Engine>> engines;
        for (const AddressForm& form : forms) {
            engines.push_back(std::make_unique<Engine>(path("out/store.sqlite"), &network));
            Engine& engine = *engines.back();
            services.attach(engine);
            const mpm::pipeline::Address address(form.text);
            engine.openSource(address, nameFor(address, engines, engine));
            services.sourceOpened(engine);
            // Does the same as a frame: stores a reading, sends a report, starts a recording.
            mpm::pipeline::Measurement measurement;
            measurement.tokensIn = 4;
            engine.recorder().add(measurement);
            emit engine.sourceReported(engine.report());
            services.startRecording(engine);
        }
        const auto count = [&](const QByteArray& word) {
            QFile file(path("commands"));
            return file.open(QIODevice::ReadOnly) ? file.readAll().count(word) : 0;
        };
        QTRY_VERIFY_WITH_TIMEOUT(count("MPM_ALERT=gone") >= int(forms.size()), test::patience(60'000));
        QTRY_VERIFY_WITH_TIMEOUT(m_desktop.said.size() >= int(forms.size()), test::patience(20'000));
        for (const auto& engine : engines) {
            engine->recorder().exportTo(
                path("out/") + topicWord(engine->sourceName()) + QStringLiteral(".csv"), {},
                mpm::pipeline::Millis(1LL << 45));
            QVERIFY(
                !subscriber.payload(services.mqtt()->topicOf(engine->sourceName()) + QStringLiteral("/alert"))
                     .isEmpty());
        }
        const QString url = QStringLiteral("http://127.0.0.1:%1/metrics").arg(services.metrics()->port());
        page = test::runBeside(QStringLiteral("curl"), {QStringLiteral("-sSf"), url}).out.toUtf8();
        QVERIFY(page.count("mpm_source_up{") >= 10 && page.contains("camera"));
        for (const QList<QVariant>& words : told)
            said += words[0].toString().toUtf8() + '\n';
    }
    QFile commands(path("commands"));
    QVERIFY(commands.open(QIODevice::ReadOnly));
    QVERIFY(hidesAll(commands.readAll(), "environment of commands"));
    QVERIFY(hidesAll(m_desktop.said.join(QLatin1Char('\n')).toUtf8(), "D-Bus"));
    QVERIFY(hidesAll(page, "Prometheus"));
    QVERIFY(hidesAll(said, "status bar"));
    QVERIFY(subscriber.said().contains("homeassistant/"));
    QVERIFY(hidesAll(subscriber.said(), "MQTT"));
    QVERIFY(hidesAll(everythingIn(path("out")), "store, exports, videos and their names"));
    QVERIFY(hidesAll(errors.said(), "stderr"));
}

void SecretsTest::everyFormThroughTheWindow() {
    const ErrorOutput errors(path("stderr-window"));
    QByteArray seen;
    {
        Options options;
        options.source = m_sandbox.film(2, 0);
        MainWindow window(options);
        window.show();
        for (const AddressForm& form : mpm::test::addressForms()) {
            const QString text = QString::fromUtf8(form.text);
            window.sources().open(text);
            QTest::qWait(20);
            seen += textsOf(window) + window.message().toUtf8();
        }
        for (int i = 0; i < 6; ++i)
            window.sources().add(QString::fromUtf8(mpm::test::addressForms()[std::size_t(i)].text));
        QTest::qWait(1'500);  // for the keychain, and for the messages of connecting
        seen += textsOf(window) + window.message().toUtf8();
        window.sources().select(0);
        window.sources().open(QStringLiteral("rtsp://admin:Zq9secret@camera:554/live"));
        QTRY_VERIFY_WITH_TIMEOUT(
            (window.show(), window.close(), everythingIn(path("config")).contains("source=secret:")),
            test::patience(15'000));
        seen += textsOf(window);
    }
    QVERIFY(seen.contains("rtsp://camera:554/live"));
    QVERIFY(hidesAll(seen, "window"));
    QVERIFY(hidesAll(everythingIn(path("config")), "settings"));
    QVERIFY(hidesAll(everythingIn(path("data")), "store"));
    QVERIFY(hidesAll(errors.said(), "stderr"));
}

void SecretsTest::aStreamThatRuns() {
    mpm::test::StreamServer server;
    server.start();
    const QString plain = QString::fromStdString(server.url());
    const QString whole =
        QString(plain).replace(QStringLiteral("user:secret@"), QStringLiteral("Zq9user:Zq9secret@")) +
        QStringLiteral("?access_token=Zq9token&sig=Zq9sig%3D");
    const ErrorOutput errors(path("stderr-stream"));
    {
        test::Setup setup(m_sandbox, QStringLiteral("runs"));
        QSignalSpy rendered(&setup.engine, &Engine::rendered);
        setup.open(whole);
        QTRY_VERIFY_WITH_TIMEOUT(rendered.count() >= 2, test::patience(30'000));
        QVERIFY(setup.services.startRecording(setup.engine));
        const auto before = rendered.count();
        QTRY_VERIFY_WITH_TIMEOUT(rendered.count() >= before + 5, test::patience(30'000));
        setup.services.stopRecording(setup.engine);
        QTRY_VERIFY_WITH_TIMEOUT(setup.hasSaid(QStringLiteral("of video")), test::patience(20'000));
        QSignalSpy exported(&setup.engine.recorder(), &Recorder::exported);
        setup.engine.recorder().exportTo(path("runs.json"), {}, mpm::pipeline::Millis(1LL << 45));
        QTRY_COMPARE_WITH_TIMEOUT(exported.count(), 1, test::patience(20'000));
        server.kill();
        QTRY_VERIFY_WITH_TIMEOUT(!setup.engine.report().current(), test::patience(20'000));
        QVERIFY(hidesAll(setup.engine.report().status.message().c_str(), "the state of a source"));
        for (const QList<QVariant>& words : setup.said)
            QVERIFY(hidesAll(words[0].toString().toUtf8(), "status bar"));
    }
    QByteArray all = everythingIn(path("runs-videos"));
    for (const char* name : {"runs.sqlite", "runs.sqlite-wal", "runs.json"}) {
        QFile file(path(name));
        if (file.open(QIODevice::ReadOnly)) all += file.readAll();
    }
    QVERIFY(all.contains("127_0_0_1"));  // the video's name
    QVERIFY(hidesAll(all, "store, export, video"));
    QVERIFY(hidesAll(errors.said(), "stderr"));
}

void SecretsTest::theProgramsFromOutside() {
    mpm::test::StreamServer server;
    server.start();
    const QString url = QString::fromStdString(server.url());
    const QString whole =
        QString(url).replace(QStringLiteral("user:secret@"), QStringLiteral("Zq9user:Zq9secret@")) +
        QStringLiteral("?access_token=Zq9token");
    qputenv("MPM_TEST_CAMERA", whole.toUtf8());
    const test::Outcome run =
        test::run(QStringLiteral(MPM_PROGRAM),
                  {QStringLiteral("run"), QStringLiteral("default"), whole, QStringLiteral("--duration"),
                   QStringLiteral("1"), QStringLiteral("--out"), path("mpm"), QStringLiteral("--save"),
                   QStringLiteral("csv,jsonl,labels")});
    QVERIFY2(run.status == 0, qPrintable(run.err));
    const QByteArray written = everythingIn(path("mpm"));
    QVERIFY(written.contains("tokens.csv"));
    QVERIFY(hidesAll(written + run.out.toUtf8() + run.err.toUtf8(), "mpm run"));
    server.kill();
    QStringList gone{QStringLiteral("run"), QStringLiteral("default"), whole};
    const test::Outcome failed = test::run(QStringLiteral(MPM_PROGRAM), gone);
    QCOMPARE(failed.status, 3);
    QVERIFY(hidesAll(failed.out.toUtf8() + failed.err.toUtf8(), "mpm run without a camera"));
    server.start();
    // Commands of alerts must not inherit the variable that holds the secret.
    WatchSettings watch;
    watch.alerts = {test::rule("busy", AlertRule::Of::Tokens, 1)};
    watch.alerts[0].command = script().toStdString();
    QFile::remove(path("commands"));
    writeWatchSettings(path("config/mpm/monitor/outside.watch.json"), watch);
    const test::Outcome monitor =
        test::run(QStringLiteral(MPM_MONITOR),
                  {QStringLiteral("--headless"), QStringLiteral("--profile"), QStringLiteral("outside"),
                   QStringLiteral("--source"), QStringLiteral("env:MPM_TEST_CAMERA"),
                   QStringLiteral("--after"), QString::number(test::patience(6))});
    QVERIFY2(monitor.status == 0, qPrintable(monitor.err));
    QVERIFY(monitor.err.contains(QStringLiteral("env:MPM_TEST_CAMERA: live")));
    QVERIFY(hidesAll(monitor.err.toUtf8(), "mpm-monitor"));
    QFile commands(path("commands"));
    QVERIFY(commands.open(QIODevice::ReadOnly));
    const QByteArray said = commands.readAll();
    QVERIFY(said.contains("MPM_SOURCE=env:MPM_TEST_CAMERA"));
    QVERIFY(hidesAll(said, "environment of commands"));
    qunsetenv("MPM_TEST_CAMERA");
}

/// An earlier version wrote passwords to the watch file. Two cameras of a recorder have the same address
/// without the password.
void SecretsTest::passwordsInTheWatchFileMoveToTheKeychain() {
    const QStringList whole{QStringLiteral("rtsp://u:Zq9one@127.0.0.1:9/a"),
                            QStringLiteral("rtsp://u:Zq9two@127.0.0.1:9/a")};
    const QString file = path("config/mpm/monitor/moved.watch.json");
    WatchSettings watch;
    watch.further = QStringList{whole[0], QStringLiteral("demo"), whole[1]};
    watch.alerts = {test::rule("busy", AlertRule::Of::Tokens, 1)};
    writeWatchSettings(file, watch);
    Options options;
    options.profile = QStringLiteral("moved");
    Session session(options);
    session.readWatch();
    const auto content = [&file] {
        QFile now(file);
        return now.open(QIODevice::ReadOnly) ? now.readAll() : QByteArray();
    };
    QTRY_VERIFY_WITH_TIMEOUT(!content().contains("Zq9"), test::patience(20'000));
    const WatchSettings now = readWatchSettings(file);
    QCOMPARE(now.alerts.size(), size_t(1));
    QCOMPARE(now.further.size(), 3);
    QCOMPARE(now.further[1], QStringLiteral("demo"));
    for (const int i : {0, 2}) {
        std::optional<QString> found;
        session.services().secrets().findAddress(
            keychainName(now.further[i]).value_or(QString()),
            [&found](const std::optional<QString>& secret, const QString&) { found = secret; });
        QTRY_VERIFY_WITH_TIMEOUT(found.has_value(), test::patience(20'000));
        QCOMPARE(*found, whole[i / 2]);
    }
}

/// Cameras are kept apart even if their addresses without secrets are equal: in two profiles, and one after
/// the other in a tab.
void SecretsTest::camerasOfARecorderAreKeptApart() {
    const QString name = QStringLiteral("rtsp://127.0.0.1:9/cam"),
                  camera = QStringLiteral("rtsp://u:Zq9one@127.0.0.1:9/cam?channel=");
    const auto profile = [](int channel) {
        Options options;
        options.profile = QStringLiteral("recorder %1").arg(channel);
        return options;
    };
    for (const int channel : {1, 2}) {
        Session session(profile(channel));
        session.openSource(session.sources().add(), camera + QString::number(channel));
        QTRY_COMPARE_WITH_TIMEOUT(session.state().source, storedAs(name), test::patience(20'000));
        session.save();
    }
    for (const int channel : {1, 2}) {
        Session session(profile(channel));
        Engine& engine = session.sources().add();
        session.sources().open(engine, session.state().source);
        QTRY_VERIFY_WITH_TIMEOUT(!engine.address().empty(), test::patience(20'000));
        QVERIFY(engine.address().reveal() == (camera + QString::number(channel)).toStdString());
        QCOMPARE(engine.sourceName(), name);
        session.openSource(engine, camera + QStringLiteral("3"));
        QCOMPARE(engine.sourceName(), name + QStringLiteral(" (2)"));
        session.openSource(engine, QString(camera).replace(QStringLiteral("one"), QStringLiteral("new")) +
                                       QString::number(channel));  // only the password differs
        QCOMPARE(engine.sourceName(), name);
    }
    // The user or an earlier version may have stored an entry without a profile.
    Session session(profile(3));
    bool kept = false;
    session.services().secrets().keep(QStringLiteral("door"), camera, [&](const QString&) { kept = true; });
    QTRY_VERIFY_WITH_TIMEOUT(kept, test::patience(20'000));
    Engine& engine = session.sources().add();
    session.sources().open(engine, storedAs(QStringLiteral("door")));
    QTRY_COMPARE_WITH_TIMEOUT(engine.sourceName(), name, test::patience(20'000));
}

/// Readings of the previous source, measured before the keychain answers, must not count for the new source.
void SecretsTest::aSourceOfTheKeychainBeginsAnew() {
    Options options;
    options.source = m_sandbox.film(2, 0);
    MainWindow window(options);
    const StatisticsModel& statistics = window.models().statistics;
    mpm::pipeline::Measurement measurement;
    AnalysisPtr analysis;
    connect(&window.engine(), &Engine::measured, &window, [&](const auto& values, const AnalysisPtr& found) {
        measurement = values;
        analysis = found;
    });
    bool kept = false;
    window.session().services().secrets().keep(QStringLiteral("film"), m_sandbox.film(4, 0),
                                               [&](const QString&) { kept = true; });
    QTRY_VERIFY_WITH_TIMEOUT(kept && analysis, test::patience(30'000));
    QSignalSpy modelMeasured(&window.front(), &FrontSource::modelMeasured);
    int opened = 0, measuredBefore = 0;
    connect(&window.session().sources(), &Sources::opened, &window, [&] {
        ++opened;
        measuredBefore = int(modelMeasured.count());
        QVERIFY(statistics.setup() == mpm::pipeline::Setup());
    });
    window.sources().open(storedAs(QStringLiteral("film")));
    emit window.engine().measured(measurement, analysis);
    QVERIFY(statistics.setup() == measurement.setup);
    QTRY_COMPARE_WITH_TIMEOUT(opened, 1, test::patience(20'000));
    QTRY_VERIFY_WITH_TIMEOUT(modelMeasured.count() > measuredBefore, test::patience(30'000));
}

MPM_GUI_TEST(SecretsTest);
#include "secrets_test.moc"
