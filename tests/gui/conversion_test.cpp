// Converts a model from the window, in a child process. The window shows the conversion, can cancel it, and
// ends the child when it closes.
#include <sys/stat.h>
#include <unistd.h>

#include <QDirIterator>
#include <QElapsedTimer>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "gui/panels/conversion_bar.hpp"
#include "gui/registry.hpp"
#include "gui/services/model_converter.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

namespace {

const QString kStreet = QStringLiteral(MPM_SOURCE_DIR "/models/zoo/street-vit-tiny.onnx");

/// Returns the number of child processes that convert a model.
int converters() {
    int count = 0;
    QDirIterator processes(QStringLiteral("/proc"), QDir::Dirs);
    while (processes.hasNext()) {
        QFile words(processes.next() + QStringLiteral("/cmdline"));
        if (words.open(QIODevice::ReadOnly) && words.readAll().startsWith("mpm-convert")) {
            QFile about(processes.filePath() + QStringLiteral("/stat"));
            if (!about.open(QIODevice::ReadOnly)) continue;
            const QByteArray text = about.readAll();
            const QList<QByteArray> fields = text.mid(text.lastIndexOf(')') + 2).split(' ');
            count += fields[1].toLongLong() == QCoreApplication::applicationPid() ? 1 : 0;
        }
    }
    return count;
}

}  // namespace

class ConversionTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { ModelConverter::setProgram(QStringLiteral(MPM_MONITOR)); }
    void convertsInAChild();
    void limitsAreSaid();
    void missingProtectionIsSaidOnce();
    void cancelledByItsButton();
    void windowClosesAtOnce();
};

void ConversionTest::convertsInAChild() {
    const QTemporaryDir folder;
    ModelConverter converter;
    QSignalSpy started(&converter, &ModelConverter::started), made(&converter, &ModelConverter::converted),
        refused(&converter, &ModelConverter::rejected);
    converter.convert(kStreet, folder.filePath(QStringLiteral("models")));
    QTRY_COMPARE_WITH_TIMEOUT(converters(), 1, test::patience(20'000));
    QTRY_VERIFY_WITH_TIMEOUT(made.count() + refused.count() > 0, test::patience(120'000));
    QVERIFY2(refused.isEmpty(), qPrintable(refused.isEmpty() ? QString() : refused[0][1].toString()));
    QCOMPARE(started.count(), 1);
    QCOMPARE(converters(), 0);
    const QFileInfo file(made[0][1].toString());
    QVERIFY(file.size() > 1'000'000);
    const mode_t mask = umask(0);  // decides the file's mode, because a model shows nothing of a camera
    umask(mask);
    QCOMPARE(bool(file.permissions() & QFile::ReadGroup), (mask & S_IRGRP) == 0);
    QCOMPARE(bool(file.permissions() & QFile::ReadOther), (mask & S_IROTH) == 0);
    QCOMPARE(file.dir().entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot).size(), 1);
}

void ConversionTest::limitsAreSaid() {
    const QTemporaryDir folder;
    ModelConverter converter;
    mpm::models::ContainedLimits limits;
    limits.seconds = 0.2;
    converter.setLimits(limits);
    QSignalSpy refused(&converter, &ModelConverter::rejected);
    converter.convert(kStreet, folder.path());
    QTRY_COMPARE_WITH_TIMEOUT(refused.count(), 1, test::patience(60'000));
    QVERIFY2(refused[0][1].toString().contains(QStringLiteral("--max-seconds")),
             qPrintable(refused[0][1].toString()));
}

void ConversionTest::missingProtectionIsSaidOnce() {
    const QTemporaryDir folder;
    QFile notes(folder.filePath(QStringLiteral("no.onnx"))), said(folder.filePath(QStringLiteral("said")));
    QVERIFY(notes.open(QIODevice::WriteOnly) && notes.write("no graph") > 0 && notes.flush());
    QVERIFY(said.open(QIODevice::ReadWrite));
    ModelConverter converter;
    mpm::models::ContainedLimits limits;
    limits.landlock = limits.filter = false;
    converter.setLimits(limits);
    QSignalSpy refused(&converter, &ModelConverter::rejected);
    const int before = dup(STDERR_FILENO);
    dup2(said.handle(), STDERR_FILENO);
    for (int i = 1; i <= 2; ++i) {
        converter.convert(notes.fileName(), folder.path());
        if (!QTest::qWaitFor([&] { return refused.count() == i; }, test::patience(60'000))) break;
    }
    dup2(before, STDERR_FILENO);
    close(before);
    QCOMPARE(refused.count(), 2);
    said.seek(0);
    const QByteArray text = said.readAll();
    QCOMPARE(text.count("without Landlock"), 1);
    QCOMPARE(text.count("without system call filter"), 1);
    QVERIFY(text.contains("resource limits hold"));
}

void ConversionTest::cancelledByItsButton() {
    test::WindowFixture is;
    is.open();
    auto* bar = is.window->findChild<ConversionBar*>();
    QVERIFY(bar != nullptr && !bar->isVisible());
    is.window->model().convert(kStreet);
    QTRY_VERIFY_WITH_TIMEOUT(bar->isVisible() && converters() == 1, test::patience(20'000));
    QTest::mouseClick(bar->findChild<QPushButton*>(QStringLiteral("cancelConversion")), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(is.window->message().contains(QStringLiteral("not converted")),
                             test::patience(10'000));
    QVERIFY(!bar->isVisible());
    QCOMPARE(converters(), 0);
    QVERIFY(is.next());  // the previous model continues
}

void ConversionTest::windowClosesAtOnce() {
    test::WindowFixture is;
    is.open();
    is.window->model().convert(kStreet);
    QTRY_COMPARE_WITH_TIMEOUT(converters(), 1, test::patience(20'000));
    QElapsedTimer since;
    since.start();
    is.window->close();
    QTRY_COMPARE_WITH_TIMEOUT(converters(), 0, test::patience(2'000));
    // The program's end destroys the window without a close event.
    is.open();
    is.window->model().convert(kStreet);
    QTRY_COMPARE_WITH_TIMEOUT(converters(), 1, test::patience(20'000));
    since.restart();
    is.window.reset();
    QVERIFY2(since.elapsed() < test::patience(10'000), qPrintable(QString::number(since.elapsed())));
    QCOMPARE(converters(), 0);
}

MPM_GUI_TEST(ConversionTest);
#include "conversion_test.moc"
