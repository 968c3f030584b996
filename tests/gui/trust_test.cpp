// Security of the monitor: addresses that it listens on, modes of files, descriptors that commands inherit, a
// damaged store. Must be run inside `dbus-run-session`.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QDirIterator>
#include <QSettings>
#include <QTcpServer>

#include "gui/broker.hpp"
#include "gui/process.hpp"
#include "gui/registry.hpp"
#include "gui/services_fixture.hpp"
#include "gui/session/profile.hpp"

using namespace mpm::gui;
using mpm::pipeline::AlertRule;

class TrustTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { umask(0); }  // modes of files must not depend on the umask
    void metricsListenWhereTheyAreTold_data();
    void metricsListenWhereTheyAreTold();
    void commandsInheritNothing();
    void filesAreTheOwnersAlone();
    void settingsWrittenByHandAreValid();
    void headlessReplacesADamagedStore();
    void headlessGivesUpOnAStoreItCannotUse();
    void linesOfTheLogAreLines();

private:
    test::Outcome headless(const QStringList& more) {
        return test::run(QStringLiteral(MPM_MONITOR), QStringList{QStringLiteral("--headless")} + more);
    }
    QString data(const char* name) const {
        return m_sandbox.path(QStringLiteral("data/mpm/monitor/") + QLatin1String(name));
    }
    test::Sandbox m_sandbox;
};

namespace {

/// Returns the local addresses of this process's sockets that listen on the port, in the kernel's notation.
QStringList listening(int port) {
    const QString wanted = QStringLiteral(":%1").arg(port, 4, 16, QLatin1Char('0')).toUpper();
    QStringList found;
    for (const char* name : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        QFile file{QLatin1String(name)};
        if (!file.open(QIODevice::ReadOnly)) continue;
        for (const QByteArray& line : file.readAll().split('\n')) {
            const QStringList words = QString::fromLatin1(line).split(QLatin1Char(' '), Qt::SkipEmptyParts);
            if (words.size() > 3 && words[1].endsWith(wanted) && words[3] == QStringLiteral("0A"))
                found << words[1].chopped(5);
        }
    }
    return found;
}

mode_t modeOf(const QString& path) {
    struct stat there {};
    return stat(path.toUtf8().constData(), &there) == 0 ? there.st_mode & 07777 : 07777;
}

}  // namespace

void TrustTest::metricsListenWhereTheyAreTold_data() {
    QTest::addColumn<QString>("address");
    QTest::addColumn<QString>("where");  // empty: the address is rejected
    const auto row = [](const char* address, const char* where) {
        QTest::newRow(*address == '\0' ? "empty" : address)
            << QString::fromUtf8(address) << QString::fromLatin1(where);
    };
    row("127.0.0.1", "0100007F");
    row("localhost", "0100007F");
    row("LocalHost", "0100007F");
    row("::1", "00000000000000000000000001000000");
    row("127.0.0.2", "0200007F");
    row("0.0.0.0", "00000000");
    row("::", "00000000000000000000000000000000");
    row("", "");
    row(" ", "");
    row("0", "");
    row("*", "");
    row("224.0.0.1", "");
    row("::ffff:0.0.0.0", "");
    row("no-such-host.invalid", "");
    row("256.1.1.1", "");
    row("http://127.0.0.1", "");
    row("192.0.2.7", "");  // an address of another machine
}

