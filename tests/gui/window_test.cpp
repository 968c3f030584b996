// The window as a hand would use it: every action is checked by its effect on the next frame or the stored
// row.
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QMenuBar>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>
#include <QToolButton>

#include "gui/support.hpp"
#include "gui/views/header_bar.hpp"
#include "gui/views/legend_view.hpp"
#include "gui/views/merge_view.hpp"
#include "gui/views/night_view.hpp"
#include "gui/views/schedule_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/views/timeline_panel.hpp"
#include "gui/views/timeline_view.hpp"
#include "gui/window/main_window.hpp"
#include "gui/window/sidebar.hpp"

using namespace mpm::gui;

class WindowTest : public QObject {
    Q_OBJECT
private slots:
    void init();
    void cleanup();
    void everyViewComesAlive();
    void switchingABlockChangesTheNextFrame();
    void keyboardSwitchesABlock();
    void presetsSetTheSchedule();
    void hidingAClassChangesTheOverlay();
    void opacityAndOutlinesChangeTheOverlay();
    void splitSliderMoves();
    void viewsZoomTogether();
    void hoverDescribesACluster();
    void stageChangesTheMergeMap();
    void nightSlidersChangeTheNextPair();
    void timelineFollowsPansAndZooms();
    void timelineReadsAtThePointer();
    void pauseStopsTheFrames();
    void missingSourceIsSaidInTheWindow();
    void badModelIsSaidInTheWindow();
    void csvHoldsWhatWasMeasured();
    void settingsComeBack();
    void keysSwitchViews();
    void shortcutSheetNamesEveryShortCut();
    void lightAndDark();
    void hundredScheduleChangesASecond();

private:
    void open(const Options& extra = {});
    AnalysisPtr next();  ///< the analysis after the next one that arrives
    template <typename Until>
    AnalysisPtr nextWhere(Until until);

    std::unique_ptr<test::Sandbox> m_sandbox;
    std::unique_ptr<MainWindow> m_window;
    AnalysisPtr m_last;
    QImage m_overlay;
    int m_count = 0;
};

void WindowTest::init() {
    m_sandbox = std::make_unique<test::Sandbox>();
    m_last.reset();
    m_count = 0;
}

void WindowTest::cleanup() {
    m_window.reset();
}

void WindowTest::open(const Options& extra) {
    Options options = extra;
    if (!options.source) options.source = m_sandbox->pictures(2, 2);
    if (options.size.isEmpty()) options.size = QSize(1280, 720);
    m_window = std::make_unique<MainWindow>(options);
    connect(&m_window->engine(), &Engine::measured, this, [this](const auto&, const AnalysisPtr& analysis) {
        m_last = analysis;
        ++m_count;
    });
    connect(&m_window->engine(), &Engine::rendered, this,
            [this](const RenderedFrame& drawn) { m_overlay = drawn.overlay; });
    m_window->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_window.get()));
}

