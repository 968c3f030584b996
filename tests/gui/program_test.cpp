// The program from outside: arguments, exit status, screenshot, and libraries that it must never load.
#include <QFile>
#include <QImage>
#include <QSettings>
#include <QTest>

#include "gui/process.hpp"
#include "gui/registry.hpp"
#include "gui/support.hpp"

using namespace mpm::gui;
using test::Outcome;
using test::run;

namespace {

const QString kMonitor = QStringLiteral(MPM_MONITOR);

}  // namespace

class ProgramTest : public QObject {
    Q_OBJECT
private slots:
    // The program starts as for a user, without the log level that tests set for OpenCV.
    void initTestCase() { qunsetenv("OPENCV_LOG_LEVEL"); }
    void wrongUseLeavesWith2();
    void helpAndVersionNeedNoDisplay();
    void noDisplayIsSaidInOneLine();
    void screenshotIsWritten();
    void screenshotOfErrors();
    void screenshotThatCannotBeWrittenLeavesWith1();
    void sigtermClosesTheWindow();
    void loadsNeitherQt5NorTorch();

private:
    test::Sandbox m_sandbox;
};

void ProgramTest::wrongUseLeavesWith2() {
    for (const QString& argument :
         {QStringLiteral("--what"), QStringLiteral("file.mp4"), QStringLiteral("--after=x")}) {
        const Outcome outcome = run(kMonitor, {argument});
        QCOMPARE(outcome.status, 2);
        QCOMPARE(outcome.err.trimmed().count(QLatin1Char('\n')), 0);
        QVERIFY(outcome.err.startsWith(QStringLiteral("mpm-monitor: ")));
        QVERIFY(outcome.out.isEmpty());
    }
}

void ProgramTest::helpAndVersionNeedNoDisplay() {
    const QByteArray platform = qgetenv("QT_QPA_PLATFORM");
    qputenv("QT_QPA_PLATFORM", "xcb");
    qunsetenv("DISPLAY");
    const Outcome help = run(kMonitor, {QStringLiteral("--help")});
    const Outcome version = run(kMonitor, {QStringLiteral("--version")});
    qputenv("QT_QPA_PLATFORM", platform);
    QCOMPARE(help.status, 0);
    for (const char* option : {"--source", "--model", "--profile", "--screenshot", "--after"})
        QVERIFY2(help.out.contains(QLatin1String(option)), option);
    QCOMPARE(version.status, 0);
    QVERIFY(version.out.startsWith(QStringLiteral("mpm-monitor ")));
}

void ProgramTest::noDisplayIsSaidInOneLine() {
    const QByteArray platform = qgetenv("QT_QPA_PLATFORM");
    qunsetenv("DISPLAY");
    qunsetenv("WAYLAND_DISPLAY");
    for (const char* wanted : {"xcb", "no-such-platform"}) {
        qputenv("QT_QPA_PLATFORM", wanted);
        const Outcome outcome = run(kMonitor, {});
        qputenv("QT_QPA_PLATFORM", platform);
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.err.startsWith(QStringLiteral("mpm-monitor: ")), qPrintable(outcome.err));
        QVERIFY2(outcome.err.contains(QStringLiteral("--headless")), qPrintable(outcome.err));
        QCOMPARE(outcome.err.count(QLatin1Char('\n')), 1);
    }
}

void ProgramTest::screenshotIsWritten() {
    const QString file = m_sandbox.path(QStringLiteral("shot.png"));
    const Outcome outcome =
        run(kMonitor, {QStringLiteral("--source"), m_sandbox.images(2, 2), QStringLiteral("--window"),
                       QStringLiteral("1280x720"), QStringLiteral("--screenshot"), file,
                       QStringLiteral("--after"), QStringLiteral("2")});
    QVERIFY2(outcome.status == 0, qPrintable(outcome.err));
    QCOMPARE(QImage(file).size(), QSize(1280, 720));
    QVERIFY2(!outcome.err.contains(QStringLiteral("WARN")), qPrintable(outcome.err));
}

void ProgramTest::screenshotOfErrors() {
    const QString file = m_sandbox.path(QStringLiteral("errors.png"));
    const Outcome outcome =
        run(kMonitor, {QStringLiteral("--source"), QStringLiteral("/nowhere.mp4"), QStringLiteral("--model"),
                       QStringLiteral("/nowhere.onnx"), QStringLiteral("--screenshot"), file,
                       QStringLiteral("--after"), QStringLiteral("1")});
    QCOMPARE(outcome.status, 0);
    QVERIFY(!QImage(file).isNull());
}

void ProgramTest::screenshotThatCannotBeWrittenLeavesWith1() {
    const Outcome outcome = run(
        kMonitor, {QStringLiteral("--source"), m_sandbox.images(1, 0), QStringLiteral("--screenshot"),
                   QStringLiteral("/nowhere/shot.png"), QStringLiteral("--after"), QStringLiteral("0.2")});
    QCOMPARE(outcome.status, 1);
    QVERIFY(outcome.err.contains(QStringLiteral("/nowhere/shot.png")));
}

/// SIGTERM has the effect of closing the window: the status is 0, and the settings are written.
void ProgramTest::sigtermClosesTheWindow() {
    QProcess monitor;
    monitor.start(kMonitor, {QStringLiteral("--profile"), QStringLiteral("ended")});
    const QString file = m_sandbox.path(QStringLiteral("config/mpm/monitor/ended.ini"));
    const auto kept = [&file] { return QFile::exists(file); };
    QVERIFY(QTest::qWaitFor(kept, test::patience(30'000)));
    monitor.terminate();
    QCOMPARE(test::finish(monitor).status, 0);
    const QSettings settings(file, QSettings::IniFormat);
    QVERIFY(!settings.value(QStringLiteral("window/geometry")).toByteArray().isEmpty());  // written at exit
}

void ProgramTest::loadsNeitherQt5NorTorch() {
    const Outcome outcome = run(QStringLiteral("ldd"), {kMonitor});
    QCOMPARE(outcome.status, 0);
    QVERIFY(outcome.out.contains(QStringLiteral("libQt6Widgets")));
    for (const char* library : {"libQt5", "highgui", "libtorch", "libc10"})
        QVERIFY2(!outcome.out.contains(QLatin1String(library)), library);
}

MPM_CORE_TEST(ProgramTest);
#include "program_test.moc"
