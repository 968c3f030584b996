// Shows a model with two segments in the monitor; queries enter before the second segment (as in EoMT).
#include <algorithm>

#include <QTest>

#include "cli/small_model.hpp"
#include "gui/models/models.hpp"
#include "gui/registry.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

class ChainTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void blocksOfBothSegmentsAreOneSchedule();
    void masksOfQueriesAreShownByFeatures();

private:
    Options withQueries(bool labels) {
        mpm::test::SmallModel small;
        small.queries = 5;
        small.labels = labels;
        return m_is->withModel(small);
    }
    MainWindow& window() { return *m_is->window; }
    std::unique_ptr<test::WindowFixture> m_is;
};

/// Returns whether the number of tokens falls at each block of the schedule and at no other block.
static bool follows(const std::vector<int>& tokens, const std::vector<int>& schedule) {
    for (size_t k = 1; k < tokens.size(); ++k) {
        const bool merges = std::find(schedule.begin(), schedule.end(), int(k)) != schedule.end();
        if (merges != (tokens[k] < tokens[k - 1])) return false;
    }
    return true;
}

void ChainTest::blocksOfBothSegmentsAreOneSchedule() {
    m_is->open(withQueries(true));
    AnalysisPtr analysis = m_is->next();
    QVERIFY(analysis);
    QVERIFY(analysis->model->classes);
    QCOMPARE(analysis->model->blocks, 6);
    QCOMPARE(analysis->schedule, (std::vector<int>{2, 5}));  // block 5 is in the second segment, with queries
    QCOMPARE(analysis->tokensIn(), 24);                      // without the queries
    QCOMPARE(analysis->merged.tokens.tokens.size(), size_t(6));
    QVERIFY(follows(analysis->merged.tokens.tokens, {2, 5}));
    const ScheduleModel& blocks = window().models().schedule;
    QCOMPARE(blocks.rowCount(), 6);
    for (const std::vector<int>& schedule :
         {std::vector<int>{}, std::vector<int>{4}, std::vector<int>{1, 3, 5}}) {
        window().models().schedule.setSchedule(schedule);
        analysis = m_is->nextWhere([&](const Analysis& a) { return a.schedule == schedule; });
        QVERIFY(analysis);
        QCOMPARE(analysis->merged.tokens.stages.size(), schedule.size());
        QVERIFY(follows(analysis->merged.tokens.tokens, schedule));
        QTRY_COMPARE_WITH_TIMEOUT(blocks.tokensBefore(5), analysis->merged.tokens.tokens[5],
                                  test::patience(10'000));
        // The map has as many clusters as tokens entered the last block.
        double last = 0;
        cv::minMaxLoc(analysis->merged.tokens.map, nullptr, &last);
        QCOMPARE(int(last) + 1, analysis->merged.tokens.tokens.back());
    }
    auto* split = window().views()->find<SplitView>();
    QTRY_VERIFY_WITH_TIMEOUT(!split->footer().isEmpty(), test::patience(20'000));
    QVERIFY(window().message().isEmpty());
}

void ChainTest::masksOfQueriesAreShownByFeatures() {
    m_is->open(withQueries(false));
    const AnalysisPtr analysis = m_is->next();
    QVERIFY(analysis);
    QVERIFY(!analysis->model->classes);
    QVERIFY(follows(analysis->merged.tokens.tokens, {2, 5}));
    auto* overlay = window().views()->find<OverlayView>();
    QTRY_VERIFY_WITH_TIMEOUT(overlay->note().contains(QStringLiteral("principal components")),
                             test::patience(10'000));
}

MPM_GUI_TEST(ChainTest);
#include "chain_test.moc"
