// Failures that occur in weeks of use: a camera dies, stalls and returns; the disk is full; the store is
// locked or damaged; the clock jumps; models are removed. MPM_FAULT_ROUNDS sets the number of rounds.
#include <sqlite3.h>

#include <atomic>
#include <memory>

#include <QRandomGenerator>
#include <QSignalSpy>

#include "gui/broker.hpp"
#include "gui/registry.hpp"
#include "gui/rtsp_server.hpp"
#include "gui/window_fixture.hpp"
#include "pipeline/source/stream_server.hpp"

using namespace mpm::gui;
using mpm::pipeline::Millis;
using mpm::pipeline::SourceState;

namespace {

int rounds() {
    return qEnvironmentVariableIntValue("MPM_FAULT_ROUNDS");
}

/// Checks every frame that an engine shows, and stores the state that the engine reports.
struct Witness : QObject {
    explicit Witness(Engine& engine) {
        connect(&engine, &Engine::framed, this, [this](const LiveFrame& frame) {
            fresh = fresh && frame.number > last;  // numbers rise: no frame comes twice or late
            last = frame.number;
            age = std::max(age, std::chrono::duration<double>(System::now() - frame.time).count());
        });
        connect(&engine, &Engine::sourceReported, this, [this](const SourceReport& now) {
            report = now;
            secrets = secrets || now.name.contains(QStringLiteral("secret")) ||
                      now.status.message().find("secret") != std::string::npos;
        });
    }
    SourceState state() const { return report.status.state; }
    SourceReport report;
    std::int64_t last = -1;
    double age = 0;  ///< the greatest age of a frame when it was shown, in seconds
    bool fresh = true, secrets = false;
};

}  // namespace

class FaultsTest : public QObject {
    Q_OBJECT
private slots:
    void rtspCameraKilledStalledAndBack();
    void httpCameraKilledStalledAndBack();
    void sourceThatFailsInTheMiddle();
    void storeThatIsLockedLosesNothing();
    void storeThatIsLockedWithoutReadings();
    void diskThatIsFullLosesNothingCommitted();
    void modelThatIsRemovedWhileItRuns();
    void wrongModelsAreRefused();
    void windowClosedInTheMiddleOfEverything();

private:
    template <typename Server>
    void goThrough(Server& server, const QString& url);
    QString store() { return m_sandbox.path(QStringLiteral("faults%1.sqlite").arg(++m_stores)); }
    test::Sandbox m_sandbox;
    int m_stores = 0;
};

