// Watch rules and exports, used by mouse and keyboard. The next frame or the stored row shows the effect.
#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QDoubleSpinBox>
#include <QFontInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPainter>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QSvgRenderer>
#include <QTableWidget>

#include "gui/charts/hour_view.hpp"
#include "gui/charts/timeline_panel.hpp"
#include "gui/dialogs/alert_page.hpp"
#include "gui/dialogs/region_page.hpp"
#include "gui/dialogs/watch_dialog.hpp"
#include "gui/registry.hpp"
#include "gui/views/image_view.hpp"
#include "gui/views/live_view.hpp"
#include "gui/views/merge_view.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/views/view_controls.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;
using mpm::pipeline::Millis;

class WatchTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void alertMadeInTheDialogIsRaised();
    void regionDrawnOnTheImageIsMeasured();
    void maskDrawnOnTheImageHides();
    void maskedAreasHaveNoClassInAnyView();
    void measurementsOnlyShowsNoImage();
    void damagedWatchFileShowsNothing();
    void exportsTablesAndImages();
    void heatMapOfHours();
    void coloursForColourBlindEyes();

private:
    void checkSheet(const QByteArray& svg);
    MainWindow& window() { return *m_is->window; }
    template <typename Dialog>
    Dialog* openDialog(Qt::Key key, Qt::KeyboardModifiers modifiers) {
        QTest::keyClick(m_is->window.get(), key, modifiers);
        return m_is->window->findChild<Dialog*>();
    }
    /// Clicks a corner of a shape. x and y are 0..1 from the image's left and top.
    void clickAt(double x, double y) {
        ImageView* view = window().views()->find<LiveView>();
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
    QTest::mouseClick(test::button(dialog->alerts(), "Add"), Qt::LeftButton);
    const QList<QDoubleSpinBox*> boxes = dialog->alerts()->findChildren<QDoubleSpinBox*>();
    QCOMPARE(boxes.size(), 3);
    boxes[0]->setValue(10);  // the rule's threshold, in tokens
    boxes[1]->setValue(0.5);
    dialog->close();
    QTRY_VERIFY_WITH_TIMEOUT(window().models().alerts.rowCount() == 1, test::patience(20'000));
    QVERIFY(window()
                .models()
                .alerts.index(0, AlertModel::What)
                .data()
                .toString()
                .contains(QStringLiteral("tokens above 10")));
    QVERIFY(window().message().contains(QStringLiteral("Alert 1")));
    // The rule is in the watch file, and its alert is in the store.
    QCOMPARE(readWatchSettings(window().session().profile().watchPath()).alerts.size(), size_t(1));
    const QString store = window().session().profile().storePath(), source = window().engine().sourceName();
    m_is->window.reset();
    mpm::pipeline::Store kept(store.toStdString());
    const auto events = kept.events(kept.source(source.toStdString()), {}, Millis(1LL << 45));
    QVERIFY(
        std::any_of(events.begin(), events.end(), [](const auto& event) { return event.kind == "alert"; }));
}

void WatchTest::regionDrawnOnTheImageIsMeasured() {
    m_is->open();
    QVERIFY(m_is->next());
    window().views()->showView(QStringLiteral("picture"));
    QTRY_VERIFY(!window().views()->find<LiveView>()->image().isNull());
    QTest::keyClick(m_is->window.get(), Qt::Key_G);
    ImageView* view = window().views()->find<LiveView>();
    QVERIFY(view->drawing());
    clickAt(0.1, 0.1);
    clickAt(0.9, 0.9);
    QTest::keyClick(view, Qt::Key_Backspace);  // removes this corner
    clickAt(0.6, 0.1);
    clickAt(0.6, 0.6);
    clickAt(0.1, 0.6);
    QTest::keyClick(view, Qt::Key_Return);
    QVERIFY(!view->drawing());
    const AnalysisPtr analysis = m_is->nextWhere([](const Analysis& a) { return !a.regions.empty(); });
    QVERIFY(analysis);
    // The region covers a quarter of the image, so it has a quarter of the patches, plus or minus a row.
    const double share = double(analysis->regions[0].patches) / analysis->tokensIn();
    QVERIFY2(std::abs(share - 0.25) < 0.06, qPrintable(QString::number(share)));
    QVERIFY(analysis->regions[0].tokens > 0 && analysis->regions[0].tokens <= analysis->regions[0].patches);
    QTRY_VERIFY(window()
                    .models()
                    .regions.index(0, RegionModel::Tokens)
                    .data()
                    .toString()
                    .contains(QStringLiteral(" of ")));
    QTest::keyClick(m_is->window.get(), Qt::Key_G);  // begins another region, which is not finished
    clickAt(0.2, 0.2);
    QTest::keyClick(view, Qt::Key_Escape);
    QCOMPARE(window().models().regions.rowCount(), 1);
    m_is->open();  // the region is restored
    QCOMPARE(window().models().regions.rowCount(), 1);
    const AnalysisPtr again = m_is->nextWhere([](const Analysis& a) { return !a.regions.empty(); });
    QVERIFY(again);
    // The outline can also be typed; text that is not a shape is rejected.
    auto* dialog = openDialog<WatchDialog>(Qt::Key_G, Qt::ControlModifier);
    QVERIFY(dialog != nullptr);
    QTableWidget* table = dialog->regions()->table();
    table->item(0, 1)->setText(QStringLiteral("0 0, nonsense"));
    QVERIFY(!table->item(0, 1)->text().contains(QStringLiteral("nonsense")));
    table->item(0, 0)->setText(QStringLiteral("door"));
    QVERIFY(
        m_is->nextWhere([](const Analysis& a) { return !a.regions.empty() && a.regions[0].name == "door"; }));
}

void WatchTest::maskDrawnOnTheImageHides() {
    m_is->open();
    QVERIFY(m_is->next());
    QTest::keyClick(m_is->window.get(), Qt::Key_G, Qt::ShiftModifier);
    QTRY_VERIFY(!window().views()->find<LiveView>()->image().isNull());
    for (const QPointF at :
         {QPointF(0.01, 0.01), QPointF(0.5, 0.01), QPointF(0.5, 0.99), QPointF(0.01, 0.99)})
        clickAt(at.x(), at.y());
    QTest::keyClick(window().views()->find<LiveView>(), Qt::Key_Return);
    const auto hidden = [](const Analysis& a) {
        return a.frame.pixels.at<cv::Vec3b>(a.frame.pixels.rows / 2, a.frame.pixels.cols / 4) ==
               cv::Vec3b(0, 0, 0);
    };
    QVERIFY(m_is->nextWhere(hidden));
    m_is->open();  // the mask must apply from the first frame
    QVERIFY(m_is->nextWhere([](const Analysis&) { return true; }));
    QVERIFY(hidden(*m_is->last));
}

/// Checks the painted views: a masked area is grey hatching on black, and never has the colour of a class.
void WatchTest::maskedAreasHaveNoClassInAnyView() {
    m_is->open();
    QVERIFY(m_is->next());
    WatchSettings watch = window().session().services().settings();
    watch.sources[window().engine().sourceName()].masks = {{{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}}};
    window().session().setWatch(watch);
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return !a.frame.masks.empty(); }));
    window().views()->viewport()->setCursor(std::nullopt);
    struct Colours {
        int masked = 0, open = 0;  ///< numbers of pixels that are coloured or bright
    };
    const auto coloursOf = [](ImageView* view) {
        const QImage shown = view->grab().toImage();
        QRectF whole(QPointF(), QSizeF(view->image().size()).scaled(view->size(), Qt::KeepAspectRatio));
        whole.moveCenter(QRectF(view->rect()).center());
        Colours found;
        // Plates with text are at the top, at the bottom, and beside the slider of the split view.
        for (double y = 0.55; y < 0.78; y += 0.005)
            for (double x = 0.02; x < 0.98; x += 0.01) {
                if (std::abs(x - 0.5) < 0.06) continue;
                const double scale = shown.devicePixelRatio();
                const QColor at = shown.pixelColor(int((whole.x() + x * whole.width()) * scale),
                                                   int((whole.y() + y * whole.height()) * scale));
                const int most = std::max({at.red(), at.green(), at.blue()});
                const bool coloured = most - std::min({at.red(), at.green(), at.blue()}) > 12 || most > 110;
                (x < 0.5 ? found.masked : found.open) += coloured;
            }
        return found;
    };
    for (const char* key : {"overlay", "split", "merge"}) {
        window().views()->showView(QLatin1String(key));
        ImageView* view = window().views()->find<OverlayView>();
        if (qstrcmp(key, "split") == 0) view = window().views()->find<SplitView>();
        if (qstrcmp(key, "merge") == 0) view = window().views()->find<MergeView>();
        Colours seen;
        const auto right = [&] {
            if (view->image().isNull()) return false;
            seen = coloursOf(view);
            return seen.masked == 0 && seen.open > 800;
        };
        QVERIFY2(QTest::qWaitFor(right, test::patience(15'000)),
                 qPrintable(QStringLiteral("%1: %2 coloured pixels are masked, %3 are not")
                                .arg(QLatin1String(key))
                                .arg(seen.masked)
                                .arg(seen.open)));
    }
}

void WatchTest::measurementsOnlyShowsNoImage() {
    m_is->open();
    QVERIFY(m_is->next());
    auto* dialog = openDialog<WatchDialog>(Qt::Key_G, Qt::ControlModifier);
    QVERIFY(dialog != nullptr);
    QTest::mouseClick(dialog->regions()->findChild<QCheckBox*>(), Qt::LeftButton, {}, QPoint(8, 8));
    QVERIFY(!window().session().services().settings().keepsImages);
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.frame.pixels.empty(); }));
    QVERIFY(m_is->next());
    for (const ImageView* view : window().views()->findChildren<ImageView*>())
        QVERIFY2(view->image().isNull(), qPrintable(view->accessibleName()));
    QVERIFY(window().views()->find<LiveView>()->cover().contains(QStringLiteral("Measurements only")));
    QVERIFY(!window().models().timeline.empty());  // readings are still stored
    window().watching().toggleRecording();
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
    QVERIFY(m_is->last->frame.pixels.empty());
    QVERIFY(window().message().contains(path));
    const QString veil = window().views()->find<LiveView>()->cover();
    QVERIFY2(veil.contains(QStringLiteral("watch file cannot be used")), qPrintable(veil));
    window().session().setWatch({});  // must not replace the file, so that the user can repair it
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("{\"sources\": {"));
}

