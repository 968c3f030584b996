// Small images behind the timeline, and the list of recordings.
#include <QDateTime>
#include <QDirIterator>
#include <QListWidget>
#include <QSignalSpy>
#include <QTest>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/dialogs/recordings_dialog.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/registry.hpp"
#include "gui/services/thumbnails.hpp"
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

}  // namespace

class MomentsTest : public QObject {
    Q_OBJECT
private slots:
    void oneAMinuteAndForEvents();
    void theOldestGo();
    void timelineShowsTheMoment();
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
    // Another start finds these moments, and no other files.
    QFile(folder + QStringLiteral("/notes.jpg")).open(QIODevice::WriteOnly);
    Thumbnails again(folder);
    QTRY_VERIFY_WITH_TIMEOUT(!again.nearest(source, now, 1'000).isEmpty(), test::patience(10'000));
    const QImage found(again.nearest(source, now + 140'000, 60'000));
    QVERIFY(found.pixelColor(100, 100).green() > 100);
}

void MomentsTest::theOldestGo() {
    test::Sandbox sandbox;
    const QString folder = sandbox.path(QStringLiteral("images")), source = QStringLiteral("yard");
    const qint64 now = QDateTime::currentMSecsSinceEpoch(), day = 86'400'000;
    Thumbnails kept(folder);
    kept.setSettings({true, 1, 30});
    QImage noise(320, 240, QImage::Format_RGB32);
    for (int y = 0; y < noise.height(); ++y)
        for (int x = 0; x < noise.width(); ++x)
            noise.setPixel(x, y,
                           qRgb((x * 7919 + y * 104729) % 256, (x * 31 + y * 977) % 256, (x * y) % 256));
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

void MomentsTest::timelineShowsTheMoment() {
    test::WindowFixture is;
    is.open();
    QVERIFY(is.next());
    const QString folder = QFileInfo(is.window->session().profile().storePath()).absolutePath() +
                           QStringLiteral("/default-thumbnails");
    QTRY_VERIFY_WITH_TIMEOUT(!imagesIn(folder).isEmpty(), test::patience(10'000));
    TimelineView* view = is.window->timeline()->view();
    const QImage before = view->grab().toImage();
    AlertNotice notice;
    notice.time = QDateTime::fromMSecsSinceEpoch(QFileInfo(imagesIn(folder).first()).baseName().toLongLong());
    notice.rule = QStringLiteral("bright");
    is.window->models().alerts.add(notice);
    emit is.window->sidebar()->momentChosen(notice.time.toMSecsSinceEpoch());
    QVERIFY(!view->following());
    QVERIFY(view->from() < notice.time.toMSecsSinceEpoch() && view->to() > notice.time.toMSecsSinceEpoch());
    // The image is beside the moment: the film has a large plain ground, by day or by night.
    const QImage after = view->grab().toImage();
    const auto isGround = [](QColor at, double light) {
        return std::abs(at.red() - 190 * light) < 12 && std::abs(at.green() - 210 * light) < 12 &&
               std::abs(at.blue() - 200 * light) < 12;
    };
    int pixels = 0;
    for (int y = 0; y < after.height(); ++y)
        for (int x = 0; x < after.width(); ++x)
            pixels += isGround(after.pixelColor(x, y), 1) || isGround(after.pixelColor(x, y), 0.1);
    QVERIFY2(pixels > 1'500, qPrintable(QString::number(pixels)));
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
    RecordingsDialog dialog(folder);
    QSignalSpy played(&dialog, &RecordingsDialog::playWanted);
    QCOMPARE(dialog.list()->count(), 1);
    QVERIFY(dialog.list()->item(0)->text().contains(QStringLiteral("yard-1")));
    QTest::mouseClick(test::button(&dialog, "Play"), Qt::LeftButton);
    QCOMPARE(played.count(), 1);
    QCOMPARE(played[0][0].toString(), folder + QStringLiteral("/yard-1.mp4"));
}

MPM_GUI_TEST(MomentsTest);
#include "moments_test.moc"
