// The window at usual sizes, light and dark: no text is cut off, and all text has at least the contrast of
// WCAG AA (4.5; 3 for large text). If MPM_SHOTS is set, it is a folder for screenshots.
#include <QAbstractButton>
#include <QComboBox>
#include <QSignalSpy>
#include <QTableView>
#include <QToolButton>

#include "gui/charts/timeline_panel.hpp"
#include "gui/cut_words.hpp"
#include "gui/dialogs/day_night_dialog.hpp"
#include "gui/dialogs/events_dialog.hpp"
#include "gui/dialogs/watch_dialog.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/registry.hpp"
#include "gui/views/live_view.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/widgets/theme.hpp"
#include "gui/window/player.hpp"
#include "gui/window_fixture.hpp"
#include "street/street.hpp"

using namespace mpm::gui;

namespace {

constexpr double kText = 4.5, kLargeText = 3;

/// Returns the relative luminance as WCAG 2 defines it: 0 for black, 1 for white.
double luminanceOf(const QColor& colour) {
    const auto linear = [](double c) {
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) +
           0.0722 * linear(colour.blueF());
}

double contrast(const QColor& one, const QColor& other) {
    const double a = luminanceOf(one), b = luminanceOf(other);
    return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

/// Returns whether WCAG calls the text large: at least 18 points, or 14 points if bold.
bool isLarge(const QFont& font) {
    return font.pointSizeF() >= (font.bold() ? 14 : 18);
}

/// Returns the contrast between background and text. The background is the most frequent colour. The text is
/// the colour with the highest contrast to the background: smoothed edges have colours in between.
double contrastIn(const QImage& image, const QRect& area) {
    std::map<QRgb, int> counts;
    for (int y = area.top(); y <= area.bottom(); ++y)
        for (int x = area.left(); x <= area.right(); ++x)
            ++counts[image.pixel(x, y)];
    if (counts.empty()) return 21;
    const QColor ground(std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                            return a.second < b.second;
                        })->first);
    double most = 1;
    for (const auto& [colour, count] : counts)
        most = std::max(most, contrast(ground, QColor(colour)));
    return most;
}

/// Returns the labels and buttons of a window that are painted with too little contrast.
QStringList faintWords(QWidget& top) {
    const QImage image = top.grab().toImage();
    const double scale = image.devicePixelRatio();
    QStringList faint;
    const auto look = [&](const QWidget* widget, const QString& text) {
        if (!widget->isVisible() || text.trimmed().isEmpty() || !widget->isEnabled()) return;
        const QRect place(widget->mapTo(&top, QPoint()), widget->size());
        // Only the visible part counts, without the frame.
        QRect seen =
            place &
            QRect(top.mapFromGlobal(widget->mapToGlobal(widget->visibleRegion().boundingRect().topLeft())),
                  widget->visibleRegion().boundingRect().size());
        seen.adjust(3, 3, -3, -3);
        if (seen.width() < 6 || seen.height() < 6) return;
        const QRect pixels(QPoint(int(seen.x() * scale), int(seen.y() * scale)), seen.size() * scale);
        const double found = contrastIn(image, pixels & image.rect());
        const double least = isLarge(widget->font()) ? kLargeText : kText;
        if (found < least) faint << QStringLiteral("'%1' has %2").arg(text.left(40)).arg(found, 0, 'f', 1);
    };
    for (const QLabel* label : top.findChildren<QLabel*>())
        look(label, label->text());
    for (const QAbstractButton* button : top.findChildren<QAbstractButton*>())
        look(button, button->text());
    for (const QComboBox* box : top.findChildren<QComboBox*>())
        look(box, box->currentText());
    return faint;
}

constexpr qint64 kMinute = 60'000, kDay = 24 * 60 * kMinute;

