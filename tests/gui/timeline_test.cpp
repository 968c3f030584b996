// The timeline, used by mouse and keyboard.
#include <QBuffer>
#include <QComboBox>
#include <QPainter>
#include <QSvgGenerator>
#include <QTableView>

#include "gui/charts/hour_view.hpp"
#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/registry.hpp"
#include "gui/widgets/theme.hpp"
#include "gui/window/lane_control.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;
using mpm::pipeline::Summed;

namespace {

/// Returns, for each column of the widget, whether the column has a pixel of this colour.
std::vector<bool> columnsWith(TimelineView& view, bool (*colour)(const QColor&), qint64 from, qint64 to) {
    view.resize(800, 190);
    view.setRange(from, to);
    const QImage image = view.grab().toImage();
    std::vector<bool> columns;
    for (int x = 0; x < image.width(); ++x) {
        bool any = false;
        for (int y = 25; y < image.height() - 15; ++y)
            any = any || colour(image.pixelColor(x, y));
        columns.push_back(any);
    }
    return columns;
}

bool isKept(const QColor& at) {
    const QColor curve = Theme::light().kept;
    return std::abs(at.red() - curve.red()) + std::abs(at.green() - curve.green()) +
               std::abs(at.blue() - curve.blue()) <
           60;
}

/// Returns whether the pixel is violet. Only the curve of the time saved is violet, even at smoothed edges.
bool isSaved(const QColor& at) {
    return at.red() > at.green() + 25 && at.blue() > at.red() + 15;
}

/// Returns a reading with 100 tokens, of which 50 are kept.
mpm::pipeline::Measurement readingAt(qint64 time) {
    mpm::pipeline::Measurement m;
    m.time = mpm::pipeline::Millis(time);
    m.tokensIn = 100;
    m.stageTokens = {50};
    return m;
}

/// Copies the newest reading with regions to two days earlier. Returns the copy's minute, or 0 if no reading
/// has regions.
qint64 addPastReading(const std::string& path, const std::string& sourceName,
                      const mpm::pipeline::Setup& setup) {
    mpm::pipeline::Store store(path);
    const std::int64_t source = store.source(sourceName);
    const auto known = store.measurements(source, mpm::pipeline::Millis(0), mpm::pipeline::Millis::max());
    for (auto m = known.rbegin(); m != known.rend(); ++m) {
        if (m->regions.empty()) continue;
        mpm::pipeline::Measurement past = *m;
        const qint64 minute = past.time.count() / 60'000 - 2 * 1440;
        past.time = mpm::pipeline::Millis(minute * 60'000 + 12'345);
        past.setup = setup;
        store.add(source, {past});
        return minute * 60'000;
    }
    return 0;
}

}  // namespace

class TimelineTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void followsPansAndZooms();
    void readsAtThePointer();
    void standsStillWhilePaused();
    void showsGaps();
    void showsTimeSaved();
    void isPercentOfEachModel();
    void showsTimeSavedOfMinutes();
    void legendNamesWhatIsDrawn();
    void lanesOfRegions();
    void hoursOfAnyQuantity();
    void lanesAreChosenInTheMenu();

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
    QTRY_VERIFY(view->to() != to);  // != instead of >, because the clock may be set back
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
    TimelineData data;
    for (qint64 time = 1'000'000; time < 1'060'000; time += 200)
        data.add(readingAt(time));
    TimelineView view(&data);
    view.resize(800, 200);
    view.setRange(1'028'000, 1'032'000);
    QVERIFY(view.describe(view.width() / 2).contains(QStringLiteral("tokens")));
    QVERIFY(view.describe(-500).isEmpty());
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
    QTRY_VERIFY(view->to() != to);  // != instead of >, because the clock may be set back
}

