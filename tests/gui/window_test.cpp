// Uses the window like a user, and checks the effect of each action on the next frame or the stored row.
#include <atomic>

#include <QComboBox>
#include <QDialog>
#include <QDropEvent>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QSemaphore>
#include <QSignalSpy>
#include <QSpinBox>
#include <QToolButton>

#include "gui/dialogs/day_night_dialog.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/panels/schedule_view.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/registry.hpp"
#include "gui/views/live_view.hpp"
#include "gui/views/merge_view.hpp"
#include "gui/views/night_view.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/views/view_controls.hpp"
#include "gui/widgets/level_bar.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

namespace {

/// Returns the boxes on the page of a level: the threshold of night, then that of day.
QList<QDoubleSpinBox*> thresholdsOf(const DayNightDialog& dialog, const QString& level) {
    for (const LevelBar* bar : dialog.findChildren<LevelBar*>())
        if (bar->accessibleName() == level) return bar->parentWidget()->findChildren<QDoubleSpinBox*>();
    return {};
}

}  // namespace

class WindowTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void switchingABlockChangesTheNextFrame();
    void keyboardSwitchesABlock();
    void presetsSetTheSchedule();
    void pauseStopsTheFrames();
    void missingSourceIsSaidInTheWindow();
    void badModelIsSaidInTheWindow();
    void unreadableImageIsSaidInTheWindow();
    void csvHoldsWhatWasMeasured();
    void settingsComeBack();
    void settingsAreWrittenSoon();
    void settingsThatCannotBeWrittenAreReported();
    void shortcutSheetNamesEveryShortCut();
    void hundredScheduleChangesASecond();
    void dayAndNightFollowTheRule();
    void levelsAreShownBesideTheThresholds();
    void commandLineIsNotKept();
    void droppedFilesAreOpened();
    void windowAnswersWhileTheNetworkIsBusy();

private:
    std::unique_ptr<test::WindowFixture> m_is;
};

void WindowTest::switchingABlockChangesTheNextFrame() {
    m_is->open();
    QVERIFY(m_is->next());
    BlockList* list = m_is->window->sidebar()->schedule()->list();
    const auto click = [list](int block) {
        QRect cell = list->visualRect(list->model()->index(block, 0));
        cell.setTop(cell.bottom() - 30);
        QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, cell.center());
    };
    const std::vector<int> before = m_is->window->models().schedule.schedule();
    const bool had = std::find(before.begin(), before.end(), 3) != before.end();
    click(3);
    const auto has = [](const Analysis& a) {
        return std::find(a.schedule.begin(), a.schedule.end(), 3) != a.schedule.end();
    };
    QVERIFY(m_is->nextWhere([&](const Analysis& a) { return has(a) != had; }));
    QTRY_COMPARE(m_is->window->models().schedule.tokensBefore(3), m_is->last->merged.tokens.tokens.at(3));
    click(3);
    QVERIFY(m_is->nextWhere([&](const Analysis& a) { return has(a) == had; }));
}

void WindowTest::keyboardSwitchesABlock() {
    m_is->open();
    QVERIFY(m_is->next());
    m_is->window->models().schedule.setSchedule({});
    BlockList* list = m_is->window->sidebar()->schedule()->list();
    list->setFocus();
    list->setCurrentIndex(list->model()->index(0, 0));
    QTest::keyClick(list, Qt::Key_Right);
    QTest::keyClick(list, Qt::Key_Space);
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.schedule == std::vector<int>{1}; }));
}

void WindowTest::presetsSetTheSchedule() {
    m_is->open();
    QVERIFY(m_is->next());
    for (QToolButton* button : m_is->window->sidebar()->schedule()->findChildren<QToolButton*>())
        if (button->text().startsWith(QStringLiteral("None"))) QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(m_is->window->models().statistics.statistics().day().kept.count(),
             0);  // another schedule begins new means
    const AnalysisPtr all = m_is->nextWhere([](const Analysis& a) { return a.schedule.empty(); });
    QVERIFY(all);
    QCOMPARE(all->tokensKept(), all->tokensIn());
    QTRY_VERIFY_WITH_TIMEOUT(m_is->window->views()->find<SplitView>()->image().isNull(),
                             test::patience(10'000));  // nothing to compare
    QTest::keyClick(m_is->window.get(), Qt::Key_2, Qt::AltModifier);
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.schedule == std::vector<int>{2, 5}; }));
}