/// Stores a week of readings, one each minute, and for each night an alert with an image and a recording.
void fillWeek(Session& session, const QString& name, const mpm::pipeline::Setup& setup, qint64 now) {
    mpm::pipeline::Store store(session.profile().storePath().toStdString());
    const auto source = store.source(name.toStdString());
    std::vector<mpm::pipeline::Measurement> readings;
    for (qint64 time = now - 7 * kDay; time < now - 5 * kMinute; time += kMinute) {
        const QTime clock = QDateTime::fromMSecsSinceEpoch(time).time();
        const double hour = clock.msecsSinceStartOfDay() / 3.6e6,
                     light = std::max(0.0, std::sin((hour - 6) / 12 * M_PI));
        const double busy = light * (0.04 + 0.03 * std::sin(hour * 3)) + 0.004 * ((time / kMinute) % 7);
        mpm::pipeline::Measurement m;
        m.time = mpm::pipeline::Millis(time);
        m.tokensIn = 1200;
        m.stageTokens = {1000, int(620 + 60 * light + 900 * busy)};
        m.luminance = 0.08 + 0.4 * light;
        m.phase = light > 0.1 ? mpm::pipeline::Phase::Day : mpm::pipeline::Phase::Night;
        m.captureMs = 1, m.networkMs = 60 + 8 * busy * 20, m.drawMs = 4;
        m.classShares = {0.2, 0.24, 0.05, 0.25 - busy, 0.08, 0.12, 0.02, 0.02, busy, busy / 4, 0.002};
        m.setup = setup;
        readings.push_back(m);
    }
    store.add(source, readings);
    Thumbnails thumbnails(session.profile().storePath().chopped(7) + QStringLiteral("-thumbnails"));
    const QString videos = session.services().videosFolder();
    QDir().mkpath(videos);
    mpm::street::Street street({640, 480}, 11, 1);
    for (int night = 1; night <= 7; ++night) {
        const QDateTime at(QDateTime::fromMSecsSinceEpoch(now - night * kDay).date(), QTime(2, 10 + night));
        store.addEvent(source, {mpm::pipeline::Millis(at.toMSecsSinceEpoch()), "alert",
                                "Car at night: car above 5.0 %: 7.2 %"});
        cv::VideoWriter writer(
            QStringLiteral("%1/%2-%3.mp4")
                .arg(videos, topicWord(name), at.toString(QStringLiteral("yyyyMMdd-HHmmss")))
                .toStdString(),
            cv::CAP_FFMPEG, cv::VideoWriter::fourcc('m', 'p', '4', 'v'), 5, {640, 480});
        for (int i = 0; i < 10; ++i) {
            const cv::Mat image = mpm::street::night(street.at(2, night * 40 + i).image, {}, i);
            writer.write(image);
            if (i > 0) continue;
            thumbnails.noteEvent(name);
            thumbnails.add(name, QImage(image.data, 640, 480, int(image.step), QImage::Format_BGR888).copy(),
                           at.toMSecsSinceEpoch());
        }
    }
}

}  // namespace

class ScreensTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void coloursOfTextAreReadable();
    void everyViewIsReadable_data();
    void everyViewIsReadable();
    void dialogsAreReadable();
    void lastNightIsFound_data();
    void lastNightIsFound();
    void objectsAreReadable_data() { everyViewIsReadable_data(); }
    void objectsAreReadable();

private:
    QDialog* open(const QKeySequence& keys);
    MainWindow& window() { return *m_is->window; }
    void look(const QString& name, QWidget& top);
    std::unique_ptr<test::WindowFixture> m_is;
};

/// Checks the colours of text that is not in labels or buttons: axes, legends, tables.
void ScreensTest::coloursOfTextAreReadable() {
    for (const Theme& t : {Theme::light(), Theme::darkOne()}) {
        const std::vector<std::pair<const char*, QColor>> grounds = {
            {"window", t.window}, {"surface", t.surface}, {"plot", t.plot}};
        const std::vector<std::pair<const char*, QColor>> texts = {
            {"text", t.text},           {"muted", t.muted},     {"accent", t.accent},
            {"good", t.good},           {"bad", t.bad},         {"warning", t.warning},
            {"luminance", t.luminance}, {"latency", t.latency}, {"saved", t.saved}};
        for (const auto& [groundName, ground] : grounds)
            for (const auto& [textName, text] : texts) {
                const bool lane = text == t.luminance || text == t.latency || text == t.saved;
                if (lane && ground != t.plot) continue;
                QVERIFY2(contrast(ground, text) >= kText,
                         qPrintable(QStringLiteral("%1 on %2, %3: %4")
                                        .arg(QLatin1String(textName), QLatin1String(groundName),
                                             t.dark ? QStringLiteral("dark") : QStringLiteral("light"))
                                        .arg(contrast(ground, text), 0, 'f', 2)));
            }
        QVERIFY(contrast(t.accent, t.onAccent) >= kText);
        QVERIFY(contrast(t.raised, t.text) >= kText);
        // Curves are not text, so a contrast of 3 is enough, on every background that they cross.
        for (const QColor& ground : {t.plot, t.dayBand, t.nightBand})
            for (const QColor& curve :
                 {t.kept, t.luminance, t.latency, t.saved, t.stages[0], t.stages[1], t.stages[2]})
                QVERIFY2(contrast(ground, curve) >= kLargeText,
                         qPrintable(curve.name() + QStringLiteral(" on ") + ground.name()));
    }
}

