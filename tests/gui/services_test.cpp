// What goes on beside the pictures, against real parts: a broker, a keychain, a session bus, curl. Run inside
// `dbus-run-session`.
#include <QDBusConnection>
#include <QDBusConnectionInterface>
#include <QDir>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSignalSpy>
#include <QTest>

#include <opencv2/videoio.hpp>

#include "gui/broker.hpp"
#include "gui/process.hpp"
#include "gui/services/services.hpp"
#include "gui/support.hpp"

using namespace mpm::gui;
using mpm::pipeline::AlertRule;

/// The desktop's part of a notification: what a notification daemon has on the bus.
class Notifications : public QObject {
    Q_OBJECT
    Q_CLASSINFO("D-Bus Interface", "org.freedesktop.Notifications")
public slots:
    uint Notify(const QString&, uint, const QString&, const QString& summary, const QString& body,
                const QStringList&, const QVariantMap&, int) {
        said << summary + QStringLiteral("|") + body;
        return uint(said.size());
    }

public:
    QStringList said;
};

class ServicesTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void cleanupTestCase();
    void keychainKeepsASecret();
    void mqttTellsABrokerAndHomeAssistant();
    void mqttComesBackWithTheBroker();
    void mqttPasswordComesFromTheKeychain();
    void metricsAreReadByCurl();
    void aTakenPortIsSaid();
    void alertsReachTheDesktopTheStoreAndAVideo();
    void commandThatCannotBeStartedIsSaid();
    void masksComeBeforeEverything();
    void measurementsOnlyKeepsNoPicture();
    void recordsByHand();
    void settingsGoThroughTheFile();

private:
    /// An engine on pictures with services beside it, running.
    struct Setup {
        explicit Setup(test::Sandbox& sandbox, const QString& name)
            : store(sandbox.path(name + QStringLiteral(".sqlite"))),
              engine(store),
              services(name, sandbox.path(name + QStringLiteral("-videos"))),
              said(&services, &Services::said) {
            services.attach(engine);
            engine.openModel(QStringLiteral("default"));
        }
        void open(const QString& source) {
            engine.openSource(source);
            services.sourceOpened(engine);
        }
        QString lastSaid() const { return said.isEmpty() ? QString() : said.last()[0].toString(); }
        QString store;
        Engine engine;
        Services services;
        QSignalSpy said;
    };
    static AlertRule rule(const char* name, AlertRule::Of of, double threshold) {
        AlertRule rule;
        rule.name = name;
        rule.of = of;
        rule.threshold = threshold;
        rule.desktop = false;
        return rule;
    }
    test::Sandbox m_sandbox;
    QProcess m_keyring;
};

