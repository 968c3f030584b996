// The order in which sources use a shared network. The test sets the clock.
#include <QTest>

#include "gui/engine/inference_worker.hpp"
#include "gui/registry.hpp"

using namespace mpm::gui;

class TurnTest : public QObject {
    Q_OBJECT
private slots:
    void theLongestWaitIsNext();
    void sourcesShareTheNetwork_data();
    void sourcesShareTheNetwork();
};

namespace {

/// Simulates sources that share a network, on a clock in milliseconds that only the test advances.
struct Sharing {
    struct Source {
        int period = 0, interval = 0;  ///< time between two frames; least time between two runs
        Turn turn = {};
        int runs = 0, skipped = 0, longestWait = 0;
    };
    std::vector<Source> sources;
    int run = 0;  ///< time that a run of the network takes

    static Turn::Time at(int ms) { return Turn::Time(Turn::Pause(ms)); }

    void film(Source& source, int now) {
        if (now % source.period != 0) return;
        source.skipped += source.turn.due({}, false) != Turn::kNever;
        source.turn.frameCame(at(now));
    }
    void simulate(int until) {
        for (int now = 0, busyUntil = 0; now < until; ++now) {
            for (Source& source : sources)
                film(source, now);
            if (now < busyUntil) continue;
            Source* next = nullptr;
            const auto due = [](const Source& s) { return s.turn.due(Turn::Pause(s.interval), false); };
            for (Source& source : sources)
                if (due(source) <= at(now) && (next == nullptr || due(source) < due(*next))) next = &source;
            if (next == nullptr) continue;
            const auto wait = std::chrono::duration_cast<Turn::Pause>(at(now) - due(*next));
            next->longestWait = std::max(next->longestWait, int(wait.count()));
            next->turn.started(at(now));
            ++next->runs;
            busyUntil = now + run;
        }
    }
};

}  // namespace

/// If a frequent source has waited longer than a rare source, the frequent source is next.
void TurnTest::theLongestWaitIsNext() {
    const auto at = Sharing::at;
    Turn frequent, rare;
    rare.started(at(0));
    frequent.started(at(900));
    frequent.frameCame(at(910));
    rare.frameCame(at(950));
    QVERIFY(frequent.due({}, true) < rare.due({}, true));
    // A newer frame does not restart the wait. If the rate is limited, the pause does not count as a wait.
    frequent.frameCame(at(990));
    QVERIFY(frequent.due({}, true) == at(910));
    QVERIFY(rare.due(Turn::Pause(1'000), true) == at(1'000));
    // A changed setting ends the pause of a limited rate. If no new frame comes, the last frame is analysed
    // again.
    rare.settingsChanged(at(960));
    QVERIFY(rare.due(Turn::Pause(1'000), true) == at(950));
    frequent.frameDropped();
    QVERIFY(frequent.due({}, true) == Turn::kNever);
    frequent.settingsChanged(at(960));
    QVERIFY(frequent.due({}, true) == at(960) + Turn::kRepeatAfter);
    QVERIFY(frequent.due({}, false) == Turn::kNever);
}

void TurnTest::sourcesShareTheNetwork_data() {
    QTest::addColumn<int>("run");
    QTest::newRow("the network is faster than every source") << 5;
    QTest::newRow("the network is faster than the slow source only") << 40;
    QTest::newRow("the network is slower than every source") << 300;
}

void TurnTest::sourcesShareTheNetwork() {
    QFETCH(int, run);
    Sharing sharing{{{125, 0}, {33, 0}, {40, 1'000}}, run};
    sharing.simulate(120'000);
    const Sharing::Source &slow = sharing.sources[0], &fast = sharing.sources[1],
                          &limited = sharing.sources[2];
    for (const Sharing::Source& source : sharing.sources)
        QVERIFY2(source.longestWait <= 3 * run, qPrintable(QString::number(source.longestWait)));
    QVERIFY(limited.runs >= 120'000 / (1'000 + 40 + 3 * run) && limited.runs <= 120);
    if (run == 300) {
        QVERIFY(std::abs(slow.runs - fast.runs) < slow.runs / 5);
    } else {
        QCOMPARE(slow.skipped, 0);
        QCOMPARE(slow.runs, 120'000 / 125);
        QVERIFY(fast.runs > 2 * slow.runs);
    }
    if (run == 5) QCOMPARE(fast.skipped, 0);
}

MPM_CORE_TEST(TurnTest);
#include "turn_test.moc"
