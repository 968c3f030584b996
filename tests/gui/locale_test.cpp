// The monitor in a locale with a decimal comma (0,5).
#include <clocale>
#include <cmath>
#include <cstdio>

#include <sqlite3.h>

#include <QApplication>
#include <QDoubleSpinBox>
#include <QHostAddress>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocale>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTcpSocket>
#include <QTest>

#include "gui/dialogs/alert_page.hpp"
#include "gui/process.hpp"
#include "gui/registry.hpp"
#include "gui/services/metrics_endpoint.hpp"
#include "gui/text/numbers.hpp"
#include "gui/window_fixture.hpp"
#include "pipeline/store/store.hpp"
#include "support/comma_locale.hpp"

using namespace mpm::gui;
using mpm::pipeline::Measurement;
using mpm::pipeline::Millis;

namespace {

QByteArray contentOf(const QString& name) {
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

double sum(const QJsonArray& numbers) {
    double all = 0;
    for (const QJsonValue& number : numbers)
        all += number.toDouble();
    return all;
}

double sum(const QJsonObject& numbers) {
    double all = 0;
    for (const QJsonValue& number : numbers)
        all += number.toDouble();
    return all;
}

/// Returns every value of a column. Reads the file with SQLite's C interface, as another program would.
QList<QByteArray> column(const QString& file, const char* query) {
    QList<QByteArray> texts;
    sqlite3* database = nullptr;
    sqlite3_open_v2(file.toUtf8().constData(), &database, SQLITE_OPEN_READONLY, nullptr);
    const auto append = [](void* to, int, char** values, char**) {
        static_cast<QList<QByteArray>*>(to)->append(QByteArray(values[0]));
        return 0;
    };
    sqlite3_exec(database, query, append, &texts, nullptr);
    sqlite3_close(database);
    return texts;
}

/// Checks that the class shares of each row sum to 1.
void wholeIn(const QString& file, const char* table) {
    const QList<QByteArray> lists = column(file, QByteArray("SELECT class_shares FROM ").append(table));
    QVERIFY2(lists.size() >= 2, table);
    for (const QByteArray& list : lists) {
        const QJsonDocument shares = QJsonDocument::fromJson(list);
        QVERIFY2(shares.isArray() && std::abs(sum(shares.array()) - 1) < 1e-3, list.constData());
    }
}

}  // namespace

class LocaleTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void init() { std::setlocale(LC_ALL, ""); }
    void exportsAreWhole();
    void headlessMonitorKeepsShares();
    void windowKeepsShares();
    void settingsComeBack();
    void metricsHavePoints();
    void peopleReadTheirOwnNumbers();

private:
    /// Runs a profile with a region, so that shares of the image and of regions are stored.
    void monitorKeepsShares(const QStringList& more);
};

/// Does not call setNumericLocale(). Libraries need this call, but the monitor's code must work without it.
void LocaleTest::initTestCase() {
    char text[8];
    std::snprintf(text, sizeof text, "%.1f", 0.5);
    QCOMPARE(QByteArray(text), QByteArray("0,5"));
    QCOMPARE(QLocale().decimalPoint(), QStringLiteral(","));
}

