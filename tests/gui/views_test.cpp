// Views, used by mouse and keyboard.
#include <QComboBox>
#include <QSignalSpy>
#include <QSlider>

#include "gui/panels/header_bar.hpp"
#include "gui/registry.hpp"
#include "gui/views/live_view.hpp"
#include "gui/views/merge_view.hpp"
#include "gui/views/night_view.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/views/view_controls.hpp"
#include "gui/window_fixture.hpp"
#include "pipeline/metric/confusion.hpp"
#include "street/street.hpp"

using namespace mpm::gui;

class ViewsTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void everyViewComesAlive();
    void hidingAClassChangesTheOverlay();
    void opacityAndOutlinesChangeTheOverlay();
    void splitSliderMoves();
    void splitComparesSchedulesAndLabels();
    void viewsZoomTogether();
    void narrowRegionKeepsItsWords();
    void hoverDescribesACluster();
    void stageChangesTheMergeMap();
    void mergeMapHasThreeColourings();
    void nightSlidersChangeTheNextPair();
    void nightOfTheCommandLineIsNotStored();
    void photonsStayAsTheyWereGiven();
    void thinImageHasNoEmptyPlates();
    void keysSwitchViews();

private:
    std::unique_ptr<test::WindowFixture> m_is;
};

void ViewsTest::everyViewComesAlive() {
    m_is->open();
    QVERIFY(m_is->next());
    ViewArea* views = m_is->window->views();
    QTRY_VERIFY_WITH_TIMEOUT(!views->find<LiveView>()->image().isNull(), test::patience(10'000));
    QTRY_VERIFY_WITH_TIMEOUT(!views->find<OverlayView>()->image().isNull(), test::patience(10'000));
    QTRY_VERIFY_WITH_TIMEOUT(!views->find<MergeView>()->image().isNull(), test::patience(10'000));
    QTRY_VERIFY_WITH_TIMEOUT(!views->find<SplitView>()->image().isNull(), test::patience(30'000));
    QVERIFY(views->find<SplitView>()->footer().contains(QStringLiteral("agree")));
    QVERIFY(views->find<SplitView>()->footer().contains(QStringLiteral("(median)")));
    QVERIFY(m_is->window->header()->badgeText().startsWith(QStringLiteral("playing")));
    QVERIFY(!m_is->window->models().timeline.empty());
    QVERIFY(m_is->window->models().schedule.tokensIn() > 0);
}

void ViewsTest::hidingAClassChangesTheOverlay() {
    m_is->open();
    QVERIFY(m_is->next());
    m_is->window->front().setPaused(true);
    QVERIFY(m_is->settle());
    const QImage before = m_is->overlay;
    m_is->window->models().legend.showAll(false);
    QTRY_VERIFY_WITH_TIMEOUT(m_is->overlay != before, test::patience(10'000));
    QCOMPARE(m_is->overlay.pixel(80, 60), m_is->window->views()->find<LiveView>()->image().pixel(80, 60));
    m_is->window->models().legend.showAll(true);
    QTRY_COMPARE_WITH_TIMEOUT(m_is->overlay, before, test::patience(10'000));
}

void ViewsTest::opacityAndOutlinesChangeTheOverlay() {
    m_is->open();
    QVERIFY(m_is->next());
    m_is->window->front().setPaused(true);
    QVERIFY(m_is->settle());
    const QImage before = m_is->overlay;
    QTest::keyClick(m_is->window.get(), Qt::Key_BracketRight);
    QCOMPARE(m_is->window->views()->controls().opacity(), 0.65);
    QTRY_VERIFY_WITH_TIMEOUT(m_is->overlay != before, test::patience(10'000));
    const QImage outlined = m_is->overlay;
    QTest::keyClick(m_is->window.get(), Qt::Key_O);
    QVERIFY(!m_is->window->views()->controls().outlines());
    QTRY_VERIFY_WITH_TIMEOUT(m_is->overlay != outlined, test::patience(10'000));
}

void ViewsTest::splitSliderMoves() {
    m_is->open();
    m_is->window->views()->showView(QStringLiteral("split"));
    SplitView* split = m_is->window->views()->find<SplitView>();
    QTRY_VERIFY_WITH_TIMEOUT(!split->image().isNull(), test::patience(30'000));
    split->setFocus();
    QTest::keyClick(split, Qt::Key_Left);
    QCOMPARE(split->position(), 0.48);
    const QPoint middle = split->rect().center() - QPoint(int(0.02 * split->height() * 4 / 3), 0);
    QTest::mousePress(split, Qt::LeftButton, {}, middle);
    QTest::mouseMove(split, middle - QPoint(60, 0));
    QTest::mouseRelease(split, Qt::LeftButton, {}, middle - QPoint(60, 0));
    QVERIFY(split->position() < 0.47);
}

/// Compares agreement, time and mIoU on labelled images, first with all tokens, then with another schedule.
void ViewsTest::splitComparesSchedulesAndLabels() {
    const QString root = m_is->sandbox.path(QStringLiteral("set"));
    for (const char* folder : {"/val/images", "/val/labels"})
        QVERIFY(QDir().mkpath(root + QLatin1String(folder)));
    QByteArray classes = "[";
    for (int id = 0; id < 11; ++id)
        classes += QByteArray(id > 0 ? "," : "") + "{\"name\":\"" + QByteArray::number(id) +
                   "\",\"color\":[0,0," + QByteArray::number(id) + "]}";
    QFile list(root + QStringLiteral("/classes.json"));
    QVERIFY(list.open(QIODevice::WriteOnly) && list.write(classes + "]") > 0);
    list.close();
    const cv::Mat image = mpm::street::Street({160, 120}, 5, 1).at(12, 3).image,
                  labels(120, 160, CV_8U, cv::Scalar(3));
    for (const char* name : {"a", "b"}) {
        const std::string file = std::string("/") + name + ".png";
        QVERIFY(cv::imwrite(root.toStdString() + "/val/images" + file, image));
        QVERIFY(cv::imwrite(root.toStdString() + "/val/labels" + file, labels));
    }
    Options options;
    options.source = root + QStringLiteral("/val/images");
    options.view = QStringLiteral("split");
    m_is->open(options);
    SplitView* split = m_is->window->views()->find<SplitView>();
    std::optional<Scores> scores, expected;
    std::vector<int> framesOfOther;
    const auto add = [&](const RenderedComparison& drawn) {
        // Both images are the same, so the mIoU of one frame equals the mIoU of all.
        mpm::pipeline::Confusion whole(11, 255), merged(11, 255);
        whole.add(labels, drawn.comparison->whole.labels);
        merged.add(labels, drawn.comparison->analysis->merged.labels);
        scores = drawn.comparison->scores;
        expected = Scores{whole.miou(), merged.miou(), 0};
        if (scores && !drawn.comparison->with.empty()) framesOfOther.push_back(scores->frames);
    };
    const auto scoresAreRight = [&] {
        return scores && std::abs(scores->whole - expected->whole) < 1e-9 &&
               std::abs(scores->merged - expected->merged) < 1e-9;
    };
    connect(&m_is->window->engine(), &Engine::compared, this, add);
    const auto footerHas = [split](const char* words) {
        return split->footer().contains(QLatin1String(words));
    };
    QTRY_VERIFY_WITH_TIMEOUT(footerHas(", mIoU "), test::patience(30'000));
    QVERIFY2(footerHas("% of pixels agree") && footerHas("(median)"), qPrintable(split->footer()));
    QVERIFY(scoresAreRight() && scores->frames >= 1);
    QCOMPARE(split->accessibleName(), QStringLiteral("All tokens | merged"));
    QTRY_VERIFY_WITH_TIMEOUT(m_is->window->models().saved.any(), test::patience(10'000));
    QSignalSpy compared(&m_is->window->engine(), &Engine::compared);
    m_is->window->views()->controls().setOther(1);
    QCOMPARE(split->accessibleName(), QStringLiteral("{5} | merged"));
    QVERIFY(split->image().isNull());  // the last comparison was with all tokens
    QTRY_VERIFY_WITH_TIMEOUT(!split->image().isNull() && footerHas(", mIoU "), test::patience(30'000));
    QVERIFY(scoresAreRight());
    QCOMPARE(framesOfOther.front(), 1);  // a comparison with another schedule counts frames anew
    const int times = m_is->window->models().saved.count();
    const qsizetype before = compared.count();
    QTRY_VERIFY_WITH_TIMEOUT(compared.count() > before, test::patience(30'000));
    QCOMPARE(m_is->window->models().saved.count(), times);  // the header only compares with all tokens
}

void ViewsTest::viewsZoomTogether() {
    m_is->open();
    QVERIFY(m_is->next());
    ImageView* view = m_is->window->views()->find<LiveView>();
    const QImage before = m_is->window->views()->find<OverlayView>()->grab().toImage();
    const QPointF centre = view->rect().center();
    QWheelEvent wheel(centre, view->mapToGlobal(centre), {}, {0, 480}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(view, &wheel);
    QVERIFY(m_is->window->views()->viewport()->zoom() > 1.5);
    QVERIFY(m_is->window->views()->find<OverlayView>()->grab().toImage() != before);
    QTest::keyClick(m_is->window.get(), Qt::Key_0, Qt::ControlModifier);
    QCOMPARE(m_is->window->views()->viewport()->zoom(), 1.0);
}

void ViewsTest::narrowRegionKeepsItsWords() {
    Viewport viewport;
    ImageView view(QString(), &viewport);
    view.resize(400, 300);
    QImage white(400, 300, QImage::Format_RGB32);
    white.fill(Qt::white);
    view.setImage(white);
    // Counts the dark pixels in a row through the plate of the region's name.
    const auto plateWidth = [&](double left, double right) {
        view.setRegions({{"door", {{left, 0.4}, {right, 0.4}, {right, 0.8}, {left, 0.8}}}}, {});
        const QImage shown = view.grab().toImage();
        int dark = 0;
        for (int x = 0; x < shown.width(); ++x)
            dark += qGray(shown.pixel(x, int(shown.height() * 0.62))) < 120;
        return dark;
    };
    const int whole = plateWidth(0.2, 0.8);
    QVERIFY(whole > 20);
    // The plate of a narrow region, and of a region at the edge, is as wide as before. The plate may
    // hide some dark pixels of the outline, so the widths may differ by 16.
    QVERIFY(std::abs(plateWidth(0.48, 0.52) - whole) <= 16);
    QVERIFY(std::abs(plateWidth(0.97, 1.0) - whole) <= 16);
}

void ViewsTest::hoverDescribesACluster() {
    m_is->open();
    MergeView* merge = m_is->window->views()->find<MergeView>();
    QTRY_VERIFY_WITH_TIMEOUT(!merge->image().isNull(), test::patience(30'000));
    m_is->window->views()->viewport()->setCursor(QPointF(0.5, 0.5));
    QVERIFY(m_is->nextWhere(
        [](const Analysis& a) { return !a.merged.scores.empty(); }));  // for the text at the pointer
    QTRY_VERIFY_WITH_TIMEOUT(merge->describe({0.5, 0.5}).contains(QLatin1Char('%')), test::patience(10'000));
    QVERIFY(merge->describe({0.5, 0.5}).contains(QStringLiteral("token")));
    QVERIFY(!merge->clusterAt({0.5, 0.5}).empty());
    QVERIFY(merge->describe({1.5, 0.5}).isEmpty());
    // At least one cluster has more than one patch.
    bool merged = false;
    for (double x = 0.01; x < 1 && !merged; x += 0.03)
        for (double y = 0.01; y < 1 && !merged; y += 0.03)
            merged = merge->clusterAt({x, y}).size() > 1;
    QVERIFY(merged);
}

void ViewsTest::stageChangesTheMergeMap() {
    m_is->open();
    QVERIFY(m_is->next());
    m_is->window->models().schedule.setSchedule({2, 5});
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.schedule.size() == 2; }));
    MergeView* merge = m_is->window->views()->find<MergeView>();
    QTRY_COMPARE_WITH_TIMEOUT(
        merge->note(), QStringLiteral("%1 of %2").arg(m_is->last->tokensKept()).arg(m_is->last->tokensIn()),
        test::patience(10'000));
    m_is->window->front().setPaused(true);
    QVERIFY(m_is->settle());
    auto* stages = m_is->window->views()->findChild<QSlider*>(QStringLiteral("stage"));
    QTRY_COMPARE(stages->maximum(), 2);
    stages->setFocus();
    QTest::keyClick(stages, Qt::Key_Left);
    const ViewControls& controls = m_is->window->views()->controls();
    QCOMPARE(controls.stage(), 0);
    const auto noteFor = [this](int tokens) {
        return QStringLiteral("%1 of %2").arg(tokens).arg(m_is->last->tokensIn());
    };
    QTRY_COMPARE_WITH_TIMEOUT(merge->note(), noteFor(m_is->last->merged.tokens.stages.at(0).tokens),
                              test::patience(10'000));
    QTest::keyClick(m_is->window.get(), Qt::Key_S, Qt::ShiftModifier);
    QCOMPARE(controls.stage(), kUnmerged);
    QTRY_COMPARE_WITH_TIMEOUT(merge->note(), noteFor(m_is->last->tokensIn()), test::patience(10'000));
    QTest::keyClick(m_is->window.get(), Qt::Key_S);
    QTest::keyClick(m_is->window.get(), Qt::Key_S);
    QCOMPARE(controls.stage(), kLastStage);
    QTRY_COMPARE_WITH_TIMEOUT(merge->note(), noteFor(m_is->last->tokensKept()), test::patience(10'000));
}

void ViewsTest::mergeMapHasThreeColourings() {
    m_is->open();
    QVERIFY(m_is->next());
    m_is->window->front().setPaused(true);
    QVERIFY(m_is->settle());
    ViewArea* views = m_is->window->views();
    MergeView* merge = views->find<MergeView>();
    views->showView(QStringLiteral("merge"));
    std::vector<QImage> drawn;
    for (const auto colours : {ViewControls::MapColours::Mean, ViewControls::MapColours::Size,
                               ViewControls::MapColours::Distinct}) {
        views->controls().setMapColours(colours);
        QTest::qWait(test::patience(400));
        drawn.push_back(merge->grab().toImage());
    }
    QVERIFY(drawn[0] != drawn[1] && drawn[1] != drawn[2] && drawn[0] != drawn[2]);
    // The chosen colours are restored at the next start.
    m_is->window->close();
    m_is->open();
    QCOMPARE(m_is->window->views()->controls().mapColours(), ViewControls::MapColours::Distinct);
}

void ViewsTest::photonsStayAsTheyWereGiven() {
    Viewport viewport;
    NightView view(&viewport);
    const mpm::street::NightParameters standard;
    QCOMPARE(view.parameters().photons, standard.photons);
    mpm::street::NightParameters odd = standard;
    odd.photons = 333;
    view.setParameters(odd);
    QCOMPARE(view.parameters().photons, 333.0);
}

void ViewsTest::thinImageHasNoEmptyPlates() {
    Viewport viewport;
    ImageView view(QStringLiteral("Title"), &viewport);
    view.resize(400, 300);
    QImage white(3, 2000, QImage::Format_RGB32);
    white.fill(Qt::white);
    view.setImage(white);
    const QImage shown = view.grab().toImage();
    int dark = 0;  // pixels of the title's plate, which is in the corner and as wide as the words
    for (int x = 0; x < shown.width(); ++x)
        dark += qGray(shown.pixel(x, 9)) < 90;
    QVERIFY2(dark > view.fontMetrics().horizontalAdvance(QStringLiteral("Title")) / 2,
             qPrintable(QString::number(dark)));
}

void ViewsTest::nightSlidersChangeTheNextPair() {
    m_is->open();
    std::vector<RenderedNight> pairs;
    connect(&m_is->window->engine(), &Engine::nightSimulated, this,
            [&](const RenderedNight& drawn) { pairs.push_back(drawn); });
    m_is->window->views()->showView(QStringLiteral("night"));
    QTRY_VERIFY_WITH_TIMEOUT(!pairs.empty(), test::patience(30'000));
    NightView* night = m_is->window->views()->find<NightView>();
    auto* slider = night->findChildren<QSlider*>().first();
    slider->setFocus();
    QTest::keyClick(slider, Qt::Key_Home);
    QCOMPARE(night->parameters().luminance, 0.02);
    QTRY_COMPARE_WITH_TIMEOUT(pairs.back().pair->parameters.luminance, 0.02, test::patience(30'000));
    QTRY_VERIFY(night->summary().contains(QStringLiteral("merge away")));
    auto* shows = night->findChild<QComboBox*>();
    m_is->window->front().setPaused(true);
    shows->setCurrentIndex(2);
    QTRY_COMPARE_WITH_TIMEOUT(pairs.back().day, pairs.back().pair->analysis->frame.image,
                              test::patience(10'000));
    disconnect(&m_is->window->engine(), nullptr, this, nullptr);
}

void ViewsTest::nightOfTheCommandLineIsNotStored() {
    Options options;
    options.night = mpm::street::NightParameters{0.5, 100, 0.02};
    m_is->open(options);
    QTRY_COMPARE(m_is->window->engine().request().night.photons, 100.0);
    QCOMPARE(m_is->window->views()->find<NightView>()->parameters().luminance, 0.5);
    m_is->window->close();
    m_is->open();
    QTRY_COMPARE(m_is->window->engine().request().night.photons, 250.0);
    QCOMPARE(m_is->window->views()->find<NightView>()->parameters().luminance, 0.35);
}

void ViewsTest::keysSwitchViews() {
    m_is->open();
    for (int view = 0; view < viewKeys().size(); ++view) {
        QTest::keyClick(m_is->window.get(), Qt::Key(Qt::Key_1 + view));
        QCOMPARE(m_is->window->views()->shown(), view);
    }
    m_is->window->views()->showView(QStringLiteral("overview"));
    QTest::mouseDClick(m_is->window->views()->find<OverlayView>(), Qt::LeftButton);
    QCOMPARE(m_is->window->views()->shown(), int(viewKeys().indexOf(QStringLiteral("overlay"))));
    QTest::mouseDClick(m_is->window->views()->find<OverlayView>(), Qt::LeftButton);
    QCOMPARE(m_is->window->views()->shown(), int(viewKeys().indexOf(QStringLiteral("overview"))));
}

MPM_GUI_TEST(ViewsTest);
#include "views_test.moc"
