// The user changes regions and masks on the image, by mouse and by keys.
#include <QToolButton>

#include "gui/registry.hpp"
#include "gui/views/live_view.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

class ShapesTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void cornersAreMoved();
    void cornersByKeys();

private:
    MainWindow& window() { return *m_is->window; }
    std::unique_ptr<test::WindowFixture> m_is;
};

/// For regions and masks: a drag moves a corner, a click on an edge adds a corner, Delete removes a corner.
void ShapesTest::cornersAreMoved() {
    m_is->open();
    QVERIFY(m_is->next());
    const QString source = window().engine().sourceName();
    WatchSettings watch;
    watch.sources[source] = {{{"Door", {{0.2, 0.2}, {0.6, 0.2}, {0.6, 0.6}, {0.2, 0.6}}}},
                             {{{0.7, 0.7}, {0.9, 0.7}, {0.9, 0.9}}},
                             QStringLiteral("Yard")};
    window().session().setWatch(watch);
    QTest::keyClick(&window(), Qt::Key_E);
    auto* view = window().views()->find<LiveView>();
    QVERIFY(view->changing());
    QTRY_VERIFY(!view->image().isNull());
    const auto at = [view](double x, double y) {
        const QSizeF image = view->image().size();
        const double scale = std::min(view->width() / image.width(), view->height() / image.height());
        const QSizeF shown = image * scale;
        return QPointF((view->width() - shown.width()) / 2 + x * shown.width(),
                       (view->height() - shown.height()) / 2 + y * shown.height())
            .toPoint();
    };
    const auto drag = [&](const QPoint& from, const QPoint& to) {
        QTest::mousePress(view, Qt::LeftButton, {}, from);
        QTest::mouseMove(view, (from + to) / 2);
        QTest::mouseMove(view, to);
        QTest::mouseRelease(view, Qt::LeftButton, {}, to);
    };
    drag(at(0.2, 0.2), at(0.1, 0.3));
    drag(at(0.6, 0.4), at(0.65, 0.45));  // the middle of an edge
    drag(at(0.9, 0.9), at(0.8, 0.95));   // a corner of the mask
    drag(at(0.9, 0.7), at(1.5, 0.7));    // must stop at the image's edge
    QTest::mouseClick(view, Qt::LeftButton, {}, at(0.2, 0.6));
    QTest::keyClick(view, Qt::Key_Delete);
    if (const QString shots = qEnvironmentVariable("MPM_SHOTS"); !shots.isEmpty())
        window().grab().save(shots + QStringLiteral("/corners.png"));
    QCOMPARE(window().session().services().settings().of(source).masks, watch.of(source).masks);
    QTest::mouseClick(view->findChild<QToolButton*>(), Qt::LeftButton);  // Done
    QVERIFY(!view->changing());
    const SourceWatch changed = readWatchSettings(window().session().profile().watchPath()).of(source);
    QCOMPARE(changed.name, QStringLiteral("Yard"));
    const auto isShape = [](const mpm::pipeline::Polygon& shape, const mpm::pipeline::Polygon& wanted) {
        if (shape.size() != wanted.size()) return false;
        for (std::size_t i = 0; i < shape.size(); ++i)
            if (cv::norm(shape[i] - wanted[i]) > 0.01) return false;
        return true;
    };
    QCOMPARE(changed.regions.size(), std::size_t(1));
    QVERIFY(isShape(changed.regions[0].outline, {{0.1, 0.3}, {0.6, 0.2}, {0.65, 0.45}, {0.6, 0.6}}));
    QVERIFY(isShape(changed.masks[0], {{0.7, 0.7}, {1, 0.7}, {0.8, 0.95}}));
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return !a.regions.empty(); }));
}

void ShapesTest::cornersByKeys() {
    m_is->open();
    QVERIFY(m_is->next());
    QTest::keyClick(&window(), Qt::Key_E);
    QVERIFY(!window().views()->find<LiveView>()->changing());  // there is nothing to change
    QVERIFY(window().message().contains(QStringLiteral("no region")));
    const QString source = window().engine().sourceName();
    WatchSettings watch;
    watch.sources[source].regions = {{"Door", {{0.2, 0.2}, {0.6, 0.2}, {0.2, 0.6}}}};
    watch.sources[source].masks = {{{0.7, 0.7}, {0.9, 0.7}, {0.9, 0.9}, {0.7, 0.9}}};
    window().session().setWatch(watch);
    QTest::keyClick(&window(), Qt::Key_E);
    auto* view = window().views()->find<LiveView>();
    QTRY_VERIFY(!view->image().isNull());
    const auto tells = [view] { return view->accessibleDescription(); };
    QCOMPARE(tells(), QStringLiteral("Door: corner 1 of 3"));
    QTest::keyClick(view, Qt::Key_Delete);  // a shape keeps at least three corners
    QCOMPARE(tells(), QStringLiteral("Door: corner 1 of 3"));
    QTest::keyClick(view, Qt::Key_Insert);
    QCOMPARE(tells(), QStringLiteral("Door: corner 2 of 4"));
    for (int i = 0; i < 3; ++i)
        QTest::keyClick(view, Qt::Key_Tab);
    QCOMPARE(tells(), QStringLiteral("Mask: corner 1 of 4"));
    QTest::keyClick(view, Qt::Key_Tab, Qt::ShiftModifier);
    QCOMPARE(tells(), QStringLiteral("Door: corner 4 of 4"));
    for (int i = 0; i < 3; ++i)
        QTest::keyClick(view, Qt::Key_Down, Qt::ShiftModifier);
    QTest::keyClick(view, Qt::Key_Escape);  // undoes all changes
    QVERIFY(!view->changing());
    const auto outline = [&] {
        return window().session().services().settings().of(source).regions[0].outline;
    };
    QCOMPARE(outline(), watch.of(source).regions[0].outline);
    QTest::keyClick(&window(), Qt::Key_E);
    QTest::keyClick(view, Qt::Key_Right, Qt::ShiftModifier);
    QTest::keyClick(view, Qt::Key_Left);
    QTest::keyClick(view, Qt::Key_Return);
    QVERIFY(outline()[0].x > 0.2 && outline()[0].x < 0.25 && outline()[0].y == 0.2);
    // If another source comes to the front, changing ends and the shapes stay as they were.
    QTest::keyClick(&window(), Qt::Key_E);
    QVERIFY(view->changing());
    window().sources().add(QStringLiteral("demo"));
    QVERIFY(!view->changing());
}

MPM_GUI_TEST(ShapesTest);
#include "shapes_test.moc"
