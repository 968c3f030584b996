// Watching for things, several sources, exports: as a hand would, checked by the next frame or the stored
// row.
#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QDirIterator>
#include <QDoubleSpinBox>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>
#include <QTabBar>
#include <QTableWidget>

#include "gui/views/hour_view.hpp"
#include "gui/views/picture_view.hpp"
#include "gui/views/timeline_panel.hpp"
#include "gui/window/alert_page.hpp"
#include "gui/window/region_page.hpp"
#include "gui/window/watch_dialog.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;
using mpm::pipeline::Millis;

class WatchTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void alertMadeInTheDialogIsRaised();
    void regionDrawnOnThePictureIsMeasured();
    void maskDrawnOnThePictureHides();
    void measurementsOnlyShowsNoPicture();
    void damagedWatchFileShowsNothing();
    void sourcesSideBySide();
    void theNetworkIsShared();
    void videoIsRecordedByHotKey();
    void everyNSeconds();
    void exportsTablesAndPictures();
    void heatMapOfHours();
    void coloursForColourBlindEyes();
    void refusedModelIsOfferedConversion();
    void passwordsStayOutOfTheSettings();

private:
    MainWindow& window() { return *m_is->window; }
    template <typename Dialog>
    Dialog* openDialog(Qt::Key key, Qt::KeyboardModifiers modifiers) {
        QTest::keyClick(m_is->window.get(), key, modifiers);
        return m_is->window->findChild<Dialog*>();
    }
    static QPushButton* button(QWidget* in, const char* words) {
        for (QPushButton* candidate : in->findChildren<QPushButton*>())
            if (candidate->text().remove(QLatin1Char('&')) == QLatin1String(words)) return candidate;
        return nullptr;
    }
    /// Clicks a corner of a shape; 0..1 across and down the picture.
    void clickAt(double x, double y) {
        PictureView* view = window().views()->pictureView();
        const QSizeF image = view->image().size();
        const double scale = std::min(view->width() / image.width(), view->height() / image.height());
        const QPointF corner((view->width() - image.width() * scale) / 2,
                             (view->height() - image.height() * scale) / 2);
        QTest::mouseClick(view, Qt::LeftButton, {},
                          (corner + QPointF(x * image.width(), y * image.height()) * scale).toPoint());
    }
    std::unique_ptr<test::WindowFixture> m_is;
};

