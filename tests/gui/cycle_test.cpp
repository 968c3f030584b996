// Runs a day and a night through the window. Compares the panel and the exports with values that are computed
// from the stored rows, and the rows with the token counts of a second network.
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSignalSpy>

#include "gui/registry.hpp"
#include "gui/window_fixture.hpp"
#include "pipeline/segment/segmenter.hpp"

using namespace mpm::gui;
using mpm::pipeline::Measurement;
using mpm::pipeline::Millis;
using mpm::pipeline::Phase;
using Rows = std::vector<Measurement>;

class CycleTest : public QObject {
    Q_OBJECT
private slots:
    void streetThroughDayAndNight();
    void camvidByDayAgainstSimulatedNight();

private:
    Rows stop(test::WindowFixture& is);
    void checkPanel(test::WindowFixture& is, const Rows& rows);
    void checkCsv(test::WindowFixture& is, const Rows& rows);
    void checkJson(test::WindowFixture& is, const Rows& rows);
};

namespace {

constexpr int kFramesPerDay = 160;
constexpr int kLeast = 15;      // the least number of readings by day, and by night
constexpr int kStartHour = 16;  // hour in the scene at the first frame

struct Expected {
    double mean[2] = {}, deviation[2] = {}, percent = 0, spread = 0;
    int count[2] = {};
};

/// Computes mean and deviation in two passes over the rows; the program computes a running mean.
Expected expectedOf(const Rows& rows) {
    Expected found;
    for (const bool night : {false, true}) {
        double sum = 0, squares = 0;
        const auto each = [&](auto what) {
            for (const Measurement& row : rows)
                if ((row.phase == Phase::Night) == night) what(double(row.tokensKept()));
        };
        each([&](double kept) { sum += kept, ++found.count[night]; });
        found.mean[night] = sum / found.count[night];
        each([&](double kept) { squares += std::pow(kept - found.mean[night], 2); });
        found.deviation[night] = std::sqrt(squares / (found.count[night] - 1));
    }
    found.percent = 100 * (found.mean[1] / found.mean[0] - 1);
    found.spread =
        100 * std::sqrt(std::pow(found.deviation[0], 2) + std::pow(found.deviation[1], 2)) / found.mean[0];
    return found;
}

QByteArray content(const QString& name) {
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

bool near(double a, double b) {
    return std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(b));
}

/// Returns the hour in the scene at a frame.
double hourOf(std::int64_t frame) {
    return std::fmod(kStartHour + 24.0 * double(frame) / kFramesPerDay, 24);
}

}  // namespace

