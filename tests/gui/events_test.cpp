// Stored events after a restart, and the player of recordings, which must store nothing about the videos.
#include <QComboBox>
#include <QDateTime>
#include <QListWidget>
#include <QPixmap>
#include <QTableView>
#include <QToolButton>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/dialogs/events_dialog.hpp"
#include "gui/dialogs/recordings_dialog.hpp"
#include "gui/panels/legend_view.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/registry.hpp"
#include "gui/views/live_view.hpp"
#include "gui/window/player.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

namespace {

/// Triggers the menu entry with these words.
void trigger(MainWindow& window, const char* words) {
    for (QAction* action : window.findChildren<QAction*>())
        if (action->text().remove(QLatin1Char('&')) == QString::fromUtf8(words)) return action->trigger();
    QFAIL(words);
}

template <typename T>
T* dialogOf(MainWindow& window) {
    const auto all = window.findChildren<T*>();
    return all.isEmpty() ? nullptr : all.last();
}

QString cell(const QTableView& table, int row, EventModel::Column column) {
    return table.model()->index(row, column).data().toString();
}

/// If MPM_SHOTS is set, writes an image of the widget to that folder.
void shoot(QWidget& widget, const char* name) {
    const QString folder = qEnvironmentVariable("MPM_SHOTS");
    if (!folder.isEmpty()) widget.grab().save(folder + QLatin1Char('/') + QLatin1String(name));
}

/// Writes a film of `seconds` as if it were a recording of `source` that began at `time`.
QString recording(const MainWindow& window, const QString& source, const QDateTime& time, double seconds) {
    auto& session = const_cast<MainWindow&>(window).session();
    const QString folder = session.services().videosFolder();
    QDir().mkpath(folder);
    const QString file =
        QStringLiteral("%1/%2-%3.mp4")
            .arg(folder, topicWord(source), time.toString(QStringLiteral("yyyyMMdd-HHmmss")));
    cv::VideoWriter writer(file.toStdString(), cv::CAP_FFMPEG, cv::VideoWriter::fourcc('m', 'p', '4', 'v'),
                           10, {160, 120});
    for (int i = 0; i < int(10 * seconds); ++i)
        writer.write(cv::Mat(120, 160, CV_8UC3, cv::Scalar(40, 20.0 * (i % 10), 200)));
    return file;
}

}  // namespace

class EventsTest : public QObject {
    Q_OBJECT
private slots:
    void alertsAreReadFromTheirText();
    void eventsSurviveARestart();
    void playerLeavesNoTrace();
    void classesHaveLanes();
    void clickAddsALane();
};