void WatchTest::alertMadeInTheDialogIsRaised() {
    m_is->open();
    QVERIFY(m_is->next());
    auto* dialog = openDialog<WatchDialog>(Qt::Key_A, Qt::ControlModifier);
    QVERIFY(dialog != nullptr);
    QTest::mouseClick(button(dialog->alerts(), "Add"), Qt::LeftButton);
    const QList<QDoubleSpinBox*> boxes = dialog->alerts()->findChildren<QDoubleSpinBox*>();
    QCOMPARE(boxes.size(), 3);
    boxes[0]->setValue(10);  // tokens
    boxes[1]->setValue(0.5);
    dialog->close();
    QTRY_VERIFY_WITH_TIMEOUT(window().alerts().rowCount() == 1, 20'000);
    QVERIFY(window()
                .alerts()
                .index(0, AlertModel::What)
                .data()
                .toString()
                .contains(QStringLiteral("tokens above 10")));
    QVERIFY(window().message().contains(QStringLiteral("Alert 1")));
    // It is in the file and in the store.
    QCOMPARE(readWatchSettings(window().profile().watchPath()).alerts.size(), size_t(1));
    const QString store = window().profile().storePath(), source = window().engine().sourceName();
    m_is->window.reset();
    mpm::pipeline::Store kept(store.toStdString());
    const auto events = kept.events(kept.source(source.toStdString()), {}, Millis(1LL << 45));
    QVERIFY(
        std::any_of(events.begin(), events.end(), [](const auto& event) { return event.kind == "alert"; }));
}

void WatchTest::regionDrawnOnThePictureIsMeasured() {
    m_is->open();
    QVERIFY(m_is->next());
    window().views()->setMode(ViewArea::Picture);
    QTRY_VERIFY(!window().views()->pictureView()->image().isNull());
    QTest::keyClick(m_is->window.get(), Qt::Key_G);
    PictureView* view = window().views()->pictureView();
    QVERIFY(view->drawing());
    clickAt(0.1, 0.1);
    clickAt(0.9, 0.9);
    QTest::keyClick(view, Qt::Key_Backspace);  // not there
    clickAt(0.6, 0.1);
    clickAt(0.6, 0.6);
    clickAt(0.1, 0.6);
    QTest::keyClick(view, Qt::Key_Return);
    QVERIFY(!view->drawing());
    const AnalysisPtr analysis = m_is->nextWhere([](const Analysis& a) { return !a.regions.empty(); });
    QVERIFY(analysis);
    // A quarter of the picture: a quarter of its patches, give or take a row.
    const double share = double(analysis->regions[0].patches) / analysis->tokensIn();
    QVERIFY2(std::abs(share - 0.25) < 0.06, qPrintable(QString::number(share)));
    QVERIFY(analysis->regions[0].tokens > 0 && analysis->regions[0].tokens <= analysis->regions[0].patches);
    QTRY_VERIFY(
        window().regions().index(0, RegionModel::Tokens).data().toString().contains(QStringLiteral(" of ")));
    QTest::keyClick(m_is->window.get(), Qt::Key_G);  // another one, given up
    clickAt(0.2, 0.2);
    QTest::keyClick(view, Qt::Key_Escape);
    QCOMPARE(window().regions().rowCount(), 1);
    m_is->open();  // comes back
    QCOMPARE(window().regions().rowCount(), 1);
    const AnalysisPtr again = m_is->nextWhere([](const Analysis& a) { return !a.regions.empty(); });
    QVERIFY(again);
    // Typed instead of drawn: what is no shape is not taken.
    auto* dialog = openDialog<WatchDialog>(Qt::Key_G, Qt::ControlModifier);
    QVERIFY(dialog != nullptr);
    QTableWidget* table = dialog->regions()->table();
    table->item(0, 1)->setText(QStringLiteral("0 0, nonsense"));
    QVERIFY(!table->item(0, 1)->text().contains(QStringLiteral("nonsense")));
    table->item(0, 0)->setText(QStringLiteral("door"));
    QVERIFY(
        m_is->nextWhere([](const Analysis& a) { return !a.regions.empty() && a.regions[0].name == "door"; }));
}

void WatchTest::maskDrawnOnThePictureHides() {
    m_is->open();
    QVERIFY(m_is->next());
    QTest::keyClick(m_is->window.get(), Qt::Key_G, Qt::ShiftModifier);
    QTRY_VERIFY(!window().views()->pictureView()->image().isNull());
    for (const QPointF at :
         {QPointF(0.01, 0.01), QPointF(0.5, 0.01), QPointF(0.5, 0.99), QPointF(0.01, 0.99)})
        clickAt(at.x(), at.y());
    QTest::keyClick(window().views()->pictureView(), Qt::Key_Return);
    const auto hidden = [](const Analysis& a) {
        return a.frame.picture.at<cv::Vec3b>(a.frame.picture.rows / 2, a.frame.picture.cols / 4) ==
               cv::Vec3b(0, 0, 0);
    };
    QVERIFY(m_is->nextWhere(hidden));
    m_is->open();  // from the first frame on
    QVERIFY(m_is->nextWhere([](const Analysis&) { return true; }));
    QVERIFY(hidden(*m_is->last));
}

void WatchTest::measurementsOnlyShowsNoPicture() {
    m_is->open();
    QVERIFY(m_is->next());
    auto* dialog = openDialog<WatchDialog>(Qt::Key_G, Qt::ControlModifier);
    QTest::mouseClick(dialog->regions()->findChild<QCheckBox*>(), Qt::LeftButton, {}, QPoint(8, 8));
    QVERIFY(!window().services().settings().keepsPictures);
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.frame.picture.empty(); }));
    QVERIFY(m_is->next());
    for (const PictureView* view : window().views()->findChildren<PictureView*>())
        QVERIFY2(view->image().isNull(), qPrintable(view->accessibleName()));
    QVERIFY(window().views()->pictureView()->veil().contains(QStringLiteral("Measurements only")));
    QVERIFY(!window().timelineData().empty());  // measured all the same
    window().toggleRecording();
    QVERIFY(window().message().contains(QStringLiteral("Measurements only")));
}