void WatchTest::exportsTablesAndImages() {
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
    window().exports().allMeasurements(json);
    QTRY_COMPARE_WITH_TIMEOUT(exported.count(), 1, test::patience(10'000));
    const QJsonObject all = QJsonDocument::fromJson(content(json)).object();
    QCOMPARE(all[QStringLiteral("readings")].toArray().size(), exported[0][1].toInt());
    QVERIFY(
        all[QStringLiteral("readings")].toArray()[0].toObject()[QStringLiteral("shares")].toObject().contains(
            window().models().legend.name(0)));
    window().exports().allMeasurements(csv);
    QTRY_COMPARE_WITH_TIMEOUT(exported.count(), 2, test::patience(10'000));
    QCOMPARE(content(csv).trimmed().count('\n'), exported[1][1].toInt());
    for (const char* name : {"picture.png", "picture.svg"}) {
        const QString file = m_is->sandbox.path(QLatin1String(name));
        window().exports().image(file);
        QVERIFY2(content(file).size() > 5'000, name);
    }
    const QString svg = m_is->sandbox.path(QStringLiteral("timeline.svg"));
    window().exports().timeline(svg);
    QVERIFY(content(svg).contains("Luminance"));  // text is exported as text, not as outlines
    checkSheet(content(svg));
    window().exports().timeline(m_is->sandbox.path(QStringLiteral("timeline.png")));
    QVERIFY(!QImage(m_is->sandbox.path(QStringLiteral("timeline.png"))).isNull());
    window().exports().timeline(QStringLiteral("/nowhere/timeline.svg"));
    QVERIFY(window().message().contains(QStringLiteral("cannot be written")));
}

/// Checks that the SVG has a background, a title with source and date, and the screen's text size.
void WatchTest::checkSheet(const QByteArray& svg) {
    QVERIFY(svg.contains("Tokens over time"));
    QVERIFY2(svg.contains(window().engine().sourceName().toUtf8()), "the source is missing");
    QVERIFY2(svg.contains(QByteArray::number(QDate::currentDate().year() % 100)), "the date is missing");
    QSvgRenderer renderer(svg);
    QVERIFY(renderer.isValid());
    QImage image(renderer.defaultSize(), QImage::Format_ARGB32);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    renderer.render(&painter);
    painter.end();
    QCOMPARE(image.pixelColor(2, 2).alpha(), 255);
    QCOMPARE(image.pixelColor(image.width() - 3, image.height() - 3).alpha(), 255);
    // The SVG must be as wide as the widget on the screen, or text would have another size relative to it.
    const QRectF box = renderer.viewBoxF();
    const double wanted = window().timeline()->shown()->width();
    QVERIFY(box.width() >= wanted && box.width() < wanted + 60);
    const QRegularExpression size(QStringLiteral("font-size=\"([0-9.]+)\""));
    const double points = QFontInfo(window().timeline()->shown()->font()).pixelSize();
    auto found = size.globalMatch(QString::fromUtf8(svg));
    QVERIFY(found.hasNext());
    while (found.hasNext()) {
        const double pixels = found.next().captured(1).toDouble();
        QVERIFY2(pixels > 0.7 * points && pixels < 1.3 * points, qPrintable(QString::number(pixels)));
    }
}

void WatchTest::heatMapOfHours() {
    m_is->open();
    QVERIFY(m_is->next());
    QTest::keyClick(m_is->window.get(), Qt::Key_H);
    HourView* view = window().timeline()->hours();
    QVERIFY(view->isVisible());
    QTRY_COMPARE_WITH_TIMEOUT(view->map().days(), 1, test::patience(10'000));
    const int hour = QTime::currentTime().hour();
    QTRY_VERIFY_WITH_TIMEOUT(view->map().at(0, hour).count > 0, test::patience(10'000));
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
    const auto before = window().models().legend.palette();
    QTest::keyClick(m_is->window.get(), Qt::Key_B, Qt::ControlModifier);
    const auto safe = window().models().legend.palette();
    QVERIFY(safe == mpm::pipeline::namedPalette(m_is->last->model->labels));
    QVERIFY(safe != before);
    QVERIFY(window().views()->controls().outlines());
    m_is->window->close();
    m_is->open();  // the settings are restored
    QVERIFY(m_is->next());
    QVERIFY(window().models().legend.palette() == safe);
}

MPM_GUI_TEST(WatchTest);
#include "watch_test.moc"
