// The form of alert rules: thresholds in percent, current values, and a trial of the rule on stored readings.
#include <atomic>

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QSignalSpy>

#include "gui/dialogs/alert_page.hpp"
#include "gui/registry.hpp"
#include "gui/services/alert_center.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

class AlertsTest : public QObject {
    Q_OBJECT
private slots:
    void thresholdsArePercent();
    void rulesKeepWhatTheFormLacks();
    void rulesAreTriedOnTheLastDay();
};

/// Checks that the form does not round a threshold from a file, steps by 0.1 %, and shows the current value.
void AlertsTest::thresholdsArePercent() {
    QLocale::setDefault(QLocale::c());
    mpm::pipeline::AlertRule rule;
    rule.name = "cars";
    rule.of = mpm::pipeline::AlertRule::Of::ClassShare;
    rule.label = "car";
    rule.threshold = 0.00515;
    AlertPage page({rule}, {}, {QStringLiteral("road"), QStringLiteral("car")},
                   {{QStringLiteral("rtsp://door/1"), QStringLiteral("Door")}});
    auto* threshold = page.findChildren<QDoubleSpinBox*>().at(0);
    QCOMPARE(threshold->text(), QStringLiteral("0.515 %"));
    const auto texts = [&page] {
        QStringList all;
        for (const QLabel* label : page.findChildren<QLabel*>())
            all << label->text();
        return all.join(QLatin1Char('|'));
    };
    QSignalSpy changed(&page, &AlertPage::changed);
    page.findChild<QCheckBox*>()->click();
    QCOMPARE(changed.count(), 1);
    QCOMPARE(page.rules()[0].threshold, 0.00515);
    threshold->stepUp();
    QVERIFY(std::abs(page.rules()[0].threshold - 0.00615) < 1e-9);
    threshold->setValue(2);
    QVERIFY(std::abs(page.rules()[0].threshold - 0.02) < 1e-12);
    mpm::pipeline::AlertInput input;
    input.labels = {"road", "car"};
    input.classShares = {0.5, 0.0123};
    page.setInput(input);
    QVERIFY2(texts().contains(QStringLiteral("now 1.2 %")), qPrintable(texts()));
    page.setTimes(page.rules()[0], 14);
    QVERIFY(texts().contains(QStringLiteral("would have fired 14 times in the last day")));
    page.setTimes(rule, 3);  // an answer for the rule before its threshold changed
    QVERIFY(!texts().contains(QStringLiteral("fired 3")));
    // A rule from 22 to 22 would never fire, so the form changes the end to 24.
    const QList<QSpinBox*> hours = page.findChildren<QSpinBox*>();
    hours.at(0)->setValue(22);
    hours.at(1)->setValue(22);
    QCOMPARE(page.rules()[0].fromHour, 22);
    QCOMPARE(page.rules()[0].toHour, 24);
}

/// A rule keeps a region that the form does not offer, and gets the new name of a renamed region. Without
/// classes, the form does not accept shares of classes.
void AlertsTest::rulesKeepWhatTheFormLacks() {
    using mpm::pipeline::AlertRule;
    AlertRule rule;
    rule.name = "gate";
    rule.of = AlertRule::Of::Objects;
    rule.region = "Gate";
    AlertPage page({rule}, {QStringLiteral("Door")}, {}, {});
    page.findChild<QCheckBox*>()->click();
    QCOMPARE(page.rules()[0].region, std::string("Gate"));
    page.renameRegion("Gate", "Entry", "yard", false);  // another source still has a Gate
    QCOMPARE(page.rules()[0].region, std::string("Gate"));
    page.renameRegion("Gate", "Entry", "yard", true);
    page.findChild<QCheckBox*>()->click();
    QCOMPARE(page.rules()[0].region, std::string("Entry"));
    auto* of = page.findChildren<QComboBox*>().at(0);
    of->setCurrentIndex(static_cast<int>(AlertRule::Of::ClassShare));
    emit of->activated(of->currentIndex());
    QVERIFY(page.rules()[0].of == AlertRule::Of::Objects);
}

void AlertsTest::rulesAreTriedOnTheLastDay() {
    mpm::pipeline::AlertRule rule;
    rule.name = "busy";
    rule.threshold = 500;
    rule.coolDown = std::chrono::seconds(10);
    std::vector<mpm::pipeline::Measurement> readings(60);
    for (std::size_t i = 0; i < readings.size(); ++i) {
        readings[i].time = mpm::pipeline::Millis(1000 * i);
        readings[i].tokensIn = 1000;
        readings[i].stageTokens = {i / 10 % 2 == 0 ? 400 : 600};
    }
    QCOMPARE(timesFired(rule, QStringLiteral("door"), readings, {}), 3);
    rule.source = "yard";
    QCOMPARE(timesFired(rule, QStringLiteral("door"), readings, {}), 0);
    // The recorder gives access to the stored readings that the form uses to try a rule.
    test::WindowFixture is;
    is.open();
    QVERIFY(is.next());
    std::atomic<int> found{-1};
    is.window->engine().recorder().ask([&found](const mpm::pipeline::Store& store, std::int64_t source) {
        found = static_cast<int>(store.count(source));
    });
    QTRY_VERIFY_WITH_TIMEOUT(found > 0, test::patience(10'000));
}

MPM_GUI_TEST(AlertsTest);
#include "alerts_test.moc"
