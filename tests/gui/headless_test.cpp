// Starts the program with --headless, in an environment without a display.
#include <sqlite3.h>

#include <csignal>

#include <QSettings>
#include <QSignalSpy>
#include <QTest>

#include "gui/process.hpp"
#include "gui/registry.hpp"
#include "gui/services/watch_settings.hpp"
#include "gui/session/session.hpp"
#include "gui/support.hpp"
#include "pipeline/store/store.hpp"

using namespace mpm::gui;
using test::Outcome;

class HeadlessTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void measuresUntilItIsToldToEnd();
    void usesTheProfileOfTheWindow();
    void sourceWithoutMeasurementIsNamed();
    void badInputLeavesWith3();
    void unreadableImagesAreNamedOnce();
    void damagedWatchFileIsNoReasonToShowWhatIsMasked();
    void commandIsRunByAnAlert();
    void profileInUseIsOnlyRead();
    void storeOfAnUnreleasedVersionIsSetAside();

private:
    void start(QProcess& process, const QStringList& more) {
        QStringList arguments{QStringLiteral("--headless")};
        process.start(QStringLiteral(MPM_MONITOR), arguments + more);
    }
    static bool comes(QProcess& process, QByteArray& said, const char* words) {
        return QTest::qWaitFor(
            [&] {
                said += process.readAllStandardError();
                return said.contains(words);
            },
            test::patience(30'000));
    }
    /// Waits until the store of a running program has `count` readings of a source.
    static bool hasReadings(const QString& store, const QString& source, int count) {
        const auto counted = [&] {
            sqlite3* raw = nullptr;
            sqlite3_stmt* rows = nullptr;
            int found = 0;
            if (sqlite3_open_v2(store.toUtf8().constData(), &raw, SQLITE_OPEN_READONLY, nullptr) ==
                    SQLITE_OK &&
                sqlite3_prepare_v2(raw,
                                   "SELECT count(*) FROM reading WHERE source = "
                                   "(SELECT id FROM source WHERE name = ?)",
                                   -1, &rows, nullptr) == SQLITE_OK) {
                sqlite3_bind_text(rows, 1, source.toUtf8().constData(), -1, SQLITE_TRANSIENT);
                if (sqlite3_step(rows) == SQLITE_ROW) found = sqlite3_column_int(rows, 0);
            }
            sqlite3_finalize(rows);
            sqlite3_close(raw);
            return found >= count;
        };
        return QTest::qWaitFor(counted, test::patience(60'000));
    }
    QString data(const char* name) const {
        return m_sandbox.path(QStringLiteral("data/mpm/monitor/") + QLatin1String(name));
    }
    QString config(const char* name) const {
        return m_sandbox.path(QStringLiteral("config/mpm/monitor/") + QLatin1String(name));
    }
    test::Sandbox m_sandbox;
};

void HeadlessTest::initTestCase() {
    // With these variables, a program that needs a display fails.
    qputenv("QT_QPA_PLATFORM", "xcb");
    qunsetenv("DISPLAY");
    qunsetenv("WAYLAND_DISPLAY");
}

void HeadlessTest::measuresUntilItIsToldToEnd() {
    const QString source = m_sandbox.film(8, 0);
    for (const int signal : {SIGTERM, SIGINT}) {
        const QByteArray name = signal == SIGTERM ? "term" : "int";
        QProcess process;
        start(process,
              {QStringLiteral("--source"), source, QStringLiteral("--profile"), QString::fromLatin1(name)});
        QByteArray said;
        QVERIFY2(comes(process, said, "model street"), said.constData());
        QVERIFY2(comes(process, said, ": live"), said.constData());
        QVERIFY(hasReadings(data((name + ".sqlite").constData()), source, 2));
        ::kill(static_cast<pid_t>(process.processId()), signal);
        const Outcome outcome = test::finish(process);
        QCOMPARE(outcome.status, 0);
        QVERIFY2(!(QString::fromUtf8(said) + outcome.err).contains(QStringLiteral("no frame was measured")),
                 qPrintable(outcome.err));
        mpm::pipeline::Store store(data((name + ".sqlite").constData()).toStdString());
        QVERIFY(store.count(store.source(source.toStdString())) >= 2);
    }
}

void HeadlessTest::usesTheProfileOfTheWindow() {
    const QString source = m_sandbox.film(8, 0);
    {
        QSettings settings(config("shared.ini"), QSettings::IniFormat);
        settings.setValue(QStringLiteral("source"), source);
        settings.setValue(QStringLiteral("schedule"), QStringLiteral("3"));
    }
    WatchSettings watch;
    watch.sources[source].regions = {{"left", {{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}}}};
    watch.further = {m_sandbox.images(1, 0) + QStringLiteral("/000.png")};
    writeWatchSettings(config("shared.watch.json"), watch);
    QProcess process;
    start(process, {QStringLiteral("--profile"), QStringLiteral("shared")});
    QVERIFY(hasReadings(data("shared.sqlite"), source, 2));
    QVERIFY(hasReadings(data("shared.sqlite"), watch.further[0], 1));
    process.terminate();
    QCOMPARE(test::finish(process).status, 0);
    mpm::pipeline::Store store(data("shared.sqlite").toStdString());
    const auto rows =
        store.measurements(store.source(source.toStdString()), {}, mpm::pipeline::Millis(1LL << 45));
    QVERIFY(rows.size() >= 2);
    QCOMPARE(rows.back().stageTokens.size(), size_t(1));  // the profile's schedule, not the model's
    QCOMPARE(rows.back().regions.size(), size_t(1));
    QVERIFY(rows.back().regions[0].tokens > 0 && rows.back().regions[0].tokens < rows.back().tokensKept());
    QVERIFY(store.count(store.source(watch.further[0].toStdString())) >= 1);  // both sources share a network
}

/// Settings with keys of an earlier version still apply. A store of schema 2, which was never released, is
/// renamed, and a new store begins.
void HeadlessTest::storeOfAnUnreleasedVersionIsSetAside() {
    const QString source = m_sandbox.film(8, 0), store = data("earlier.sqlite");
    {
        QSettings settings(config("earlier.ini"), QSettings::IniFormat);
        const std::pair<const char*, QVariant> keys[] = {{"source", source},
                                                         {"model", QStringLiteral("default")},
                                                         {"schedule", QStringLiteral("3")},
                                                         {"interval", 0},
                                                         {"night/luminance", 0.35},
                                                         {"daynight/by", 3},
                                                         {"daynight/hand", 1},
                                                         {"opacity", 0.4},
                                                         {"view", QStringLiteral("split")}};
        for (const auto& [key, value] : keys)
            settings.setValue(QLatin1String(key), value);
    }
    QDir().mkpath(QFileInfo(store).path());
    { mpm::pipeline::Store kept(store.toStdString()); }
    sqlite3* raw = nullptr;
    QCOMPARE(sqlite3_open(store.toUtf8().constData(), &raw), SQLITE_OK);
    QCOMPARE(sqlite3_exec(raw, "DROP TABLE setup; PRAGMA user_version = 2", nullptr, nullptr, nullptr),
             SQLITE_OK);
    sqlite3_close(raw);
    QProcess process;
    start(process, {QStringLiteral("--profile"), QStringLiteral("earlier"), QStringLiteral("--after"),
                    QString::number(test::patience(4))});
    const Outcome outcome = test::finish(process);
    QVERIFY2(outcome.status == 0, qPrintable(outcome.err));
    QVERIFY2(outcome.err.contains(QStringLiteral("earlier.sqlite.old-")), qPrintable(outcome.err));
    QCOMPARE(QDir(QFileInfo(store).path()).entryList({QStringLiteral("earlier.sqlite.old-*")}).size(), 1);
    mpm::pipeline::Store kept(store.toStdString());
    const auto rows =
        kept.measurements(kept.source(source.toStdString()), {}, mpm::pipeline::Millis(1LL << 45));
    QVERIFY(rows.size() >= 3);
    QCOMPARE(rows.back().stageTokens.size(), size_t(1));        // the schedule of the settings applies
    QVERIFY(rows.back().phase == mpm::pipeline::Phase::Night);  // the night rule of the settings applies
}

// The program keeps trying a camera that does not answer. It reports the source only when the time of --after
// is over.
void HeadlessTest::sourceWithoutMeasurementIsNamed() {
    const Outcome outcome = test::run(
        QStringLiteral(MPM_MONITOR),
        {QStringLiteral("--headless"), QStringLiteral("--source"), QStringLiteral("rtsp://127.0.0.1:1/none"),
         QStringLiteral("--profile"), QStringLiteral("silent"), QStringLiteral("--after=1")});
    QCOMPARE(outcome.status, 0);
    QVERIFY2(outcome.err.contains(QStringLiteral("127.0.0.1:1/none: no frame was measured")),
             qPrintable(outcome.err));
}

void HeadlessTest::badInputLeavesWith3() {
    const QStringList wrong[] = {{QStringLiteral("--source"), QStringLiteral("/nowhere.mp4")},
                                 {QStringLiteral("--source"), m_sandbox.images(1, 0),
                                  QStringLiteral("--model"), QStringLiteral("/nowhere.onnx")}};
    for (const QStringList& arguments : wrong) {
        QProcess process;
        start(process, arguments);
        const Outcome outcome = test::finish(process);
        QCOMPARE(outcome.status, 3);
        QVERIFY2(outcome.err.contains(QStringLiteral("/nowhere.")), qPrintable(outcome.err));
    }
    QFile damaged(m_sandbox.path(QStringLiteral("damaged.onnx")));
    QVERIFY(damaged.open(QIODevice::WriteOnly));
    damaged.write("no graph");
    damaged.close();
    QProcess refused;
    start(refused, {QStringLiteral("--model"), damaged.fileName()});
    const Outcome outcome = test::finish(refused);
    QCOMPARE(outcome.status, 3);
    QVERIFY2(outcome.err.count(damaged.fileName()) == 1, qPrintable(outcome.err));
    QVERIFY2(!outcome.err.contains(QStringLiteral("mpm: ")), qPrintable(outcome.err));
    QProcess process;
    start(process, {QStringLiteral("--screenshot"), QStringLiteral("x.png")});
    QCOMPARE(test::finish(process).status, 2);
}

void HeadlessTest::unreadableImagesAreNamedOnce() {
    const QString folder = m_sandbox.images(2, 0);
    for (const char* name : {"a.png", "b.png"}) {
        QFile damaged(folder + QLatin1Char('/') + QLatin1String(name));
        QVERIFY(damaged.open(QIODevice::WriteOnly));
        damaged.write("no image");
    }
    QProcess process;  // runs long enough to read the folder twice
    start(process, {QStringLiteral("--source"), folder, QStringLiteral("--after"),
                    QString::number(test::patience(6))});
    const Outcome outcome = test::finish(process);
    QCOMPARE(outcome.status, 0);
    for (const char* name : {"/a.png: not an image", "/b.png: not an image"})
        QVERIFY2(outcome.err.count(QLatin1String(name)) == 1, qPrintable(outcome.err));
    for (const QString& source : {folder + QStringLiteral("/a.png"), folder + QStringLiteral("/[ab].png")}) {
        QProcess none;
        start(none, {QStringLiteral("--source"), source});
        const Outcome failed = test::finish(none);
        QCOMPARE(failed.status, 3);
        QVERIFY2(failed.err.contains(QStringLiteral("can be read")), qPrintable(failed.err));
    }
    QFile::remove(folder + QStringLiteral("/a.png"));
    QFile::remove(folder + QStringLiteral("/b.png"));
}

void HeadlessTest::damagedWatchFileIsNoReasonToShowWhatIsMasked() {
    QDir().mkpath(m_sandbox.path(QStringLiteral("config/mpm/monitor")));
    for (const char* content :
         {"{\"sources\": ", "{\"sources\": {\"demo\": {\"masks\": [[[0, 0], [1, 1]]]}}}",
          "{\"alerts\": [{\"name\": \"x\", \"of\": \"moon\"}]}"}) {
        QFile file(config("damaged.watch.json"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(content);
        file.close();
        QProcess process;
        start(process, {QStringLiteral("--profile"), QStringLiteral("damaged")});
        const Outcome outcome = test::finish(process);
        QCOMPARE(outcome.status, 3);
        QVERIFY2(outcome.err.contains(QStringLiteral("damaged.watch.json")), qPrintable(outcome.err));
        QVERIFY(!QFile::exists(data("damaged.sqlite")));
    }
}

void HeadlessTest::commandIsRunByAnAlert() {
    const QString trace = m_sandbox.path(QStringLiteral("trace"));
    QFile script(m_sandbox.path(QStringLiteral("note.sh")));
    QVERIFY(script.open(QIODevice::WriteOnly));
    script.write("#!/bin/sh\necho \"$1 $MPM_ALERT $MPM_VALUE\" >>" + trace.toUtf8() + "\n");
    script.close();
    script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    WatchSettings watch;
    mpm::pipeline::AlertRule rule;
    rule.name = "busy";
    rule.threshold = 10;
    rule.desktop = false;
    rule.command = (script.fileName() + QStringLiteral(" \"two words\"")).toStdString();
    watch.alerts = {rule};
    writeWatchSettings(config("alert.watch.json"), watch);
    QProcess process;
    start(process, {QStringLiteral("--profile"), QStringLiteral("alert"), QStringLiteral("--source"),
                    m_sandbox.film(8, 0)});
    QFile file(trace);
    QVERIFY(QTest::qWaitFor([&] { return file.exists() && file.size() > 0; }, test::patience(30'000)));
    process.terminate();
    const Outcome outcome = test::finish(process);
    QCOMPARE(outcome.status, 0);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray line = file.readAll();
    QVERIFY2(line.startsWith("two words busy "), line.constData());
    QCOMPARE(line.count('\n'), 1);  // the alert fires once while the rule stays fulfilled
    QVERIFY(outcome.err.contains(QStringLiteral("alert 'busy'")));
}

// If two programs use a profile, the second writes neither settings nor measurements, and prints the reason.
void HeadlessTest::profileInUseIsOnlyRead() {
    const QString source = m_sandbox.film(8, 0), name = QStringLiteral("inuse");
    QProcess first;
    start(first, {QStringLiteral("--source"), source, QStringLiteral("--profile"), name});
    QByteArray said;
    QVERIFY2(comes(first, said, ": live"), said.constData());
    const Outcome second = test::run(
        QStringLiteral(MPM_MONITOR),
        {QStringLiteral("--headless"), QStringLiteral("--profile"), name, QStringLiteral("--after=1")});
    QCOMPARE(second.status, 3);
    QVERIFY2(
        second.err.contains(QStringLiteral("Profile 'inuse' is in use by process %1").arg(first.processId())),
        qPrintable(second.err));
    Options options;
    options.profile = name;
    options.source = m_sandbox.film(1, 7);
    mpm::pipeline::Store store(data("inuse.sqlite").toStdString());
    {
        Session session(options);
        QVERIFY(session.readOnlyReason().contains(QString::number(first.processId())));
        session.start();
        Recorder& recorder = session.sources().at(0).recorder();
        QVERIFY(recorder.readOnly());
        QSignalSpy analysed(&session.sources().at(0), &Engine::measured);
        QTRY_VERIFY_WITH_TIMEOUT(analysed.count() > 1, test::patience(30'000));
        session.state().opacity = 0.123;
        session.save();
        recorder.finish();
        QCOMPARE(recorder.lost(), 0);  // a read-only recorder drops readings on purpose
    }
    QVERIFY(!store.findSource(options.source->toStdString()));
    QVERIFY(!QFile::exists(config("inuse.ini")));
    ::kill(static_cast<pid_t>(first.processId()), SIGKILL);
    first.waitForFinished();
    // The lock of a killed program does not prevent writing.
    Session after(options);
    QVERIFY2(after.readOnlyReason().isEmpty(), qPrintable(after.readOnlyReason()));
}

MPM_CORE_TEST(HeadlessTest);
#include "headless_test.moc"
