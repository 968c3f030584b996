// Figures that a user must be able to trust: day against night from the store, times that compare the same
// frames, and a single reason for an error.
#include <QAbstractItemModelTester>
#include <QLabel>
#include <QMessageBox>
#include <QTest>

#include "gui/engine/saved_time.hpp"
#include "gui/models/statistics_model.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/registry.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;
using Tester = QAbstractItemModelTester;

namespace {

mpm::pipeline::Measurement figuresReading(qint64 ms, int kept, bool night) {
    mpm::pipeline::Measurement m;
    m.time = mpm::pipeline::Millis(ms);
    m.tokensIn = 1024;
    m.stageTokens = {800, kept};
    m.phase = night ? mpm::pipeline::Phase::Night : mpm::pipeline::Phase::Day;
    return m;
}

}  // namespace

class FiguresTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void statisticsContinueThoseOfTheStore();
    void dayAndNightComeFromTheStore();
    void rejectedExportIsExplainedOnce();
    void headerFiguresAreOfTheSameFrames();

private:
    std::unique_ptr<test::WindowFixture> m_is;
};

/// Each reading counts once, even if it was stored while the store's answer was on the way to the model.
void FiguresTest::statisticsContinueThoseOfTheStore() {
    StatisticsModel model;
    Tester tester(&model, Tester::FailureReportingMode::QtTest);
    const mpm::pipeline::Setup setup{"street", "mpm", {2, 5}};
    const auto own = [&](qint64 ms, int kept, bool night) {
        mpm::pipeline::Measurement m = figuresReading(ms, kept, night);
        m.setup = setup;
        return m;
    };
    model.begin(setup);
    model.add(own(10, 600, false));
    model.add(own(20, 660, true));
    model.add(figuresReading(21, 1, false));  // of another setup
    mpm::pipeline::Measurement repeated = own(22, 1, false);
    repeated.pass = 1;
    model.add(repeated);
    QCOMPARE(model.statistics().day().kept.count(), 1);
    StoredComparison stored;
    stored.setup = setup;
    stored.upTo = mpm::pipeline::Millis(10);  // the answer has the reading at 10, not that at 20
    for (int i = 0; i < 5; ++i)
        stored.statistics.add(own(i, 600, false));
    StoredComparison late = stored;
    late.setup.schedule = {5};
    model.setStored(late);
    QCOMPARE(model.statistics().day().kept.count(), 1);
    model.setStored(stored);
    QCOMPARE(model.statistics().day().kept.count(), 5);
    QCOMPARE(model.statistics().night().kept.count(), 1);
    model.add(own(30, 660, true));
    QCOMPARE(model.statistics().night().kept.count(), 2);
    QCOMPARE(model.statistics().difference(&mpm::pipeline::PhaseStatistics::kept).percent, 10.0);
}

/// The comparison of day and night may span weeks: it continues after a restart of the program, and after the
/// user has tried another schedule.
void FiguresTest::dayAndNightComeFromTheStore() {
    Options options;
    options.source = m_is->sandbox.images(3, 0);  // a folder is read again and again
    m_is->open(options);
    QVERIFY(m_is->nextWhere([this](const Analysis&) { return m_is->count >= 5; }));
    const int first = m_is->count;
    m_is->window->close();
    m_is->open(options);
    QVERIFY(m_is->next());
    const auto days = [this] { return m_is->window->models().statistics.statistics().day().kept.count(); };
    QTRY_VERIFY2_WITH_TIMEOUT(days() > m_is->count - first + 2, "the readings of the first run are missing",
                              test::patience(10'000));
    const auto before = days();
    const std::vector<int> usual = m_is->last->schedule;
    QVERIFY(usual != std::vector<int>{3});
    m_is->window->models().schedule.setSchedule({3});
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.schedule == std::vector<int>{3}; }));
    QTRY_VERIFY_WITH_TIMEOUT(days() >= 1 && days() < before, test::patience(10'000));
    m_is->window->front().setPaused(true);  // the shown frame is analysed again, without a new reading
    m_is->window->models().schedule.setSchedule(usual);
    QVERIFY(m_is->nextWhere([&](const Analysis& a) { return a.schedule == usual; }));
    QTRY_VERIFY_WITH_TIMEOUT(days() >= before, test::patience(10'000));
}

/// OpenCV's importer explains a rejected file in many lines, and its message for a damaged file resembles the
/// message for an export. So the monitor reads the file itself, and shows the reason once.
void FiguresTest::rejectedExportIsExplainedOnce() {
    m_is->open();
    QVERIFY(m_is->next());
    const QString file = m_is->sandbox.path(QStringLiteral("export.onnx"));
    QFile::copy(QStringLiteral(MPM_SOURCE_DIR "/models/zoo/street-vit-tiny.onnx"), file);
    QFile model(file);  // gets an unknown operator
    QVERIFY(model.open(QIODevice::ReadWrite));
    QByteArray bytes = model.readAll();
    QVERIFY(bytes.contains("MpmEncoder"));
    model.seek(0);
    model.write(bytes.replace("MpmEncoder", "XyzEncoder"));
    model.close();
    m_is->window->model().open(file);
    QTRY_VERIFY_WITH_TIMEOUT(m_is->window->message().contains(QStringLiteral("cannot be used")),
                             test::patience(20'000));
    QVERIFY(m_is->window->findChild<QMessageBox*>() == nullptr);  // no question about a conversion
    QString shown = m_is->window->message();
    for (const QLabel* label : m_is->window->findChildren<QLabel*>())
        if (label->window() == m_is->window.get()) shown += label->text();
    QVERIFY2(!shown.contains(QStringLiteral("OpenCV")), qPrintable(shown));
    QVERIFY(shown.contains(QStringLiteral("export.onnx")));
}

void FiguresTest::headerFiguresAreOfTheSameFrames() {
    SavedTime saved;
    QVERIFY(saved.stale());
    for (const double whole : {30.0, 31.0, 90.0}) {  // 90 is an outlier of a busy machine
        Comparison comparison;
        comparison.analysis = std::make_shared<const Analysis>();
        comparison.whole.networkMs = whole;
        comparison.savedMs = 8;
        saved.add(comparison);
    }
    QCOMPARE(saved.wholeMs(), 31.0);
    QCOMPARE(saved.mergedMs(), 23.0);
    QVERIFY(!saved.stale());
    HeaderBar header;
    header.setSaved(saved);
    QStringList texts;
    for (const QLabel* label : header.findChildren<QLabel*>())
        texts << label->text();
    QVERIFY2(texts.contains(QStringLiteral("31 → 23 ms (−26 %)")), qPrintable(texts.join(QLatin1Char('|'))));
    const auto isStale = [&header] {
        for (const QLabel* label : header.findChildren<QLabel*>())
            if (label->text().contains(QStringLiteral("23 ms"))) return label->property("stale").toBool();
        return false;
    };
    QVERIFY(!isStale());
    header.setStale(true);
    QVERIFY(isStale());
}

MPM_GUI_TEST(FiguresTest);
#include "figures_test.moc"
