// Small images behind the timeline, and the list of recordings.
#include <QDateTime>
#include <QDirIterator>
#include <QListWidget>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/dialogs/recordings_dialog.hpp"
#include "gui/engine/recorder.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/panels/tables.hpp"
#include "gui/registry.hpp"
#include "gui/services/thumbnails.hpp"
#include "gui/views/live_view.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

namespace {

QStringList imagesIn(const QString& folder) {
    QStringList files;
    QDirIterator all(folder, {QStringLiteral("*.jpg")}, QDir::Files, QDirIterator::Subdirectories);
    while (all.hasNext())
        files << all.next();
    return files;
}

QImage plain(Qt::GlobalColor colour) {
    QImage image(800, 600, QImage::Format_RGB32);
    image.fill(colour);
    return image;
}

/// Returns an image of noise. Its file has more than 28 KB, so that a few images reach the limit.
QImage largeImage() {
    QImage noise(320, 240, QImage::Format_RGB32);
    for (int y = 0; y < noise.height(); ++y)
        for (int x = 0; x < noise.width(); ++x)
            noise.setPixel(x, y,
                           qRgb((x * 7919 + y * 104729) % 256, (x * 31 + y * 977) % 256, (x * y) % 256));
    return noise;
}

}  // namespace

class MomentsTest : public QObject {
    Q_OBJECT
private slots:
    void oneAMinuteAndForEvents();
    void theOldestGo();
    void aReplacedImageCountsOnce();
    void aClockAheadIsNotTrusted();
    void aClockAheadDeletesNothing();
    void timelineShowsTheMoment();
    void lookingBack();
    void noneInMeasurementsOnly();
    void recordingsArePlayed();
};

