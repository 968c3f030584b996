// Reuse in the monitor: on a still scene, only a few tokens are computed in each frame.
#include <QLabel>
#include <QSignalSpy>
#include <QTest>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/panels/guide_strip.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/panels/schedule_view.hpp"
#include "gui/registry.hpp"
#include "gui/views/merge_view.hpp"
#include "gui/views/reuse_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

class ReuseTest : public QObject {
    Q_OBJECT
private slots:
    void stillSceneIsReused();
    void streetStartsWithReuseInAPane();
};

void ReuseTest::streetStartsWithReuseInAPane() {
    test::WindowFixture is;
    Options options;
    options.source = QStringLiteral("demo");
    options.model = QStringLiteral("default");
    is.open(options);
    MainWindow& window = *is.window;
    auto* view = window.views()->find<ReuseView>();
    const AnalysisPtr shown = is.nextWhere(
        [](const Analysis& a) { return a.beside && a.reuse().state == mpm::ReuseState::Partial; });
    QVERIFY(shown);
    QVERIFY(shown->reuse().recomputed < 1);
    // The other panes show the result with merging; only the pane of reuse shows a second run.
    QVERIFY(shown->merged.tokens.reuse.state == mpm::ReuseState::Off);
    QVERIFY(shown->tokensKept() < shown->tokensIn());
    QTRY_VERIFY_WITH_TIMEOUT(view->isVisible() && !view->image().isNull(), test::patience(10'000));
    QVERIFY(window.views()->find<MergeView>()->isVisible());
    // The split pane is the largest, because it shows the comparison.
    const auto* split = window.views()->find<SplitView>();
    QVERIFY(split->isVisible() && split->width() > view->width());
    QTRY_VERIFY(window.guide()->text().contains(QStringLiteral("Reuse computes only")));
    // In another view, the result with reuse is not visible, so it is not computed.
    window.views()->showView(QStringLiteral("split"));
    QVERIFY(is.nextWhere([](const Analysis& a) { return !a.beside; }));
    window.views()->showView(QStringLiteral("overview"));
    QVERIFY(is.nextWhere([](const Analysis& a) { return a.beside != nullptr; }));
    // For other sources, reuse does not run until the user turns it on, because a camera may move.
    window.sources().open(is.sandbox.film(4, 4));
    QVERIFY(is.nextWhere([](const Analysis& a) { return a.frame.generation > 1; }));
    QVERIFY(is.nextWhere([](const Analysis& a) { return !a.beside; }));
    QTRY_VERIFY(!view->isVisible());
}

void ReuseTest::stillSceneIsReused() {
    test::WindowFixture is;
    Options options;
    options.source = is.sandbox.film(1, 0);
    is.open(options);
    QVERIFY(is.next());
    MainWindow& window = *is.window;
    auto* view = window.views()->find<ReuseView>();
    QVERIFY(view->image().isNull());
    QTest::keyClick(&window, Qt::Key_U);
    QTRY_VERIFY(view->isVisible());  // in the overview, in place of the merge map
    QVERIFY(!window.views()->find<MergeView>()->isVisible());
    const AnalysisPtr analysis = is.nextWhere(
        [](const Analysis& a) { return a.merged.tokens.reuse.state == mpm::ReuseState::Partial; });
    QVERIFY(analysis);
    QVERIFY(analysis->merged.tokens.reuse.recomputed < 0.3);
    QCOMPARE(analysis->tokensKept(), analysis->tokensIn());  // reuse runs without merging
    QTRY_VERIFY_WITH_TIMEOUT(view->note().contains(QStringLiteral("computed")), test::patience(10'000));
    QVERIFY(!view->image().isNull());
    QVERIFY2(view->describe({0.5, 0.5}).contains(QStringLiteral("frames old")),
             qPrintable(view->describe({0.5, 0.5})));
    const auto headerHas = [&window](const char* words) {
        for (const QLabel* label : window.header()->findChildren<QLabel*>())
            if (label->text().contains(QLatin1String(words))) return true;
        return false;
    };
    QTRY_VERIFY(headerHas("% computed"));
    auto* schedule = window.findChild<ScheduleView*>();
    const auto scheduleNames = [schedule](const char* words) {
        for (const QLabel* label : schedule->findChildren<QLabel*>())
            if (label->text().contains(QLatin1String(words))) return true;
        return false;
    };
    QTRY_VERIFY(scheduleNames("no tokens merge"));
    QTRY_VERIFY(headerHas("tokens, mean age "));
    // The comparison computes all tokens of the frame, and must not change the values that reuse keeps.
    window.views()->showView(QStringLiteral("split"));
    QTRY_VERIFY_WITH_TIMEOUT(!window.views()->find<SplitView>()->image().isNull(), test::patience(20'000));
    QCOMPARE(window.views()->find<SplitView>()->accessibleName(), QStringLiteral("All tokens | reuse"));
    const AnalysisPtr beside = is.next();
    QVERIFY(beside && beside->merged.tokens.reuse.state == mpm::ReuseState::Partial);
    const auto timelineHas = [&window](const char* words) {
        const TimelineView* timeline = window.timeline()->view();
        return timeline->describe(timeline->width() - 10).contains(QLatin1String(words));
    };
    QTRY_VERIFY_WITH_TIMEOUT(timelineHas("% of the tokens computed, mean age "), test::patience(10'000));
    QTRY_VERIFY_WITH_TIMEOUT(timelineHas(" ms saved") || timelineHas(" ms lost"), test::patience(10'000));
    const auto headerShowsTime = [&window] {
        for (const QLabel* label : window.header()->findChildren<QLabel*>())
            if (label->toolTip().contains(QLatin1String("frames that ran both ways"))) return true;
        return false;
    };
    QTRY_VERIFY_WITH_TIMEOUT(headerShowsTime(), test::patience(10'000));
    const QString store = window.session().profile().storePath(), source = window.engine().sourceName();
    QTest::keyClick(&window, Qt::Key_U);
    QVERIFY(
        is.nextWhere([](const Analysis& a) { return a.merged.tokens.reuse.state == mpm::ReuseState::Off; }));
    QTRY_VERIFY_WITH_TIMEOUT(!headerHas("% computed"), test::patience(10'000));
    QTRY_VERIFY(scheduleNames("Merge before"));
    QTRY_COMPARE(window.views()->find<SplitView>()->accessibleName(), QStringLiteral("All tokens | merged"));
    is.window.reset();
    mpm::pipeline::Store kept(store.toStdString());
    const auto rows =
        kept.measurements(kept.source(source.toStdString()), {}, mpm::pipeline::Millis(1LL << 45));
    const auto with =
        std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.recomputed.has_value(); });
    QVERIFY(with > 2 && std::size_t(with) < rows.size());
}

MPM_GUI_TEST(ReuseTest);
#include "reuse_test.moc"