void WindowTest::pauseStopsTheFrames() {
    m_is->open();
    QVERIFY(m_is->next());
    QTest::keyClick(m_is->window.get(), Qt::Key_P);
    QCOMPARE(m_is->window->header()->badgeText(), QStringLiteral("paused"));
    QVERIFY(m_is->settle());
    const std::int64_t number = m_is->last->frame.number;
    QTest::qWait(800);
    QCOMPARE(m_is->last->frame.number, number);
    QTest::keyClick(m_is->window.get(), Qt::Key_P);
    QVERIFY(m_is->nextWhere([&](const Analysis& a) { return a.frame.number > number; }));
}

void WindowTest::missingSourceIsSaidInTheWindow() {
    Options options;
    options.source = m_is->sandbox.path(QStringLiteral("nowhere.mp4"));
    m_is->open(options);
    QTRY_VERIFY_WITH_TIMEOUT(
        m_is->window->views()->find<LiveView>()->cover().contains(QStringLiteral("cannot be used")),
        test::patience(10'000));
    QCOMPARE(m_is->window->header()->badgeText(), QStringLiteral("failed"));
    m_is->window->sources().open(m_is->sandbox.film(8, 0));
    QVERIFY(m_is->next());
    QTRY_VERIFY(m_is->window->views()->find<LiveView>()->cover().isEmpty());
}

void WindowTest::unreadableImageIsSaidInTheWindow() {
    Options options;
    options.source = m_is->sandbox.images(3, 0);
    QFile damaged(*options.source + QStringLiteral("/001.png"));
    QVERIFY(damaged.open(QIODevice::WriteOnly));
    damaged.write("no image");
    damaged.close();
    m_is->open(options);
    QTRY_VERIFY_WITH_TIMEOUT(m_is->window->message().contains(QStringLiteral("/001.png")),
                             test::patience(20'000));
    const QModelIndex dropped = m_is->window->models().health.index(HealthModel::DroppedRow);
    QTRY_VERIFY(dropped.data(HealthModel::ValueRole).toString().contains(QStringLiteral("1 unreadable")));
}

void WindowTest::badModelIsSaidInTheWindow() {
    Options options;
    options.model = m_is->sandbox.path(QStringLiteral("nowhere.onnx"));
    m_is->open(options);
    QTRY_VERIFY_WITH_TIMEOUT(
        m_is->window->views()->find<OverlayView>()->cover().contains(QStringLiteral("model cannot be used")),
        test::patience(10'000));
    QTRY_VERIFY_WITH_TIMEOUT(!m_is->window->views()->find<LiveView>()->image().isNull(),
                             test::patience(10'000));  // watching continues
    QVERIFY(m_is->window->views()->find<LiveView>()->cover().isEmpty());
    m_is->window->model().open(QStringLiteral("default"));
    QVERIFY(m_is->next());
    QTRY_VERIFY(m_is->window->views()->find<OverlayView>()->cover().isEmpty());
}

void WindowTest::csvHoldsWhatWasMeasured() {
    m_is->open();
    QVERIFY(m_is->next());
    QVERIFY(m_is->next());
    const QString file = m_is->sandbox.path(QStringLiteral("out.csv"));
    QSignalSpy exported(&m_is->window->engine().recorder(), &Recorder::exported);
    m_is->window->exports().allMeasurements(file);
    QTRY_COMPARE_WITH_TIMEOUT(exported.count(), 1, test::patience(10'000));
    QFile csv(file);
    QVERIFY(csv.open(QIODevice::ReadOnly));
    const QList<QByteArray> lines = csv.readAll().trimmed().split('\n');
    QCOMPARE(lines.size() - 1, exported[0][1].toInt());
    QVERIFY(lines.size() >= 3);
    QVERIFY(lines[0].startsWith("time,frame,phase,luminance,tokens_in"));
    QVERIFY2(lines[0].contains(",share sky,share building,"), lines[0].constData());  // names, not numbers
    QVERIFY(lines[1].contains("," + QByteArray::number(m_is->last->tokensIn()) + ","));
}

void WindowTest::settingsComeBack() {
    m_is->open();
    QVERIFY(m_is->next());
    m_is->window->models().schedule.setSchedule({3});
    m_is->window->views()->showView(QStringLiteral("merge"));
    m_is->window->views()->controls().setOpacity(0.8);
    m_is->window->views()->find<NightView>()->setParameters({0.5, 100, 0.02});
    emit m_is->window->views()->nightChanged(m_is->window->views()->find<NightView>()->parameters());
    m_is->window->models().legend.setData(m_is->window->models().legend.index(1, 0), Qt::Unchecked,
                                          Qt::CheckStateRole);
    m_is->window->setAppearance(Appearance::Dark);
    m_is->window->close();
    m_is->open();
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.schedule == std::vector<int>{3}; }));
    QCOMPARE(m_is->window->views()->shown(), int(viewKeys().indexOf(QStringLiteral("merge"))));
    QCOMPARE(m_is->window->views()->controls().opacity(), 0.8);
    QCOMPARE(m_is->window->views()->find<NightView>()->parameters().luminance, 0.5);
    QCOMPARE(m_is->window->appearance(), Appearance::Dark);
    QVERIFY(m_is->window->models().legend.hidden().at(1));
    QTRY_VERIFY(!m_is->window->models().timeline.empty());
    // Another profile is not affected.
    m_is->window.reset();
    Options other;
    other.profile = QStringLiteral("other");
    m_is->open(other);
    QCOMPARE(m_is->window->views()->shown(), int(viewKeys().indexOf(QStringLiteral("overview"))));
}

/// Settings must be written while the window is open, because a power cut does not close the window.
void WindowTest::settingsAreWrittenSoon() {
    m_is->open();
    m_is->window->setInterval(7'000);
    QTRY_COMPARE_WITH_TIMEOUT(Profile(QStringLiteral("default")).load().request.interval.count(), 7'000,
                              test::patience(3'000));
}

void WindowTest::settingsThatCannotBeWrittenAreReported() {
    m_is->open();
    const QString file = m_is->window->session().profile().path();
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(file), test::patience(5'000));
    QVERIFY(QFile::remove(file) && QDir().mkpath(file));
    m_is->window->setInterval(7'000);
    QTRY_VERIFY_WITH_TIMEOUT(m_is->window->message().contains(QStringLiteral("cannot be written")),
                             test::patience(5'000));
    QVERIFY(QDir().rmdir(file));
    QTRY_VERIFY_WITH_TIMEOUT(m_is->window->message().contains(QStringLiteral("written again")),
                             test::patience(5'000));
    QCOMPARE(Profile(QStringLiteral("default")).load().request.interval.count(), 7'000);
}

void WindowTest::shortcutSheetNamesEveryShortCut() {
    m_is->open();
    QTest::keyClick(m_is->window.get(), Qt::Key_F1);
    auto* sheet = m_is->window->findChild<QDialog*>();
    QVERIFY(sheet != nullptr);
    QStringList said;
    for (const QLabel* label : sheet->findChildren<QLabel*>())
        said << label->text();
    QSet<QString> keys;
    for (const QMenu* menu : m_is->window->findChildren<QMenu*>())
        for (const QAction* action : menu->actions()) {
            if (action->shortcut().isEmpty()) continue;
            const QString key = action->shortcut().toString(QKeySequence::NativeText);
            QVERIFY2(said.contains(key), qPrintable(key));
            QVERIFY2(!keys.contains(key), qPrintable(key + QStringLiteral(" stands for two things")));
            keys.insert(key);
        }
    QVERIFY(keys.size() > 20);
}

void WindowTest::hundredScheduleChangesASecond() {
    m_is->open();
    QVERIFY(m_is->next());
    for (int i = 0; i < 100; ++i) {
        m_is->window->models().schedule.setSchedule(i % 2 == 0 ? std::vector<int>{i % 10}
                                                               : std::vector<int>{});
        QTest::qWait(10);
    }
    m_is->window->models().schedule.setSchedule({4});
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.schedule == std::vector<int>{4}; }));
}

void WindowTest::dayAndNightFollowTheRule() {
    Options options;
    options.source = m_is->sandbox.images(4, 4);  // repetitions of a video would not be counted
    m_is->open(options);
    QVERIFY(m_is->next());
    DayNightDialog dialog(m_is->window->engine().rule());
    connect(&dialog, &DayNightDialog::ruleChanged, m_is->window.get(), &MainWindow::setRule);
    const QList<QComboBox*> boxes = dialog.findChildren<QComboBox*>();
    boxes[0]->setCurrentIndex(4);  // by hand
    boxes[1]->setCurrentIndex(1);
    using mpm::pipeline::Phase;
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.frame.phase == Phase::Night; }));
    boxes[1]->setCurrentIndex(0);
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.frame.phase == Phase::Day; }));
    boxes[0]->setCurrentIndex(0);  // by luminance, at once
    dialog.findChild<QSpinBox*>()->setValue(0);
    QVERIFY(m_is->nextWhere(
        [](const Analysis& a) { return a.frame.luminance < 0.2 && a.frame.phase == Phase::Night; }));
    QVERIFY(m_is->nextWhere(
        [](const Analysis& a) { return a.frame.luminance > 0.3 && a.frame.phase == Phase::Day; }));
    QTRY_VERIFY(m_is->window->models().statistics.statistics().complete());
    QVERIFY(m_is->window->models().statistics.statistics().flips() >= 1);
    boxes[0]->setCurrentIndex(1);  // by infrared: the dark images have hardly any colour
    const auto thresholds = thresholdsOf(dialog, QStringLiteral("Saturation"));
    thresholds[0]->setValue(0.1);
    thresholds[1]->setValue(0.2);
    QVERIFY(m_is->nextWhere(
        [](const Analysis& a) { return a.frame.saturation < 0.1 && a.frame.phase == Phase::Night; }));
    QVERIFY(m_is->nextWhere(
        [](const Analysis& a) { return a.frame.saturation > 0.2 && a.frame.phase == Phase::Day; }));
    thresholds[1]->setValue(0.1);  // the dialog makes equal thresholds different, so the rule is valid
    QVERIFY(dialog.rule().grey < dialog.rule().coloured);
    QVERIFY(m_is->next());
}

void WindowTest::levelsAreShownBesideTheThresholds() {
    m_is->open();
    QTest::keyClick(m_is->window.get(), Qt::Key_N, Qt::ControlModifier);
    auto* dialog = m_is->window->findChild<DayNightDialog*>();
    QVERIFY(dialog != nullptr);
    const QList<LevelBar*> bars = dialog->findChildren<LevelBar*>();
    QCOMPARE(bars.size(), 2);
    QTRY_VERIFY_WITH_TIMEOUT(bars[0]->level() > 0 && bars[1]->level() > 0, test::patience(10'000));
    m_is->window->front().setPaused(true);
    QVERIFY(m_is->settle());
    for (LevelBar* bar : bars) {
        bar->resize(220, 40);
        const QImage before = bar->grab().toImage();
        thresholdsOf(*dialog, bar->accessibleName())[1]->setValue(0.9);
        QVERIFY(bar->grab().toImage() != before);
    }
}

void WindowTest::commandLineIsNotKept() {
    m_is->open();
    QVERIFY(m_is->next());
    m_is->window->close();
    const auto kept = [] { return Profile(QStringLiteral("default")).load(); };
    QCOMPARE(kept().source, QStringLiteral("demo"));
    QCOMPARE(kept().model, QStringLiteral("default"));
    const QString folder = m_is->sandbox.images(1, 1);
    m_is->window->sources().open(folder);
    m_is->window->show();
    m_is->window->close();
    QCOMPARE(kept().source, folder);
    m_is->window->sources().open(QStringLiteral("rtsp://user:geheim@127.0.0.1:1/stream"));
    m_is->window->show();
    m_is->window->close();
    QCOMPARE(kept().source, folder);  // a password is written nowhere
}

void WindowTest::droppedFilesAreOpened() {
    m_is->open();
    QVERIFY(m_is->next());
    QSignalSpy failed(&m_is->window->engine(), &Engine::modelFailed);
    QMimeData model;
    model.setUrls({QUrl::fromLocalFile(m_is->sandbox.path(QStringLiteral("none.onnx")))});
    QDragEnterEvent enter(QPoint(200, 200), Qt::CopyAction, &model, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(m_is->window.get(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop(QPointF(200, 200), Qt::CopyAction, &model, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(m_is->window.get(), &drop);
    QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, test::patience(10'000));
    QVERIFY(m_is->window->message().contains(QStringLiteral("none.onnx")));
    QVERIFY(m_is->next());  // the previous model continues
}

/// Here, the network is busy until the window has answered. If the window waited for the network, each would
/// wait for the other.
void WindowTest::windowAnswersWhileTheNetworkIsBusy() {
    m_is->open();
    QVERIFY(m_is->next());
    QSemaphore busy, answered;
    std::atomic<bool> waitedInVain{false};
    InferenceWorker& worker = m_is->window->engine().network().worker();
    const InferenceChannelPtr channel = worker.addChannel();
    connect(
        channel.get(), &InferenceChannel::analysed, channel.get(),
        [&] {  // in the thread of the network
            busy.release();
            waitedInVain = !answered.tryAcquire(1, test::patience(30'000));
        },
        Qt::DirectConnection);
    channel->submit(m_is->last->frame);
    QTRY_VERIFY_WITH_TIMEOUT(busy.available() == 1, test::patience(30'000));
    const std::int64_t shown = m_is->shownNumber;
    QTRY_VERIFY_WITH_TIMEOUT(m_is->shownNumber > shown, test::patience(10'000));  // the source continues
    const AnalysisPtr last = m_is->last;
    QTest::keyClick(m_is->window.get(), Qt::Key_0, Qt::AltModifier);
    m_is->window->resize(1000, 700);
    QTRY_COMPARE(m_is->window->size(), QSize(1000, 700));
    QVERIFY(m_is->last == last);  // the network is still busy
    answered.release();
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.schedule.empty(); }));
    QVERIFY(!waitedInVain);
    worker.removeChannel(channel);
}

MPM_GUI_TEST(WindowTest);
#include "window_test.moc"
