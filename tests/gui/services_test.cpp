// Services: alerts, masks, videos. Must be run inside `dbus-run-session`: a test runs a notification daemon.
#include <QDBusConnection>
#include <QDir>
#include <QElapsedTimer>

#include <opencv2/videoio.hpp>

#include "gui/registry.hpp"
#include "gui/services_fixture.hpp"

using namespace mpm::gui;
using mpm::pipeline::AlertRule;

/// A notification daemon on the bus, in place of the desktop's.
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
    void alertsReachTheDesktopTheStoreAndAVideo();
    void manyAlertsAtOnceLeaveTheWindowTime();
    void commandThatCannotBeStartedIsSaid();
    void masksComeBeforeEverything();
    void masksHaveNoShare();
    void measurementsOnlyKeepsNoImage();
    void recordsByHand();
    void recordingsOfLargeFramesAreNotShort();
    void anOutageIsShortInARecording();
    void aRecordingThatFailsStopsNoLaterOne();
    void settingsGoThroughTheFile();
    void watchFileThatIsNotUnderstoodIsRefused_data();
    void watchFileThatIsNotUnderstoodIsRefused();

private:
    test::Sandbox m_sandbox;
};

void ServicesTest::alertsReachTheDesktopTheStoreAndAVideo() {
    Notifications desktop;
    QDBusConnection bus = QDBusConnection::sessionBus();
    QVERIFY(bus.registerService(QStringLiteral("org.freedesktop.Notifications")));
    QVERIFY(bus.registerObject(QStringLiteral("/org/freedesktop/Notifications"), &desktop,
                               QDBusConnection::ExportAllSlots));
    const QString source = m_sandbox.film(8, 0);
    QString file;
    {
        test::Setup setup(m_sandbox, QStringLiteral("alerts"));
        QSignalSpy alerted(&setup.services, &Services::alerted);
        QSignalSpy rendered(&setup.engine, &Engine::rendered);
        WatchSettings watch;
        AlertRule bright = test::rule("bright", AlertRule::Of::Luminance, 0.3);
        bright.desktop = bright.record = true;
        AlertRule gone = test::rule("gone", AlertRule::Of::SourceDown, 0);
        watch.alerts = {bright, gone};
        setup.services.apply(watch);
        setup.open(source);
        QTRY_COMPARE_WITH_TIMEOUT(alerted.count(), 1, test::patience(30'000));
        QTRY_COMPARE(desktop.said.size(), 1);
        QVERIFY2(desktop.said[0].startsWith(QStringLiteral("bright|") + source), qPrintable(desktop.said[0]));
        QTRY_VERIFY_WITH_TIMEOUT(rendered.count() >= 2, test::patience(10'000));  // gives frames to record
        setup.open(m_sandbox.path(QStringLiteral("gone.mp4")));
        QTRY_COMPARE_WITH_TIMEOUT(alerted.count(), 2, test::patience(30'000));
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
        return event.kind == "alert" && event.text.rfind("bright: luminance above 30 %", 0) == 0;
    }));
}

void ServicesTest::commandThatCannotBeStartedIsSaid() {
    test::Setup setup(m_sandbox, QStringLiteral("command"));
    WatchSettings watch;
    watch.alerts = {test::rule("busy", AlertRule::Of::Tokens, 1)};
    watch.alerts[0].command = "/nowhere/program";
    setup.services.apply(watch);
    setup.open(m_sandbox.film(8, 0));
    QTRY_VERIFY_WITH_TIMEOUT(setup.lastSaid().contains(QStringLiteral("/nowhere/program")),
                             test::patience(30'000));
}

void ServicesTest::masksHaveNoShare() {
    test::Setup setup(m_sandbox, QStringLiteral("shares"));
    const QString source = m_sandbox.film(8, 0);
    WatchSettings watch;
    watch.sources[source].masks = {{{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}}};
    watch.sources[source].regions = {{"left", watch.sources[source].masks[0]},
                                     {"whole", {{0, 0}, {1, 0}, {1, 1}, {0, 1}}}};
    setup.services.apply(watch);
    AnalysisPtr last;
    connect(&setup.engine, &Engine::measured, this,
            [&](const auto&, const AnalysisPtr& analysis) { last = analysis; });
    setup.open(source);
    QTRY_VERIFY_WITH_TIMEOUT(last != nullptr, test::patience(30'000));
    setup.engine.disconnect(this);
    // Counts pixels in the half that is not masked, beginning two columns from the mask's edge.
    const cv::Mat seen = last->merged.labels.colRange(82, 160);
    for (std::size_t id = 0; id < last->shares.size(); ++id) {
        const double share = double(cv::countNonZero(seen == double(id))) / double(seen.total());
        QVERIFY2(std::abs(last->shares[id] - share) < 0.04, qPrintable(QString::number(id)));
    }
    QVERIFY(last->regions[0].classShares.empty());
    for (std::size_t id = 0; id < last->shares.size(); ++id)
        QVERIFY(std::abs(last->regions[1].classShares[id] - last->shares[id]) < 0.01);
}

void ServicesTest::masksComeBeforeEverything() {
    test::Setup setup(m_sandbox, QStringLiteral("masks"));
    const QString source = m_sandbox.film(8, 0);
    WatchSettings watch;
    watch.sources[source].masks = {{{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}}};
    setup.services.apply(watch);
    std::vector<cv::Mat> seen;
    std::vector<QImage> shown;
    connect(&setup.engine, &Engine::framed, this,
            [&](const LiveFrame& frame) { shown.push_back(frame.image); });
    connect(&setup.engine, &Engine::measured, this,
            [&](const auto&, const AnalysisPtr& analysis) { seen.push_back(analysis->frame.pixels); });
    connect(&setup.engine, &Engine::rendered, this,
            [&](const RenderedFrame& drawn) { shown.push_back(drawn.analysis->frame.image); });
    setup.open(source);
    QTRY_VERIFY_WITH_TIMEOUT(seen.size() >= 3 && shown.size() >= 4, test::patience(30'000));
    setup.engine.disconnect(this);
    for (const cv::Mat& image : seen) {
        QCOMPARE(cv::countNonZero(image(cv::Rect(0, 0, 78, 120)).reshape(1)), 0);
        QVERIFY(cv::countNonZero(image(cv::Rect(84, 0, 70, 120)).reshape(1)) > 0);
    }
    for (const QImage& image : shown)
        for (const QPoint at : {QPoint(0, 0), QPoint(70, 60), QPoint(10, 119)})
            QCOMPARE(image.pixelColor(at), QColor(Qt::black));
}

void ServicesTest::measurementsOnlyKeepsNoImage() {
    test::Setup setup(m_sandbox, QStringLiteral("blind"));
    WatchSettings watch;
    watch.keepsImages = false;
    watch.alerts = {test::rule("busy", AlertRule::Of::Tokens, 1)};
    watch.alerts[0].record = true;
    setup.services.apply(watch);
    Request request = setup.engine.request();
    request.compare = request.simulateNight = true;
    setup.engine.setRequest(setup.services.requestFor(setup.engine, request));
    QSignalSpy rendered(&setup.engine, &Engine::rendered), compared(&setup.engine, &Engine::compared),
        alerted(&setup.services, &Services::alerted);
    int measured = 0, images = 0;
    connect(&setup.engine, &Engine::framed, this,
            [&](const LiveFrame& frame) { images += !frame.pixels.empty() || !frame.image.isNull(); });
    connect(&setup.engine, &Engine::measured, this, [&](const auto&, const AnalysisPtr& analysis) {
        ++measured;
        images += !analysis->frame.pixels.empty() || !analysis->frame.image.isNull() ||
                  !analysis->merged.labels.empty();
    });
    const QString source = m_sandbox.film(8, 0);
    setup.engine.openSource(source);
    setup.services.sourceOpened(setup.engine);
    QTRY_VERIFY_WITH_TIMEOUT(measured >= 3 && alerted.count() == 1, test::patience(30'000));
    QCOMPARE(images, 0);
    QCOMPARE(rendered.count() + compared.count(), 0);
    QVERIFY(!setup.services.startRecording(setup.engine));
    QVERIFY(!QDir(m_sandbox.path(QStringLiteral("blind-videos"))).exists());
}

void ServicesTest::recordsByHand() {
    test::Setup setup(m_sandbox, QStringLiteral("hand"));
    setup.open(m_sandbox.film(8, 0));
    QSignalSpy rendered(&setup.engine, &Engine::rendered);
    QTRY_VERIFY_WITH_TIMEOUT(rendered.count() >= 1, test::patience(30'000));
    QVERIFY(setup.services.startRecording(setup.engine));
    QVERIFY(setup.services.recording(setup.engine));
    std::vector<double> seconds;  // from the start to each image
    QElapsedTimer since;
    since.start();
    connect(&setup.engine, &Engine::rendered, this,
            [&] { seconds.push_back(double(since.elapsed()) / 1000); });
    QTRY_VERIFY_WITH_TIMEOUT(seconds.size() >= 3 && seconds.back() >= 2, test::patience(30'000));
    setup.services.stopRecording(setup.engine);
    const double least = seconds.back() - seconds.front(), most = double(since.elapsed()) / 1000;
    QTRY_VERIFY_WITH_TIMEOUT(setup.lastSaid().contains(QStringLiteral("of video written to")),
                             test::patience(10'000));
    const QDir videos(m_sandbox.path(QStringLiteral("hand-videos")));
    cv::VideoCapture film(videos.filePath(videos.entryList(QDir::Files).value(0)).toStdString(),
                          cv::CAP_FFMPEG);
    const double length = film.get(cv::CAP_PROP_FRAME_COUNT) / VideoRecorder::kRate;
    QVERIFY2(length > least - 0.3 && length < most + 0.3,
             qPrintable(QStringLiteral("%1 of %2 to %3 s").arg(length).arg(least).arg(most)));
    // If the installed OpenCV can encode H.264, which browsers play, the recording is in H.264.
    cv::VideoWriter any;
    const int h264 = cv::VideoWriter::fourcc('a', 'v', 'c', '1'),
              mpeg4 = cv::VideoWriter::fourcc('m', 'p', '4', 'v');
    const std::string other = m_sandbox.path(QStringLiteral("any.mp4")).toStdString();
    const bool hasH264 = any.open(other, cv::CAP_FFMPEG, h264, 10, {160, 120});
    const int codec = static_cast<int>(film.get(cv::CAP_PROP_FOURCC));
    QCOMPARE(codec == h264 || codec == cv::VideoWriter::fourcc('h', '2', '6', '4'), hasH264);
    QVERIFY(hasH264 || codec == mpeg4 || codec == cv::VideoWriter::fourcc('F', 'M', 'P', '4'));
}

/// Frames are too large and come too fast for the encoder. The video must still have the full duration, and
/// the stored frames from before the start of the recording must fit into memory.
void ServicesTest::recordingsOfLargeFramesAreNotShort() {
    VideoRecorder recorder;
    QSignalSpy finished(&recorder, &VideoRecorder::finished);
    recorder.start();
    const QString file = m_sandbox.path(QStringLiteral("large.mp4"));
    QImage large(3840, 2160, QImage::Format_RGB32);
    large.fill(Qt::darkGreen);
    QElapsedTimer since;
    since.start();
    recorder.startRecording(file);
    recorder.add(large, QStringLiteral("large"));
    const double afterFirst = double(since.elapsed()) / 1000;
    while (since.elapsed() < 3'000) {
        recorder.add(large, QStringLiteral("large"));
        QTest::qWait(15);
    }
    const double beforeEnd = double(since.elapsed()) / 1000;
    recorder.stopRecording();
    const double afterEnd = double(since.elapsed()) / 1000;
    QTRY_COMPARE_WITH_TIMEOUT(finished.count(), 1, test::patience(60'000));
    const double length = finished[0][1].toDouble() / VideoRecorder::kRate;
    const double frame = 1.0 / VideoRecorder::kRate;
    QVERIFY2(
        length > beforeEnd - afterFirst - 2 * frame && length < afterEnd + 2 * frame,
        qPrintable(QStringLiteral("%1 of %2 to %3 s").arg(length).arg(beforeEnd - afterFirst).arg(afterEnd)));
    cv::VideoCapture film(file.toStdString(), cv::CAP_FFMPEG);
    QCOMPARE(int(film.get(cv::CAP_PROP_FRAME_WIDTH)), VideoRecorder::kWidest);
}

/// A video shortens an outage, because writing the same image for hours would take minutes.
void ServicesTest::anOutageIsShortInARecording() {
    VideoRecorder recorder(std::chrono::milliseconds(500));
    QSignalSpy finished(&recorder, &VideoRecorder::finished);
    recorder.start();
    QImage image(160, 120, QImage::Format_RGB32);
    image.fill(Qt::darkGreen);
    recorder.startRecording(m_sandbox.path(QStringLiteral("outage.mp4")));
    recorder.add(image, QStringLiteral("before"));
    QTest::qWait(2'000);
    recorder.add(image, QStringLiteral("after"));
    recorder.stopRecording();
    QTRY_COMPARE_WITH_TIMEOUT(finished.count(), 1, test::patience(30'000));
    const int frames = finished[0][1].toInt(), still = VideoRecorder::kRate / 2;
    QVERIFY2(frames >= still && frames <= 2 * (still + 1), qPrintable(QString::number(frames)));
}

/// A file has the name of the video folder, so recording fails. After the file is removed, recording works.
void ServicesTest::aRecordingThatFailsStopsNoLaterOne() {
    const QString folder = m_sandbox.path(QStringLiteral("blocked-videos"));
    QFile blocked(folder);
    QVERIFY(blocked.open(QIODevice::WriteOnly));
    blocked.close();
    test::Setup setup(m_sandbox, QStringLiteral("blocked"));
    setup.open(m_sandbox.film(8, 0));
    QVERIFY(setup.services.startRecording(setup.engine));
    QTRY_VERIFY_WITH_TIMEOUT(!setup.services.recording(setup.engine), test::patience(30'000));
    QTRY_VERIFY(setup.hasSaid(folder));
    QVERIFY(blocked.remove());
    WatchSettings watch;
    watch.alerts = {test::rule("busy", AlertRule::Of::Tokens, 1)};
    watch.alerts[0].record = true;
    setup.services.apply(watch);
    const auto videos = [&] { return QDir(folder).entryList({QStringLiteral("*.mp4")}, QDir::Files).size(); };
    QTRY_COMPARE_WITH_TIMEOUT(videos(), qsizetype(1), test::patience(30'000));
    QVERIFY(setup.services.startRecording(setup.engine));  // prolongs the recording that the alert started
    watch.keepsImages = false;
    setup.services.apply(watch);
    QVERIFY(!setup.services.recording(setup.engine));
}

/// A single reading fulfils all rules. The event loop must handle other events between the rules' actions.
void ServicesTest::manyAlertsAtOnceLeaveTheWindowTime() {
    test::Setup setup(m_sandbox, QStringLiteral("many"));
    WatchSettings watch;
    for (std::size_t i = 0; i < mpm::pipeline::AlertWatch::kMostRules; ++i)
        watch.alerts.push_back(test::rule(("rule " + std::to_string(i)).c_str(), AlertRule::Of::Tokens, 0));
    setup.services.apply(watch);
    std::size_t raised = 0, atTheNextEvent = 0;
    QStringList rules;
    connect(&setup.services, &Services::alerted, this, [&](const AlertNotice& notice) {
        rules << notice.rule;
        if (raised++ == 0)
            QMetaObject::invokeMethod(
                this, [&] { atTheNextEvent = raised; }, Qt::QueuedConnection);
    });
    setup.open(m_sandbox.film(8, 0));
    QTRY_COMPARE_WITH_TIMEOUT(raised, watch.alerts.size(), test::patience(30'000));
    QVERIFY2(atTheNextEvent <= 2, qPrintable(QString::number(atTheNextEvent)));
    rules.removeDuplicates();
    QCOMPARE(rules.size(), qsizetype(watch.alerts.size()));
}

void ServicesTest::settingsGoThroughTheFile() {
    WatchSettings watch;
    watch.sources[QStringLiteral("demo")] = {{{"door", {{0.1, 0.2}, {0.3, 0.4}, {0.5, 0.1}}}},
                                             {{{0, 0}, {1, 0}, {1, 1}}},
                                             QStringLiteral("Front door")};
    watch.further = {QStringLiteral("0"), QStringLiteral("rtsp://u:***@h/1")};
    AlertRule share = test::rule("cars", AlertRule::Of::ClassShare, 0.25);
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
    watch.keepsImages = false;
    watch.videos = QStringLiteral("/videos");
    const QString path = m_sandbox.path(QStringLiteral("deep/er/x.watch.json"));
    writeWatchSettings(path, watch);
    const WatchSettings back = readWatchSettings(path);
    QCOMPARE(back.sources.size(), size_t(1));
    QCOMPARE(back.of(QStringLiteral("demo")).regions[0].name, std::string("door"));
    QVERIFY(back.of(QStringLiteral("demo")).regions[0].outline ==
            watch.of(QStringLiteral("demo")).regions[0].outline);
    QVERIFY(back.of(QStringLiteral("demo")).masks == watch.of(QStringLiteral("demo")).masks);
    QCOMPARE(back.titleOf(QStringLiteral("demo")), QStringLiteral("Front door"));
    QCOMPARE(back.titleOf(QStringLiteral("another")), QStringLiteral("another"));
    QVERIFY(back.alerts == watch.alerts);
    QVERIFY(back.mqtt == watch.mqtt);
    QVERIFY(back.metrics == watch.metrics);
    QCOMPARE(back.further, watch.further);
    QCOMPARE(back.keepsImages, false);
    QCOMPARE(back.videos, watch.videos);
    QVERIFY(back.of(QStringLiteral("another")).empty());
}

void ServicesTest::watchFileThatIsNotUnderstoodIsRefused_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const char* text, const char* says) {
        QTest::newRow(name) << QByteArray(text) << QString::fromUtf8(says);
    };
    row("list", "[]", "expected an object");
    row("no JSON", "{", "not JSON");
    row("masks as an object", R"({"sources": {"demo": {"masks": {"wall": [[0, 0], [1, 0], [1, 1]]}}}})",
        "demo: masks");
    row("two of a name", R"({"sources": {"demo": {"name": "Yard"}, "0": {"name": "yard"}}})",
        "two have the name");
    row("two of a topic", R"({"sources": {"demo": {"name": "Front door"}, "0": {"name": "front-door"}}})",
        "its topic");
    row("masks in pixels", R"({"sources": {"demo": {"masks": [[[100, 100], [400, 100], [400, 300]]]}}})",
        "0 to 1");
    row("masks outside of sources", R"({"masks": [[[0, 0], [1, 0], [1, 1]]]})", "masks: no such setting");
    row("misspelt masks", R"({"sources": {"demo": {"mask": []}}})", "demo: mask: no such setting");
    row("two corners", R"({"sources": {"demo": {"masks": [[[0, 0], [1, 0]]]}}})", "three corners");
    row("a source that is a list", R"({"sources": {"demo": []}})", "demo");
    row("text for a truth", R"({"keeps_pictures": "false"})", "keeps_pictures");
    row("text for a number", R"({"mqtt": {"port": "1883"}})", "mqtt: port");
    row("port", R"({"metrics": {"port": 70000}})", "metrics: port");
    row("misspelt rule", R"({"alerts": [{"name": "a", "of": "tokens", "treshold": 3}]})", "treshold");
    QByteArray rules = R"({"alerts": [{"name": "a", "of": "tokens"})";
    for (int i = 0; i < 3'000; ++i)
        rules += R"(, {"name": "a", "of": "tokens"})";
    row("3,001 rules", (rules + "]}").constData(), "at most 200 rules");
    row("rule of nothing", R"({"alerts": [{"name": "a", "of": "token"}]})", "alerts: of");
}

void ServicesTest::watchFileThatIsNotUnderstoodIsRefused() {
    QFETCH(QByteArray, text);
    QFETCH(QString, says);
    const QString path = m_sandbox.path(QStringLiteral("hand.watch.json"));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(text);
    file.close();
    try {
        readWatchSettings(path);
        QFAIL("was read");
    } catch (const WatchError& error) {
        const QString said = QString::fromUtf8(error.what());
        QVERIFY2(said.contains(says) && !said.contains(QLatin1Char('\n')), error.what());
    }
}

MPM_CORE_TEST(ServicesTest);
#include "services_test.moc"
