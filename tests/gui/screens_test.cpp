// The window at usual sizes, light and dark: no text is cut off, and all text has the contrast of WCAG AA
// (4.5; 3 for large text). MPM_SHOTS is a folder for screenshots.
#include <QAbstractButton>
#include <QComboBox>
#include <QSignalSpy>
#include <QTableView>

#include "gui/cut_words.hpp"
#include "gui/dialogs/day_night_dialog.hpp"
#include "gui/dialogs/watch_dialog.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/registry.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/widgets/theme.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

namespace {

constexpr double kText = 4.5, kLargeText = 3;

/// The relative luminance of WCAG 2: from 0, black, to 1, white.
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

/// Bold from 14 points on, or 18 points.
bool isLarge(const QFont& font) {
    return font.pointSizeF() >= (font.bold() ? 14 : 18);
}

/// The contrast of the ground, which is the most frequent colour, and the colour farthest from it: smoothed
/// edges are in between.
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

/// Labels and buttons of a window with too little contrast, as they are painted.
QStringList faintWords(QWidget& top) {
    const QImage image = top.grab().toImage();
    const double scale = image.devicePixelRatio();
    QStringList faint;
    const auto look = [&](const QWidget* widget, const QString& text) {
        if (!widget->isVisible() || text.trimmed().isEmpty() || !widget->isEnabled()) return;
        const QRect place(widget->mapTo(&top, QPoint()), widget->size());
        // Parts scrolled out of sight, and the frame, do not count.
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

private:
    MainWindow& window() { return *m_is->window; }
    void look(const QString& name, QWidget& top);
    std::unique_ptr<test::WindowFixture> m_is;
};

/// The colours of text without a widget: axes, legends, tables.
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
        // Curves and marks are no text: 3 is enough, on every ground they cross.
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
        QStringList cut;  // words that just changed get their room with the next layout
        const bool whole = QTest::qWaitFor([&] { return (cut = test::cutWords(top)).isEmpty(); }, 2'000);
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
    QTest::keyClick(&window(), Qt::Key_U);  // reuse has separate figures
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
        window().activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window()));
        QTest::keySequence(&window(), keys);
        QDialog* dialog = nullptr;
        const auto opened = [&] {
            for (QDialog* found : window().findChildren<QDialog*>())
                if (found->isVisible()) dialog = found;
            return dialog != nullptr;
        };
        QVERIFY2(QTest::qWaitFor(opened, 5'000), name);
        look(QStringLiteral("dialog-%1").arg(QLatin1String(name)), *dialog);
        QVERIFY2(dialog->width() <= 1280 && dialog->height() <= 720, name);
        const QPointer<QDialog> gone(dialog);
        dialog->close();
        QTRY_VERIFY(gone.isNull() || !gone->isVisible());
    }
}

MPM_GUI_TEST(ScreensTest);
#include "screens_test.moc"
