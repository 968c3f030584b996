// Published data and secrets, with an MQTT broker, a keychain and curl. Must be run inside
// `dbus-run-session`.
#include <QDBusConnection>
#include <QDBusConnectionInterface>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "gui/broker.hpp"
#include "gui/process.hpp"
#include "gui/registry.hpp"
#include "gui/services_fixture.hpp"

using namespace mpm::gui;
using mpm::pipeline::AlertRule;

class PublishTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void cleanupTestCase();
    void keychainKeepsASecret();
    void mqttTellsABrokerAndHomeAssistant();
    void mqttComesBackWithTheBroker();
    void aBrokerThatSendsTooMuchIsLeft();
    void aSlowBrokerGetsNoQueueOfStates();
    void mqttPasswordComesFromTheKeychain();
    void metricsAreReadByCurl();
    void reuseIsPublished();
    void aTakenPortIsSaid();

private:
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
    return QTest::qWaitFor([&] { return done; }, test::patience(15'000)) ? found : std::nullopt;
}

QString keepSecret(Secrets& secrets, const QString& key, const QString& secret) {
    std::optional<QString> problem;
    secrets.keep(key, secret, [&](const QString& why) { problem = why; });
    const bool answered = QTest::qWaitFor([&] { return problem.has_value(); }, test::patience(15'000));
    return answered ? *problem : QStringLiteral("no answer");
}

}  // namespace

void PublishTest::initTestCase() {
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
        test::patience(10'000)));
}

void PublishTest::cleanupTestCase() {
    m_keyring.terminate();
    m_keyring.waitForFinished();
}

void PublishTest::keychainKeepsASecret() {
    Secrets secrets;
    QString problem;
    QVERIFY(!findSecret(secrets, QStringLiteral("nobody"), &problem));
    QVERIFY(!problem.isEmpty());
    QCOMPARE(keepSecret(secrets, QStringLiteral("rtsp://user:***@host/1"), QStringLiteral("geheim")),
             QString());
    QCOMPARE(findSecret(secrets, QStringLiteral("rtsp://user:***@host/1")).value_or(QString()),
             QStringLiteral("geheim"));
    QCOMPARE(keychainName(QStringLiteral("rtsp://user:***@host/1")),
             QStringLiteral("rtsp://user:***@host/1"));
    QCOMPARE(keychainName(storedAs(QStringLiteral("rtsp://host/1"))), QStringLiteral("rtsp://host/1"));
    QVERIFY(!keychainName(QStringLiteral("demo")));
}

void PublishTest::mqttTellsABrokerAndHomeAssistant() {
    test::Broker broker(m_sandbox.path(QStringLiteral(".")));
    QVERIFY2(broker.start(), qPrintable(broker.log()));
    test::Subscriber subscriber(broker.port());
    test::Setup setup(m_sandbox, QStringLiteral("Yard 1"));
    WatchSettings watch;
    watch.mqtt.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");  // the broker listens here only; localhost may be ::1
    watch.mqtt.port = broker.port();
    watch.alerts = {test::rule("busy", AlertRule::Of::Tokens, 1)};
    setup.services.apply(watch);
    const QString source = m_sandbox.film(8, 0);
    setup.open(source);
    const QString topic = setup.services.mqtt()->topicOf(source);
    QVERIFY(topic.startsWith(QStringLiteral("mpm/yard_1/")));
    const QJsonObject state = json(subscriber.payload(topic + QStringLiteral("/state")));
    QVERIFY(state[QStringLiteral("tokens_kept")].toInt() > 0);
    QVERIFY(state[QStringLiteral("tokens_kept")].toInt() < state[QStringLiteral("tokens_in")].toInt());
    const QJsonObject shares = state[QStringLiteral("shares")].toObject();
    QVERIFY(shares.contains(QStringLiteral("road")));
    double sum = 0;
    for (const QJsonValue& share : shares)
        sum += share.toDouble();
    QVERIFY2(std::abs(sum - 1) < 0.01, qPrintable(QString::number(sum)));
    const double luminance = state[QStringLiteral("luminance")].toDouble();
    QCOMPARE(luminance, std::round(luminance * 1e4) / 1e4);
    QCOMPARE(subscriber.payload(QStringLiteral("mpm/yard_1/availability")), QByteArray("online"));
    QCOMPARE(json(subscriber.payload(topic + QStringLiteral("/source")))[QStringLiteral("up")].toBool(),
             true);
    QCOMPARE(json(subscriber.payload(topic + QStringLiteral("/alert")))[QStringLiteral("rule")].toString(),
             QStringLiteral("busy"));
    // Home Assistant finds each sensor by a config message, which must name the topics of the published data.
    const QString device = QStringLiteral("mpm_yard_1_") + topic.section(QLatin1Char('/'), 2);
    const QJsonObject config =
        json(subscriber.payload(QStringLiteral("homeassistant/sensor/%1/tokens/config").arg(device)));
    QCOMPARE(config[QStringLiteral("state_topic")].toString(), topic + QStringLiteral("/state"));
    // A sensor is available only while the source is up. Otherwise the sensor would show an old value.
    const QJsonValue available = config[QStringLiteral("availability")];
    QCOMPARE(available[0][QStringLiteral("topic")].toString(), QStringLiteral("mpm/yard_1/availability"));
    QCOMPARE(available[1][QStringLiteral("topic")].toString(), topic + QStringLiteral("/source"));
    QVERIFY(
        available[1][QStringLiteral("value_template")].toString().contains(QStringLiteral("value_json.up")));
    QCOMPARE(config[QStringLiteral("availability_mode")].toString(), QStringLiteral("all"));
    const QJsonObject up =
        json(subscriber.payload(QStringLiteral("homeassistant/binary_sensor/%1/source/config").arg(device)));
    QCOMPARE(up[QStringLiteral("availability")].toArray().size(), 1);
    QVERIFY(!config[QStringLiteral("unique_id")].toString().isEmpty());
    QVERIFY(config[QStringLiteral("device")].toObject().contains(QStringLiteral("identifiers")));
    const QJsonObject road =
        json(subscriber.payload(QStringLiteral("homeassistant/sensor/%1/class_0/config").arg(device)));
    QVERIFY2(
        road[QStringLiteral("value_template")].toString().contains(QStringLiteral("value_json.shares['")),
        qPrintable(road[QStringLiteral("value_template")].toString()));
    QVERIFY(!subscriber.payload(QStringLiteral("homeassistant/binary_sensor/%1/night/config").arg(device))
                 .isEmpty());
    subscriber.forget();
    setup.services.apply({});  // switches the publisher off, which sends a last message
    QCOMPARE(subscriber.payload(QStringLiteral("mpm/yard_1/availability")), QByteArray("offline"));
}

void PublishTest::aBrokerThatSendsTooMuchIsLeft() {
    test::FloodingBroker broker;
    MqttSettings settings;
    settings.host = QStringLiteral("127.0.0.1");
    settings.port = broker.port();
    MqttPublisher publisher(settings, {}, QStringLiteral("flood"));
    QStringList reasons;
    connect(&publisher, &MqttPublisher::connectedChanged, this, [&](bool connected, const QString& message) {
        if (!connected) reasons << message;
    });
    QTRY_COMPARE_WITH_TIMEOUT(reasons.size(), 1, test::patience(30'000));
    QVERIFY2(reasons[0].contains(QStringLiteral("more than a publisher can need")), qPrintable(reasons[0]));
    QVERIFY2(broker.sent() < test::FloodingBroker::kMessage / 4, qPrintable(QString::number(broker.sent())));
}

/// A state is not sent before the broker confirms the previous state. An alert is sent at once.
void PublishTest::aSlowBrokerGetsNoQueueOfStates() {
    test::SilentBroker broker;
    MqttSettings settings;
    settings.host = QStringLiteral("127.0.0.1");
    settings.port = broker.port();
    settings.discovery.clear();
    MqttPublisher publisher(settings, {}, QStringLiteral("slow"));
    QTRY_VERIFY_WITH_TIMEOUT(publisher.connected(), test::patience(30'000));
    QElapsedTimer since;
    since.start();
    do {
        publisher.publish(QStringLiteral("yard"), {}, {});
        QTest::qWait(20);
    } while (since.elapsed() < 2'500);  // at one state a second, two or three could be sent
    AlertNotice notice;
    notice.key = QStringLiteral("yard");
    publisher.publishAlert(notice);
    QTRY_VERIFY_WITH_TIMEOUT(broker.received().contains("yard/alert"), test::patience(10'000));
    QCOMPARE(broker.received().count("yard/state"), qsizetype(1));
}

void PublishTest::mqttComesBackWithTheBroker() {
    test::Broker broker(m_sandbox.path(QStringLiteral(".")));
    test::Setup setup(m_sandbox, QStringLiteral("back"));
    WatchSettings watch;
    watch.mqtt.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");  // the broker listens here only; localhost may be ::1
    watch.mqtt.port = broker.port();
    setup.services.apply(watch);  // the broker does not run yet
    setup.open(m_sandbox.film(8, 0));
    for (int round = 0; round < 2; ++round) {
        QVERIFY(broker.start());
        QTRY_VERIFY2_WITH_TIMEOUT(setup.services.mqtt()->connected(),
                                  qPrintable(QString::number(round) + setup.lastSaid() + broker.log()),
                                  test::patience(15'000));
        test::Subscriber subscriber(broker.port());
        const QString topic = setup.services.mqtt()->topicOf(setup.engine.sourceName());
        QVERIFY(!subscriber.payload(topic + QStringLiteral("/state")).isEmpty());
        QCOMPARE(subscriber.payload(QStringLiteral("mpm/back/availability")), QByteArray("online"));
        broker.stop();
        QTRY_VERIFY_WITH_TIMEOUT(!setup.services.mqtt()->connected(), test::patience(15'000));
    }
    QElapsedTimer timer;
    timer.start();
    setup.services.apply({});  // while the client still waits for the broker
    QVERIFY(timer.elapsed() < test::patience(2'000));
}

void PublishTest::mqttPasswordComesFromTheKeychain() {
    const QString passwords = m_sandbox.path(QStringLiteral("passwords"));
    QCOMPARE(
        test::run(QStringLiteral("mosquitto_passwd"), {QStringLiteral("-c"), QStringLiteral("-b"), passwords,
                                                       QStringLiteral("cam"), QStringLiteral("geheim")})
            .status,
        0);
    test::Broker broker(m_sandbox.path(QStringLiteral(".")),
                        QStringLiteral("allow_anonymous false\npassword_file ") + passwords);
    QVERIFY2(broker.start(), qPrintable(broker.log()));
    test::Setup setup(m_sandbox, QStringLiteral("secret"));
    WatchSettings watch;
    watch.mqtt.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");  // the broker listens here only; localhost may be ::1
    watch.mqtt.port = broker.port();
    watch.mqtt.user = QStringLiteral("cam");
    setup.services.apply(watch);
    QTRY_VERIFY_WITH_TIMEOUT(setup.lastSaid().contains(QStringLiteral("not in the keychain")),
                             test::patience(15'000));
    const QString key = QStringLiteral("mqtt://cam@127.0.0.1:%1").arg(broker.port());
    QCOMPARE(keepSecret(setup.services.secrets(), key, QStringLiteral("wrong")), QString());
    setup.services.apply({});
    setup.services.apply(watch);
    QTRY_VERIFY_WITH_TIMEOUT(setup.lastSaid().contains(QStringLiteral("not connected")),
                             test::patience(15'000));
    QCOMPARE(keepSecret(setup.services.secrets(), key, QStringLiteral("geheim")), QString());
    setup.services.apply({});
    setup.services.apply(watch);
    QTRY_VERIFY_WITH_TIMEOUT(setup.services.mqtt() && setup.services.mqtt()->connected(),
                             test::patience(15'000));
    for (const QList<QVariant>& words : setup.said)
        QVERIFY(!words[0].toString().contains(QStringLiteral("geheim")));
}

void PublishTest::metricsAreReadByCurl() {
    test::Setup setup(m_sandbox, QStringLiteral("metrics"));
    WatchSettings watch;
    watch.metrics.on = true;
    watch.metrics.port = 0;
    watch.alerts = {test::rule("busy", AlertRule::Of::Tokens, 1)};
    setup.services.apply(watch);
    QVERIFY(setup.services.metrics() != nullptr);
    QSignalSpy measured(&setup.engine, &Engine::measured);
    setup.open(m_sandbox.film(8, 0));
    QTRY_VERIFY_WITH_TIMEOUT(measured.count() >= 2, test::patience(30'000));
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
                 22);  // curl's exit status for 404
    // The server listens on 127.0.0.1 only, not on this machine's other addresses.
    const test::Outcome sockets = test::run(QStringLiteral("cat"), {QStringLiteral("/proc/net/tcp")});
    const QString port =
        QStringLiteral("%1").arg(setup.services.metrics()->port(), 4, 16, QLatin1Char('0')).toUpper();
    QVERIFY(sockets.out.contains(QStringLiteral(" 0100007F:") + port));
    QVERIFY(!sockets.out.contains(QStringLiteral(" 00000000:") + port));
}

/// The broker and Prometheus get the share of computed tokens, the age of tokens and the time saved.
void PublishTest::reuseIsPublished() {
    test::Broker broker(m_sandbox.path(QStringLiteral(".")));
    QVERIFY2(broker.start(), qPrintable(broker.log()));
    test::Subscriber subscriber(broker.port());
    test::Setup setup(m_sandbox, QStringLiteral("reuse"));
    WatchSettings watch;
    watch.mqtt.on = watch.metrics.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");
    watch.mqtt.port = broker.port();
    watch.metrics.port = 0;
    setup.services.apply(watch);
    const QString source = m_sandbox.film(1, 0);  // nothing moves
    setup.open(source);
    const QString topic = setup.services.mqtt()->topicOf(source) + QStringLiteral("/state");
    QVERIFY(json(subscriber.payload(topic))[QStringLiteral("saved_ms")].isNull());
    Request request = setup.engine.request();
    request.reuse = request.compare = true;
    setup.engine.setRequest(request);
    QJsonObject state;
    const auto published = [&] {
        state = json(subscriber.payload(topic));
        return state[QStringLiteral("recomputed")].toDouble(1) < 0.5 &&
               state[QStringLiteral("saved_ms")].isDouble();
    };
    QVERIFY2(QTest::qWaitFor(published, test::patience(20'000)),
             QJsonDocument(state).toJson(QJsonDocument::Compact));
    QVERIFY(state[QStringLiteral("token_age")].toDouble() > 0);
    const QString device =
        QStringLiteral("mpm_reuse_") + topic.section(QLatin1Char('/'), 2).section(QLatin1Char('/'), 0, 0);
    for (const char* sensor : {"computed", "saved"})
        QVERIFY(
            !subscriber
                 .payload(
                     QStringLiteral("homeassistant/sensor/%1/%2/config").arg(device, QLatin1String(sensor)))
                 .isEmpty());
    const QString url = QStringLiteral("http://127.0.0.1:%1/metrics").arg(setup.services.metrics()->port());
    const test::Outcome page = test::runBeside(QStringLiteral("curl"), {QStringLiteral("-sSf"), url});
    QVERIFY2(page.status == 0, qPrintable(page.err));
    for (const char* name :
         {"\nmpm_tokens_recomputed_share{", "\nmpm_token_age_frames{", "\nmpm_network_saved_seconds{"})
        QVERIFY2(page.out.contains(QLatin1String(name)), name);
    request.reuse = request.compare = false;
    setup.engine.setRequest(request);
    const auto gone = [&] {
        return !test::runBeside(QStringLiteral("curl"), {QStringLiteral("-sSf"), url})
                    .out.contains(QStringLiteral("mpm_token_age_frames{"));
    };
    QVERIFY(QTest::qWaitFor(gone, test::patience(20'000)));  // no old value stays on the page
}

void PublishTest::aTakenPortIsSaid() {
    QTcpServer other;
    QVERIFY(other.listen(QHostAddress::LocalHost));
    test::Setup setup(m_sandbox, QStringLiteral("taken"));
    WatchSettings watch;
    watch.metrics.on = true;
    watch.metrics.port = other.serverPort();
    setup.services.apply(watch);
    QVERIFY(setup.lastSaid().contains(QStringLiteral("127.0.0.1:%1").arg(other.serverPort())));
    QVERIFY(setup.services.metrics() == nullptr);
}

MPM_CORE_TEST(PublishTest);
#include "publish_test.moc"