/// Pauses the source, waits until all readings are stored, and returns the stored rows.
Rows CycleTest::stop(test::WindowFixture& is) {
    is.window->front().setPaused(true);
    if (!is.settle()) return {};
    for (const char* name : {"all.csv", "all.json"}) {
        QSignalSpy exported(&is.window->engine().recorder(), &Recorder::exported);
        is.window->exports().allMeasurements(is.sandbox.path(QLatin1String(name)));
        if (!QTest::qWaitFor([&] { return !exported.isEmpty(); }, test::patience(20'000))) return {};
    }
    mpm::pipeline::Store kept(is.window->session().profile().storePath().toStdString());
    const auto id = kept.source(is.window->engine().sourceName().toStdString());
    return kept.measurements(id, {}, Millis(1LL << 45));
}

void CycleTest::checkPanel(test::WindowFixture& is, const Rows& rows) {
    const StatisticsModel& panel = is.window->models().statistics;
    const auto& found = panel.statistics();
    // At most the first three rows have another schedule. The panel does not count these rows.
    const auto counted = std::size_t(found.day().kept.count() + found.night().kept.count());
    QVERIFY(counted <= rows.size() && counted + 3 >= rows.size());
    const Expected expected = expectedOf({rows.end() - std::ptrdiff_t(counted), rows.end()});
    QCOMPARE(found.day().kept.count(), expected.count[0]);
    QCOMPARE(found.night().kept.count(), expected.count[1]);
    QVERIFY(near(found.day().kept.mean(), expected.mean[0]));
    QVERIFY(near(found.night().kept.mean(), expected.mean[1]));
    QVERIFY(near(found.day().kept.deviation(), expected.deviation[0]));
    const auto cell = [&](int column) {
        return panel.index(StatisticsModel::Kept, column).data().toString();
    };
    QCOMPARE(
        cell(StatisticsModel::Day),
        QStringLiteral("%1 ± %2").arg(expected.mean[0], 0, 'f', 0).arg(expected.deviation[0], 0, 'f', 0));
    QCOMPARE(cell(StatisticsModel::Difference), QStringLiteral("%1%2 ± %3")
                                                    .arg(QChar(expected.percent < 0 ? u'−' : u'+'))
                                                    .arg(std::abs(expected.percent), 0, 'f', 1)
                                                    .arg(expected.spread, 0, 'f', 1));
    qInfo("tokens kept: %.1f +- %.1f by day (%d), %.1f +- %.1f by night (%d), %+.1f +- %.1f %%, %d flips",
          expected.mean[0], expected.deviation[0], expected.count[0], expected.mean[1], expected.deviation[1],
          expected.count[1], expected.percent, expected.spread, found.flips());
}

void CycleTest::checkCsv(test::WindowFixture& is, const Rows& rows) {
    const QList<QByteArray> lines = content(is.sandbox.path(QStringLiteral("all.csv"))).trimmed().split('\n');
    QCOMPARE(std::size_t(lines.size()), rows.size() + 1);
    const QList<QByteArray> head = lines[0].split(',');
    const auto column = [&](const char* name) { return head.indexOf(name); };
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const QList<QByteArray> fields = lines[qsizetype(i) + 1].split(',');
        QCOMPARE(fields[column("time")].toStdString(), mpm::pipeline::timeText(rows[i].time));
        QCOMPARE(fields[column("frame")].toLongLong(), rows[i].frame);
        QCOMPARE(fields[column("phase")], QByteArray(rows[i].phase == Phase::Night ? "night" : "day"));
        QCOMPARE(fields[column("tokens_in")].toInt(), rows[i].tokensIn);
        QCOMPARE(fields[column("tokens_kept")].toInt(), rows[i].tokensKept());
    }
}

void CycleTest::checkJson(test::WindowFixture& is, const Rows& rows) {
    const QJsonObject all =
        QJsonDocument::fromJson(content(is.sandbox.path(QStringLiteral("all.json")))).object();
    const QJsonArray readings = all[QStringLiteral("readings")].toArray();
    QCOMPARE(std::size_t(readings.size()), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const QJsonObject reading = readings[qsizetype(i)].toObject();
        QCOMPARE(reading[QStringLiteral("frame")].toInteger(), rows[i].frame);
        QCOMPARE(reading[QStringLiteral("tokens_kept")].toInt(), rows[i].tokensKept());
    }
    const Expected expected = expectedOf(rows);
    const QJsonObject summary = all[QStringLiteral("day_night")].toObject();
    const QJsonObject night = summary[QStringLiteral("night")].toObject();
    QCOMPARE(night[QStringLiteral("readings")].toInt(), expected.count[1]);
    QVERIFY(near(night[QStringLiteral("tokens_kept")].toDouble(), expected.mean[1]));
    QVERIFY(near(summary[QStringLiteral("difference_percent")].toDouble(), expected.percent));
    QVERIFY(near(summary[QStringLiteral("spread_percent")].toDouble(), expected.spread));
}

/// A day of the built-in street in fast motion: dusk, the night, dawn, and the day after.
void CycleTest::streetThroughDayAndNight() {
    test::WindowFixture is;
    Options options;
    options.source = QStringLiteral("demo");
    options.dayCycle = kFramesPerDay;
    is.open(options);
    is.window->views()->showView(QStringLiteral("overlay"));  // this view runs the network once per frame
    // Runs for at least a day in the scene. A slow machine measures few frames a day, so it needs more days.
    const auto& seen = is.window->models().statistics.statistics();
    QTRY_VERIFY_WITH_TIMEOUT(is.last && is.last->frame.number > kFramesPerDay &&
                                 seen.day().kept.count() >= kLeast && seen.night().kept.count() >= kLeast,
                             600'000);
    const Rows rows = stop(is);
    int day = 0, night = 0;
    double light[2] = {};
    for (const Measurement& row : rows) {
        const double hour = hourOf(row.frame);
        const bool dark = row.phase == Phase::Night;
        if (hour > 10 && hour < 14) QVERIFY2(!dark, qPrintable(QString::number(hour)));
        if (hour > 23 || hour < 3) QVERIFY2(dark, qPrintable(QString::number(hour)));
        (dark ? night : day) += 1;
        light[dark] += row.luminance;
        QVERIFY(row.tokensKept() > 0 && row.tokensKept() < row.tokensIn);
    }
    QVERIFY(day >= kLeast && night >= kLeast);
    QVERIFY2(
        light[1] / night < 0.85 * light[0] / day,
        qPrintable(
            QStringLiteral("luminance by night %1, by day %2").arg(light[1] / night).arg(light[0] / day)));
    QVERIFY(seen.flips() >= 2 * (rows.back().frame / kFramesPerDay));  // dusk and dawn of every day
    checkPanel(is, rows);
    checkCsv(is, rows);
    checkJson(is, rows);
    mpm::pipeline::Store kept(is.window->session().profile().storePath().toStdString());
    std::string phases;
    for (const auto& event : kept.events(kept.source("demo"), {}, Millis(1LL << 45)))
        if (event.kind == "day" || event.kind == "night") phases += event.kind + " ";
    QCOMPARE(phases.substr(0, 10), std::string("night day "));
}

/// Shows every fifth image of CamVid's validation split, then the same images darkened to simulate night.
void CycleTest::camvidByDayAgainstSimulatedNight() {
    const QDir camvid(QStringLiteral(MPM_SHARED_DIR "/camvid/val/images"));
    const QFileInfoList files = camvid.entryInfoList({QStringLiteral("*.jpg"), QStringLiteral("*.png")});
    if (files.isEmpty()) QSKIP("no CamVid images beside this tree");
    test::WindowFixture is;
    const QString folder = is.sandbox.path(QStringLiteral("camvid"));
    QDir().mkpath(folder);
    std::vector<cv::Mat> images;
    for (qsizetype i = 0; i < files.size(); i += 5)
        images.push_back(cv::imread(files[i].filePath().toStdString()));
    const std::size_t days = images.size();
    double darkest = 1, brightest = 0;
    for (std::size_t i = 0; i < days; ++i) {
        images.push_back(mpm::street::night(images[i], {}, i));
        darkest = std::min(darkest, mpm::pipeline::luminance(images[i]));
        brightest = std::max(brightest, mpm::pipeline::luminance(images.back()));
    }
    for (std::size_t i = 0; i < images.size(); ++i)
        cv::imwrite(QStringLiteral("%1/%2.png").arg(folder).arg(i, 3, 10, QLatin1Char('0')).toStdString(),
                    images[i]);
    Options options;
    options.source = folder;
    is.open(options);
    is.window->views()->showView(QStringLiteral("overlay"));
    mpm::pipeline::DayNightRule rule;
    rule.dark = brightest + (darkest - brightest) / 3;
    rule.bright = darkest - (darkest - brightest) / 3;
    rule.hold = std::chrono::seconds(0);
    is.window->setRule(rule);
    const auto once = std::int64_t(images.size());
    QTRY_VERIFY_WITH_TIMEOUT(is.last && is.last->frame.number >= once - 1, test::patience(300'000));
    const Rows rows = stop(is);
    QVERIFY(rows.size() > images.size() / 2);
    // The stored token count equals the count of a second network on the same image.
    mpm::pipeline::Segmenter segmenter{mpm::pipeline::Network("default")};
    segmenter.encoder().setSchedule(is.last->schedule);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t image = std::size_t(rows[i].frame) % images.size();
        QCOMPARE(rows[i].phase == Phase::Night, image >= days);
        if (rows[i].stageTokens.size() != is.last->schedule.size())
            continue;  // was measured before the model's schedule applied
        if (i % 4 != 0) continue;
        QCOMPARE(rows[i].tokensKept(), tokensKept(segmenter.segment(images[image]).tokens));
    }
    checkPanel(is, rows);
    checkCsv(is, rows);
    checkJson(is, rows);
}

MPM_GUI_TEST(CycleTest);
#include "cycle_test.moc"
