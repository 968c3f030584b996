// The item models without views. QAbstractItemModelTester checks every change.
#include <ctime>

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "gui/charts/lane.hpp"
#include "gui/charts/time_axis.hpp"
#include "gui/models/alert_model.hpp"
#include "gui/models/health_model.hpp"
#include "gui/models/hour_map.hpp"
#include "gui/models/legend_model.hpp"
#include "gui/models/region_model.hpp"
#include "gui/models/schedule_model.hpp"
#include "gui/models/statistics_model.hpp"
#include "gui/models/timeline_data.hpp"
#include "gui/registry.hpp"
#include "gui/session/options.hpp"
#include "gui/views/view_table.hpp"
#include "gui/widgets/viewport.hpp"

using namespace mpm::gui;
using Tester = QAbstractItemModelTester;

namespace {

/// Returns `tokens` as a percentage of the 1024 tokens of reading().
double percent(int tokens) {
    return double(100.f * float(tokens) / 1024.f);
}

mpm::pipeline::Measurement reading(qint64 ms, int kept, double luminance, bool night = false) {
    mpm::pipeline::Measurement m;
    m.time = mpm::pipeline::Millis(ms);
    m.tokensIn = 1024;
    m.stageTokens = {800, kept};
    m.luminance = luminance;
    m.phase = night ? mpm::pipeline::Phase::Night : mpm::pipeline::Phase::Day;
    m.networkMs = 100;
    return m;
}

}  // namespace

class ModelsTest : public QObject {
    Q_OBJECT
private slots:
    void scheduleTogglesBlocks();
    void scheduleForgetsBlocksAModelHasNot();
    void legendHidesAndRecolours();
    void legendGrowsWithUnnamedClasses();
    void statisticsTellNightFromDay();
    void healthNamesTheSourceState();
    void timelineAnswersByColumn();
    void timelineKeepsOrderWhenTheClockJumps();
    void timelineOfAMonthAnswersFast();
    void hourMapMarksWhatStandsOut();
    void processorTellsHeatAndThrottling();
    void alertsAreListedNewestFirst();
    void regionsShowTheirReadings();
    void marksStandAtRoundTimes();
    void viewportKeepsTheAnchor();
    void commandLine_data();
    void commandLine();
};

void ModelsTest::scheduleTogglesBlocks() {
    ScheduleModel model;
    Tester tester(&model, Tester::FailureReportingMode::QtTest);
    model.setBlocks(12);
    QCOMPARE(model.rowCount(), 12);
    QSignalSpy changed(&model, &ScheduleModel::scheduleChanged);
    QVERIFY(model.setData(model.index(5), Qt::Checked, Qt::CheckStateRole));
    QVERIFY(model.setData(model.index(2), Qt::Checked, Qt::CheckStateRole));
    QCOMPARE(model.schedule(), (std::vector<int>{2, 5}));
    QCOMPARE(changed.count(), 2);
    QVERIFY(model.setData(model.index(2), Qt::Checked, Qt::CheckStateRole));
    QCOMPARE(changed.count(), 2);  // the value was the same, so there is no signal
    model.setSchedule({7});
    QCOMPARE(model.schedule(), std::vector<int>{7});
    model.setTokens({1024, 1024, 780});
    QCOMPARE(model.index(2).data(ScheduleModel::TokensRole).toInt(), 780);
    QCOMPARE(model.index(9).data(ScheduleModel::TokensInRole).toInt(), 1024);
}

void ModelsTest::scheduleForgetsBlocksAModelHasNot() {
    ScheduleModel model;
    Tester tester(&model, Tester::FailureReportingMode::QtTest);
    model.setBlocks(12);
    model.setSchedule({2, 5, 40, -1});
    QCOMPARE(model.schedule(), (std::vector<int>{2, 5}));
    model.setBlocks(4);
    QCOMPARE(model.schedule(), std::vector<int>{2});
    model.setBlocks(0);
    QVERIFY(model.schedule().empty());
}