namespace {

QJsonObject json(const QByteArray& text) {
    return QJsonDocument::fromJson(text).object();
}

/// Waits for the keychain, which answers through the event loop.
std::optional<QString> findSecret(Secrets& secrets, const QString& key, QString* problem = nullptr) {
    bool done = false;
    std::optional<QString> found;
    secrets.find(key, [&](const std::optional<QString>& secret, const QString& why) {
        found = secret;
        if (problem != nullptr) *problem = why;
        done = true;
    });
    return QTest::qWaitFor([&] { return done; }, 15'000) ? found : std::nullopt;
}

QString keepSecret(Secrets& secrets, const QString& key, const QString& secret) {
    std::optional<QString> problem;
    secrets.keep(key, secret, [&](const QString& why) { problem = why; });
    const bool answered = QTest::qWaitFor([&] { return problem.has_value(); }, 15'000);
    return answered ? *problem : QStringLiteral("no answer");
}

}  // namespace

void ServicesTest::initTestCase() {
    qputenv("HOME", m_sandbox.path(QStringLiteral(".")).toUtf8());
    m_keyring.start(
        QStringLiteral("gnome-keyring-daemon"),
        {QStringLiteral("--unlock"), QStringLiteral("--foreground"), QStringLiteral("--components=secrets")});
    QVERIFY(m_keyring.waitForStarted());
    m_keyring.write("login-password\n");
    m_keyring.closeWriteChannel();
    QVERIFY(QTest::qWaitFor(
        [] {
            return QDBusConnection::sessionBus().interface()->isServiceRegistered(
                QStringLiteral("org.freedesktop.secrets"));
        },
        10'000));
}

void ServicesTest::cleanupTestCase() {
    m_keyring.terminate();
    m_keyring.waitForFinished();
}

void ServicesTest::keychainKeepsASecret() {
    Secrets secrets;
    QString problem;
    QVERIFY(!findSecret(secrets, QStringLiteral("nobody"), &problem));
    QVERIFY(!problem.isEmpty());
    QCOMPARE(keepSecret(secrets, QStringLiteral("rtsp://user:***@host/1"), QStringLiteral("geheim")),
             QString());
    QCOMPARE(findSecret(secrets, QStringLiteral("rtsp://user:***@host/1")).value_or(QString()),
             QStringLiteral("geheim"));
    QVERIFY(wantsPassword(QStringLiteral("rtsp://user:***@host/1")));
    QVERIFY(!wantsPassword(QStringLiteral("demo")));
}

void ServicesTest::mqttTellsABrokerAndHomeAssistant() {
    test::Broker broker(m_sandbox.path(QStringLiteral(".")));
    QVERIFY2(broker.start(), qPrintable(broker.log()));
    test::Subscriber subscriber(broker.port());
    Setup setup(m_sandbox, QStringLiteral("Yard 1"));
    WatchSettings watch;
    watch.mqtt.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");  // where alone the broker listens; localhost may be ::1
    watch.mqtt.port = broker.port();
    watch.alerts = {rule("busy", AlertRule::Of::Tokens, 1)};
    setup.services.apply(watch);
    const QString source = m_sandbox.pictures(2, 0);
    setup.open(source);
    const QString topic = setup.services.mqtt()->topicOf(source);
    QVERIFY(topic.startsWith(QStringLiteral("mpm/yard_1/")));
    const QJsonObject state = json(subscriber.payload(topic + QStringLiteral("/state")));
    QVERIFY(state[QStringLiteral("tokens_kept")].toInt() > 0);
    QVERIFY(state[QStringLiteral("tokens_kept")].toInt() < state[QStringLiteral("tokens_in")].toInt());
    QCOMPARE(subscriber.payload(QStringLiteral("mpm/yard_1/availability")), QByteArray("online"));
    QCOMPARE(json(subscriber.payload(topic + QStringLiteral("/source")))[QStringLiteral("up")].toBool(),
             true);
    QCOMPARE(json(subscriber.payload(topic + QStringLiteral("/alert")))[QStringLiteral("rule")].toString(),
             QStringLiteral("busy"));
    // Home Assistant finds every sensor by its config, whose topics must be those that are published.
    const QString device = QStringLiteral("mpm_yard_1_") + topic.section(QLatin1Char('/'), 2);
    const QJsonObject config =
        json(subscriber.payload(QStringLiteral("homeassistant/sensor/%1/tokens/config").arg(device)));
    QCOMPARE(config[QStringLiteral("state_topic")].toString(), topic + QStringLiteral("/state"));
    QCOMPARE(config[QStringLiteral("availability_topic")].toString(),
             QStringLiteral("mpm/yard_1/availability"));
    QVERIFY(!config[QStringLiteral("unique_id")].toString().isEmpty());
    QVERIFY(config[QStringLiteral("device")].toObject().contains(QStringLiteral("identifiers")));
    QVERIFY(!subscriber.payload(QStringLiteral("homeassistant/binary_sensor/%1/night/config").arg(device))
                 .isEmpty());
    subscriber.forget();
    setup.services.apply({});  // switched off: says good-bye
    QCOMPARE(subscriber.payload(QStringLiteral("mpm/yard_1/availability")), QByteArray("offline"));
}

void ServicesTest::mqttComesBackWithTheBroker() {
    test::Broker broker(m_sandbox.path(QStringLiteral(".")));
    Setup setup(m_sandbox, QStringLiteral("back"));
    WatchSettings watch;
    watch.mqtt.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");  // where alone the broker listens; localhost may be ::1
    watch.mqtt.port = broker.port();
    setup.services.apply(watch);  // nobody listens yet
    setup.open(m_sandbox.pictures(2, 0));
    for (int round = 0; round < 2; ++round) {
        QVERIFY(broker.start());
        QTRY_VERIFY2_WITH_TIMEOUT(setup.services.mqtt()->connected(),
                                  qPrintable(QString::number(round) + setup.lastSaid() + broker.log()),
                                  15'000);
        test::Subscriber subscriber(broker.port());
        const QString topic = setup.services.mqtt()->topicOf(setup.engine.sourceName());
        QVERIFY(!subscriber.payload(topic + QStringLiteral("/state")).isEmpty());
        QCOMPARE(subscriber.payload(QStringLiteral("mpm/back/availability")), QByteArray("online"));
        broker.stop();
        QTRY_VERIFY_WITH_TIMEOUT(!setup.services.mqtt()->connected(), 15'000);
    }
    QElapsedTimer timer;
    timer.start();
    setup.services.apply({});  // while it waits for the broker
    QVERIFY(timer.elapsed() < 2'000);
}

void ServicesTest::mqttPasswordComesFromTheKeychain() {
    const QString passwords = m_sandbox.path(QStringLiteral("passwords"));
    QCOMPARE(
        test::run(QStringLiteral("mosquitto_passwd"), {QStringLiteral("-c"), QStringLiteral("-b"), passwords,
                                                       QStringLiteral("cam"), QStringLiteral("geheim")})
            .status,
        0);
    test::Broker broker(m_sandbox.path(QStringLiteral(".")),
                        QStringLiteral("allow_anonymous false\npassword_file ") + passwords);
    QVERIFY2(broker.start(), qPrintable(broker.log()));
    Setup setup(m_sandbox, QStringLiteral("secret"));
    WatchSettings watch;
    watch.mqtt.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");  // where alone the broker listens; localhost may be ::1
    watch.mqtt.port = broker.port();
    watch.mqtt.user = QStringLiteral("cam");
    setup.services.apply(watch);
    QTRY_VERIFY_WITH_TIMEOUT(setup.lastSaid().contains(QStringLiteral("not in the keychain")), 15'000);
    const QString key = QStringLiteral("mqtt://cam@127.0.0.1:%1").arg(broker.port());
    QCOMPARE(keepSecret(setup.services.secrets(), key, QStringLiteral("wrong")), QString());
    setup.services.apply({});
    setup.services.apply(watch);
    QTRY_VERIFY_WITH_TIMEOUT(setup.lastSaid().contains(QStringLiteral("not connected")), 15'000);
    QCOMPARE(keepSecret(setup.services.secrets(), key, QStringLiteral("geheim")), QString());
    setup.services.apply({});
    setup.services.apply(watch);
    QTRY_VERIFY_WITH_TIMEOUT(setup.services.mqtt() && setup.services.mqtt()->connected(), 15'000);
    for (const QList<QVariant>& words : setup.said)
        QVERIFY(!words[0].toString().contains(QStringLiteral("geheim")));
}

void ServicesTest::metricsAreReadByCurl() {
    Setup setup(m_sandbox, QStringLiteral("metrics"));
    WatchSettings watch;
    watch.metrics.on = true;
    watch.metrics.port = 0;
    watch.alerts = {rule("busy", AlertRule::Of::Tokens, 1)};
    setup.services.apply(watch);
    QVERIFY(setup.services.metrics() != nullptr);
    QSignalSpy measured(&setup.engine, &Engine::measured);
    setup.open(m_sandbox.pictures(2, 0));
    QTRY_VERIFY_WITH_TIMEOUT(measured.count() >= 2, 30'000);
    const QString url = QStringLiteral("http://127.0.0.1:%1/metrics").arg(setup.services.metrics()->port());
    const test::Outcome page =
        test::runBeside(QStringLiteral("curl"), {QStringLiteral("-sS"), QStringLiteral("-f"), url});
    QVERIFY2(page.status == 0, qPrintable(page.err));
    const QString by = QStringLiteral("{source=\"%1\"}").arg(setup.engine.sourceName());
    QVERIFY2(page.out.contains(QStringLiteral("mpm_source_up") + by + QStringLiteral(" 1\n")),
             qPrintable(page.out));
    const auto value = [&](const QString& name) {
        const qsizetype at = page.out.indexOf(QLatin1Char('\n') + name + by + QLatin1Char(' '));
        return at < 0 ? -1
                      : page.out.mid(at + 2 + name.size() + by.size())
                            .section(QLatin1Char('\n'), 0, 0)
                            .toDouble();
    };
    QVERIFY(value(QStringLiteral("mpm_tokens_kept")) > 0);
    QVERIFY(value(QStringLiteral("mpm_tokens_kept")) < value(QStringLiteral("mpm_tokens_in")));
    QVERIFY(value(QStringLiteral("mpm_frames_analysed_total")) >= 2);
    QVERIFY(page.out.contains(QStringLiteral("mpm_class_share{class=")));
    QVERIFY(page.out.contains(QStringLiteral("mpm_network_seconds_bucket")));
    QVERIFY(page.out.contains(QStringLiteral("mpm_alerts_total{rule=\"busy\"")));
    for (const char* other : {"/", "/metricsx"})
        QCOMPARE(test::runBeside(QStringLiteral("curl"),
                                 {QStringLiteral("-sSf"), url.chopped(8) + QLatin1String(other)})
                     .status,
                 22);  // curl's word for 404
    // Loopback only: this machine's other addresses are not listened on.
    const test::Outcome sockets = test::run(QStringLiteral("cat"), {QStringLiteral("/proc/net/tcp")});
    const QString port =
        QStringLiteral("%1").arg(setup.services.metrics()->port(), 4, 16, QLatin1Char('0')).toUpper();
    QVERIFY(sockets.out.contains(QStringLiteral(" 0100007F:") + port));
    QVERIFY(!sockets.out.contains(QStringLiteral(" 00000000:") + port));
}

void ServicesTest::aTakenPortIsSaid() {
    QTcpServer other;
    QVERIFY(other.listen(QHostAddress::LocalHost));
    Setup setup(m_sandbox, QStringLiteral("taken"));
    WatchSettings watch;
    watch.metrics.on = true;
    watch.metrics.port = other.serverPort();
    setup.services.apply(watch);
    QVERIFY(setup.lastSaid().contains(QStringLiteral("127.0.0.1:%1").arg(other.serverPort())));
    QVERIFY(setup.services.metrics() == nullptr);
}

void ServicesTest::alertsReachTheDesktopTheStoreAndAVideo() {
    Notifications desktop;
    QDBusConnection bus = QDBusConnection::sessionBus();
    QVERIFY(bus.registerService(QStringLiteral("org.freedesktop.Notifications")));
    QVERIFY(bus.registerObject(QStringLiteral("/org/freedesktop/Notifications"), &desktop,
                               QDBusConnection::ExportAllSlots));
    const QString source = m_sandbox.pictures(2, 0);
    QString file;
    {
        Setup setup(m_sandbox, QStringLiteral("alerts"));
        QSignalSpy alerted(&setup.services, &Services::alerted);
        WatchSettings watch;
        AlertRule bright = rule("bright", AlertRule::Of::Luminance, 0.3);
        bright.desktop = bright.record = true;
        AlertRule gone = rule("gone", AlertRule::Of::SourceDown, 0);
        watch.alerts = {bright, gone};
        setup.services.apply(watch);
        setup.open(source);
        QTRY_COMPARE_WITH_TIMEOUT(alerted.count(), 1, 30'000);
        QTRY_COMPARE(desktop.said.size(), 1);
        QVERIFY2(desktop.said[0].startsWith(QStringLiteral("bright|") + source), qPrintable(desktop.said[0]));
        setup.open(m_sandbox.path(QStringLiteral("gone.mp4")));
        QTRY_COMPARE_WITH_TIMEOUT(alerted.count(), 2, 30'000);
        QCOMPARE(alerted[1][0].value<AlertNotice>().rule, QStringLiteral("gone"));
    }
    const QDir videos(m_sandbox.path(QStringLiteral("alerts-videos")));
    QCOMPARE(videos.entryList(QDir::Files).size(), 1);
    file = videos.filePath(videos.entryList(QDir::Files).first());
    cv::VideoCapture film(file.toStdString(), cv::CAP_FFMPEG);
    cv::Mat frame;
    QVERIFY(film.read(frame));
    QCOMPARE(frame.cols, 160);
    mpm::pipeline::Store store(m_sandbox.path(QStringLiteral("alerts.sqlite")).toStdString());
    const auto events =
        store.events(store.source(source.toStdString()), {}, mpm::pipeline::Millis(1LL << 45));
    QVERIFY(std::any_of(events.begin(), events.end(), [](const auto& event) {
        return event.kind == "alert" && event.text.rfind("bright: luminance above 0.30", 0) == 0;
    }));
}

void ServicesTest::commandThatCannotBeStartedIsSaid() {
    Setup setup(m_sandbox, QStringLiteral("command"));
    WatchSettings watch;
    watch.alerts = {rule("busy", AlertRule::Of::Tokens, 1)};
    watch.alerts[0].command = "/nowhere/program";
    setup.services.apply(watch);
    setup.open(m_sandbox.pictures(1, 0));
    QTRY_VERIFY_WITH_TIMEOUT(setup.lastSaid().contains(QStringLiteral("/nowhere/program")), 30'000);
}

void ServicesTest::masksComeBeforeEverything() {
    Setup setup(m_sandbox, QStringLiteral("masks"));
    const QString source = m_sandbox.pictures(2, 0);
    WatchSettings watch;
    watch.sources[source].masks = {{{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}}};
    setup.services.apply(watch);
    std::vector<cv::Mat> seen;
    std::vector<QImage> shown;
    connect(&setup.engine, &Engine::framed, this,
            [&](const LiveFrame& frame) { shown.push_back(frame.image); });
    connect(&setup.engine, &Engine::measured, this,
            [&](const auto&, const AnalysisPtr& analysis) { seen.push_back(analysis->frame.picture); });
    connect(&setup.engine, &Engine::rendered, this,
            [&](const RenderedFrame& drawn) { shown.push_back(drawn.analysis->frame.image); });
    setup.open(source);
    QTRY_VERIFY_WITH_TIMEOUT(seen.size() >= 3 && shown.size() >= 4, 30'000);
    setup.engine.disconnect(this);
    for (const cv::Mat& picture : seen) {
        QCOMPARE(cv::countNonZero(picture(cv::Rect(0, 0, 78, 120)).reshape(1)), 0);
        QVERIFY(cv::countNonZero(picture(cv::Rect(84, 0, 70, 120)).reshape(1)) > 0);
    }
    for (const QImage& image : shown)
        for (const QPoint at : {QPoint(0, 0), QPoint(70, 60), QPoint(10, 119)})
            QCOMPARE(image.pixelColor(at), QColor(Qt::black));
}

void ServicesTest::measurementsOnlyKeepsNoPicture() {
    Setup setup(m_sandbox, QStringLiteral("blind"));
    WatchSettings watch;
    watch.keepsPictures = false;
    watch.alerts = {rule("busy", AlertRule::Of::Tokens, 1)};
    watch.alerts[0].record = true;
    setup.services.apply(watch);
    Request request = setup.engine.request();
    request.compare = request.simulateNight = true;
    setup.engine.setRequest(setup.services.requestFor(setup.engine, request));
    QSignalSpy rendered(&setup.engine, &Engine::rendered), compared(&setup.engine, &Engine::compared),
        alerted(&setup.services, &Services::alerted);
    int measured = 0, pictures = 0;
    connect(&setup.engine, &Engine::framed, this,
            [&](const LiveFrame& frame) { pictures += !frame.picture.empty() || !frame.image.isNull(); });
    connect(&setup.engine, &Engine::measured, this, [&](const auto&, const AnalysisPtr& analysis) {
        ++measured;
        pictures += !analysis->frame.picture.empty() || !analysis->frame.image.isNull() ||
                    !analysis->merged.labels.empty();
    });
    const QString source = m_sandbox.pictures(2, 0);
    setup.engine.openSource(source);
    setup.services.sourceOpened(setup.engine);
    QTRY_VERIFY_WITH_TIMEOUT(measured >= 3 && alerted.count() == 1, 30'000);
    QCOMPARE(pictures, 0);
    QCOMPARE(rendered.count() + compared.count(), 0);
    QVERIFY(!setup.services.startRecording(setup.engine));
    QVERIFY(!QDir(m_sandbox.path(QStringLiteral("blind-videos"))).exists());
}

void ServicesTest::recordsByHand() {
    Setup setup(m_sandbox, QStringLiteral("hand"));
    setup.open(m_sandbox.pictures(3, 0));
    QSignalSpy rendered(&setup.engine, &Engine::rendered);
    QTRY_VERIFY_WITH_TIMEOUT(rendered.count() >= 1, 30'000);
    QVERIFY(setup.services.startRecording(setup.engine));
    QVERIFY(setup.services.recording(setup.engine));
    QTest::qWait(3'000);
    setup.services.stopRecording(setup.engine);
    QTRY_VERIFY_WITH_TIMEOUT(setup.lastSaid().contains(QStringLiteral("of video written to")), 10'000);
    const QDir videos(m_sandbox.path(QStringLiteral("hand-videos")));
    cv::VideoCapture film(videos.filePath(videos.entryList(QDir::Files).value(0)).toStdString(),
                          cv::CAP_FFMPEG);
    const double frames = film.get(cv::CAP_PROP_FRAME_COUNT);
    QVERIFY2(frames >= 10 && frames <= 60, qPrintable(QString::number(frames)));  // as long as what was seen
}

void ServicesTest::settingsGoThroughTheFile() {
    WatchSettings watch;
    watch.sources[QStringLiteral("demo")] = {{{"door", {{0.1, 0.2}, {0.3, 0.4}, {0.5, 0.1}}}},
                                             {{{0, 0}, {1, 0}, {1, 1}}}};
    watch.further = {QStringLiteral("0"), QStringLiteral("rtsp://u:***@h/1")};
    AlertRule share = rule("cars", AlertRule::Of::ClassShare, 0.25);
    share.label = "car";
    share.region = "door";
    share.above = false;
    share.hold = std::chrono::seconds(3);
    share.coolDown = std::chrono::seconds(90);
    share.record = true;
    share.command = "notify \"a b\"";
    watch.alerts = {share};
    watch.mqtt = {true, QStringLiteral("host"), 8883, QStringLiteral("u"), true, QStringLiteral("p"), {}};
    watch.metrics = {true, QStringLiteral("0.0.0.0"), 9000};
    watch.keepsPictures = false;
    watch.videos = QStringLiteral("/videos");
    const QString path = m_sandbox.path(QStringLiteral("deep/er/x.watch.json"));
    writeWatchSettings(path, watch);
    const WatchSettings back = readWatchSettings(path);
    QCOMPARE(back.sources.size(), size_t(1));
    QCOMPARE(back.of(QStringLiteral("demo")).regions[0].name, std::string("door"));
    QVERIFY(back.of(QStringLiteral("demo")).regions[0].outline ==
            watch.of(QStringLiteral("demo")).regions[0].outline);
    QVERIFY(back.of(QStringLiteral("demo")).masks == watch.of(QStringLiteral("demo")).masks);
    QVERIFY(back.alerts == watch.alerts);
    QVERIFY(back.mqtt == watch.mqtt);
    QVERIFY(back.metrics == watch.metrics);
    QCOMPARE(back.further, watch.further);
    QCOMPARE(back.keepsPictures, false);
    QCOMPARE(back.videos, watch.videos);
    QVERIFY(back.of(QStringLiteral("another")).empty());
}

QTEST_GUILESS_MAIN(ServicesTest)
#include "services_test.moc"