void WatchTest::damagedWatchFileShowsNothing() {
    const QString path = Profile(QStringLiteral("default")).watchPath();
    QDir().mkpath(QFileInfo(path).absolutePath());
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{\"sources\": {");
    file.close();
    m_is->open();
    QVERIFY(m_is->next());
    QVERIFY(m_is->last->frame.picture.empty());
    QVERIFY(window().message().contains(path));
    window().setWatch({});  // whatever is changed now: the file stays for whoever mends it
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("{\"sources\": {"));
}

void WatchTest::sourcesSideBySide() {
    m_is->open();
    QVERIFY(m_is->next());
    auto* tabs = window().findChild<QTabBar*>();
    QVERIFY(!tabs->isVisible());
    const QString first = window().engine().sourceName();
    const QString second = first + QStringLiteral("/000.png");
    window().addSource(second);
    QCOMPARE(tabs->count(), 2);
    QVERIFY(tabs->isVisible());
    QCOMPARE(window().engine().sourceName(), second);
    QTRY_VERIFY_WITH_TIMEOUT(!window().views()->pictureView()->image().isNull(), 10'000);
    // The grid shows both, each with a picture of its own.
    QTest::keyClick(m_is->window.get(), Qt::Key_7);
    for (const auto& engine : window().engines())
        QTRY_VERIFY_WITH_TIMEOUT(!window().views()->tileOf(engine.get())->image().isNull(), 20'000);
    QTest::mouseDClick(window().views()->tileOf(window().engines()[0].get()), Qt::LeftButton);
    QCOMPARE(window().engine().sourceName(), first);
    QCOMPARE(tabs->currentIndex(), 0);
    QTRY_VERIFY_WITH_TIMEOUT(!window().timelineData().empty(), 10'000);  // its own history
    m_is->open([&] {
        Options options;
        options.size = QSize(1280, 720);
        return options;
    }());
    // What the command line names stands alone; what was added comes back without it.
    QCOMPARE(window().engines().size(), size_t(1));
    m_is->window.reset();
    Options plain;
    plain.model = QStringLiteral("default");
    MainWindow back(plain);
    QCOMPARE(back.engines().size(), size_t(2));
    QCOMPARE(back.engines()[1]->sourceName(), second);
    back.closeSource(1);
    QCOMPARE(back.engines().size(), size_t(1));
    QVERIFY(readWatchSettings(back.profile().watchPath()).further.isEmpty());
    back.closeSource(0);  // the last one stays
    QCOMPARE(back.engines().size(), size_t(1));
}

void WatchTest::theNetworkIsShared() {
    m_is->open();
    QVERIFY(m_is->next());
    const QString folder = window().engine().sourceName();
    window().addSource(QStringLiteral("demo"));
    window().addSource(QStringLiteral("gst:videotestsrc is-live=true ! videoconvert ! appsink"));
    std::map<const Engine*, int> counts;
    for (const auto& engine : window().engines()) {
        QCOMPARE(&engine->network(), &window().engines()[0]->network());
        connect(
            engine.get(), &Engine::measured, this,
            [&counts, at = engine.get()](const auto&, const AnalysisPtr& a) { counts[at] += !a->repeat; });
    }
    // The folder has one picture a second, the two others as many as the network takes: none starves.
    QTRY_VERIFY_WITH_TIMEOUT(
        counts[window().engines()[1].get()] >= 8 && counts[window().engines()[2].get()] >= 8, 30'000);
    const double a = counts[window().engines()[1].get()], b = counts[window().engines()[2].get()];
    QVERIFY2(std::max(a, b) < 2 * std::min(a, b) + 2, qPrintable(QStringLiteral("%1 and %2").arg(a).arg(b)));
    QTRY_VERIFY_WITH_TIMEOUT(counts[window().engines()[0].get()] >= 2, 10'000);
    // A schedule counts for all of them.
    window().schedule().setSchedule({4});
    int following = 0;
    for (const auto& engine : window().engines())
        connect(engine.get(), &Engine::measured, this,
                [&following](const auto&, const AnalysisPtr& analysis) {
                    following += analysis->schedule == std::vector<int>{4};
                });
    QTRY_VERIFY_WITH_TIMEOUT(following >= 6, 20'000);
}

void WatchTest::videoIsRecordedByHotKey() {
    m_is->open();
    QVERIFY(m_is->next());
    QSignalSpy changed(m_is->window.get(), &MainWindow::recordingChanged);
    QTest::keyClick(m_is->window.get(), Qt::Key_R);
    QVERIFY(window().services().recording(window().engine()));
    QVERIFY(!changed.isEmpty() && changed.last()[0].toBool());
    QTest::qWait(2'500);
    QTest::keyClick(m_is->window.get(), Qt::Key_R);
    QTRY_VERIFY_WITH_TIMEOUT(window().message().contains(QStringLiteral(".mp4")), 10'000);
    const QDir videos(window().profile().videosPath());
    QCOMPARE(videos.entryList(QDir::Files).size(), 1);
    QVERIFY(QFileInfo(videos.filePath(videos.entryList(QDir::Files).first())).size() > 1000);
}

void WatchTest::everyNSeconds() {
    Options options;
    options.source = QStringLiteral("gst:videotestsrc is-live=true ! videoconvert ! appsink");
    m_is->open(options);
    QVERIFY(m_is->next());
    window().setInterval(1'500);
    QVERIFY(m_is->next());
    std::vector<qint64> times;
    connect(&window().engine(), &Engine::measured, this,
            [&](const auto& measurement, const AnalysisPtr& analysis) {
                if (!analysis->repeat) times.push_back(measurement.time.count());
            });
    QTRY_VERIFY_WITH_TIMEOUT(times.size() >= 3, 20'000);
    for (size_t i = 1; i < times.size(); ++i)
        QVERIFY2(times[i] - times[i - 1] > 1'300, qPrintable(QString::number(times[i] - times[i - 1])));
}

void WatchTest::exportsTablesAndPictures() {
    m_is->open();
    QVERIFY(m_is->next());
    QVERIFY(m_is->next());
    const auto content = [](const QString& name) {
        QFile file(name);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    };
    QSignalSpy exported(&window().engine().recorder(), &Recorder::exported);
    const QString json = m_is->sandbox.path(QStringLiteral("out.json")),
                  csv = m_is->sandbox.path(QStringLiteral("all.csv"));
    window().exportAll(json);
    QTRY_COMPARE_WITH_TIMEOUT(exported.count(), 1, 10'000);
    const QJsonObject all = QJsonDocument::fromJson(content(json)).object();
    QCOMPARE(all[QStringLiteral("readings")].toArray().size(), exported[0][1].toInt());
    QVERIFY(
        all[QStringLiteral("readings")].toArray()[0].toObject()[QStringLiteral("shares")].toObject().contains(
            window().legend().name(0)));
    window().exportAll(csv);
    QTRY_COMPARE_WITH_TIMEOUT(exported.count(), 2, 10'000);
    QCOMPARE(content(csv).trimmed().count('\n'), exported[1][1].toInt());
    for (const char* name : {"picture.png", "picture.svg"}) {
        const QString file = m_is->sandbox.path(QLatin1String(name));
        window().exportPicture(file);
        QVERIFY2(content(file).size() > 5'000, name);
    }
    const QString svg = m_is->sandbox.path(QStringLiteral("timeline.svg"));
    window().exportTimeline(svg);
    QVERIFY(content(svg).contains("Luminance"));  // words stay words
    window().exportTimeline(m_is->sandbox.path(QStringLiteral("timeline.png")));
    QVERIFY(!QImage(m_is->sandbox.path(QStringLiteral("timeline.png"))).isNull());
    window().exportTimeline(QStringLiteral("/nowhere/timeline.svg"));
    QVERIFY(window().message().contains(QStringLiteral("cannot be written")));
}

void WatchTest::heatMapOfHours() {
    m_is->open();
    QVERIFY(m_is->next());
    QTest::keyClick(m_is->window.get(), Qt::Key_H);
    HourView* view = window().timeline()->hours();
    QVERIFY(view->isVisible());
    QTRY_COMPARE_WITH_TIMEOUT(view->map().days(), 1, 10'000);
    const int hour = QTime::currentTime().hour();
    QTRY_VERIFY_WITH_TIMEOUT(view->map().at(0, hour).count > 0, 10'000);
    QString said;
    for (int y = 0; y < view->height() && said.isEmpty(); ++y)
        said = view->describe(QPointF(70, y));
    QVERIFY2(said.contains(QStringLiteral("readings")), qPrintable(said));
    QTest::keyClick(m_is->window.get(), Qt::Key_1, Qt::ControlModifier);
    QVERIFY(!view->isVisible());
}

void WatchTest::coloursForColourBlindEyes() {
    m_is->open();
    QVERIFY(m_is->next());
    const auto before = window().legend().palette();
    QTest::keyClick(m_is->window.get(), Qt::Key_B, Qt::ControlModifier);
    const auto safe = window().legend().palette();
    QVERIFY(safe == mpm::pipeline::defaultPalette(int(safe.size())));
    QVERIFY(safe != before);
    QVERIFY(window().views()->outlines());
    m_is->window->close();
    m_is->open();  // comes back
    QVERIFY(m_is->next());
    QVERIFY(window().legend().palette() == safe);
}

void WatchTest::refusedModelIsOfferedConversion() {
    m_is->open();
    QVERIFY(m_is->next());
    const QString file = m_is->sandbox.path(QStringLiteral("export.onnx"));
    QFile raw(file);
    QVERIFY(raw.open(QIODevice::WriteOnly));
    raw.write("no graph");
    raw.close();
    window().openModel(file);
    QTRY_VERIFY_WITH_TIMEOUT(window().findChild<QMessageBox*>() != nullptr, 10'000);
    QTest::mouseClick(button(window().findChild<QMessageBox*>(), "Convert"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(window().message().contains(QStringLiteral("cannot be converted")), 20'000);
    QVERIFY2(window().message().contains(QStringLiteral("ONNX")), qPrintable(window().message()));
    QVERIFY(m_is->next());  // the model before goes on
    // Even the shipped model is an input of the converter; what comes of it is opened.
    QVERIFY(QFile::copy(QStringLiteral(MPM_SOURCE_DIR "/models/zoo/street-vit-tiny.onnx"),
                        m_is->sandbox.path(QStringLiteral("street.onnx"))));
    QSignalSpy loaded(&window().engine(), &Engine::modelLoaded);
    window().convertModel(m_is->sandbox.path(QStringLiteral("street.onnx")));
    QTRY_COMPARE_WITH_TIMEOUT(loaded.count(), 1, 120'000);
    QVERIFY(loaded[0][0].value<ModelFactsPtr>()->path.endsWith(QStringLiteral("street-mpm.onnx")));
}

void WatchTest::passwordsStayOutOfTheSettings() {
    m_is->open();
    QVERIFY(m_is->next());
    // No keychain answers on this bus: nothing is written, and it is said.
    window().openSource(QStringLiteral("rtsp://user:geheim@127.0.0.1:1/stream"));
    QTRY_VERIFY_WITH_TIMEOUT(window().message().contains(QStringLiteral("not kept")), 20'000);
    QVERIFY(!window().message().contains(QStringLiteral("geheim")));
    m_is->window->close();
    m_is->window.reset();
    QDirIterator files(m_is->sandbox.path({}), QDir::Files, QDirIterator::Subdirectories);
    while (files.hasNext()) {
        QFile file(files.next());
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY2(!file.readAll().contains("geheim"), qPrintable(file.fileName()));
    }
}

QTEST_MAIN(WatchTest)
#include "watch_test.moc"
