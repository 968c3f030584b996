// Checks the monitor's files after a signal ended it during a write: SIGKILL, SIGTERM, or SIGKILL to the
// process group. MPM_KILL_ROUNDS sets the number of rounds for each signal (default 10).
#include <unistd.h>
#include <algorithm>

#include <csignal>
#include <cstdio>

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QDirIterator>
#include <QImage>
#include <QProcess>
#include <QRandomGenerator>
#include <QTest>

#include "gui/registry.hpp"
#include "gui/services/thumbnails.hpp"
#include "gui/session/profile.hpp"
#include "gui/support.hpp"
#include "pipeline/store/store.hpp"

using namespace mpm::gui;
using mpm::pipeline::Millis;

namespace {

constexpr int kBatch = 7;     // readings in a transaction
constexpr int kRecent = 400;  // so many entries that the settings file has several disk blocks
const QString kSource = QStringLiteral("camera");

int killRounds() {
    const int asked = qEnvironmentVariableIntValue("MPM_KILL_ROUNDS");
    return asked > 0 ? asked : 10;
}

ProfileState stateOf(int number) {
    ProfileState state;
    state.comparedHours = number % 1000;
    for (int i = 0; i < kRecent; ++i)
        state.recentSources << QStringLiteral("rtsp://camera-%1/stream").arg(number % 1000);
    return state;
}

/// Runs in the child: writes store, settings and thumbnails as fast as possible. After each round, prints the
/// number that store and settings must now contain.
int writeForEver(const QString& name) {
    Profile profile(name);
    QDir().mkpath(QFileInfo(profile.storePath()).path());
    mpm::pipeline::Store store(profile.storePath().toStdString());
    const auto source = store.source(kSource.toStdString());
    Thumbnails thumbnails(profile.storePath().chopped(7) + QStringLiteral("-thumbnails"));
    QImage image(640, 480, QImage::Format_RGB32);
    const auto begin = int(store.count(source) / kBatch);
    for (int number = begin + 1;; ++number) {
        std::vector<mpm::pipeline::Measurement> readings(kBatch);
        for (auto& reading : readings) {
            reading.time = Millis(QDateTime::currentMSecsSinceEpoch());
            reading.frame = number;
        }
        store.add(source, readings);
        store.addEvent(source, {readings.back().time, "alert", "bright: " + std::to_string(number)});
        if (!profile.save(stateOf(number))) return 1;
        image.fill(QColor::fromHsv(number * 7 % 360, 200, 200));
        thumbnails.noteEvent(kSource);
        thumbnails.add(kSource, image, QDateTime::currentMSecsSinceEpoch());
        std::printf("%d\n", number);
        std::fflush(stdout);
    }
}

void endIt(const QProcess& process, const QByteArray& how) {
    const auto id = static_cast<pid_t>(process.processId());
    ::kill(how == "group" ? -id : id, how == "terminated" ? SIGTERM : SIGKILL);
}

/// Starts a program in a separate process group.
void startAlone(QProcess& process, const QString& program, const QStringList& arguments) {
    process.setChildProcessModifier([] { ::setpgid(0, 0); });
    process.start(program, arguments);
}

void ways() {
    QTest::addColumn<QByteArray>("how");
    for (const char* how : {"killed", "terminated", "group"})
        QTest::newRow(how) << QByteArray(how);
}

}  // namespace

class KillTest : public QObject {
    Q_OBJECT
private slots:
    void writerEndsInTheMiddle_data() { ways(); }
    void writerEndsInTheMiddle();
    void monitorEndsInTheMiddle_data() { ways(); }
    void monitorEndsInTheMiddle();

private:
    QString data(const QString& name) const {
        return m_sandbox.path(QStringLiteral("data/mpm/monitor/") + name);
    }
    int wholeThumbnails(const QString& folder);
    test::Sandbox m_sandbox;
};

/// Returns the number of thumbnails; -1 if any is damaged.
int KillTest::wholeThumbnails(const QString& folder) {
    int count = 0;
    for (QDirIterator all(folder, {QStringLiteral("*.jpg")}, QDir::Files, QDirIterator::Subdirectories);
         all.hasNext(); ++count) {
        QFile file(all.next());
        // The decoder accepts a truncated JPEG, so the end marker is checked too.
        if (!file.open(QIODevice::ReadOnly) || QImage(file.fileName()).isNull()) return -1;
        if (!file.readAll().endsWith("\xFF\xD9")) return -1;
    }
    return count;
}

