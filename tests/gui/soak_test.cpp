// Runs three sources for a long time, with events, recordings and the player. Measures memory, the time from
// input to repaint, and the cost of drawing. MPM_SOAK_MINUTES sets the duration (30 by default). Memory is
// measured from a third of the duration on, at the latest from the tenth minute on. A recording needs 90 MiB
// while it is written, so the test checks the growth of each minute's median and of each minute's maximum.
// Set MPM_QUIET_MACHINE only if no other program runs: the test then also checks times.
#include <unistd.h>

#include <QDirIterator>
#include <QElapsedTimer>
#include <QWheelEvent>

#include "base/memory_use.hpp"
#include "gui/broker.hpp"
#include "gui/registry.hpp"
#include "gui/rtsp_server.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/window/player.hpp"
#include "gui/window/source_tabs.hpp"
#include "gui/window/watch_control.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

namespace {

constexpr int kRate = 5;  // frames a second
constexpr double kMostGrowth = 5, kMostDrawing = 8, kMostWait = 50;

double minutes() {
    const double asked = qEnvironmentVariable("MPM_SOAK_MINUTES").toDouble();
    return asked > 0 ? asked : 30;
}

/// Returns the resident memory in MiB.
double resident() {
    return double(mpm::memoryUse().resident) / (1 << 20);
}

/// Returns the processor time, in seconds, of this program's threads with this name.
double processorTime(const QByteArray& name) {
    double ticks = 0;
    for (QDirIterator all(QStringLiteral("/proc/self/task"), QDir::Dirs | QDir::NoDotAndDotDot);
         all.hasNext();) {
        QFile file(all.next() + QStringLiteral("/stat"));
        if (!file.open(QIODevice::ReadOnly)) continue;
        const QByteArray line = file.readAll();
        if (line.mid(line.indexOf('(') + 1, line.lastIndexOf(')') - line.indexOf('(') - 1) != name) continue;
        const QList<QByteArray> fields = line.mid(line.lastIndexOf(')') + 2).split(' ');
        ticks += fields.value(11).toDouble() + fields.value(12).toDouble();
    }
    return ticks / double(sysconf(_SC_CLK_TCK));
}

/// Fits a line through the values, and returns how much it rises from the first value to the last.
double growth(const std::vector<double>& values) {
    const double middle = double(values.size() - 1) / 2;
    double slope = 0, squares = 0;
    for (std::size_t k = 0; k < values.size(); ++k)
        slope += (double(k) - middle) * values[k], squares += (double(k) - middle) * (double(k) - middle);
    return squares > 0 ? 2 * middle * slope / squares : 0;
}

/// Returns the processor time of the thread that draws images, and of the window's thread.
double drawingTime() {
    return processorTime("render") + processorTime("test_gui");
}

}  // namespace

class SoakTest : public QObject {
    Q_OBJECT
private slots:
    void sourcesForALongTime();

private:
    double waitForRepaint(ImageView* view);
    void use(int step);
    test::WindowFixture m_is;
};