void MomentsTest::oneAMinuteAndForEvents() {
    test::Sandbox sandbox;
    const QString folder = sandbox.path(QStringLiteral("images")), source = QStringLiteral("rtsp://yard/1");
    const qint64 now = QDateTime::currentMSecsSinceEpoch();
    {
        Thumbnails kept(folder);
        for (int second = 0; second < 150; second += 10)
            kept.add(source, plain(second < 60 ? Qt::red : Qt::blue), now + second * 1000);
        kept.noteEvent(source);
        kept.add(source, plain(Qt::green), now + 151'000);
        kept.add(source, {}, now + 500'000);  // measurements only
        kept.finish();
        QCOMPARE(imagesIn(folder).size(), 4);  // after 0, 60 and 120 seconds, and for the event
        QVERIFY(
            kept.nearest(source, now + 70'000, 60'000).endsWith(QStringLiteral("/%1.jpg").arg(now + 60'000)));
        QVERIFY(kept.nearest(source, now - 70'000, 60'000).isEmpty());
        QVERIFY(kept.nearest(QStringLiteral("other"), now, 60'000).isEmpty());
    }
    for (const QString& file : imagesIn(folder)) {
        QCOMPARE(QImage(file).size(), QSize(320, 240));
        QCOMPARE(int(QFileInfo(file).permissions() & (QFile::ReadGroup | QFile::ReadOther)), 0);
    }
    // After a restart, these images are found. Files with other names are ignored.
    QFile(folder + QStringLiteral("/notes.jpg")).open(QIODevice::WriteOnly);
    Thumbnails again(folder);
    QTRY_VERIFY_WITH_TIMEOUT(!again.nearest(source, now + 151'000, 1'000).isEmpty(), test::patience(10'000));
    const QImage found(again.nearest(source, now + 140'000, 60'000));
    QVERIFY(found.pixelColor(100, 100).green() > 100);
}

void MomentsTest::theOldestGo() {
    test::Sandbox sandbox;
    const QString folder = sandbox.path(QStringLiteral("images")), source = QStringLiteral("yard");
    const qint64 now = QDateTime::currentMSecsSinceEpoch(), day = 86'400'000;
    Thumbnails kept(folder);
    kept.setSettings({true, 1, 30});
    const QImage noise = largeImage();
    kept.add(source, noise, now - 31 * day);
    for (int minute = 0; minute < 25; ++minute) {
        kept.add(source, noise, now - day + minute * Thumbnails::kEvery);
        QTest::qWait(5);
    }
    kept.finish();
    const QStringList files = imagesIn(folder);
    qint64 bytes = 0;
    for (const QString& file : files)
        bytes += QFileInfo(file).size();
    QVERIFY2(bytes <= 1 << 20 && bytes > 700'000, qPrintable(QString::number(bytes)));
    QVERIFY(kept.nearest(source, now - 31 * day, day / 2).isEmpty());
    QVERIFY(!kept.nearest(source, now - day + 24 * Thumbnails::kEvery, 1'000).isEmpty());
    kept.setSettings({false, 1, 30});
}

/// Adds sixty images of the same time. Together they would exceed the limit, but each replaces the previous
/// image, so the older image must not be deleted.
void MomentsTest::aReplacedImageCountsOnce() {
    test::Sandbox sandbox;
    const QString folder = sandbox.path(QStringLiteral("images")), source = QStringLiteral("yard");
    const qint64 now = QDateTime::currentMSecsSinceEpoch(), hour = 3'600'000;
    Thumbnails kept(folder);
    kept.setSettings({true, 1, 30});
    const QImage large = largeImage();
    kept.add(source, large, now - hour);
    for (int i = 0; i < 60; ++i) {
        kept.noteEvent(source);
        kept.add(source, large, now);
        QTest::qWait(5);
    }
    kept.finish();
    QCOMPARE(imagesIn(folder).size(), 2);
}

void MomentsTest::aClockAheadIsNotTrusted() {
    const auto at = [](int hours) { return DeletionClock::Steady(std::chrono::hours(hours)); };
    const auto day = [](int number) { return DeletionClock::Millis(std::chrono::hours(24 * number)); };
    DeletionClock clock(day(100), at(0));
    QVERIFY(clock.trusts(day(101), at(0)));
    QVERIFY(!clock.trusts(day(400), at(1)));
    QVERIFY(clock.trusts(day(101), at(2)));
    QVERIFY(!clock.trusts(day(400), at(3)));  // the wait of 24 hours begins again
    QVERIFY(!clock.trusts(day(9000), at(26)));
    QVERIFY(!clock.trusts(day(9001), at(49)));
    QVERIFY(clock.trusts(day(9001), at(50)));
    QVERIFY(clock.trusts(day(20), at(51)));  // the clock is behind, so no data seem old
    QVERIFY(DeletionClock(std::nullopt, at(0)).trusts(day(9000), at(0)));
}

/// The clock is far ahead of the newest data. The program cannot know whether the clock is wrong or the data
/// are old, so it deletes nothing at first.
void MomentsTest::aClockAheadDeletesNothing() {
    using mpm::pipeline::Millis;
    test::Sandbox sandbox;
    const QString folder = sandbox.path(QStringLiteral("images")),
                  path = sandbox.path(QStringLiteral("s.sqlite"));
    const qint64 now = QDateTime::currentMSecsSinceEpoch(), day = 86'400'000;
    const auto readings = [&](const std::vector<qint64>& added) {
        {
            mpm::pipeline::Store store(path.toStdString());
            std::vector<mpm::pipeline::Measurement> all(added.size());
            for (std::size_t i = 0; i < added.size(); ++i)
                all[i].time = Millis(added[i]);
            store.add(store.source("yard"), all);
        }
        Recorder recorder(path);
        recorder.setSource(QStringLiteral("yard"));
        recorder.start();
        recorder.finish();
        mpm::pipeline::Store store(path.toStdString());
        return store.count(store.source("yard"));
    };
    QCOMPARE(readings({now - 100 * day, now - 99 * day}), 2);
    QCOMPARE(readings({now}), 1);
    const auto images = [&](qint64 added) {
        {
            Thumbnails kept(folder);
            kept.add(QStringLiteral("yard"), plain(Qt::red), added);
        }
        Thumbnails kept(folder);
        kept.setSettings({true, 1, 30});
        kept.add(QStringLiteral("yard"), plain(Qt::blue), added);
        kept.finish();
        return imagesIn(folder).size();
    };
    QCOMPARE(images(now - 99 * day), 1);
    QCOMPARE(images(now), 1);
}

void MomentsTest::timelineShowsTheMoment() {
    test::WindowFixture is;
    is.open();
    QVERIFY(is.next());
    const QString folder = QFileInfo(is.window->session().profile().storePath()).absolutePath() +
                           QStringLiteral("/default-thumbnails");
    QTRY_VERIFY_WITH_TIMEOUT(!imagesIn(folder).isEmpty(), test::patience(10'000));
    TimelineView* view = is.window->timeline()->view();
    AlertNotice notice;
    notice.time = QDateTime::fromMSecsSinceEpoch(QFileInfo(imagesIn(folder).first()).baseName().toLongLong());
    notice.rule = QStringLiteral("bright");
    is.window->models().alerts.add(notice);
    RowsView* table = nullptr;
    for (RowsView* one : is.window->sidebar()->findChildren<RowsView*>())
        if (one->model() == &is.window->models().alerts) table = one;
    QVERIFY(table != nullptr);
    table->setCurrentIndex(table->model()->index(0, 0));  // as if by focus, without a choice by the user
    QVERIFY(view->following());
    emit table->clicked(table->currentIndex());
    QVERIFY(!view->following());
    QVERIFY(view->from() < notice.time.toMSecsSinceEpoch() && view->to() > notice.time.toMSecsSinceEpoch());
    const auto* image = is.window->views()->find<LiveView>();
    QCOMPARE(image->past(), std::optional<qint64>(notice.time.toMSecsSinceEpoch()));
    QVERIFY2(image->accessibleName().startsWith(QStringLiteral("PAST: ")),
             qPrintable(image->accessibleName()));
}

/// A click in the timeline shows the stored image, and new frames do not replace it. Left and Right show the
/// previous and next image, the button *Now* the live image.
void MomentsTest::lookingBack() {
    test::WindowFixture is;
    const qint64 now = QDateTime::currentMSecsSinceEpoch();
    const QString source = is.sandbox.film(4, 4);
    {
        Thumbnails kept(QFileInfo(Profile(QStringLiteral("default")).storePath()).absolutePath() +
                        QStringLiteral("/default-thumbnails"));
        const Qt::GlobalColor colours[] = {Qt::red, Qt::green, Qt::blue};
        for (int i = 0; i < 3; ++i)
            kept.add(source, plain(colours[i]), now - (3 - i) * 600'000);
        kept.finish();
        WatchSettings watch;
        watch.thumbnails.on = false;  // no further images are stored, even if the clock is set back
        QDir().mkpath(is.sandbox.path(QStringLiteral("config/mpm/monitor")));
        writeWatchSettings(is.sandbox.path(QStringLiteral("config/mpm/monitor/default.watch.json")), watch);
    }
    is.open();
    QVERIFY(is.next());
    auto* image = is.window->views()->find<LiveView>();
    const auto colour = [image] { return image->image().pixelColor(100, 100); };
    TimelineView* view = is.window->timeline()->view();
    view->setRange(now - 2'400'000, now);
    QSignalSpy chosen(view, &TimelineView::momentChosen);
    emit view->momentChosen(now - 1'200'000 + 20'000);
    QCOMPARE(QLatin1String(is.window->views()->entry().key), QLatin1String("picture"));
    QVERIFY(colour().green() > 100 && colour().red() < 100);
    QVERIFY(is.next());
    QVERIFY(colour().green() > 100 && colour().red() < 100);
    QTest::keyClick(image, Qt::Key_Right);
    QVERIFY(colour().blue() > 200);
    QTest::keyClick(image, Qt::Key_Left);
    QTest::keyClick(image, Qt::Key_Left);
    QVERIFY(colour().red() > 200);
    QTest::keyClick(image, Qt::Key_Left);  // there is no earlier image
    QVERIFY(colour().red() > 200);
    image->findChild<QToolButton*>()->click();
    QVERIFY(!image->past());
    QTRY_VERIFY_WITH_TIMEOUT(!image->image().isNull() && image->image().width() == 160,
                             test::patience(10'000));
    // A click without a drag chooses a time; a drag pans.
    chosen.clear();
    const QPoint middle = view->rect().center();
    QTest::mouseClick(view, Qt::LeftButton, {}, middle);
    QCOMPARE(chosen.count(), 1);
    QTest::mousePress(view, Qt::LeftButton, {}, middle);
    QTest::mouseMove(view, middle + QPoint(40, 0));
    QTest::mouseRelease(view, Qt::LeftButton, {}, middle + QPoint(40, 0));
    QCOMPARE(chosen.count(), 1);
}

void MomentsTest::noneInMeasurementsOnly() {
    test::WindowFixture is;
    {
        WatchSettings watch;
        watch.keepsImages = false;
        QDir().mkpath(is.sandbox.path(QStringLiteral("config/mpm/monitor")));
        writeWatchSettings(is.sandbox.path(QStringLiteral("config/mpm/monitor/default.watch.json")), watch);
    }
    is.open();
    QVERIFY(is.next());
    QTest::qWait(500);
    QVERIFY(imagesIn(is.sandbox.path(QStringLiteral("data"))).isEmpty());
}

void MomentsTest::recordingsArePlayed() {
    test::WindowFixture is;
    is.open();
    QVERIFY(is.next());
    const QString folder = is.window->session().services().videosFolder();
    QDir().mkpath(folder);
    QFile(folder + QStringLiteral("/yard-1.mp4")).open(QIODevice::WriteOnly);
    RecordingsDialog dialog(folder, {});
    QSignalSpy played(&dialog, &RecordingsDialog::playWanted);
    QCOMPARE(dialog.list()->count(), 1);
    QVERIFY(dialog.list()->item(0)->text().contains(QStringLiteral("yard-1")));
    QTest::mouseClick(test::button(&dialog, "Play"), Qt::LeftButton);
    QCOMPARE(played.count(), 1);
    QCOMPARE(played[0][0].toString(), folder + QStringLiteral("/yard-1.mp4"));
}

MPM_GUI_TEST(MomentsTest);
#include "moments_test.moc"