void KillTest::writerEndsInTheMiddle() {
    QFETCH(QByteArray, how);
    const QString name = QStringLiteral("writer-") + QString::fromLatin1(how);
    const QString folder = data(name + QStringLiteral("-thumbnails"));
    int thumbnails = 0;
    for (int round = 0; round < killRounds(); ++round) {
        QProcess writer;
        startAlone(writer, QCoreApplication::applicationFilePath(),
                   {QStringLiteral("kill"), QStringLiteral("--write"), name});
        QVERIFY(writer.waitForReadyRead(test::patience(20'000)));
        // On a busy machine, the first thumbnails may take longer than the random wait below.
        QVERIFY(QTest::qWaitFor([&] { return wholeThumbnails(folder) > thumbnails + 1; },
                                test::patience(20'000)));
        QTest::qWait(QRandomGenerator::global()->bounded(20, 250));
        endIt(writer, how);
        QVERIFY(writer.waitForFinished(test::patience(10'000)));
        QCOMPARE(writer.exitStatus(), QProcess::CrashExit);  // the signal ended the child
        const int promised = writer.readAllStandardOutput().trimmed().split('\n').last().toInt();
        QVERIFY(promised > 0);
        mpm::pipeline::Store store(data(name + QStringLiteral(".sqlite")).toStdString());
        store.check();
        const auto rows = store.measurements(store.source(kSource.toStdString()), {}, Millis(1LL << 45));
        const int batches = int(rows.size()) / kBatch;
        QCOMPARE(rows.size() % kBatch, std::size_t(0));  // no transaction is stored in part
        QVERIFY2(batches == promised || batches == promised + 1, qPrintable(QString::number(batches)));
        // The store has the events that the child printed, in the order of writing, even if the clock was
        // changed. In each round, the last event may be missing.
        auto events = store.newestEvents(INT32_MAX);
        std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.id > b.id; });
        const auto numberOf = [](const auto& stored) { return std::stoi(stored.event.text.substr(8)); };
        QVERIFY(int(events.size()) >= promised - round && numberOf(events.front()) >= promised);
        for (std::size_t i = 1; i < events.size(); ++i)
            QVERIFY(numberOf(events[i]) < numberOf(events[i - 1]));
        // The settings are complete, and have the number that the child printed last, or the next number.
        const ProfileState state = Profile(name).load();
        QCOMPARE(state.recentSources.size(), kRecent);
        QCOMPARE(state.recentSources, stateOf(state.comparedHours).recentSources);
        QVERIFY(state.comparedHours == promised % 1000 || state.comparedHours == (promised + 1) % 1000);
        const int kept = wholeThumbnails(folder);
        QVERIFY2(kept >= thumbnails, qPrintable(QStringLiteral("%1 after %2").arg(kept).arg(thumbnails)));
        thumbnails = kept;
    }
    QVERIFY(thumbnails > killRounds());
}

/// Ends the monitor itself while the user changes the window.
void KillTest::monitorEndsInTheMiddle() {
    QFETCH(QByteArray, how);
    const QString name = QStringLiteral("monitor-") + QString::fromLatin1(how);
    const QString store = data(name + QStringLiteral(".sqlite")), source = m_sandbox.film(8, 8);
    ProfileState state;  // options of the command line would not be stored
    state.source = source;
    QVERIFY(Profile(name).save(state));
    std::int64_t count = 0;
    for (int round = 0; round < killRounds(); ++round) {
        QProcess monitor;
        startAlone(monitor, QStringLiteral(MPM_MONITOR), {QStringLiteral("--profile"), name});
        QVERIFY2(monitor.waitForStarted(), qPrintable(monitor.errorString()));
        const auto counted = [&] {
            if (!QFile::exists(store)) return false;
            mpm::pipeline::Store kept(store.toStdString(), mpm::pipeline::Store::Access::ReadOnly);
            return kept.count(kept.findSource(source.toStdString()).value_or(-1)) > count + 2;
        };
        QVERIFY(QTest::qWaitFor(counted, test::patience(60'000)));
        QTest::qWait(QRandomGenerator::global()->bounded(0, 1'200));
        endIt(monitor, how);
        QVERIFY(monitor.waitForFinished(test::patience(30'000)));
        if (how == "terminated") QCOMPARE(monitor.exitCode(), 0);
        mpm::pipeline::Store kept(store.toStdString());
        kept.check();
        const auto now = kept.count(kept.source(source.toStdString()));
        QVERIFY2(now > count + 2, qPrintable(QString::number(now)));
        count = now;
        QCOMPARE(Profile(name).load().source, source);
        QVERIFY(wholeThumbnails(data(name + QStringLiteral("-thumbnails"))) >= 1);
    }
    const QStringList damaged =
        QDir(QFileInfo(store).path()).entryList({QStringLiteral("*.damaged-*"), QStringLiteral("*.v*")});
    QVERIFY2(damaged.isEmpty(), qPrintable(damaged.join(QLatin1Char(' '))));
}

static int runWriterOrTest(int argc, char** argv) {
    QCoreApplication application(argc, argv);
    if (argc == 3 && qstrcmp(argv[1], "--write") == 0) return writeForEver(QString::fromLocal8Bit(argv[2]));
    KillTest test;
    return QTest::qExec(&test, argc, argv);
}

MPM_TEST_REGISTER(KillTest, runWriterOrTest);

#include "kill_test.moc"