/// Kills and restarts, or stalls and resumes, the server in each round. The engine must show only new frames.
template <typename Server>
void FaultsTest::goThrough(Server& server, const QString& url) {
    const QString path = store();
    qint64 measured = 0;
    {
        Engine engine(path);
        Witness witness(engine);
        engine.openModel(QStringLiteral("default"));
        engine.openSource(url);
        connect(&engine, &Engine::measured, this,
                [&](const auto&, const AnalysisPtr& analysis) { measured += !analysis->repeat; });
        for (int round = 0; round < rounds(); ++round) {
            const std::int64_t before = witness.last;
            QTRY_VERIFY2_WITH_TIMEOUT(witness.last > before + 3, qPrintable(QString::number(round)),
                                      test::patience(30'000));
            QCOMPARE(witness.state(), SourceState::Live);
            if (round % 3 == 2) {
                server.stall(true);
                QTRY_VERIFY_WITH_TIMEOUT(witness.state() == SourceState::Stalled, test::patience(10'000));
                server.stall(false);
            } else {
                server.kill();
                QTRY_VERIFY_WITH_TIMEOUT(witness.state() != SourceState::Live, test::patience(15'000));
                const std::int64_t frozen = witness.last;
                QTest::qWait(300);
                QCOMPARE(witness.last, frozen);
                server.start();
            }
            QTRY_VERIFY2_WITH_TIMEOUT(witness.state() == SourceState::Live,
                                      witness.report.status.message().c_str(), test::patience(60'000));
        }
        QVERIFY2(witness.fresh, "a frame was shown twice");
        QVERIFY(!witness.secrets);
        QVERIFY2(witness.age < 2, qPrintable(QString::number(witness.age)));
    }
    mpm::pipeline::Store kept(path.toStdString());
    const auto name = mpm::pipeline::Address(url.toStdString()).shown();
    QCOMPARE(qint64(kept.count(kept.source(name))), measured);
    const auto events = kept.events(kept.source(name), {}, Millis(1LL << 45));
    QVERIFY(std::count_if(events.begin(), events.end(), [](const auto& e) { return e.kind == "source"; }) >=
            rounds());
}

void FaultsTest::rtspCameraKilledStalledAndBack() {
    test::RtspServer server(test::freePort());
    QVERIFY(server.start());
    goThrough(server, server.url());
}

void FaultsTest::httpCameraKilledStalledAndBack() {
    mpm::test::StreamServer server;
    server.start();
    goThrough(server, QString::fromStdString(server.url()));
}

/// The pipeline fails after a few frames each time that it is opened, like a camera with a loose cable.
void FaultsTest::sourceThatFailsInTheMiddle() {
    Engine engine(store());
    Witness witness(engine);
    engine.openSource(
        QStringLiteral("gst:videotestsrc is-live=true ! identity error-after=8 ! videoconvert ! appsink"));
    QTRY_VERIFY_WITH_TIMEOUT(witness.last >= 2, test::patience(20'000));
    QTRY_VERIFY_WITH_TIMEOUT(witness.state() == SourceState::Retrying, test::patience(10'000));
    const std::int64_t before = witness.last;
    QTRY_VERIFY_WITH_TIMEOUT(witness.last > before, test::patience(20'000));  // the source was opened again
    QVERIFY(witness.fresh);
}

void FaultsTest::storeThatIsLockedLosesNothing() {
    const QString path = store();
    qint64 measured = 0;
    QString source = m_sandbox.images(3, 0);
    {
        Engine engine(path);
        QSignalSpy failing(&engine.recorder(), &Recorder::failing),
            recovered(&engine.recorder(), &Recorder::recovered);
        connect(&engine, &Engine::measured, this,
                [&](const auto&, const AnalysisPtr& analysis) { measured += !analysis->repeat; });
        engine.openModel(QStringLiteral("default"));
        engine.openSource(source);
        QTRY_VERIFY_WITH_TIMEOUT(measured >= 2, test::patience(30'000));
        QTest::qWait(1'500);
        sqlite3* other = nullptr;
        QCOMPARE(sqlite3_open(path.toUtf8().constData(), &other), SQLITE_OK);
        QCOMPARE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
        QTRY_VERIFY_WITH_TIMEOUT(failing.count() == 1, test::patience(20'000));
        QVERIFY(failing[0][0].toString().contains(QStringLiteral("locked")));
        sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr);
        sqlite3_close(other);
        QTRY_VERIFY_WITH_TIMEOUT(recovered.count() == 1, test::patience(20'000));
    }
    mpm::pipeline::Store kept(path.toStdString());
    QCOMPARE(qint64(kept.count(kept.source(source.toStdString()))), measured);
}

/// The program reports a locked store even if no reading waits to be stored: here, an event cannot be
/// removed.
void FaultsTest::storeThatIsLockedWithoutReadings() {
    const QString path = store();
    Engine engine(path);
    QSignalSpy failing(&engine.recorder(), &Recorder::failing),
        recovered(&engine.recorder(), &Recorder::recovered);
    engine.openSource(m_sandbox.images(3, 0));
    const auto opened = std::make_shared<std::atomic<bool>>(false);
    const auto answered = [&] {
        engine.recorder().ask([opened](const mpm::pipeline::Store&, std::int64_t) { *opened = true; });
        return opened->load();
    };
    QVERIFY(QTest::qWaitFor(answered, test::patience(20'000)));
    sqlite3* other = nullptr;
    QCOMPARE(sqlite3_open(path.toUtf8().constData(), &other), SQLITE_OK);
    QCOMPARE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    engine.recorder().removeEvents({1});
    QTRY_VERIFY_WITH_TIMEOUT(failing.count() == 1, test::patience(20'000));
    sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr);
    sqlite3_close(other);
    QTRY_VERIFY_WITH_TIMEOUT(recovered.count() == 1, test::patience(20'000));
}

/// A limit on the size of files acts as a full disk.
void FaultsTest::diskThatIsFullLosesNothingCommitted() {
    QProcess process;
    // 400 blocks of 512 bytes are enough for the tables and some readings. A write beyond these blocks fails
    // as on a full disk. The journal reaches the limit before the store does. SQLite then copies the journal
    // into the store and empties the journal.
    process.start(QStringLiteral("sh"),
                  {QStringLiteral("-c"),
                   QStringLiteral("ulimit -f 400; trap '' XFSZ; exec \"$0\" --headless --profile full "
                                  "--source 'gst:videotestsrc is-live=true ! videoconvert ! "
                                  "video/x-raw,width=64,height=48 ! appsink'"),
                   QStringLiteral(MPM_MONITOR)});
    QByteArray said;
    QElapsedTimer failing;
    const auto fails = [&] {
        const QByteArray more = process.readAllStandardError();
        said += more;
        if (!more.isEmpty()) failing.restart();
        return said.lastIndexOf("measurements are not kept") >
                   said.lastIndexOf("measurements are kept again") &&
               said.contains("disk") && failing.elapsed() > 15'000;
    };
    QVERIFY2(QTest::qWaitFor(fails, test::patience(300'000)), said.constData());
    QCOMPARE(process.state(), QProcess::Running);  // watching continues
    process.terminate();
    QVERIFY(process.waitForFinished(test::patience(30'000)));
    QCOMPARE(process.exitCode(), 1);  // the status if some readings were never written
    QVERIFY(process.readAllStandardError().contains("never written"));
    mpm::pipeline::Store kept(m_sandbox.path(QStringLiteral("data/mpm/monitor/full.sqlite")).toStdString());
    const auto id = kept.source("gst:videotestsrc ! videoconvert ! video/x-raw ! appsink");
    QVERIFY(kept.count(id) > 10);
}

void FaultsTest::modelThatIsRemovedWhileItRuns() {
    const QString model = m_sandbox.path(QStringLiteral("model.onnx"));
    QVERIFY(QFile::copy(QStringLiteral(MPM_SOURCE_DIR "/models/zoo/street-vit-tiny.onnx"), model));
    Engine engine(store());
    int measured = 0;
    connect(&engine, &Engine::measured, this, [&] { ++measured; });
    engine.openModel(model);
    engine.openSource(m_sandbox.film(8, 0));
    QTRY_VERIFY_WITH_TIMEOUT(measured >= 1, test::patience(30'000));
    QVERIFY(QFile::remove(model));
    const int before = measured;
    QTRY_VERIFY_WITH_TIMEOUT(measured >= before + 2, test::patience(20'000));  // a loaded model needs no file
    QSignalSpy failed(&engine, &Engine::modelFailed);
    engine.openModel(model);
    QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, test::patience(10'000));
    const int then = measured;
    QTRY_VERIFY_WITH_TIMEOUT(measured > then, test::patience(20'000));
}

void FaultsTest::wrongModelsAreRefused() {
    QFile shipped(QStringLiteral(MPM_SOURCE_DIR "/models/zoo/street-vit-tiny.onnx"));
    QVERIFY(shipped.open(QIODevice::ReadOnly));
    const QByteArray whole = shipped.readAll();
    Engine engine(store());
    QSignalSpy failed(&engine, &Engine::modelFailed), loaded(&engine, &Engine::modelLoaded);
    QRandomGenerator random(7);
    for (int i = 0; i < 6; ++i) {
        QByteArray damaged = i < 3 ? whole.left(whole.size() * (i + 1) / 4) : whole;
        for (int byte = 0; i >= 3 && byte < 400; ++byte)  // damages the first part, which contains the nodes
            damaged[random.bounded(4000)] = char(random.bounded(256));
        const QString path = m_sandbox.path(QStringLiteral("wrong%1.onnx").arg(i));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(damaged);
        file.close();
        engine.openModel(path);
        QTRY_VERIFY_WITH_TIMEOUT(failed.count() + loaded.count() == i + 1, test::patience(30'000));
    }
    QCOMPARE(loaded.count(), 0);
}

void FaultsTest::windowClosedInTheMiddleOfEverything() {
    mpm::test::StreamServer server;
    server.start();
    QRandomGenerator random(11);
    for (int round = 0; round < std::max(3, rounds() / 2); ++round) {
        test::WindowFixture is;
        Options options;
        options.source = QString::fromStdString(server.url());
        is.open(options);
        QTest::qWait(random.bounded(1'500));
        is.window->sources().add(QStringLiteral("demo"));
        is.window->views()->showView(random.bounded(int(viewKeys().size())));
        is.window->model().open(QStringLiteral("default"));
        is.window->watching().toggleRecording();
        is.window->models().schedule.setSchedule({random.bounded(12)});
        is.window->exports().allMeasurements(is.sandbox.path(QStringLiteral("out.json")));
        if (round % 2 == 0) server.stall(true);
        QTest::qWait(random.bounded(400));
        QElapsedTimer timer;
        timer.start();
        is.window->close();
        is.window.reset();
        QVERIFY2(timer.elapsed() < test::patience(8'000), qPrintable(QString::number(timer.elapsed())));
        server.stall(false);
    }
}

MPM_GUI_TEST(FaultsTest);
#include "faults_test.moc"