template <typename Until>
AnalysisPtr WindowTest::nextWhere(Until until) {
    const bool found = QTest::qWaitFor([&] { return m_last && until(*m_last); }, 30'000);
    return found ? m_last : nullptr;
}

AnalysisPtr WindowTest::next() {
    const int before = m_count;
    return nextWhere([&](const Analysis&) { return m_count > before + 1; });
}

void WindowTest::everyViewComesAlive() {
    open();
    QVERIFY(next());
    ViewArea* views = m_window->views();
    QTRY_VERIFY_WITH_TIMEOUT(!views->pictureView()->image().isNull(), 10'000);
    QTRY_VERIFY_WITH_TIMEOUT(!views->overlayView()->image().isNull(), 10'000);
    QTRY_VERIFY_WITH_TIMEOUT(!views->mergeView()->image().isNull(), 10'000);
    QTRY_VERIFY_WITH_TIMEOUT(!views->splitView()->image().isNull(), 30'000);
    QVERIFY(views->splitView()->footer().contains(QStringLiteral("agree")));
    QCOMPARE(m_window->header()->badgeText(), QStringLiteral("playing"));
    QVERIFY(!m_window->timelineData().empty());
    QVERIFY(m_window->schedule().tokensIn() > 0);
}

void WindowTest::switchingABlockChangesTheNextFrame() {
    open();
    QVERIFY(next());
    BlockList* list = m_window->sidebar()->schedule()->list();
    const auto click = [list](int block) {
        QRect cell = list->visualRect(list->model()->index(block, 0));
        cell.setTop(cell.bottom() - 30);
        QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, cell.center());
    };
    const std::vector<int> before = m_window->schedule().schedule();
    const bool had = std::find(before.begin(), before.end(), 3) != before.end();
    click(3);
    const auto has = [](const Analysis& a) {
        return std::find(a.schedule.begin(), a.schedule.end(), 3) != a.schedule.end();
    };
    QVERIFY(nextWhere([&](const Analysis& a) { return has(a) != had; }));
    QTRY_COMPARE(m_window->schedule().tokensBefore(3), m_last->merged.tokens.tokens.at(3));
    click(3);
    QVERIFY(nextWhere([&](const Analysis& a) { return has(a) == had; }));
}

void WindowTest::keyboardSwitchesABlock() {
    open();
    QVERIFY(next());
    m_window->schedule().setSchedule({});
    BlockList* list = m_window->sidebar()->schedule()->list();
    list->setFocus();
    list->setCurrentIndex(list->model()->index(0, 0));
    QTest::keyClick(list, Qt::Key_Right);
    QTest::keyClick(list, Qt::Key_Space);
    QVERIFY(nextWhere([](const Analysis& a) { return a.schedule == std::vector<int>{1}; }));
}

void WindowTest::presetsSetTheSchedule() {
    open();
    QVERIFY(next());
    for (QToolButton* button : m_window->sidebar()->schedule()->findChildren<QToolButton*>())
        if (button->text().startsWith(QStringLiteral("None"))) QTest::mouseClick(button, Qt::LeftButton);
    const AnalysisPtr all = nextWhere([](const Analysis& a) { return a.schedule.empty(); });
    QVERIFY(all);
    QCOMPARE(all->tokensKept(), all->tokensIn());
    QTest::keyClick(m_window.get(), Qt::Key_2, Qt::AltModifier);
    QVERIFY(nextWhere([](const Analysis& a) { return a.schedule == std::vector<int>{2, 5}; }));
}

void WindowTest::hidingAClassChangesTheOverlay() {
    open();
    QVERIFY(next());
    m_window->setPaused(true);
    QTest::qWait(800);
    const QImage before = m_overlay;
    m_window->legend().showAll(false);
    QTRY_VERIFY_WITH_TIMEOUT(m_overlay != before, 10'000);
    QCOMPARE(m_overlay.pixel(80, 60), m_window->views()->pictureView()->image().pixel(80, 60));
    m_window->legend().showAll(true);
    QTRY_COMPARE_WITH_TIMEOUT(m_overlay, before, 10'000);
}

void WindowTest::opacityAndOutlinesChangeTheOverlay() {
    open();
    QVERIFY(next());
    m_window->setPaused(true);
    QTest::qWait(800);
    const QImage before = m_overlay;
    QTest::keyClick(m_window.get(), Qt::Key_BracketRight);
    QCOMPARE(m_window->views()->opacity(), 0.65);
    QTRY_VERIFY_WITH_TIMEOUT(m_overlay != before, 10'000);
    const QImage outlined = m_overlay;
    QTest::keyClick(m_window.get(), Qt::Key_O);
    QVERIFY(!m_window->views()->outlines());
    QTRY_VERIFY_WITH_TIMEOUT(m_overlay != outlined, 10'000);
}

void WindowTest::splitSliderMoves() {
    open();
    m_window->views()->setMode(ViewArea::Split);
    SplitView* split = m_window->views()->splitView();
    QTRY_VERIFY_WITH_TIMEOUT(!split->image().isNull(), 30'000);
    split->setFocus();
    QTest::keyClick(split, Qt::Key_Left);
    QCOMPARE(split->position(), 0.48);
    const QPoint middle = split->rect().center() - QPoint(int(0.02 * split->height() * 4 / 3), 0);
    QTest::mousePress(split, Qt::LeftButton, {}, middle);
    QTest::mouseMove(split, middle - QPoint(60, 0));
    QTest::mouseRelease(split, Qt::LeftButton, {}, middle - QPoint(60, 0));
    QVERIFY(split->position() < 0.47);
}

void WindowTest::viewsZoomTogether() {
    open();
    QVERIFY(next());
    PictureView* picture = m_window->views()->pictureView();
    const QImage before = m_window->views()->overlayView()->grab().toImage();
    const QPointF centre = picture->rect().center();
    QWheelEvent wheel(centre, picture->mapToGlobal(centre), {}, {0, 480}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(picture, &wheel);
    QVERIFY(m_window->views()->viewport()->zoom() > 1.5);
    QVERIFY(m_window->views()->overlayView()->grab().toImage() != before);
    QTest::keyClick(m_window.get(), Qt::Key_0, Qt::ControlModifier);
    QCOMPARE(m_window->views()->viewport()->zoom(), 1.0);
}

void WindowTest::hoverDescribesACluster() {
    open();
    MergeView* merge = m_window->views()->mergeView();
    QTRY_VERIFY_WITH_TIMEOUT(!merge->image().isNull(), 30'000);
    m_window->views()->viewport()->setCursor(QPointF(0.5, 0.5));
    QVERIFY(
        nextWhere([](const Analysis& a) { return !a.merged.scores.empty(); }));  // asked for by the pointer
    QTRY_VERIFY_WITH_TIMEOUT(merge->describe({0.5, 0.5}).contains(QLatin1Char('%')), 10'000);
    QVERIFY(merge->describe({0.5, 0.5}).contains(QStringLiteral("token")));
    QVERIFY(!merge->clusterAt({0.5, 0.5}).empty());
    QVERIFY(merge->describe({1.5, 0.5}).isEmpty());
    // Some cluster has more than one patch, and all of its members say the same of it.
    bool merged = false;
    for (double x = 0.01; x < 1 && !merged; x += 0.03)
        for (double y = 0.01; y < 1 && !merged; y += 0.03)
            merged = merge->clusterAt({x, y}).size() > 1;
    QVERIFY(merged);
}

void WindowTest::stageChangesTheMergeMap() {
    open();
    QVERIFY(next());
    m_window->schedule().setSchedule({2, 5});
    QVERIFY(nextWhere([](const Analysis& a) { return a.schedule.size() == 2; }));
    MergeView* merge = m_window->views()->mergeView();
    QTRY_COMPARE_WITH_TIMEOUT(
        merge->note(), QStringLiteral("%1 of %2").arg(m_last->tokensKept()).arg(m_last->tokensIn()), 10'000);
    m_window->setPaused(true);
    QTest::qWait(800);
    auto* stages = m_window->views()->findChild<QComboBox*>();
    QTRY_COMPARE(stages->count(), 2);
    stages->setFocus();
    QTest::keyClick(stages, Qt::Key_Down);
    QCOMPARE(m_window->views()->stage(), 0);
    const QString first = QStringLiteral("%1 of %2").arg(m_last->stageTokens().at(0)).arg(m_last->tokensIn());
    QTRY_COMPARE_WITH_TIMEOUT(merge->note(), first, 10'000);
}

void WindowTest::nightSlidersChangeTheNextPair() {
    open();
    std::vector<RenderedNight> pairs;
    connect(&m_window->engine(), &Engine::nightSimulated, this,
            [&](const RenderedNight& drawn) { pairs.push_back(drawn); });
    m_window->views()->setMode(ViewArea::Night);
    QTRY_VERIFY_WITH_TIMEOUT(!pairs.empty(), 30'000);
    NightView* night = m_window->views()->nightView();
    auto* slider = night->findChildren<QSlider*>().first();
    slider->setFocus();
    QTest::keyClick(slider, Qt::Key_Home);
    QCOMPARE(night->parameters().luminance, 0.02);
    QTRY_COMPARE_WITH_TIMEOUT(pairs.back().pair->parameters.luminance, 0.02, 30'000);
    QTRY_VERIFY(night->summary().contains(QStringLiteral("merge away")));
    disconnect(&m_window->engine(), nullptr, this, nullptr);
}

void WindowTest::timelineFollowsPansAndZooms() {
    open();
    QVERIFY(next());
    TimelineView* view = m_window->timeline()->view();
    QTest::keyClick(m_window.get(), Qt::Key_1, Qt::ControlModifier);
    QVERIFY(view->following());
    QCOMPARE(view->to() - view->from(), 60'000);
    const qint64 to = view->to();
    QTRY_VERIFY(view->to() > to);  // moves on by itself
    const QPoint middle = view->rect().center();
    QTest::mousePress(view, Qt::LeftButton, {}, middle);
    QTest::mouseMove(view, middle + QPoint(100, 0));
    QVERIFY(!view->following());
    QTest::mouseRelease(view, Qt::LeftButton, {}, middle + QPoint(100, 0));
    QVERIFY(!view->following());
    const qint64 length = view->to() - view->from();
    view->setFocus();
    QTest::keyClick(view, Qt::Key_Plus);
    QVERIFY(view->to() - view->from() < length);
    QTest::keyClick(view, Qt::Key_End);
    QVERIFY(view->following());
}

void WindowTest::timelineReadsAtThePointer() {
    open();
    QVERIFY(next());
    TimelineView* view = m_window->timeline()->view();
    view->setRange(m_window->timelineData().last() - 2'000, m_window->timelineData().last() + 2'000);
    QVERIFY(view->describe(view->width() / 2).contains(QStringLiteral("tokens")));
    QVERIFY(view->describe(-500).isEmpty());
}

void WindowTest::pauseStopsTheFrames() {
    open();
    QVERIFY(next());
    QTest::keyClick(m_window.get(), Qt::Key_P);
    QCOMPARE(m_window->header()->badgeText(), QStringLiteral("paused"));
    QTest::qWait(1'500);
    const std::int64_t number = m_last->frame.number;
    QTest::qWait(2'500);
    QCOMPARE(m_last->frame.number, number);
    QTest::keyClick(m_window.get(), Qt::Key_P);
    QVERIFY(nextWhere([&](const Analysis& a) { return a.frame.number > number; }));
}

void WindowTest::missingSourceIsSaidInTheWindow() {
    Options options;
    options.source = m_sandbox->path(QStringLiteral("nowhere.mp4"));
    open(options);
    QTRY_VERIFY_WITH_TIMEOUT(
        m_window->views()->pictureView()->veil().contains(QStringLiteral("cannot be used")), 10'000);
    QCOMPARE(m_window->header()->badgeText(), QStringLiteral("failed"));
    m_window->openSource(m_sandbox->pictures(2, 0));
    QVERIFY(next());
    QTRY_VERIFY(m_window->views()->pictureView()->veil().isEmpty());
}

void WindowTest::badModelIsSaidInTheWindow() {
    Options options;
    options.model = m_sandbox->path(QStringLiteral("nowhere.onnx"));
    open(options);
    QTRY_VERIFY_WITH_TIMEOUT(
        m_window->views()->overlayView()->veil().contains(QStringLiteral("model cannot be used")), 10'000);
    QTRY_VERIFY_WITH_TIMEOUT(!m_window->views()->pictureView()->image().isNull(),
                             10'000);  // watching goes on
    QVERIFY(m_window->views()->pictureView()->veil().isEmpty());
    m_window->openModel(QStringLiteral("default"));
    QVERIFY(next());
    QTRY_VERIFY(m_window->views()->overlayView()->veil().isEmpty());
}

void WindowTest::csvHoldsWhatWasMeasured() {
    open();
    QVERIFY(next());
    QVERIFY(next());
    const QString file = m_sandbox->path(QStringLiteral("out.csv"));
    QSignalSpy exported(&m_window->engine().recorder(), &Recorder::exported);
    m_window->exportCsv(file);
    QTRY_COMPARE_WITH_TIMEOUT(exported.count(), 1, 10'000);
    QFile csv(file);
    QVERIFY(csv.open(QIODevice::ReadOnly));
    const QList<QByteArray> lines = csv.readAll().trimmed().split('\n');
    QCOMPARE(lines.size() - 1, exported[0][1].toInt());
    QVERIFY(lines.size() >= 3);
    QVERIFY(lines[0].startsWith("time,frame,phase,luminance,tokens_in"));
    QVERIFY(lines[1].contains("," + QByteArray::number(m_last->tokensIn()) + ","));
}

void WindowTest::settingsComeBack() {
    open();
    QVERIFY(next());
    m_window->schedule().setSchedule({3});
    m_window->views()->setMode(ViewArea::Merge);
    m_window->views()->setOpacity(0.8);
    m_window->views()->nightView()->setParameters({0.5, 100, 0.02});
    emit m_window->views()->nightChanged(m_window->views()->nightView()->parameters());
    m_window->legend().setData(m_window->legend().index(1, 0), Qt::Unchecked, Qt::CheckStateRole);
    m_window->setAppearance(Appearance::Dark);
    m_window->close();
    m_window.reset();
    m_last.reset();
    open();
    QVERIFY(nextWhere([](const Analysis& a) { return a.schedule == std::vector<int>{3}; }));
    QCOMPARE(m_window->views()->mode(), ViewArea::Merge);
    QCOMPARE(m_window->views()->opacity(), 0.8);
    QCOMPARE(m_window->views()->nightView()->parameters().luminance, 0.5);
    QCOMPARE(m_window->appearance(), Appearance::Dark);
    QVERIFY(m_window->legend().hidden().at(1));
    QTRY_VERIFY(!m_window->timelineData().empty());
    // Another profile knows nothing of it.
    m_window.reset();
    Options other;
    other.profile = QStringLiteral("other");
    open(other);
    QCOMPARE(m_window->views()->mode(), ViewArea::Overview);
}

void WindowTest::keysSwitchViews() {
    open();
    for (int mode = 0; mode < ViewArea::Modes; ++mode) {
        QTest::keyClick(m_window.get(), Qt::Key(Qt::Key_1 + mode));
        QCOMPARE(m_window->views()->mode(), ViewArea::Mode(mode));
    }
    m_window->views()->setMode(ViewArea::Overview);
    QTest::mouseDClick(m_window->views()->overlayView(), Qt::LeftButton);
    QCOMPARE(m_window->views()->mode(), ViewArea::Overlay);
    QTest::mouseDClick(m_window->views()->overlayView(), Qt::LeftButton);
    QCOMPARE(m_window->views()->mode(), ViewArea::Overview);
}

void WindowTest::shortcutSheetNamesEveryShortCut() {
    open();
    QTest::keyClick(m_window.get(), Qt::Key_F1);
    auto* sheet = m_window->findChild<QDialog*>();
    QVERIFY(sheet != nullptr);
    QStringList said;
    for (const QLabel* label : sheet->findChildren<QLabel*>())
        said << label->text();
    QSet<QString> keys;
    for (const QAction* menu : m_window->menuBar()->actions())
        for (const QAction* action : menu->menu()->actions()) {
            if (action->shortcut().isEmpty()) continue;
            const QString key = action->shortcut().toString(QKeySequence::NativeText);
            QVERIFY2(said.contains(key), qPrintable(key));
            QVERIFY2(!keys.contains(key), qPrintable(key + QStringLiteral(" stands for two things")));
            keys.insert(key);
        }
    QVERIFY(keys.size() > 20);
}

void WindowTest::lightAndDark() {
    open();
    QVERIFY(next());
    m_window->setAppearance(Appearance::Light);
    QVERIFY(!Theme::of(m_window.get()).dark);
    const QImage light = m_window->timeline()->grab().toImage();
    QTest::keyClick(m_window.get(), Qt::Key_T, Qt::ControlModifier);
    QVERIFY(Theme::of(m_window.get()).dark);
    QVERIFY(m_window->timeline()->grab().toImage().pixelColor(3, 20).lightness() <
            light.pixelColor(3, 20).lightness());
}

void WindowTest::hundredScheduleChangesASecond() {
    open();
    QVERIFY(next());
    for (int i = 0; i < 100; ++i) {
        m_window->schedule().setSchedule(i % 2 == 0 ? std::vector<int>{i % 10} : std::vector<int>{});
        QTest::qWait(10);
    }
    m_window->schedule().setSchedule({4});
    QVERIFY(nextWhere([](const Analysis& a) { return a.schedule == std::vector<int>{4}; }));
}

QTEST_MAIN(WindowTest)
#include "window_test.moc"
