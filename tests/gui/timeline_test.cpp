// The timeline, used as by hand.
#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/registry.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

class TimelineTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void followsPansAndZooms();
    void readsAtThePointer();
    void standsStillWhilePaused();
    void showsGaps();

private:
    std::unique_ptr<test::WindowFixture> m_is;
};

void TimelineTest::followsPansAndZooms() {
    m_is->open();
    QVERIFY(m_is->next());
    TimelineView* view = m_is->window->timeline()->view();
    QTest::keyClick(m_is->window.get(), Qt::Key_1, Qt::ControlModifier);
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

void TimelineTest::readsAtThePointer() {
    m_is->open();
    QVERIFY(m_is->next());
    TimelineView* view = m_is->window->timeline()->view();
    view->setRange(m_is->window->models().timeline.last() - 2'000,
                   m_is->window->models().timeline.last() + 2'000);
    QVERIFY(view->describe(view->width() / 2).contains(QStringLiteral("tokens")));
    QVERIFY(view->describe(-500).isEmpty());
}

void TimelineTest::standsStillWhilePaused() {
    m_is->open();
    QVERIFY(m_is->next());
    TimelineView* view = m_is->window->timeline()->view();
    m_is->window->front().setPaused(true);
    const qint64 to = view->to();
    QTest::qWait(400);
    QCOMPARE(view->to(), to);
    view->follow(60'000);  // a range can still be chosen
    QCOMPARE(view->to() - view->from(), 60'000);
    QCOMPARE(view->to(), to);
    m_is->window->front().setPaused(false);
    QTRY_VERIFY(view->to() > to);
}

/// Five readings a second, but for eight seconds in the middle: shorter than any time span that is allowed
/// between slow readings.
void TimelineTest::showsGaps() {
    TimelineData data;
    const auto add = [&data](qint64 from, qint64 to, qint64 step) {
        for (qint64 time = from; time < to; time += step) {
            mpm::pipeline::Measurement m;
            m.time = mpm::pipeline::Millis(time);
            m.tokensIn = 100;
            m.stageTokens = {50};
            data.add(m);
        }
    };
    const auto columnsWithCurve = [](TimelineView& view, qint64 from, qint64 to) {
        view.resize(800, 190);
        view.setRange(from, to);
        const QImage image = view.grab().toImage();
        const QColor curve = Theme::of(&view).kept;
        std::vector<bool> columns;
        for (int x = 0; x < image.width(); ++x) {
            bool any = false;
            for (int y = 25; y < image.height() - 25; ++y) {
                const QColor at = image.pixelColor(x, y);
                any = any || std::abs(at.red() - curve.red()) + std::abs(at.green() - curve.green()) +
                                     std::abs(at.blue() - curve.blue()) <
                                 60;
            }
            columns.push_back(any);
        }
        return columns;
    };
    TimelineView view(&data);
    add(1'000'000, 1'030'000, 200);
    add(1'038'000, 1'060'000, 200);
    std::vector<bool> curve = columnsWithCurve(view, 1'000'000, 1'060'000);
    const auto at = [&](double share) { return curve[static_cast<std::size_t>(60 + share * 720)]; };
    QVERIFY(at(0.25) && at(0.8));
    QVERIFY(!at(0.57));
    // Readings that are seconds apart are joined all the same.
    data.clear();
    add(1'000'000, 1'060'000, 5'000);
    curve = columnsWithCurve(view, 1'000'000, 1'060'000);
    QVERIFY(at(0.2) && at(0.46) && at(0.7));
}

MPM_GUI_TEST(TimelineTest);
#include "timeline_test.moc"