void EventsTest::alertsAreReadFromTheirText() {
    const AlertText plain = alertText(QStringLiteral("bright: tokens above 500: 612"), {});
    QCOMPARE(plain.rule, QStringLiteral("bright"));
    QCOMPARE(plain.what, QStringLiteral("tokens above 500"));
    QCOMPARE(plain.value, QStringLiteral("612"));
    const QStringList known{QStringLiteral("yard"), QStringLiteral("yard: cars")};
    const AlertText colon = alertText(QStringLiteral("yard: cars: car above 1 %: 2 %"), known);
    QCOMPARE(colon.rule, QStringLiteral("yard: cars"));
    QCOMPARE(colon.value, QStringLiteral("2 %"));
    const AlertText none = alertText(QStringLiteral("gone: the source is down"), {});
    QCOMPARE(none.what, QStringLiteral("the source is down"));
    QVERIFY(none.value.isEmpty());
    const std::vector<Recording> recordings{
        {QStringLiteral("/b.mp4"), QStringLiteral("rtsp_yard"), 50'000, 65'000, 1},
        {QStringLiteral("/a.mp4"), QStringLiteral("rtsp_yard"), 10'000, 25'000, 1}};
    QCOMPARE(recordingOf(recordings, QStringLiteral("rtsp://yard"), 10'300), QStringLiteral("/a.mp4"));
    QCOMPARE(recordingOf(recordings, QStringLiteral("rtsp://yard"), 49'500), QStringLiteral("/b.mp4"));
    QVERIFY(recordingOf(recordings, QStringLiteral("rtsp://yard"), 30'000).isEmpty());
    QVERIFY(recordingOf(recordings, QStringLiteral("rtsp://door"), 10'300).isEmpty());
}

void EventsTest::eventsSurviveARestart() {
    test::WindowFixture is;
    is.open();
    QVERIFY(is.next());
    const QDateTime then = QDateTime::currentDateTime();
    const QString source = is.window->engine().sourceName();
    const mpm::pipeline::Millis time(then.toMSecsSinceEpoch());  // the clock may be set before the next line
    is.window->engine().noteEvent(QStringLiteral("alert"), QStringLiteral("bright: tokens above 50 %: 61 %"),
                                  time);
    is.window->engine().noteEvent(QStringLiteral("alert"),
                                  QStringLiteral("<b>dark</b>: luminance below 2 %: 1 %"), time);
    QVERIFY(is.next());
    recording(*is.window, source, then, 1);
    is.open();  // another run
    QVERIFY(is.next());
    trigger(*is.window, "Events…");
    auto* dialog = dialogOf<EventsDialog>(*is.window);
    QVERIFY(dialog);
    QTableView& table = *dialog->table();
    QComboBox* rules = dialog->filter(EventModel::Rule);
    QTRY_VERIFY_WITH_TIMEOUT(rules->findText(QStringLiteral("bright")) > 0, test::patience(10'000));
    QVERIFY(rules->findText(QStringLiteral("<b>dark</b>")) > 0);
    shoot(*dialog, "events.png");
    rules->setCurrentText(QStringLiteral("bright"));
    QCOMPARE(table.model()->rowCount(), 1);
    QCOMPARE(cell(table, 0, EventModel::Source), source);
    QCOMPARE(cell(table, 0, EventModel::Value), QStringLiteral("61 % (tokens above 50 %)"));
    QVERIFY(!cell(table, 0, EventModel::Play).isEmpty());
    QTRY_VERIFY(!table.model()->index(0, EventModel::Image).data(Qt::DecorationRole).value<QIcon>().isNull());
    // The window behind the dialog shows the image of the event's time.
    table.selectRow(0);
    QTest::mouseClick(test::button(dialog, "Show the image"), Qt::LeftButton);
    QVERIFY(is.window->views()->find<LiveView>()->past());
    // The filters of time and source.
    dialog->filter(EventModel::Time)->setCurrentText(QLocale().toString(then.date(), QLocale::ShortFormat));
    dialog->filter(EventModel::Source)->setCurrentText(source);
    QCOMPARE(table.model()->rowCount(), 1);
    // Delete removes the alert from the store too; the other alert stays.
    table.selectRow(0);
    QTest::mouseClick(test::button(dialog, "Delete"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(rules->findText(QStringLiteral("bright")) < 0, test::patience(10'000));
    QVERIFY(rules->findText(QStringLiteral("<b>dark</b>")) > 0);
    const QString store = is.window->session().profile().storePath();
    is.window.reset();
    for (const auto& stored : mpm::pipeline::Store(store.toStdString()).newestEvents(100))
        QVERIFY(stored.event.text.find("bright") == std::string::npos);
}

void EventsTest::playerLeavesNoTrace() {
    test::WindowFixture is;
    is.open();
    QVERIFY(is.next());
    MainWindow& window = *is.window;
    const QString source = window.engine().sourceName();
    const QDateTime then = QDateTime::currentDateTime();
    window.engine().noteEvent(QStringLiteral("alert"), QStringLiteral("bright: tokens above 50 %: 61 %"));
    const QString file = recording(window, source, then, 2);
    trigger(window, "Recordings…");
    auto* dialog = dialogOf<RecordingsDialog>(window);
    QVERIFY(dialog && dialog->list()->count() == 1);
    const auto text = [dialog] { return dialog->list()->item(0)->text(); };
    QTRY_VERIFY_WITH_TIMEOUT(text().startsWith(QStringLiteral("bright\n")), test::patience(10'000));
    QTRY_VERIFY_WITH_TIMEOUT(text().contains(QStringLiteral("2.0 s")), test::patience(10'000));
    QVERIFY(!dialog->list()->item(0)->icon().isNull());
    shoot(*dialog, "recordings.png");
    QTest::mouseClick(test::button(dialog, "Play"), Qt::LeftButton);
    auto* player = dialogOf<Player>(window);
    QVERIFY(player);
    QTRY_VERIFY_WITH_TIMEOUT(!player->view()->image().isNull(), test::patience(10'000));
    QCOMPARE(player->view()->image().size(), QSize(160, 120));
    const QImage first = player->view()->image();
    QTRY_VERIFY_WITH_TIMEOUT(player->view()->image() != first, test::patience(10'000));
    shoot(*player, "player.png");
    QCOMPARE(window.session().sources().count(), 1);
    QVERIFY(is.next());
    player->close();
    // The store has the source, but not the file that the player showed.
    const QString store = window.session().profile().storePath();
    is.window.reset();
    const mpm::pipeline::Store closed(store.toStdString());
    QVERIFY(closed.findSource(source.toStdString()));
    QVERIFY(!closed.findSource(file.toStdString()));
}

void EventsTest::classesHaveLanes() {
    TimelineData data;
    const mpm::pipeline::Quantity share{mpm::pipeline::Quantity::Kind::ClassShare, 1, {}};
    data.setQuantities({share});
    const auto add = [&data](qint64 ms, double part) {
        mpm::pipeline::Measurement m;
        m.time = mpm::pipeline::Millis(ms);
        m.tokensIn = 100;
        m.classShares = {1 - part, part};
        data.add(m);
    };
    constexpr qint64 kMinute = 60'000;
    for (int second = 0; second < 60; ++second)
        add(100 * kMinute + 1'000 * second, second < 30 ? 0.25 : 0.75);
    // Data of this run have a reading for each second. Data of the past have a mean for each minute.
    auto columns = data.columns(100 * kMinute, 101 * kMinute, 6);
    QVERIFY(std::abs(columns[0].quantities[0].mean() - 0.25) < 0.001 &&
            std::abs(columns[5].quantities[0].mean() - 0.75) < 0.001);
    data.addPast(share, {{mpm::pipeline::Millis(50 * kMinute), 10, 0.125, 0, 0.5}});
    data.addPast({mpm::pipeline::Quantity::Kind::ClassShare, 0, {}},
                 {{mpm::pipeline::Millis(50 * kMinute), 10, 0.5, 0, 0.5}});  // class 0 has no lane
    columns = data.columns(0, 102 * kMinute, 102);
    QCOMPARE(columns[50].quantities.size(), std::size_t(1));
    QCOMPARE(columns[50].quantities[0].mean(), 0.125);
    QCOMPARE(columns[50].quantities[0].most, 0.5);
    QVERIFY(!columns[49].quantities[0].any() && columns[100].quantities[0].any());
    // If the clock was ahead in an earlier run, the store has a minute and a reading from the future.
    data.addPast(share, {{mpm::pipeline::Millis(150 * kMinute), 10, 0.25, 0, 0.5}},
                 {{mpm::pipeline::Millis(140 * kMinute + 500), 1, 0.75, 0.75, 0.75}});
    columns = data.columns(100 * kMinute, 200 * kMinute, 10'000);
    QCOMPARE(columns[50 * 100 + 50].quantities[0].mean(), 0.25);
    QCOMPARE(columns[40 * 100].quantities[0].mean(), 0.75);
    QVERIFY(!columns[50].quantities[0].any() || columns[50].quantities[0].count < 10);  // not a minute's mean
    // A whole day is drawn from minutes only.
    columns = data.columns(-600 * kMinute, 840 * kMinute, 24);
    QVERIFY(columns[11].quantities[0].any() && !columns[2].quantities[0].any());
    data.setQuantities({});
    QVERIFY(data.columns(0, 102 * kMinute, 102)[50].quantities.empty());
}

void EventsTest::clickAddsALane() {
    test::WindowFixture is;
    Options options;
    options.model = QStringLiteral("default");
    is.open(options);
    QVERIFY(is.next());
    MainWindow& window = *is.window;
    LegendView* legend = window.sidebar()->legend();
    TimelineView* timeline = window.timeline()->view();
    const auto click = [legend](int id) {
        const QRect cell = legend->visualRect(legend->model()->index(id, LegendModel::Share));
        QTest::mouseClick(legend->viewport(), Qt::LeftButton, {}, cell.center());
    };
    click(1);
    QCOMPARE(timeline->lanes().size(), std::size_t(3));
    QCOMPARE(timeline->lanes()[2].curves[0].name, window.models().legend.name(1));
    QVERIFY(is.next());
    const auto described = [timeline, &window] {
        for (int x = 0; x < timeline->width(); ++x)
            if (timeline->describe(x).contains(window.models().legend.name(1))) return true;
        return false;
    };
    QTRY_VERIFY_WITH_TIMEOUT(described(), test::patience(10'000));
    click(3);
    const int before = timeline->height();
    QTest::mouseClick(window.timeline()->findChild<QToolButton*>(QStringLiteral("tall")), Qt::LeftButton);
    QTRY_VERIFY(timeline->height() > before + 100 && !window.views()->isVisible());
    shoot(window, "lanes.png");
    QTest::mouseClick(window.timeline()->findChild<QToolButton*>(QStringLiteral("tall")), Qt::LeftButton);
    QTRY_VERIFY(window.views()->isVisible());
    click(1);
    QCOMPARE(timeline->lanes().size(), std::size_t(3));
}

MPM_GUI_TEST(EventsTest);
#include "events_test.moc"