/// If five readings a second stop for eight seconds, the curve must have a gap. If readings come only every 5
/// seconds, the curve must join them.
void TimelineTest::showsGaps() {
    TimelineData data;
    const auto add = [&data](qint64 from, qint64 to, qint64 step) {
        for (qint64 time = from; time < to; time += step)
            data.add(readingAt(time));
    };
    TimelineView view(&data);
    add(1'000'000, 1'030'000, 200);
    add(1'038'000, 1'060'000, 200);
    std::vector<bool> curve = columnsWith(view, isKept, 1'000'000, 1'060'000);
    const auto at = [&](double share) { return curve[static_cast<std::size_t>(60 + share * 720)]; };
    QVERIFY(at(0.25) && at(0.8));
    QVERIFY(!at(0.57));
    // Readings that are 5 seconds apart are joined by a curve.
    data.clear();
    add(1'000'000, 1'060'000, 5'000);
    curve = columnsWith(view, isKept, 1'000'000, 1'060'000);
    QVERIFY(at(0.2) && at(0.46) && at(0.7));
}

/// With reuse, the curve of the time saved has gaps for readings without a comparison. The text shows the
/// share of computed tokens, their age and the time saved.
void TimelineTest::showsTimeSaved() {
    TimelineData data;
    TimelineView view(&data);
    const auto add = [&data](qint64 from, qint64 to, std::optional<double> saved) {
        for (qint64 time = from; time < to; time += 200) {
            mpm::pipeline::Measurement m = readingAt(time);
            m.stageTokens.clear();
            m.recomputed = 0.25, m.tokenAge = 7.5, m.savedMs = saved;
            data.add(m);
        }
    };
    add(1'000'000, 1'060'000, {});
    std::vector<bool> curve = columnsWith(view, isSaved, 1'000'000, 1'060'000);
    QVERIFY(std::none_of(curve.begin(), curve.end(), [](bool any) { return any; }));  // no curve, no legend
    data.clear();
    add(1'000'000, 1'020'000, 30);
    add(1'020'000, 1'040'000, {});
    add(1'040'000, 1'060'000, -12);
    curve = columnsWith(view, isSaved, 1'000'000, 1'060'000);
    const auto x = [](double share) { return static_cast<std::size_t>(60 + share * 720); };
    QVERIFY(curve[x(0.25)] && curve[x(0.8)]);
    QVERIFY(!curve[x(0.5)]);
    const QString text = view.describe(static_cast<int>(x(0.25)));
    QVERIFY2(text.contains(QStringLiteral("25 % of the tokens computed, mean age 7.5 frames")) &&
                 text.endsWith(QStringLiteral(", 30 ms saved")),
             qPrintable(text));
    QVERIFY(!view.describe(static_cast<int>(x(0.5))).contains(QStringLiteral("saved")));
    QVERIFY(view.describe(static_cast<int>(x(0.8))).endsWith(QStringLiteral(", 12 ms lost")));
}

/// Shows the time saved from minutes of the store, and from minutes that the window sums up while it runs.
void TimelineTest::showsTimeSavedOfMinutes() {
    constexpr qint64 kStart = 36'000'000, kMinute = 60'000, kTo = kStart + 300 * kMinute;
    History history;
    for (qint64 minute = 0; minute < 200; ++minute) {
        mpm::pipeline::Bucket bucket;
        bucket.time = mpm::pipeline::Millis(kStart + minute * kMinute);
        bucket.count = 10, bucket.tokensMean = 50;
        bucket.of(Summed::SavedMs) = {minute < 100 ? 10 : 0, 20};
        history.minutes.push_back(bucket);
    }
    TimelineData data;
    data.setHistory(history);
    mpm::pipeline::Measurement m = readingAt(kStart + 200 * kMinute);
    m.savedMs = 40;
    data.add(m);
    data.add(readingAt(kStart + 200 * kMinute + 1));  // without a comparison
    const auto columns = data.columns(kStart, kTo, 300);
    QVERIFY(columns[50].of(Summed::SavedMs).any() && !columns[150].of(Summed::SavedMs).any());
    QCOMPARE(columns[50].of(Summed::SavedMs).mean(), 20.0);
    QVERIFY(!columns[50].of(Summed::TokenAge).any());
    QCOMPARE(columns[200].of(Summed::SavedMs).mean(), 40.0);
}

/// Shares are percentages of each model's tokens, so a model with fewer tokens does not change the history.
void TimelineTest::isPercentOfEachModel() {
    History history;
    for (const int all : {1200, 300}) {
        mpm::pipeline::Bucket bucket;
        bucket.time = mpm::pipeline::Millis(all == 1200 ? 0 : 60'000);
        bucket.count = 10;
        bucket.tokensMean = bucket.tokensLeast = bucket.tokensMost = all / 2;
        bucket.of(mpm::pipeline::Summed::TokensIn) = {10, double(all)};
        history.minutes.push_back(bucket);
    }
    TimelineData data;
    data.setHistory(history);
    const auto columns = data.columns(0, 120'000, 2);
    QCOMPARE(columns[0].kept.mean(), 50.0);
    QCOMPARE(columns[1].kept.mean(), 50.0);
}

/// A week shows means of minutes. Only single readings have curves of stages, so the legend must not name
/// the stages.
void TimelineTest::legendNamesWhatIsDrawn() {
    constexpr qint64 kMinute = 60'000, kDay = 1440 * kMinute;
    History history;
    for (qint64 minute = 0; minute < 7 * 1440; ++minute) {
        mpm::pipeline::Bucket bucket;
        bucket.time = mpm::pipeline::Millis(minute * kMinute);
        bucket.count = 10, bucket.tokensMean = 50;
        history.minutes.push_back(bucket);
    }
    TimelineData data;
    data.setHistory(history);
    data.add(readingAt(7 * kDay));
    TimelineView view(&data);
    view.resize(800, 200);
    view.setStages({2, 5}, false);
    const auto legend = [&view](qint64 from, qint64 to) {
        view.setRange(from, to);
        QBuffer bytes;
        QSvgGenerator svg;
        svg.setOutputDevice(&bytes);
        svg.setSize(view.size());
        QPainter painter(&svg);
        view.render(&painter);
        painter.end();
        return QString::fromUtf8(bytes.data());
    };
    const QString stage = QStringLiteral("before block 2"),
                  mean = QStringLiteral("mean, and from least to most");
    const QString week = legend(0, 7 * kDay), minute = legend(7 * kDay - kMinute, 7 * kDay + 1);
    QVERIFY(week.contains(mean) && !week.contains(stage));
    QVERIFY(minute.contains(stage) && !minute.contains(mean));
}

/// A click in the table of regions adds a lane. After a restart, the lane and the map of hours show its past.
void TimelineTest::lanesOfRegions() {
    Options options;
    options.source = m_is->sandbox.film(4, 4);
    options.model = QStringLiteral("default");
    m_is->open(options);
    QVERIFY(m_is->next());
    WatchSettings watch = m_is->window->session().services().settings();
    watch.sources[*options.source].regions = {{"door", {{0, 0}, {0.6, 0}, {0.6, 1}, {0, 1}}}};
    m_is->window->session().setWatch(watch);
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return !a.regions.empty(); }));
    const auto click = [this](RegionModel::Column column) {
        RegionModel* regions = &m_is->window->models().regions;  // of the current window
        for (QTableView* table : m_is->window->sidebar()->findChildren<QTableView*>())
            if (table->model() == regions) emit table->clicked(regions->index(0, column));
    };
    QTRY_VERIFY(
        m_is->window->models().regions.quantity(m_is->window->models().regions.index(0, RegionModel::Class)));
    click(RegionModel::Name);  // this column adds no lane
    click(RegionModel::Tokens);
    click(RegionModel::Class);
    const auto lanes = [this] { return m_is->window->timeline()->view()->lanes(); };
    QCOMPARE(lanes().size(), std::size_t(4));
    QCOMPARE(lanes()[2].curves[0].name, QStringLiteral("door: tokens"));
    const QString share = lanes()[3].curves[0].name;
    QVERIFY2(share.startsWith(QStringLiteral("door: ")), qPrintable(share));
    QVERIFY(m_is->next());
    const std::string store = m_is->window->session().profile().storePath().toStdString();
    const std::string source = m_is->window->engine().sourceName().toStdString();
    const mpm::pipeline::Setup setup = m_is->window->models().statistics.setup();
    m_is->window->close();  // stores the choice of lanes
    m_is->window.reset();
    const qint64 past = addPastReading(store, source, setup);
    QVERIFY(past > 0);
    m_is->open(options);  // another run
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return !a.regions.empty(); }));
    QTRY_COMPARE_WITH_TIMEOUT(lanes().size(), std::size_t(4), test::patience(10'000));
    QCOMPARE(lanes()[3].curves[0].name, share);
    const auto shown = [&] {
        const auto columns = m_is->window->models().timeline.columns(past, past + 60'000, 1);
        return lanes()[2].curves[0].of(columns[0]).any() && lanes()[3].curves[0].of(columns[0]).any();
    };
    QTRY_VERIFY_WITH_TIMEOUT(shown(), test::patience(10'000));
    click(RegionModel::Tokens);
    QCOMPARE(lanes().size(), std::size_t(3));
}

void TimelineTest::hoursOfAnyQuantity() {
    m_is->open();
    QVERIFY(m_is->next());
    QTest::keyClick(m_is->window.get(), Qt::Key_H);
    TimelinePanel* panel = m_is->window->timeline();
    auto* choice = panel->findChild<QComboBox*>();
    QVERIFY(choice && choice->isVisible());
    const auto said = [panel] {
        QString text;
        for (int y = 0; y < panel->hours()->height() && text.isEmpty(); ++y)
            text = panel->hours()->describe(QPointF(70, y));
        return text;
    };
    for (const char* name : {"Tokens", "Luminance", "Latency"}) {
        const int index = choice->findText(QLatin1String(name));
        QVERIFY2(index >= 0, name);
        choice->setCurrentIndex(index);
        emit choice->activated(index);
        QTRY_VERIFY_WITH_TIMEOUT(said().contains(QLatin1String(name)), test::patience(10'000));
        QVERIFY2(
            said().contains(qstrcmp(name, "Latency") == 0 ? QStringLiteral(" ms,") : QStringLiteral(" %,")),
            qPrintable(said()));
    }
}

void TimelineTest::lanesAreChosenInTheMenu() {
    Options options;
    options.model = QStringLiteral("default");
    m_is->open(options);
    QVERIFY(m_is->next());
    const auto choose = [this](const QString& text) {
        QMenu* menu = m_is->window->lanes().menu();
        emit menu->aboutToShow();
        for (QAction* action : menu->findChildren<QAction*>())
            if (action->text() == text) return action->trigger();
        QFAIL(qPrintable(text));
    };
    const auto names = [this] {
        QStringList found;
        for (const Lane& lane : m_is->window->timeline()->view()->lanes())
            found << lane.curves[0].name;
        return found;
    };
    QCOMPARE(names(), QStringList({QStringLiteral("Luminance"), QStringLiteral("Latency")}));
    choose(QStringLiteral("Luminance"));
    const QString road = m_is->window->models().legend.name(1);
    choose(road);
    QCOMPARE(names(), QStringList({QStringLiteral("Latency"), road}));
    // The lane stays if the class gets another name, and after a restart.
    LegendModel& legend = m_is->window->models().legend;
    QVERIFY(legend.setData(legend.index(1, LegendModel::Name), QStringLiteral("lawn"), Qt::EditRole));
    QCOMPARE(names(), QStringList({QStringLiteral("Latency"), QStringLiteral("lawn")}));
    m_is->window->close();
    m_is->open(options);
    QVERIFY(m_is->next());
    QCOMPARE(names(), QStringList({QStringLiteral("Latency"), QStringLiteral("lawn")}));
    choose(QStringLiteral("lawn"));
    choose(QStringLiteral("Luminance"));
    QCOMPARE(names(), QStringList({QStringLiteral("Luminance"), QStringLiteral("Latency")}));
}

MPM_GUI_TEST(TimelineTest);
#include "timeline_test.moc"