void ScreensTest::look(const QString& name, QWidget& top) {
    for (const Appearance appearance : {Appearance::Light, Appearance::Dark}) {
        window().setAppearance(appearance);
        QTest::qWait(100);
        QStringList cut;  // a text that just changed gets more room only with the next layout
        const bool whole =
            QTest::qWaitFor([&] { return (cut = test::cutWords(top)).isEmpty(); }, test::patience(2'000));
        const QString folder = qEnvironmentVariable("MPM_SHOTS"),
                      file = QStringLiteral("%1/%2-%3.png").arg(folder, name, appearanceName(appearance));
        if (!folder.isEmpty()) QVERIFY(QDir().mkpath(folder) && top.grab().save(file));
        QVERIFY2(whole, qPrintable(name + QStringLiteral(": ") + cut.join(QStringLiteral("; "))));
        const QStringList faint = faintWords(top);
        QVERIFY2(faint.isEmpty(),
                 qPrintable(QStringLiteral("%1, %2: %3")
                                .arg(name, appearanceName(appearance), faint.join(QStringLiteral("; ")))));
    }
}

void ScreensTest::everyViewIsReadable_data() {
    QTest::addColumn<QSize>("size");
    QTest::newRow("720p") << QSize(1280, 720);
    QTest::newRow("1080p") << QSize(1920, 1080);
}

void ScreensTest::everyViewIsReadable() {
    QFETCH(QSize, size);
    Options options;
    options.size = size;
    options.source = QStringLiteral("demo");
    m_is->open(options);
    QVERIFY(m_is->next());
    for (const QString& key : viewKeys()) {
        QSignalSpy nights(&window().engine(), &Engine::nightSimulated);
        window().views()->showView(key);
        QVERIFY(m_is->next());
        if (key == QLatin1String("night"))
            QTRY_VERIFY_WITH_TIMEOUT(nights.count() > 0, test::patience(20'000));
        look(QStringLiteral("%1x%2-%3").arg(size.width()).arg(size.height()).arg(key), window());
        QCOMPARE(window().size(), size);
    }
    QTest::keyClick(&window(), Qt::Key_U);  // turns on reuse, which has separate figures
    QVERIFY(m_is->nextWhere(
        [](const Analysis& a) { return a.merged.tokens.reuse.state != mpm::ReuseState::Off; }));
    window().views()->showView(QStringLiteral("overview"));
    QVERIFY(m_is->next());
    look(QStringLiteral("%1x%2-overview-reuse").arg(size.width()).arg(size.height()), window());
}

void ScreensTest::dialogsAreReadable() {
    Options options;
    options.source = QStringLiteral("demo");
    m_is->open(options);
    QVERIFY(m_is->next());
    const std::pair<QKeySequence, const char*> dialogs[] = {
        {QKeySequence(Qt::CTRL | Qt::Key_N), "day-night"},
        {QKeySequence(Qt::CTRL | Qt::Key_A), "alerts"},
        {QKeySequence(Qt::CTRL | Qt::Key_L), "source"},
        {QKeySequence(Qt::CTRL | Qt::Key_R), "recordings"},
        {QKeySequence(Qt::Key_F1), "keys"}};
    for (const auto& [keys, name] : dialogs) {
        QDialog* dialog = open(keys);
        QVERIFY2(dialog, name);
        look(QStringLiteral("dialog-%1").arg(QLatin1String(name)), *dialog);
        QVERIFY2(dialog->width() <= 1280 && dialog->height() <= 720, name);
        const QPointer<QDialog> gone(dialog);
        dialog->close();
        QTRY_VERIFY(gone.isNull() || !gone->isVisible());
    }
}

void ScreensTest::lastNightIsFound_data() {
    everyViewIsReadable_data();
    QTest::newRow("touch display") << QSize(800, 480);
}

/// Goes through the first minute, reuse and a week in the timeline, finds last night's alert and plays it.
void ScreensTest::lastNightIsFound() {
    QFETCH(QSize, size);
    const QString prefix = QStringLiteral("%1x%2-night-").arg(size.width()).arg(size.height());
    Options options;
    options.size = size;
    options.source = QStringLiteral("demo");
    options.model = QStringLiteral("default");
    m_is->open(options);
    QTRY_VERIFY_WITH_TIMEOUT(window().models().saved.count() > 3, test::patience(60'000));
    look(prefix + QStringLiteral("1-minute"), window());
    window().setReuse(true);
    QVERIFY(m_is->nextWhere(
        [](const Analysis& a) { return a.merged.tokens.reuse.state == mpm::ReuseState::Partial; }));
    QTRY_VERIFY_WITH_TIMEOUT(window().models().saved.count() > 3, test::patience(60'000));
    look(prefix + QStringLiteral("2-reuse"), window());
    window().setReuse(false);
    QVERIFY(m_is->nextWhere(
        [](const Analysis& a) { return a.merged.tokens.reuse.state == mpm::ReuseState::Off; }));
    fillWeek(window().session(), window().engine().sourceName(), window().models().statistics.setup(),
             QDateTime::currentMSecsSinceEpoch());
    window().session().state().lanes << QStringLiteral("share|car") << QStringLiteral("share|pedestrian");
    m_is->window->close();
    m_is->open(options);
    QVERIFY(m_is->next());
    const TimelineData& data = window().models().timeline;
    QTRY_VERIFY_WITH_TIMEOUT(!data.empty() && data.first() < QDateTime::currentMSecsSinceEpoch() - 6 * kDay,
                             20'000);
    window().timeline()->chooseRange(4);
    const auto past = [&data] {
        const qint64 now = QDateTime::currentMSecsSinceEpoch();
        const auto columns = data.columns(now - 7 * kDay, now, 14);
        return columns[0].quantities.size() == 2 && columns[0].quantities[0].any();
    };
    QTRY_VERIFY_WITH_TIMEOUT(past(), test::patience(30'000));
    look(prefix + QStringLiteral("3-week"), window());
    auto* tall = window().timeline()->findChild<QToolButton*>(QStringLiteral("tall"));
    tall->click();
    look(prefix + QStringLiteral("4-week-tall"), window());
    window().timeline()->showHours(true);
    look(prefix + QStringLiteral("5-hours"), window());
    window().timeline()->showHours(false);
    tall->click();
    auto* events = qobject_cast<EventsDialog*>(open(QKeySequence(Qt::CTRL | Qt::Key_H)));
    QVERIFY(events);
    QComboBox* rules = events->filter(EventModel::Rule);
    QTRY_VERIFY_WITH_TIMEOUT(rules->findText(QStringLiteral("Car at night")) > 0, test::patience(10'000));
    rules->setCurrentText(QStringLiteral("Car at night"));
    QCOMPARE(events->table()->model()->rowCount(), 7);
    events->table()->selectRow(0);
    QTest::qWait(1'000);  // until the rows have images
    look(prefix + QStringLiteral("6-events"), *events);
    QVERIFY(events->width() <= size.width() && events->height() <= size.height());
    test::button(events, "Show the image")->click();
    QVERIFY(window().views()->find<LiveView>()->past());
    events->hide();
    look(prefix + QStringLiteral("7-past"), window());
    test::button(events, "Play")->click();
    Player* player = window().findChild<Player*>();
    QVERIFY(player);
    QTRY_VERIFY_WITH_TIMEOUT(!player->view()->image().isNull(), test::patience(10'000));
    look(prefix + QStringLiteral("8-player"), *player);
    QVERIFY(player->width() <= size.width() && player->height() <= size.height());
    player->close();
}

/// Checks boxes, paths, the table of objects, and lanes with numbers of objects.
void ScreensTest::objectsAreReadable() {
    QFETCH(QSize, size);
    Options options;
    options.size = size;
    options.source = QStringLiteral("demo");
    options.model = QStringLiteral("default");
    m_is->open(options);
    QVERIFY(m_is->next());
    WatchSettings watch = window().session().services().settings();
    watch.sources[QStringLiteral("demo")].objects = QStringList(QStringLiteral("*"));
    watch.sources[QStringLiteral("demo")].regions = {
        {"crossing", {{0.2, 0.5}, {0.8, 0.5}, {0.95, 0.95}, {0.05, 0.95}}}};
    window().session().setWatch(watch);
    mpm::pipeline::Quantity number;
    number.kind = mpm::pipeline::Quantity::Kind::ClassObjects;
    for (number.classId = 8; number.classId < 11; ++number.classId)  // car, pedestrian, bicyclist
        window().lanes().toggle(number);
    int frames = 0;
    QVERIFY(m_is->nextWhere([&](const Analysis& a) { return a.objects && ++frames > 30; }));
    for (const char* view : {"overview", "picture"}) {
        window().views()->showView(QLatin1String(view));
        QVERIFY(m_is->next());
        look(QStringLiteral("%1x%2-objects-%3").arg(size.width()).arg(size.height()).arg(QLatin1String(view)),
             window());
    }
}

/// Returns the dialog that the keys open; null if none opens.
QDialog* ScreensTest::open(const QKeySequence& keys) {
    window().activateWindow();
    if (!QTest::qWaitForWindowActive(&window())) return nullptr;
    QTest::keySequence(&window(), keys);
    QDialog* dialog = nullptr;
    const auto opened = [&] {
        for (QDialog* found : window().findChildren<QDialog*>())
            if (found->isVisible()) dialog = found;
        return dialog != nullptr;
    };
    return QTest::qWaitFor(opened, test::patience(5'000)) ? dialog : nullptr;
}

MPM_GUI_TEST(ScreensTest);
#include "screens_test.moc"