void ModelsTest::legendHidesAndRecolours() {
    LegendModel model;
    Tester tester(&model, Tester::FailureReportingMode::QtTest);
    model.setClasses({"road", "sky"}, {{128, 64, 128}, {70, 130, 180}});
    QCOMPARE(model.index(1, LegendModel::Share).data().toString(), QStringLiteral("–"));  // not seen yet
    model.setShares({0.25, 0.5});
    QCOMPARE(model.index(1, LegendModel::Share).data().toString(), QStringLiteral("50.0 %"));
    QSignalSpy style(&model, &LegendModel::styleChanged);
    QVERIFY(model.setData(model.index(0, LegendModel::Name), Qt::Unchecked, Qt::CheckStateRole));
    QCOMPARE(model.hidden(), (std::vector<bool>{true, false}));
    QVERIFY(model.setData(model.index(1, LegendModel::Name), QColor(1, 2, 3), LegendModel::ColourRole));
    QVERIFY((model.palette()[1] == cv::Vec3b(1, 2, 3)));
    QCOMPARE(style.count(), 2);
    model.setShares({0.5, 0.25});
    QCOMPARE(style.count(), 2);  // new shares change no colour, so images are not drawn again
    model.showAll(false);
    QCOMPARE(model.hidden(), (std::vector<bool>{true, true}));
}

void ModelsTest::legendGrowsWithUnnamedClasses() {
    LegendModel model;
    Tester tester(&model, Tester::FailureReportingMode::QtTest);
    model.setClasses({"road"}, {});
    model.setShares({0.1, 0.2, 0.7});
    QCOMPARE(model.rowCount(), 3);
    QCOMPARE(model.name(0), QStringLiteral("road"));
    QCOMPARE(model.name(2), QStringLiteral("class 2"));
}

void ModelsTest::statisticsTellNightFromDay() {
    StatisticsModel model;
    Tester tester(&model, Tester::FailureReportingMode::QtTest);
    for (int i = 0; i < 10; ++i)
        model.add(reading(i, 590 + i % 2 * 20, 0.6));
    QVERIFY(!model.statistics().complete());
    for (int i = 0; i < 10; ++i)
        model.add(reading(10 + i, 660, 0.1, true));
    StatisticsModel one;
    one.add(reading(0, 684, 0.6));
    QCOMPARE(one.index(StatisticsModel::Kept, StatisticsModel::Day).data().toString(), QStringLiteral("684"));
    const mpm::pipeline::DayNightStatistics& found = model.statistics();
    QCOMPARE(found.day().kept.mean(), 600.0);
    QCOMPARE(found.night().kept.mean(), 660.0);
    QCOMPARE(found.difference(&mpm::pipeline::PhaseStatistics::kept).percent, 10.0);
    QCOMPARE(found.flips(), 1);
    QCOMPARE(model.index(StatisticsModel::Frames, StatisticsModel::Difference).data().toString(),
             QStringLiteral("1 change"));
    QCOMPARE(model.index(StatisticsModel::Kept, StatisticsModel::Difference).data().toString(),
             QStringLiteral("+10.0 ± 1.8"));  // standard error: 1.8 % of 600 tokens by day, 0 by night
    model.clear();
    QCOMPARE(model.statistics().day().kept.count(), 0);
}

void ModelsTest::healthNamesTheSourceState() {
    HealthModel model;
    Tester tester(&model, Tester::FailureReportingMode::QtTest);
    SourceReport report;
    report.kind = mpm::pipeline::SourceKind::Stream;
    report.status.live = true;
    report.status.state = mpm::pipeline::SourceState::Live;
    report.status.lastFrame = System::now();
    QCOMPARE(sourceStateText(report), QStringLiteral("live"));
    model.setSource(report);
    QCOMPARE(model.index(HealthModel::Source).data(HealthModel::LevelRole).toInt(), int(HealthModel::Good));
    report.status.state = mpm::pipeline::SourceState::Stalled;
    QVERIFY(sourceStateText(report).startsWith(QStringLiteral("stalled since")));
    model.setSource(report);
    QVERIFY(model.index(HealthModel::Source).data(HealthModel::LevelRole).toInt() != int(HealthModel::Good));
    QCOMPARE(model.index(HealthModel::Age).data(HealthModel::LevelRole).toInt(), int(HealthModel::Bad));
    report.status.live = false;
    report.status.state = mpm::pipeline::SourceState::Live;
    QCOMPARE(sourceStateText(report), QStringLiteral("playing"));  // a file is never "live"
    report.kind = mpm::pipeline::SourceKind::Video;
    report.status.passes = 2;
    QCOMPARE(sourceStateText(report), QStringLiteral("playing, pass 3"));
}