void TrustTest::metricsListenWhereTheyAreTold() {
    QFETCH(QString, address);
    QFETCH(QString, where);
    Services services(QStringLiteral("listen"), m_sandbox.path(QStringLiteral("videos")));
    QSignalSpy said(&services, &Services::messagePosted);
    WatchSettings watch;
    watch.metrics.on = true;
    watch.metrics.address = address;
    watch.metrics.port = test::freePort();
    services.apply(watch);
    // A resolver may need some time to report that there is no such host.
    QTRY_VERIFY_WITH_TIMEOUT(services.metrics() != nullptr || said.count() > 0, test::patience(60'000));
    if (where.isEmpty()) {
        QVERIFY(services.metrics() == nullptr);
        QVERIFY2(
            said[0][0].toString().contains(QStringLiteral(" %1:%2: ").arg(address).arg(watch.metrics.port)),
            qPrintable(said[0][0].toString()));
        QCOMPARE(listening(watch.metrics.port), QStringList());
        return;
    }
    QVERIFY2(services.metrics() != nullptr, qPrintable(said.value(0).value(0).toString()));
    QCOMPARE(listening(watch.metrics.port), QStringList{where});
}

void TrustTest::commandsInheritNothing() {
    test::Broker broker(m_sandbox.path(QStringLiteral(".")));
    QVERIFY2(broker.start(), qPrintable(broker.log()));
    const QString trace = m_sandbox.path(QStringLiteral("descriptors"));
    QFile script(m_sandbox.path(QStringLiteral("list.sh")));
    QVERIFY(script.open(QIODevice::WriteOnly));
    // Lists the descriptors that the command inherited, and the descriptor of ls for the listed folder.
    script.write("#!/bin/sh\nls -l /proc/self/fd >" + trace.toUtf8() + ".part\nmv " + trace.toUtf8() +
                 ".part " + trace.toUtf8() + "\n");
    script.close();
    script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    QFile leaked(m_sandbox.path(QStringLiteral("leaked")));
    const int open_ = ::open(leaked.fileName().toUtf8().constData(), O_CREAT | O_RDWR, 0600);  // no O_CLOEXEC
    test::Setup setup(m_sandbox, QStringLiteral("inherit"));
    WatchSettings watch;
    watch.mqtt.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");
    watch.mqtt.port = broker.port();
    watch.metrics.on = true;
    watch.metrics.port = 0;
    setup.services.apply(watch);
    QTRY_VERIFY_WITH_TIMEOUT(setup.services.mqtt()->connected(), test::patience(15'000));
    watch.alerts = {test::rule("busy", AlertRule::Of::Tokens, 1)};
    watch.alerts[0].command = script.fileName().toStdString();
    setup.services.apply(watch);
    setup.open(m_sandbox.film(8, 0));
    QFile file(trace);
    QTRY_VERIFY_WITH_TIMEOUT(file.exists(), test::patience(30'000));
    ::close(open_);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QString listed = QString::fromUtf8(file.readAll());
    for (const QString& line : listed.split(QLatin1Char('\n'))) {
        if (!line.contains(QStringLiteral(" -> "))) continue;
        const QString number = line.section(QStringLiteral(" -> "), 0, 0).section(QLatin1Char(' '), -1);
        const bool own = line.contains(QStringLiteral("/proc/"));  // the folder that ls lists
        QVERIFY2(number.toInt() <= 2 || own, qPrintable(listed));
    }
}

void TrustTest::filesAreTheOwnersAlone() {
    const QString config = m_sandbox.path(QStringLiteral("config/mpm/monitor/"));
    {
        test::Setup setup(m_sandbox, QStringLiteral("mine/deep/er"));
        QSignalSpy rendered(&setup.engine, &Engine::rendered);
        QSignalSpy exported(&setup.engine.recorder(), &Recorder::exported);
        setup.open(m_sandbox.film(8, 0));
        QTRY_VERIFY_WITH_TIMEOUT(rendered.count() >= 1, test::patience(30'000));
        QVERIFY(setup.services.startRecording(setup.engine));
        const auto before = rendered.count();
        QTRY_VERIFY_WITH_TIMEOUT(rendered.count() >= before + 5, test::patience(30'000));
        setup.services.stopRecording(setup.engine);
        for (const char* name : {"all.csv", "all.json"})
            setup.engine.recorder().exportTo(m_sandbox.path(QLatin1String(name)), {},
                                             mpm::pipeline::Millis(1LL << 45));
        QTRY_VERIFY_WITH_TIMEOUT(exported.count() >= 1, test::patience(20'000));
        Profile(QStringLiteral("mine")).save({});
        writeWatchSettings(config + QStringLiteral("mine.watch.json"), {});
        QTRY_VERIFY_WITH_TIMEOUT(setup.hasSaid(QStringLiteral("of video")), test::patience(20'000));
    }
    const QString folders[] = {m_sandbox.path(QStringLiteral("mine")), config.chopped(1)};
    int files = 0;
    for (const QString& folder : folders) {
        QCOMPARE(modeOf(folder), mode_t(0700));
        QDirIterator all(folder, QDir::Files | QDir::Dirs | QDir::NoDotAndDotDot | QDir::Hidden,
                         QDirIterator::Subdirectories);
        while (all.hasNext()) {
            const QString path = all.next();
            QVERIFY2(modeOf(path) == (QFileInfo(path).isDir() ? mode_t(0700) : mode_t(0600)),
                     qPrintable(path));
            files += QFileInfo(path).isFile() ? 1 : 0;
        }
    }
    QVERIFY2(files >= 4, qPrintable(QString::number(files)));  // store, video, settings, watch file
    for (const char* name : {"all.csv", "all.json"})
        if (QFile::exists(m_sandbox.path(QLatin1String(name))))
            QCOMPARE(modeOf(m_sandbox.path(QLatin1String(name))), mode_t(0600));
    // Earlier versions wrote these files with mode 0644. The monitor must change it to 0600.
    for (const char* name : {"mine.ini", "mine.watch.json"})
        chmod((config + QLatin1String(name)).toUtf8().constData(), 0644);
    Profile(QStringLiteral("mine")).save({});
    readWatchSettings(config + QStringLiteral("mine.watch.json"));
    for (const char* name : {"mine.ini", "mine.watch.json"})
        QCOMPARE(modeOf(config + QLatin1String(name)), mode_t(0600));
}

/// Invalid values in the settings are replaced; otherwise no frame would be analysed.
void TrustTest::settingsWrittenByHandAreValid() {
    const QString folder = m_sandbox.path(QStringLiteral("config/mpm/monitor/"));
    QVERIFY(QDir().mkpath(folder));
    int count = 0;
    const auto load = [&](const QByteArray& text) {
        const QString name = QStringLiteral("edited %1").arg(++count);
        QFile file(folder + name + QStringLiteral(".ini"));
        file.open(QIODevice::WriteOnly);
        file.write(text);
        file.close();
        return Profile(name).load().request;
    };
    QCOMPARE(load("[General]\nschedule=5 2\n").schedule, (std::vector<int>{2, 5}));
    QCOMPARE(load("[General]\nschedule=5, 2\n").schedule, (std::vector<int>{2, 5}));
    QCOMPARE(load("[General]\nschedule=2 2 five -1 8\n").schedule, (std::vector<int>{2, 8}));
    QVERIFY(load("[General]\nschedule=none\n").schedule.empty());
    QCOMPARE(load("[General]\ninterval=-1\n").interval.count(), 0);
    QVERIFY(load("[General]\ninterval=9000000000000000000\n").interval == std::chrono::hours(24));
    const auto night = load("[night]\nluminance=7\nphotons=0\ndeviation=nan\n").night;
    QCOMPARE(night.luminance, 1.);
    QVERIFY(night.photons > 0);
    QCOMPARE(night.deviation, mpm::street::NightParameters().deviation);
}

void TrustTest::headlessReplacesADamagedStore() {
    QDir().mkpath(data(""));
    QFile file(data("hurt.sqlite"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(QByteArray(20'000, 'x'));
    file.close();
    const QString source = m_sandbox.film(8, 0);
    const test::Outcome outcome =
        headless({QStringLiteral("--profile"), QStringLiteral("hurt"), QStringLiteral("--source"), source,
                  QStringLiteral("--after"), QString::number(test::patience(6))});
    QVERIFY2(outcome.status == 0, qPrintable(outcome.err));
    QVERIFY2(outcome.err.contains(QStringLiteral("measurements continue in a new file")),
             qPrintable(outcome.err));
    const QStringList aside = QDir(data("")).entryList({QStringLiteral("hurt.sqlite.damaged-*")});
    QCOMPARE(aside.size(), 1);
    QCOMPARE(QFileInfo(data("") + aside[0]).size(), qint64(20'000));
    mpm::pipeline::Store kept(data("hurt.sqlite").toStdString());
    QVERIFY(kept.count(kept.source(source.toStdString())) >= 1);
}

void TrustTest::headlessGivesUpOnAStoreItCannotUse() {
    QDir().mkpath(data(""));
    QVERIFY(QFile::link(m_sandbox.path(QStringLiteral("elsewhere")), data("linked.sqlite")));
    const test::Outcome outcome =
        headless({QStringLiteral("--profile"), QStringLiteral("linked"), QStringLiteral("--source"),
                  m_sandbox.film(8, 0), QStringLiteral("--after"), QString::number(test::patience(60))});
    QCOMPARE(outcome.status, 3);
    QVERIFY2(outcome.err.contains(QStringLiteral("symbolic link")), qPrintable(outcome.err));
    QVERIFY(!QFile::exists(m_sandbox.path(QStringLiteral("elsewhere"))));
}

void TrustTest::linesOfTheLogAreLines() {
    const QString source = m_sandbox.path(QStringLiteral("a\nmpm-monitor: alert\x1b[31m.avi"));
    const test::Outcome outcome =
        headless({QStringLiteral("--profile"), QStringLiteral("log"), QStringLiteral("--source"), source,
                  QStringLiteral("--model"), QStringLiteral("/no\nwhere\x1b[2J.onnx")});
    QCOMPARE(outcome.status, 3);
    QVERIFY2(!outcome.err.contains(QLatin1Char('\x1b')), qPrintable(outcome.err));
    QVERIFY2(!outcome.err.contains(QStringLiteral("\nmpm-monitor: alert")), qPrintable(outcome.err));
    QVERIFY(outcome.err.contains(QStringLiteral("\\n")));
    const test::Outcome wrong =
        headless({QStringLiteral("rtsp://admin:Zq9secret@camera/\x1b[31m\n?token=Zq9secret")});
    QCOMPARE(wrong.status, 2);
    QVERIFY2(!wrong.err.contains(QStringLiteral("Zq9secret")) && !wrong.err.contains(QLatin1Char('\x1b')),
             qPrintable(wrong.err));
    QCOMPARE(wrong.err.count(QLatin1Char('\n')), 1);
}

MPM_CORE_TEST(TrustTest);
#include "trust_test.moc"
