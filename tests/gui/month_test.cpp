// With a month of readings in the store (one each second), measures how long the window takes to start and to
// pan, and its memory.
#include <QElapsedTimer>
#include <QSignalSpy>

#include "base/memory_use.hpp"
#include "gui/charts/hour_view.hpp"
#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/registry.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;
using mpm::pipeline::Measurement;
using mpm::pipeline::Millis;

class MonthTest : public QObject {
    Q_OBJECT
private slots:
    void startsPansAndStaysSmall();
};

namespace {

constexpr int kReadings = 30 * 24 * 3600;

Measurement monthReading(qint64 time, int second) {
    Measurement m;
    m.time = Millis(time);
    m.frame = second;
    m.tokensIn = 1024;
    const int hour = second / 3600 % 24;
    const bool night = hour < 6 || hour > 20;
    m.stageTokens = {780 + second % 7, (night ? 640 : 590) + second % 11};
    m.luminance = night ? 0.1 : 0.5;
    m.phase = night ? mpm::pipeline::Phase::Night : mpm::pipeline::Phase::Day;
    m.captureMs = 2, m.networkMs = 80, m.encoderMs = 60, m.mergeMs = 2, m.drawMs = 4;
    m.classShares = {0.2, 0.3, 0.1, 0.2, 0.1, 0.1};
    return m;
}

void fill(const QString& path, const QString& source) {
    mpm::pipeline::Store store(path.toStdString());
    const auto id = store.source(source.toStdString());
    const qint64 begin = QDateTime::currentMSecsSinceEpoch() - qint64(kReadings) * 1000;
    std::vector<Measurement> hour;
    for (int second = 0; second < kReadings; ++second) {
        hour.push_back(monthReading(begin + qint64(second) * 1000, second));
        if (hour.size() < 3600 * 6) continue;
        store.add(id, hour);
        hour.clear();
    }
}

/// Returns the resident memory of this process in MiB.
double residentMegabytes() {
    return double(mpm::memoryUse().resident) / (1 << 20);
}

}  // namespace

void MonthTest::startsPansAndStaysSmall() {
    test::WindowFixture is;
    const QString source = is.sandbox.images(2, 0);
    const QString path = Profile(QStringLiteral("default")).storePath();
    QDir().mkpath(QFileInfo(path).absolutePath());
    fill(path, source);
    qInfo("store: %.0f MB", double(QFileInfo(path).size()) / 1e6);
    QElapsedTimer timer;
    timer.start();
    Options options;
    options.source = source;
    is.open(options);
    const TimelineData& data = is.window->models().timeline;
    QTRY_VERIFY_WITH_TIMEOUT(
        !data.empty() && data.first() < QDateTime::currentMSecsSinceEpoch() - 29LL * 86'400'000, 20'000);
    const qint64 started = timer.elapsed();
    QVERIFY(is.next());
    TimelineView* view = is.window->timeline()->view();
    std::vector<qint64> frames;
    const qint64 day = 86'400'000, now = QDateTime::currentMSecsSinceEpoch();
    for (const qint64 length : {30 * day, 7 * day, day, day / 24}) {
        for (int step = 0; step < 40; ++step) {
            const qint64 to = now - step * length / 40;
            timer.restart();
            view->setRange(to - length, to);
            view->repaint();
            frames.push_back(timer.elapsed());
        }
    }
    std::sort(frames.begin(), frames.end());
    const qint64 p99 = frames[frames.size() * 99 / 100];
    is.window->timeline()->showHours(true);
    QTRY_VERIFY(is.window->timeline()->hours()->map().days() >= 30);
    timer.restart();
    is.window->timeline()->hours()->repaint();
    const qint64 hours = timer.elapsed();
    qInfo("history after %lld ms, pan p99 %lld ms, hours %lld ms, %.0f MB", started, p99, hours,
          residentMegabytes());
    QVERIFY2(started < 2'000, qPrintable(QString::number(started)));
    QVERIFY2(p99 < 33, qPrintable(QString::number(p99)));
    QVERIFY2(hours < 33, qPrintable(QString::number(hours)));
    QVERIFY2(residentMegabytes() < 500, qPrintable(QString::number(residentMegabytes())));
    // Rows that are too old are deleted in the background, step by step.
    mpm::pipeline::Store store(path.toStdString());
    const auto id = store.source(source.toStdString());
    const auto oldest = [&] { return store.count(id); };
    const auto before = oldest();
    QTRY_VERIFY_WITH_TIMEOUT(oldest() < before, test::patience(20'000));
}

MPM_GUI_TEST(MonthTest);
#include "month_test.moc"
