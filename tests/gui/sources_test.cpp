// Sources and models in the window: several sources, their rates, videos, rejected sources, and passwords.
#include <QDirIterator>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QSignalSpy>
#include <QSlider>
#include <QTabBar>
#include <QToolButton>

#include "gui/broker.hpp"
#include "gui/dialogs/source_dialog.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/panels/playback_bar.hpp"
#include "gui/registry.hpp"
#include "gui/views/image_view.hpp"
#include "gui/views/live_view.hpp"
#include "gui/views/source_grid.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

class SourcesTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void sourcesSideBySide();
    void lossesAreOfTheSourceInFront();
    void aClosedSourceLeavesNoMeasurement();
    void theNetworkIsShared();
    void videoIsRecordedByHotKey();
    void everyNSeconds();
    void damagedModelIsRejected();
    void videoIsPlayedByHand();
    void sourcesAreTriedInTheDialog();
    void passwordsStayOutOfTheSettings();
    void withoutAKeychainTheWatchFileKeepsItsPasswords();

private:
    MainWindow& window() { return *m_is->window; }
    std::unique_ptr<test::WindowFixture> m_is;
};

void SourcesTest::sourcesSideBySide() {
    m_is->open();
    QVERIFY(m_is->next());
    auto* tabs = window().findChild<QTabBar*>();
    QVERIFY(!tabs->isVisible());
    const QString first = window().engine().sourceName();
    const QString second = m_is->sandbox.images(1, 0) + QStringLiteral("/000.png");
    window().sources().add(second);
    QCOMPARE(tabs->count(), 2);
    QVERIFY(tabs->isVisible());
    QCOMPARE(window().engine().sourceName(), second);
    QTRY_VERIFY_WITH_TIMEOUT(!window().views()->find<LiveView>()->image().isNull(), test::patience(10'000));
    // The grid shows an image for both sources.
    QTest::keyClick(m_is->window.get(), Qt::Key_7);
    for (const auto& engine : window().session().sources().engines())
        QTRY_VERIFY_WITH_TIMEOUT(
            !window().views()->find<SourceGrid>()->tileOf(engine.get())->image().isNull(),
            test::patience(20'000));
    QTest::mouseDClick(
        window().views()->find<SourceGrid>()->tileOf(window().session().sources().engines()[0].get()),
        Qt::LeftButton);
    QCOMPARE(window().engine().sourceName(), first);
    QCOMPARE(tabs->currentIndex(), 0);
    QTRY_VERIFY_WITH_TIMEOUT(!window().models().timeline.empty(), test::patience(10'000));
    m_is->open([&] {
        Options options;
        options.size = QSize(1280, 720);
        return options;
    }());
    // A source from the command line is shown alone. A start without a source restores the added sources.
    QCOMPARE(window().session().sources().engines().size(), size_t(1));
    m_is->window.reset();
    Options plain;
    plain.model = QStringLiteral("default");
    MainWindow back(plain);
    QCOMPARE(back.session().sources().engines().size(), size_t(2));
    QCOMPARE(back.session().sources().engines()[1]->sourceName(), second);
    back.sources().close(1);
    QCOMPARE(back.session().sources().engines().size(), size_t(1));
    QVERIFY(readWatchSettings(back.session().profile().watchPath()).further.isEmpty());
    back.sources().close(0);  // the last source stays
    QCOMPARE(back.session().sources().engines().size(), size_t(1));
}

/// Each engine numbers the sources that it opens, so the first sources of two engines have the same number.
/// The number of dropped frames must still be that of the source in front.
void SourcesTest::lossesAreOfTheSourceInFront() {
    m_is->open();
    mpm::pipeline::Measurement measurement;
    connect(&window().engine(), &Engine::measured, &window(),
            [&](const auto& values, const AnalysisPtr&) { measurement = values; });
    QVERIFY(m_is->next());
    window().sources().add(QStringLiteral("demo"));
    Engine& front = window().engine();
    QTRY_VERIFY_WITH_TIMEOUT(front.report().generation > 0, test::patience(10'000));
    auto slow = std::make_shared<Analysis>(*m_is->last);
    slow->skipped = 1'000'000;
    emit front.measured(measurement, slow);
    emit front.sourceReported(front.report());
    const auto dropped = [this] {
        const QModelIndex row = window().models().health.index(HealthModel::DroppedRow);
        return row.data(HealthModel::ValueRole).toString().section(QLatin1Char(' '), 0, 0).toLongLong();
    };
    QVERIFY(dropped() >= slow->skipped);
    window().sources().select(0);
    QVERIFY2(dropped() < slow->skipped, qPrintable(QString::number(dropped())));
}

void SourcesTest::aClosedSourceLeavesNoMeasurement() {
    test::Broker broker(m_is->sandbox.path(QStringLiteral(".")));
    QVERIFY2(broker.start(), qPrintable(broker.log()));
    test::Subscriber subscriber(broker.port());
    m_is->open();
    QVERIFY(m_is->next());
    window().sources().add(QStringLiteral("demo"));
    WatchSettings watch = window().session().services().settings();
    watch.mqtt.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");
    watch.mqtt.port = broker.port();
    window().session().setWatch(watch);
    const QString topic = window().session().services().mqtt()->topicOf(QStringLiteral("demo"));
    QVERIFY(subscriber.payload(topic + QStringLiteral("/state")).startsWith('{'));
    window().sources().close(1);
    QTRY_COMPARE_WITH_TIMEOUT(subscriber.payload(topic + QStringLiteral("/state")), QByteArray("(null)"),
                              test::patience(20'000));
    QVERIFY(subscriber.payload(topic + QStringLiteral("/source")).contains("closed"));
}

/// A film, the built-in street and a camera share the network. The camera has only 1 frame a second, so the
/// network has time for each of these frames.
void SourcesTest::theNetworkIsShared() {
    m_is->open(m_is->withModel({}));
    QVERIFY(m_is->next());
    window().sources().add(QStringLiteral("demo"));
    window().sources().add(
        QStringLiteral("gst:videotestsrc is-live=true ! video/x-raw,framerate=1/1 ! videoconvert ! appsink"));
    std::map<const Engine*, int> counts, following;
    const auto& engines = window().session().sources().engines();
    QCOMPARE(engines.size(), size_t(3));
    for (const auto& engine : engines) {
        QCOMPARE(&engine->network(), &engines[0]->network());
        connect(engine.get(), &Engine::measured, this,
                [&counts, &following, at = engine.get()](const auto&, const AnalysisPtr& a) {
                    counts[at] += !a->repeat;
                    following[at] += a->schedule == std::vector<int>{1};
                });
    }
    const auto everyOne = [&](std::map<const Engine*, int>& of) {
        return std::all_of(engines.begin(), engines.end(),
                           [&of](const auto& engine) { return of[engine.get()] >= 2; });
    };
    QTRY_VERIFY_WITH_TIMEOUT(everyOne(counts), test::patience(30'000));
    // A schedule applies to all sources.
    window().models().schedule.setSchedule({1});
    QTRY_VERIFY_WITH_TIMEOUT(everyOne(following), test::patience(30'000));
}

void SourcesTest::videoIsRecordedByHotKey() {
    m_is->open();
    QVERIFY(m_is->next());
    QSignalSpy changed(&m_is->window->watching(), &WatchControl::recordingChanged);
    QTest::keyClick(m_is->window.get(), Qt::Key_R);
    QVERIFY(window().session().services().recording(window().engine()));
    QVERIFY(!changed.isEmpty() && changed.last()[0].toBool());
    QTest::qWait(2'500);
    QTest::keyClick(m_is->window.get(), Qt::Key_R);
    QTRY_VERIFY_WITH_TIMEOUT(window().message().contains(QStringLiteral(".mp4")), test::patience(10'000));
    const QDir videos(window().session().profile().videosPath());
    QCOMPARE(videos.entryList(QDir::Files).size(), 1);
    QVERIFY(QFileInfo(videos.filePath(videos.entryList(QDir::Files).first())).size() > 1000);
}

void SourcesTest::everyNSeconds() {
    Options options;
    options.source = QStringLiteral("gst:videotestsrc is-live=true ! videoconvert ! appsink");
    m_is->open(options);
    QVERIFY(m_is->next());
    window().setInterval(1'500);
    QVERIFY(m_is->next());
    std::vector<qint64> times;  // on the steady clock
    connect(&window().engine(), &Engine::measured, this, [&](const auto&, const AnalysisPtr& analysis) {
        if (!analysis->repeat)
            times.push_back(analysis->frame.captured.time_since_epoch() / std::chrono::milliseconds(1));
    });
    QTRY_VERIFY_WITH_TIMEOUT(times.size() >= 3, test::patience(20'000));
    for (size_t i = 1; i < times.size(); ++i)
        QVERIFY2(times[i] - times[i - 1] > 1'300, qPrintable(QString::number(times[i] - times[i - 1])));
}

void SourcesTest::damagedModelIsRejected() {
    ModelConverter::setProgram(QStringLiteral(MPM_MONITOR));
    m_is->open();
    QVERIFY(m_is->next());
    const QString file = m_is->sandbox.path(QStringLiteral("export.onnx"));
    QFile raw(file);
    QVERIFY(raw.open(QIODevice::WriteOnly));
    raw.write("no graph");
    raw.close();
    window().model().open(file);
    // A damaged file is not offered for conversion.
    QTRY_VERIFY_WITH_TIMEOUT(window().message().contains(QStringLiteral("cannot be used")),
                             test::patience(20'000));
    QVERIFY(window().findChild<QMessageBox*>() == nullptr);
    window().model().convert(file);
    QTRY_VERIFY_WITH_TIMEOUT(window().message().contains(QStringLiteral("cannot be converted")),
                             test::patience(20'000));
    QVERIFY2(window().message().contains(QStringLiteral("ONNX")), qPrintable(window().message()));
    QVERIFY(m_is->next());  // the previous model continues
    // The converter accepts even the shipped model; the window opens the result.
    QVERIFY(QFile::copy(QStringLiteral(MPM_SOURCE_DIR "/models/zoo/street-vit-tiny.onnx"),
                        m_is->sandbox.path(QStringLiteral("street.onnx"))));
    QSignalSpy loaded(&window().engine(), &Engine::modelLoaded);
    window().model().convert(m_is->sandbox.path(QStringLiteral("street.onnx")));
    QTRY_COMPARE_WITH_TIMEOUT(loaded.count(), 1, test::patience(120'000));
    QVERIFY(loaded[0][0].value<ModelFactsPtr>()->path.endsWith(QStringLiteral("street-mpm.onnx")));
}

/// The user pauses a video and steps through the frames.
void SourcesTest::videoIsPlayedByHand() {
    Options options;
    options.source = m_is->sandbox.film(30, 30);
    m_is->open(options);
    QVERIFY(m_is->next());
    auto* bar = window().findChild<PlaybackBar*>();
    QTRY_VERIFY_WITH_TIMEOUT(bar->isVisible(), test::patience(10'000));
    auto* position = bar->findChild<QSlider*>(QStringLiteral("position"));
    QTRY_COMPARE(position->maximum(), 59);
    window().front().setPaused(true);
    QVERIFY(m_is->settle());
    position->setValue(40);  // a dark frame
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.frame.luminance < 0.2; }));
    const auto at = [this] { return window().engine().report().status.position; };
    QTRY_COMPARE_WITH_TIMEOUT(at(), 40, test::patience(10'000));
    QTest::keyClick(&window(), Qt::Key_Period);
    QTRY_COMPARE_WITH_TIMEOUT(at(), 41, test::patience(10'000));
    QTest::mouseClick(bar->findChild<QToolButton*>(QStringLiteral("stepBack")), Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(at(), 40, test::patience(10'000));
    QTest::qWait(500);
    QCOMPARE(at(), 40);
    QVERIFY(window().engine().paused());
    window().front().setPaused(false);
    QTRY_VERIFY_WITH_TIMEOUT(at() > 42, test::patience(10'000));  // continues from frame 40
    // When the video begins again, the header marks the second pass.
    window().engine().command([](mpm::pipeline::Reader& reader) { reader.setSpeed(8); });
    QTRY_VERIFY_WITH_TIMEOUT(m_is->last->frame.pass > 0, test::patience(20'000));
    QTRY_VERIFY(window().header()->badgeText().contains(QStringLiteral("pass")));
    window().sources().open(QStringLiteral("demo"));
    QTRY_VERIFY(!bar->isVisible());
}

/// The dialog tries a source before it is opened, and shows an image with facts, or the error.
void SourcesTest::sourcesAreTriedInTheDialog() {
    SourceDialog::Choices choices;
    choices.cameras = QStringList{QStringLiteral("3: Yard camera")};
    choices.recent = QStringList{m_is->sandbox.film(8, 0)};
    const QString second = m_is->sandbox.film(4, 4);
    choices.watch = [](const QString&) { return SourceWatch{{}, {{{0, 0}, {1, 0}, {1, 1}, {0, 1}}}, {}}; };
    SourceDialog dialog(QStringLiteral("Add"), choices);
    dialog.show();
    QSignalSpy chosen(&dialog, &SourceDialog::chosen);
    auto* address = dialog.findChild<QLineEdit*>();
    auto* list = dialog.findChild<QListWidget*>();
    QVERIFY(!test::button(&dialog, "Open")->isEnabled());
    const auto facts = [&dialog](const char* words) {
        for (const QLabel* label : dialog.findChildren<QLabel*>())
            if (label->text().contains(QString::fromUtf8(words))) return true;
        return false;
    };
    list->setCurrentRow(3);  // a heading stands before each section
    QCOMPARE(address->text(), choices.recent[0]);
    QTest::mouseClick(test::button(&dialog, "Test"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(facts("160×120 pixels"), test::patience(10'000));
    QVERIFY(facts("8.0 frames a second") && facts("MJPG"));
    QImage snapshot;
    for (const QLabel* label : dialog.findChildren<QLabel*>())
        if (!label->pixmap(Qt::ReturnByValue).isNull()) snapshot = label->pixmap(Qt::ReturnByValue).toImage();
    QVERIFY(!snapshot.isNull());
    QCOMPARE(snapshot.pixelColor(snapshot.rect().center()), QColor(Qt::black));  // masks are drawn
    address->setText(QStringLiteral("http://user:geheim@127.0.0.1:9/"));
    QTest::mouseClick(test::button(&dialog, "Test"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(facts("cannot connect") || facts("cannot be"), test::patience(20'000));
    QVERIFY(!facts("geheim"));
    list->setCurrentRow(1);
    QTest::mouseClick(test::button(&dialog, "Open"), Qt::LeftButton);
    QCOMPARE(chosen.count(), 1);
    QCOMPARE(chosen[0][0].toString(), QStringLiteral("3"));
    // Sources that were opened are listed the next time, without their passwords.
    m_is->open();
    QVERIFY(m_is->next());
    window().sources().open(second);
    window().sources().open(QStringLiteral("demo"));
    QCOMPARE(window().session().state().recentSources, (QStringList{QStringLiteral("demo"), second}));
}

void SourcesTest::passwordsStayOutOfTheSettings() {
    m_is->open();
    QVERIFY(m_is->next());
    // No keychain answers on this bus, so nothing is written, and a message reports the failure.
    window().sources().open(QStringLiteral("rtsp://user:geheim@127.0.0.1:1/stream"));
    QTRY_VERIFY_WITH_TIMEOUT(window().message().contains(QStringLiteral("not kept")), test::patience(20'000));
    QVERIFY(!window().message().contains(QStringLiteral("geheim")));
    m_is->window->close();
    m_is->window.reset();
    QDirIterator files(m_is->sandbox.path({}), QDir::Files, QDirIterator::Subdirectories);
    while (files.hasNext()) {
        QFile file(files.next());
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY2(!file.readAll().contains("geheim"), qPrintable(file.fileName()));
    }
}

void SourcesTest::withoutAKeychainTheWatchFileKeepsItsPasswords() {
    const QString source = QStringLiteral("rtsp://user:geheim@127.0.0.1:1/stream");
    WatchSettings watch;
    watch.further << source;
    const QString file = m_is->sandbox.path(QStringLiteral("config/mpm/monitor/default.watch.json"));
    writeWatchSettings(file, watch);
    Session session{Options()};
    QStringList messages;
    QObject::connect(&session, &Session::messagePosted,
                     [&messages](const QString& text) { messages << text; });
    session.readWatch();
    QTRY_COMPARE_WITH_TIMEOUT(messages.size(), 1, test::patience(20'000));
    QVERIFY2(messages[0].contains(QStringLiteral("still holds the password of rtsp://127.0.0.1:1/stream")),
             qPrintable(messages[0]));
    QVERIFY(!messages[0].contains(QStringLiteral("geheim")));
    QCOMPARE(readWatchSettings(file).further,
             QStringList{source});  // the source still opens at the next start
}

MPM_GUI_TEST(SourcesTest);
#include "sources_test.moc"