void ModelsTest::timelineAnswersByColumn() {
    TimelineData data;
    QVERIFY(data.empty());
    for (int i = 0; i < 100; ++i)
        data.add(reading(1'000'000 + i * 100, 600 + i, i < 50 ? 0.6 : 0.1, i >= 50));
    const auto columns = data.columns(1'000'000, 1'010'000, 10);
    QCOMPARE(columns.size(), size_t(10));
    QCOMPARE(columns[0].kept.count, 10.0);
    QCOMPARE(columns[0].kept.least, percent(600));
    QCOMPARE(columns[0].kept.most, percent(609));
    QCOMPARE(columns[9].kept.most, percent(699));
    QVERIFY(!columns[0].night() && columns[9].night());
    QCOMPARE(columns[3].stages[0].mean(), percent(800));
    QVERIFY(!columns[3].stages[1].any());
    QCOMPARE(data.first(), 1'000'000);
    QCOMPARE(data.last(), 1'009'900);
}

void ModelsTest::timelineKeepsOrderWhenTheClockJumps() {
    TimelineData data;
    data.add(reading(10'000, 600, 0.5));
    data.add(reading(5'000, 500, 0.5));
    data.add(reading(11'000, 610, 0.5));
    const auto columns = data.columns(0, 20'000, 20);
    QCOMPARE(columns[5].kept.mean(), percent(500));
    QCOMPARE(columns[10].kept.mean(), percent(600));
    QCOMPARE(columns[11].kept.mean(), percent(610));
}

void ModelsTest::timelineOfAMonthAnswersFast() {
    History history;
    constexpr qint64 kMinutes = 30 * 24 * 60;
    for (qint64 i = 0; i < kMinutes; ++i) {
        mpm::pipeline::Bucket bucket;
        bucket.time = mpm::pipeline::Millis(i * 60'000);
        bucket.count = 60;
        bucket.tokensMean = 600;
        bucket.tokensLeast = 590;
        bucket.tokensMost = 620;
        history.minutes.push_back(bucket);
        if (i % 60 == 0) history.hours.push_back(bucket);
    }
    TimelineData data;
    data.setHistory(history);
    QElapsedTimer timer;
    timer.start();
    for (int pan = 0; pan < 30; ++pan)
        QVERIFY(data.columns(pan * 60'000, kMinutes * 60'000, 1600)[800].any());
    qInfo("30 pans: %lld ms", timer.elapsed());
    if (qEnvironmentVariableIsSet("MPM_QUIET_MACHINE"))
        QVERIFY2(timer.elapsed() < 1'000, qPrintable(QString::number(timer.elapsed())));
}

void ModelsTest::hourMapMarksWhatStandsOut() {
    History history;
    std::vector<mpm::pipeline::Bucket>& hours = history.hours;
    const QDateTime begin(QDate(2026, 3, 2), QTime(0, 0));
    for (int hour = 0; hour < 14 * 24; ++hour) {
        mpm::pipeline::Bucket bucket;
        bucket.time = mpm::pipeline::Millis(begin.addSecs(hour * 3600).toMSecsSinceEpoch());
        bucket.count = 3600;
        // More tokens are left by night. The values differ a little from day to day.
        bucket.tokensMean = (hour % 24 < 6 ? 500 : 400) + (hour / 24) % 3;
        if (hour == 9 * 24 + 13) bucket.tokensMean = 520;
        bucket.of(mpm::pipeline::Summed::TokensIn) = {3600, 1000};
        bucket.of(mpm::pipeline::Summed::Luminance) = {3600, hour % 24 / 24.0};
        if (hour != 5 * 24 + 7) hours.push_back(bucket);
    }
    TimelineData data;
    data.setHistory(history);
    const HourMap map(data, tokensCurve().of);
    QCOMPARE(map.days(), 14);
    QCOMPARE(map.date(0), QDate(2026, 3, 2));
    QCOMPARE(map.at(5, 7).count, 0);
    QCOMPARE(map.most(), 52.0);  // percent of the tokens
    int outliers = 0;
    for (int day = 0; day < 14; ++day)
        for (int hour = 0; hour < 24; ++hour)
            outliers += map.at(day, hour).outlier;
    QCOMPARE(outliers, 1);  // nights and small changes are not outliers
    QVERIFY(map.at(9, 13).outlier && map.at(9, 13).deviation > 0);
    QCOMPARE(map.at(9, 13).usual, 40.1);
    const Lane luminance = fieldLanes()[1];
    QCOMPARE(HourMap(data, luminance.curves[0].of).at(3, 18).mean, 0.75);
    hours.resize(3 * 24);
    data.setHistory(history);
    QVERIFY(!HourMap(data, tokensCurve().of).at(1, 3).usual);  // three days are too few
    QVERIFY(HourMap().empty());
}

void ModelsTest::processorTellsHeatAndThrottling() {
    QTemporaryDir sys;
    const auto write = [&](const char* path, const char* text) {
        QFile file(sys.filePath(QLatin1String(path)));
        QDir().mkpath(QFileInfo(file).absolutePath());
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text);
    };
    Processor processor(sys.path().toStdString());
    QVERIFY(!processor.read().known());
    write("class/thermal/thermal_zone0/type", "acpitz\n");
    write("class/thermal/thermal_zone0/temp", "99000\n");
    write("class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
    write("class/thermal/thermal_zone1/temp", "61500\n");
    QCOMPARE(processor.read().celsius.value_or(0), 61.5);
    write("devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "7\n");
    QVERIFY(!processor.read().throttled);  // the processor was throttled before this program began
    write("devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "9\n");
    QVERIFY(processor.read().throttled);
    QVERIFY(!processor.read().throttled);
    write("devices/platform/soc/soc:firmware/get_throttled", "50005\n");
    const Processor::State pi = processor.read();
    QVERIFY(pi.throttled && pi.underVoltage);
}

void ModelsTest::alertsAreListedNewestFirst() {
    AlertModel model;
    Tester tester(&model, Tester::FailureReportingMode::QtTest);
    const QDateTime time(QDate(2020, 2, 3), QTime(4, 5));  // alerts of today show no date until midnight
    for (int i = 0; i < AlertModel::kMost + 5; ++i)
        model.add({time, QStringLiteral("demo"), QString::number(i), 1.0, QStringLiteral("text"), false});
    QCOMPARE(model.rowCount(), AlertModel::kMost);
    QCOMPARE(model.index(0, AlertModel::What).data().toString(),
             QStringLiteral("%1: text").arg(AlertModel::kMost + 4));
    model.clear();
    QCOMPARE(model.rowCount(), 0);
}

void ModelsTest::regionsShowTheirReadings() {
    RegionModel model;
    Tester tester(&model, Tester::FailureReportingMode::QtTest);
    model.setReadings({{"gone", 1, 1, {}}}, {});
    model.setRegions({{"door", {}}, {"street", {}}});
    QCOMPARE(model.index(0, RegionModel::Tokens).data().toString(), QStringLiteral("–"));
    model.setReadings({{"street", 40, 12, {0.25, 0.75}}, {"gone", 1, 1, {}}}, {"road", "car"});
    QCOMPARE(model.index(1, RegionModel::Tokens).data().toString(), QStringLiteral("12 of 40"));
    QCOMPARE(model.index(1, RegionModel::Class).data().toString(), QStringLiteral("car, 75 %"));
}

void ModelsTest::marksStandAtRoundTimes() {
    const auto marks = timeMarks(1'700'000'001'000, 1'700'000'601'000, 10);
    QVERIFY(marks.size() >= 4 && marks.size() <= 11);
    for (const TimeMark& mark : marks)
        QCOMPARE(mark.time % 60'000, 0);
    QVERIFY(timeMarks(10, 10, 5).empty());
    // Two weeks around the end of summer time: there is a single mark for each day, at midnight.
    const QByteArray before = qgetenv("TZ");
    qputenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3");
    tzset();
    const QDateTime from(QDate(2025, 10, 20), QTime(12, 0)), to = from.addDays(14);
    const auto days = timeMarks(from.toMSecsSinceEpoch(), to.toMSecsSinceEpoch(), 14);
    QCOMPARE(days.size(), std::size_t(14));
    for (std::size_t i = 0; i < days.size(); ++i)
        QCOMPARE(days[i].time, QDate(2025, 10, 21).addDays(qint64(i)).startOfDay().toMSecsSinceEpoch());
    before.isNull() ? qunsetenv("TZ") : qputenv("TZ", before);
    tzset();
}

void ModelsTest::viewportKeepsTheAnchor() {
    Viewport viewport;
    const QPointF anchor(0.3, 0.6);
    viewport.zoomAt(2, anchor);
    QCOMPARE(viewport.zoom(), 2.0);
    // The position of the anchor on the screen: (anchor - centre) * zoom.
    QCOMPARE((anchor.x() - viewport.centre().x()) * 2, anchor.x() - 0.5);
    viewport.moveBy({5, 5});
    QCOMPARE(viewport.centre(), QPointF(0.75, 0.75));  // the image's edge limits the move
    viewport.zoomAt(0.01, anchor);
    QCOMPARE(viewport.zoom(), 1.0);
    QCOMPARE(viewport.centre(), QPointF(0.5, 0.5));
}

void ModelsTest::commandLine_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("exit");
    const auto row = [](const char* name, int exit, const QString& text) {
        QTest::newRow(name) << (QStringList{QStringLiteral("mpm-monitor")} +
                                text.split(QLatin1Char(' '), Qt::SkipEmptyParts))
                            << exit;
    };
    row("nothing", -1, {});
    row("all", -1,
        QStringLiteral("--source demo --model default --profile night --screenshot a.png --after 2.5"));
    row("help", 0, QStringLiteral("--help"));
    row("version", 0, QStringLiteral("--version"));
    row("unknown", 2, QStringLiteral("--frobnicate"));
    row("positional", 2, QStringLiteral("video.mp4"));
    row("after", 2, QStringLiteral("--after soon"));
    row("negative", 2, QStringLiteral("--after=-1"));
    row("after alone", 2, QStringLiteral("--after 3"));
    row("after, no window", -1, QStringLiteral("--headless --after 3"));
    row("no file", 2, QStringLiteral("--screenshot="));
    row("profile", 2, QStringLiteral("--profile ../../etc/passwd"));
    const auto lines = [](const char* name, const char* option, const char* value) {
        QTest::newRow(name) << QStringList{QStringLiteral("mpm-monitor"), QString::fromUtf8(option),
                                           QString::fromUtf8(value)}
                            << 2;
    };
    lines("profile with a line break", "--profile", "night\n");
    lines("window with a line break", "--window", "640x480\n");
    lines("source in two lines", "a\n\x1b[2Jb", "c");
    row("view", 2, QStringLiteral("--view sideways"));
    row("cycle", -1, QStringLiteral("--day-cycle 240"));
    row("no cycle", 2, QStringLiteral("--day-cycle 1"));
    row("window", 2, QStringLiteral("--window big"));
    row("night", -1, QStringLiteral("--night 0.35,250,0.01"));
    row("no night", 2, QStringLiteral("--night 0.35,0,0.01"));
}

void ModelsTest::commandLine() {
    QFETCH(QStringList, arguments);
    QFETCH(int, exit);
    const ParsedOptions parsed = parseOptions(arguments, viewKeys());
    QCOMPARE(parsed.exit, exit);
    QCOMPARE(parsed.message.isEmpty(), exit == -1);
    QVERIFY(!parsed.message.contains(QLatin1String("executable_name")));
    if (parsed.options.night) QCOMPARE(parsed.options.night->photons, 250.0);
    if (exit == 2) QVERIFY(!parsed.message.contains(QLatin1Char('\n')));
}

MPM_CORE_TEST(ModelsTest);
#include "models_test.moc"