/// Returns the milliseconds from a turn of the mouse wheel to the repaint of the image.
double SoakTest::waitForRepaint(ImageView* view) {
    QElapsedTimer since;
    double waited = -1;
    const auto link = connect(view, &ImageView::painted, this, [&] {
        if (waited < 0) waited = double(since.nsecsElapsed()) / 1e6;
    });
    static int turn = 0;
    const QPointF at(view->width() / 2.0, view->height() / 2.0);
    since.start();
    QCoreApplication::postEvent(
        view, new QWheelEvent(at, view->mapToGlobal(at), {}, {0, turn++ % 2 == 0 ? 120 : -120}, Qt::NoButton,
                              Qt::NoModifier, Qt::NoScrollPhase, false));
    const bool painted = QTest::qWaitFor([&] { return waited >= 0; }, test::patience(10'000));
    disconnect(link);
    return painted ? waited : 1e9;
}

/// Does what a busy user does in second `step` of a minute: an event every ten seconds, a recording of ten
/// seconds, then the dialog of events and the player.
void SoakTest::use(int step) {
    MainWindow& window = *m_is.window;
    const auto dialogs = [&window] { return window.findChildren<QDialog*>(); };
    if (step % 10 == 0)
        window.engine().noteEvent(QStringLiteral("alert"), QStringLiteral("bright: tokens above 50 %: 61 %"));
    if (step == 5 || step == 15) window.watching().toggleRecording();
    if (step == 25)
        for (QAction* action : window.findChildren<QAction*>())
            if (action->text().remove(QLatin1Char('&')) == QStringLiteral("Events…")) action->trigger();
    if (step == 40) {
        const QFileInfoList videos =
            QDir(window.session().services().videosFolder()).entryInfoList(QDir::Files, QDir::Time);
        QVERIFY(!videos.isEmpty());
        auto* player = new Player(videos.first().filePath(), QStringLiteral("bright"), &window);
        player->setAttribute(Qt::WA_DeleteOnClose);
        player->show();
    }
    if (step == 35 || step == 55) {
        QVERIFY2(dialogs().size() == 1,
                 qPrintable(QStringLiteral("second %1: %2 dialogs").arg(step).arg(dialogs().size())));
        dialogs().first()->close();
    }
}

void SoakTest::sourcesForALongTime() {
    test::RtspServer server(test::freePort());
    QVERIFY(server.start({QString::number(kRate), QStringLiteral("640"), QStringLiteral("480")}));
    Options options;
    options.source = server.url();
    m_is.open(options);
    QVERIFY(m_is.next());
    m_is.window->sources().add(QStringLiteral("demo"));
    m_is.window->sources().add(m_is.sandbox.film(20, 20));
    m_is.window->sources().select(0);
    QCOMPARE(m_is.window->session().sources().count(), 3);
    m_is.window->views()->showView(QStringLiteral("overview"));
    ImageView* view = m_is.window->views()->find<OverlayView>();
    QTRY_VERIFY_WITH_TIMEOUT(!view->image().isNull(), test::patience(10'000));
    std::vector<double> waits;
    const double whole = 60 * minutes(), settled = std::min(600.0, whole / 3);
    double drawnAt = 0;
    int frames = -1, step = -1;
    std::vector<std::vector<double>> memory;  // by minute, after the time `settled`
    QElapsedTimer time;
    time.start();
    for (double passed = 0; passed < whole; passed = double(time.elapsed()) / 1000) {
        waits.push_back(waitForRepaint(view));
        QTest::qWait(500);
        for (const int now = int(time.elapsed() / 1000); step < now;)
            use(++step % 60);
        if (passed < settled) continue;
        if (frames < 0) drawnAt = drawingTime(), frames = m_is.count;
        memory.resize(std::size_t((passed - settled) / 60) + 1);
        memory.back().push_back(resident());
    }
    std::vector<double> usual, most;
    for (std::vector<double>& minute : memory) {
        if (minute.empty()) continue;
        std::sort(minute.begin(), minute.end());
        usual.push_back(minute[minute.size() / 2]), most.push_back(minute.back());
    }
    const double drawing = 100 * (drawingTime() - drawnAt) / (whole - settled);
    std::sort(waits.begin(), waits.end());
    const double p99 = waits[waits.size() * 99 / 100];
    qInfo(
        "%.1f minutes, %d frames: memory grew by %.1f MiB from %.1f, at most by %.1f from %.1f; input to "
        "repaint: median %.1f ms, p99 %.1f ms; drawing %.1f %% of a core",
        minutes(), m_is.count, growth(usual), usual.front(), growth(most), most.front(),
        waits[waits.size() / 2], p99, drawing);
    QVERIFY(m_is.count - frames > (whole - settled) / 4);  // the network was busy, even on a slow machine
    QVERIFY(m_is.last->frame.generation == 1);
    QDirIterator thumbnails(m_is.sandbox.path(QStringLiteral("data/mpm/monitor/default-thumbnails")),
                            {QStringLiteral("*.jpg")}, QDir::Files, QDirIterator::Subdirectories);
    QVERIFY(thumbnails.hasNext());
    QVERIFY2(growth(usual) < kMostGrowth, qPrintable(QString::number(growth(usual))));
    QVERIFY2(growth(most) < kMostGrowth, qPrintable(QString::number(growth(most))));
    if (!qEnvironmentVariableIsSet("MPM_QUIET_MACHINE")) return;
    QVERIFY2(p99 <= kMostWait, qPrintable(QString::number(p99)));
    QVERIFY2(drawing < kMostDrawing, qPrintable(QString::number(drawing)));
}

MPM_GUI_TEST(SoakTest);
#include "soak_test.moc"