void LocaleTest::exportsAreWhole() {
    test::WindowFixture is;
    is.open();
    QVERIFY(is.next());
    QVERIFY(is.next());
    QSignalSpy exported(&is.window->engine().recorder(), &Recorder::exported);
    const QString csv = is.sandbox.path(QStringLiteral("all.csv")),
                  json = is.sandbox.path(QStringLiteral("all.json"));
    for (const QString& file : {csv, json}) {
        exported.clear();
        is.window->exports().allMeasurements(file);
        QTRY_COMPARE_WITH_TIMEOUT(exported.count(), 1, test::patience(10'000));
    }
    const QList<QByteArray> lines = contentOf(csv).trimmed().split('\n');
    QVERIFY(lines.size() >= 3);
    const QList<QByteArray> head = lines[0].split(',');
    const qsizetype light = head.indexOf("luminance"), first = head.indexOf("dropped") + 1;
    for (const QByteArray& line : lines.mid(1)) {
        const QList<QByteArray> fields = line.split(',');
        QCOMPARE(fields.size(), head.size());
        QVERIFY2(fields[light].toDouble() > 0 && fields[light].toDouble() <= 1, line.constData());
        double shares = 0;
        for (qsizetype i = first; i < fields.size(); ++i)
            if (head[i].startsWith("share ")) shares += fields[i].toDouble();
        QVERIFY2(std::abs(shares - 1) < 1e-3, line.constData());
    }
    const QJsonDocument all = QJsonDocument::fromJson(contentOf(json));
    const QJsonArray readings = all[QStringLiteral("readings")].toArray();
    QVERIFY(readings.size() >= 2);
    for (const QJsonValue& reading : readings)
        QVERIFY(std::abs(sum(reading[QStringLiteral("shares")].toObject()) - 1) < 1e-3);
}

void LocaleTest::monitorKeepsShares(const QStringList& more) {
    const test::Sandbox sandbox;
    const QString source = sandbox.film(8, 0);
    WatchSettings watch;
    watch.sources[source].regions = {{"left", {{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}}}};
    writeWatchSettings(sandbox.path(QStringLiteral("config/mpm/monitor/own.watch.json")), watch);
    QProcess process;
    process.start(QStringLiteral(MPM_MONITOR), QStringList{QStringLiteral("--profile"), QStringLiteral("own"),
                                                           QStringLiteral("--source"), source} +
                                                   more);
    const QString file = sandbox.path(QStringLiteral("data/mpm/monitor/own.sqlite"));
    const bool written =
        QTest::qWaitFor([&] { return column(file, "SELECT reading FROM region_reading").size() >= 2; },
                        test::patience(60'000));
    process.terminate();
    const test::Outcome outcome = test::finish(process);
    QVERIFY2(written, qPrintable(outcome.err));
    wholeIn(file, "reading");
    wholeIn(file, "region_reading");
}

void LocaleTest::headlessMonitorKeepsShares() {
    monitorKeepsShares({QStringLiteral("--headless")});
}

void LocaleTest::windowKeepsShares() {
    monitorKeepsShares({});
}

void LocaleTest::settingsComeBack() {
    const test::Sandbox sandbox;
    ProfileState state;
    state.opacity = 0.8;
    state.request.night = {0.25, 250.5, 0.125};
    state.rule = mpm::pipeline::DayNightRule();
    state.rule->latitude = 48.875;
    Profile(QStringLiteral("own")).save(state);
    const QByteArray written = contentOf(sandbox.path(QStringLiteral("config/mpm/monitor/own.ini")));
    QVERIFY2(written.contains("opacity=0.8\n"), written.constData());
    const ProfileState back = Profile(QStringLiteral("own")).load();
    QCOMPARE(back.opacity, 0.8);
    QCOMPARE(back.request.night.photons, 250.5);
    QCOMPARE(back.request.night.deviation, 0.125);
    QVERIFY(back.rule.has_value());
    QCOMPARE(back.rule->latitude, 48.875);
    WatchSettings watch;
    watch.sources[QStringLiteral("demo")].masks = {{{0.125, 0.25}, {0.5, 0.25}, {0.5, 0.75}}};
    const QString file = sandbox.path(QStringLiteral("own.watch.json"));
    writeWatchSettings(file, watch);
    const auto masks = readWatchSettings(file).sources[QStringLiteral("demo")].masks;
    QVERIFY(masks == watch.sources[QStringLiteral("demo")].masks);
}

void LocaleTest::metricsHavePoints() {
    MetricsEndpoint endpoint({true, QStringLiteral("127.0.0.1"), 0}, {QHostAddress(QHostAddress::LocalHost)});
    Measurement measurement;
    measurement.luminance = 0.375;
    measurement.networkMs = 62.5;
    measurement.classShares = {0.25, 0.75};
    endpoint.add(QStringLiteral("yard"), measurement, {"road", "tree"});
    QTcpSocket client;
    client.connectToHost(QStringLiteral("127.0.0.1"), static_cast<quint16>(endpoint.port()));
    client.write("GET /metrics HTTP/1.1\r\n\r\n");
    QTRY_COMPARE_WITH_TIMEOUT(client.state(), QAbstractSocket::UnconnectedState, test::patience(10'000));
    const QByteArray page = client.readAll();
    QVERIFY2(page.contains("mpm_luminance{source=\"yard\"} 0.375\n"), page.constData());
    QVERIFY2(page.contains("mpm_network_seconds_sum{source=\"yard\"} 0.0625\n"), page.constData());
    static const QRegularExpression comma(QStringLiteral("\\} [0-9]+,[0-9]"));
    QVERIFY2(!comma.match(QString::fromUtf8(page)).hasMatch(), page.constData());
}

/// The window shows decimal commas before and after setNumericLocale().
void LocaleTest::peopleReadTheirOwnNumbers() {
    for (const bool plain : {false, true}) {
        if (plain) setNumericLocale();
        char text[8];
        std::snprintf(text, sizeof text, "%.1f", 0.5);
        QCOMPARE(QByteArray(text), QByteArray(plain ? "0.5" : "0,5"));
        QCOMPARE(QLocale().toString(0.5), QStringLiteral("0,5"));
        LegendModel legend;
        legend.setShares({0.125});
        QCOMPARE(legend.index(0, LegendModel::Share).data().toString(), QStringLiteral("12,5 %"));
        HealthModel health;
        health.setRates(1.5, 1234.5);
        QCOMPARE(health.index(HealthModel::Rate).data(HealthModel::ValueRole).toString(),
                 QStringLiteral("1,5 of 1234,5 a second"));
        AlertPage page({}, {}, {}, {});
        page.add();
        auto* seconds = page.findChildren<QDoubleSpinBox*>().at(1);
        seconds->setValue(2.5);
        QVERIFY2(seconds->text().startsWith(QStringLiteral("2,5")), qPrintable(seconds->text()));
        QCOMPARE(seconds->valueFromText(QStringLiteral("3,5 s")), 3.5);
    }
}

// Sets the locale first, because the constructor of QApplication takes it from the environment.
static int runWithCommas(int argc, char** argv) {
    const mpm::test::CommaLocale comma;
    return mpm::gui::test::runAll<QApplication, LocaleTest>(argc, argv);
}

MPM_TEST_REGISTER(LocaleTest, runWithCommas);
#include "locale_test.moc"
