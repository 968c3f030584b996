// The first minute of a new user: starts the window as `./run demo` does, with an empty home, and presses no
// key. Checks words and figures on the screen, and compares the figures with `mpm bench`. Times are checked
// only if MPM_QUIET_MACHINE is set.
#include <QElapsedTimer>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>

#include "gui/panels/guide_strip.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/process.hpp"
#include "gui/registry.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

namespace {

/// Returns the options that the script `run` passes to the monitor.
Options demoOptions() {
    QFile script(QStringLiteral(MPM_SOURCE_DIR "/run"));
    if (!script.open(QIODevice::ReadOnly)) return {};
    static const QRegularExpression call(QStringLiteral("exec \\S+/(mpm-monitor [^\n]*)"));
    const QString command = call.match(QString::fromUtf8(script.readAll())).captured(1);
    return parseOptions(command.split(QLatin1Char(' ')), viewKeys()).options;
}

/// Returns the number that `pattern` captures from the figure with this caption in the bar on top; 0 if the
/// figure is not shown.
double figure(const MainWindow& window, const char* caption, const QString& pattern) {
    for (const QLabel* label : window.header()->findChildren<QLabel*>())
        if (label->isVisible() && label->accessibleDescription() == QString::fromUtf8(caption))
            return QRegularExpression(pattern).match(label->text()).captured(1).toDouble();
    return 0;
}

/// Returns the relative difference between `value` and `wanted`.
double distance(double value, double wanted) {
    return std::abs(value / wanted - 1);
}

}  // namespace

class MinuteTest : public QObject {
    Q_OBJECT
private slots:
    void init();
    void cleanup() { m_is.reset(); }
    void wordsAndFigures() {}  // init() checks words and figures
    void figuresAreThoseOfBench();

private:
    double m_speedUp = 0, m_kept = 0;
    std::unique_ptr<test::WindowFixture> m_is;
};

void MinuteTest::init() {
    QLocale::setDefault(QLocale::c());
    const Options options = demoOptions();
    QCOMPARE(options.source.value_or(QString()), QStringLiteral("demo"));
    QElapsedTimer timer;
    timer.start();
    m_is = std::make_unique<test::WindowFixture>();
    m_is->open(options);
    const auto complete = [this] {
        m_speedUp = figure(*m_is->window, "as fast as all tokens", QStringLiteral("^([0-9.]+)×$"));
        m_kept = figure(*m_is->window, "tokens in → kept", QStringLiteral("→ ([0-9]+) "));
        const GuideStrip* strip = m_is->window->guide();
        return m_speedUp > 0 && m_kept > 0 && strip->isVisible() &&
               QRegularExpression(
                   QStringLiteral("^Left: every patch computed\\. Right: similar patches merged, .*"
                                  "% of the pixels agree, [0-9.]+ times as fast\\."))
                   .match(strip->text())
                   .hasMatch();
    };
    QVERIFY2(QTest::qWaitFor(complete, test::patience(60'000)), qPrintable(m_is->window->guide()->text()));
    const qint64 waited = timer.elapsed();
    qInfo("after %.1f s: %.1f times as fast, %.0f tokens; %s", double(waited) / 1000, m_speedUp, m_kept,
          qPrintable(m_is->window->guide()->text()));
    if (qEnvironmentVariableIsSet("MPM_QUIET_MACHINE")) QVERIFY(waited < 20'000);
}

void MinuteTest::figuresAreThoseOfBench() {
    const QString folder = qEnvironmentVariable("MPM_SHOTS");
    QTest::qWait(20'000);  // the figures are medians of several comparisons
    if (!folder.isEmpty()) QVERIFY(m_is->window->grab().save(folder + QStringLiteral("/first-minute.png")));
    m_speedUp = figure(*m_is->window, "as fast as all tokens", QStringLiteral("^([0-9.]+)×$"));
    m_kept = figure(*m_is->window, "tokens in → kept", QStringLiteral("→ ([0-9]+) "));
    const QString file = m_is->sandbox.path(QStringLiteral("bench.json"));
    m_is->window.reset();
    QProcess bench;
    bench.start(QStringLiteral(MPM_PROGRAM),
                {QStringLiteral("bench"), QStringLiteral("default"), QStringLiteral("--compare"),
                 QStringLiteral("none,mpm"), QStringLiteral("--json"), file});
    const test::Outcome outcome = test::finish(bench, test::patience(280'000));
    QVERIFY2(outcome.status == 0, qPrintable(outcome.err));
    QFile json(file);
    QVERIFY(json.open(QIODevice::ReadOnly));
    const QJsonArray rows =
        QJsonDocument::fromJson(json.readAll()).object()[QLatin1String("results")].toArray();
    QCOMPARE(rows.size(), 2);
    const auto ms = [&rows](int row) {
        return rows[row].toObject()[QLatin1String("ms")].toObject()[QLatin1String("median")].toDouble();
    };
    const double speedUp = ms(0) / ms(1),
                 kept = rows[1].toObject()[QLatin1String("tokens")].toArray().last().toDouble();
    qInfo("on the screen %.2f times as fast, %.0f tokens; by bench %.2f and %.0f", m_speedUp, m_kept, speedUp,
          kept);
    QVERIFY2(distance(m_kept, kept) <= 0.05, qPrintable(QString::number(kept)));
    if (qEnvironmentVariableIsSet("MPM_QUIET_MACHINE"))
        QVERIFY2(distance(m_speedUp, speedUp) <= 0.15, qPrintable(QString::number(speedUp)));
}

MPM_GUI_TEST(MinuteTest);
#include "minute_test.moc"
