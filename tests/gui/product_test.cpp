// The parts of the window that a user reads: comparisons, times, words, recordings, the line for new users.
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QStyle>
#include <QToolButton>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/dialogs/shortcut_sheet.hpp"
#include "gui/engine/probe.hpp"
#include "gui/panels/guide_strip.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/panels/playback_bar.hpp"
#include "gui/registry.hpp"
#include "gui/text/numbers.hpp"
#include "gui/views/live_view.hpp"
#include "gui/views/merge_view.hpp"
#include "gui/views/reuse_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/window_fixture.hpp"
#include "pipeline/source/stream_server.hpp"

using namespace mpm::gui;
using mpm::ReuseState;

namespace {

QString textsOf(const QWidget& widget) {
    QStringList texts;
    for (const QLabel* label : widget.findChildren<QLabel*>())
        if (!label->parentWidget()->isHidden()) texts << label->text();
    return texts.join(QLatin1Char('|'));
}

/// Returns an analysis with this schedule, in which `kept` of 100 tokens are left.
AnalysisPtr analysisWith(const ModelFactsPtr& model, const std::vector<int>& schedule, int kept,
                         ReuseState reuse = ReuseState::Off) {
    auto analysis = std::make_shared<Analysis>();
    analysis->model = model;
    analysis->schedule = schedule;
    analysis->merged.tokens.map = cv::Mat::zeros(1, 100, CV_32S);
    analysis->merged.tokens.stages.emplace_back();
    analysis->merged.tokens.stages.back().tokens = kept;
    analysis->merged.tokens.reuse.state = reuse;
    analysis->merged.tokens.reuse.recomputed = 0.07;
    analysis->merged.networkMs = 6;
    return analysis;
}

RenderedFrame frameOf(const AnalysisPtr& analysis) {
    RenderedFrame drawn;
    drawn.analysis = analysis;
    return drawn;
}

RenderedComparison comparisonOf(const AnalysisPtr& analysis, double wholeMs) {
    auto comparison = std::make_shared<Comparison>();
    comparison->analysis = analysis;
    comparison->whole.networkMs = wholeMs;
    comparison->savedMs = wholeMs - analysis->networkMs();
    comparison->agreement = 0.982;
    const QImage image(8, 8, QImage::Format_RGB32);
    return {comparison, image, image};
}

}  // namespace

class ProductTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void comparisonsBelongToTheirConditions();
    void shortTimesHaveADecimal();
    void dayAgainstNightIsShownOnceItIsMoreThanScatter();
    void passesCountWhatIsComputed();
    void probeMeasuresALiveSource();
    void masksLookTheSameEverywhere();
    void shortcutsFitASmallScreen();
    void windowHasTheSizeAskedFor();
    void rangeButtonNamesWhatIsShown();
    void iconsFollowTheTheme();
    void recordingIsShown();
    void stripSaysWhatIsCompared();
    void stripLeadsOn();
    void reuseIsInFront();

private:
    std::unique_ptr<test::WindowFixture> m_is;
};

void ProductTest::comparisonsBelongToTheirConditions() {
    const auto model = std::make_shared<const ModelFacts>(), other = std::make_shared<const ModelFacts>();
    const AnalysisPtr merged = analysisWith(model, {2, 5}, 56);
    const AnalysisPtr changed[] = {analysisWith(model, {3}, 70), analysisWith(other, {2, 5}, 56),
                                   analysisWith(model, {2, 5}, 100, ReuseState::Partial)};
    for (const AnalysisPtr& now : changed) {
        SavedTime saved;
        saved.add(*comparisonOf(merged, 9).comparison);
        saved.add(*comparisonOf(merged, 9).comparison);
        QVERIFY(saved.isOf(*merged) && !saved.isOf(*now));
        saved.add(*comparisonOf(now, 20).comparison);
        QCOMPARE(saved.count(), 1);
        QCOMPARE(saved.wholeMs(), 20.0);
        Viewport viewport;
        SplitView split(&viewport);
        split.setRendered(frameOf(merged), {});
        split.setComparison(comparisonOf(merged, 9), saved);
        QVERIFY(!split.image().isNull());
        split.setRendered(frameOf(now), {});
        QVERIFY(split.image().isNull());
        split.setComparison(comparisonOf(merged, 9), saved);  // arrives late, with the old conditions
        QVERIFY(split.image().isNull());
        split.setComparison(comparisonOf(now, 9), saved);
        QVERIFY(!split.image().isNull());
    }
    HeaderBar header;
    header.setAnalysis(*changed[2]);
    QVERIFY(textsOf(header).contains(QStringLiteral("all tokens → reuse")));
    // While reuse is suspended, the frame merges, so the comparison has other conditions.
    header.setAnalysis(*analysisWith(model, {2, 5}, 56, ReuseState::Suspended));
    QVERIFY(textsOf(header).contains(QStringLiteral("all tokens → merged")));
    QVERIFY(!(conditionsOf(*analysisWith(model, {2, 5}, 56, ReuseState::Suspended)) ==
              conditionsOf(*changed[2])));
}

void ProductTest::shortTimesHaveADecimal() {
    QLocale::setDefault(QLocale::c());
    QCOMPARE(readableMs(6.234), QStringLiteral("6.2"));
    QCOMPARE(readableMs(9.96), QStringLiteral("10"));
    const auto model = std::make_shared<const ModelFacts>();
    const AnalysisPtr merged = analysisWith(model, {2, 5}, 56);
    SavedTime saved;
    saved.add(*comparisonOf(merged, 9).comparison);
    HeaderBar header;
    header.setAnalysis(*merged);
    header.setSaved(saved);
    const QString texts = textsOf(header);
    QVERIFY2(texts.contains(QStringLiteral("9.0 → 6.0 ms (−33 %)")), qPrintable(texts));
    QVERIFY2(texts.contains(QStringLiteral("1.5×")), qPrintable(texts));
    header.setSaved({});
    QVERIFY2(!textsOf(header).contains(QStringLiteral(" ms")), qPrintable(textsOf(header)));
}

void ProductTest::dayAgainstNightIsShownOnceItIsMoreThanScatter() {
    HeaderBar header;
    header.resize(1400, 60);
    header.show();
    const auto with = [&header](int night, int scatter) {
        mpm::pipeline::DayNightStatistics statistics;
        for (int i = 0; i < 20; ++i) {
            mpm::pipeline::Measurement m;
            m.tokensIn = 1000;
            m.phase = i % 2 == 0 ? mpm::pipeline::Phase::Day : mpm::pipeline::Phase::Night;
            m.stageTokens = {(i % 2 == 0 ? 600 : night) + (i / 2 % 2 == 0 ? scatter : -scatter)};
            statistics.add(m);
        }
        header.setDayNight(statistics);
        return textsOf(header);
    };
    QVERIFY2(!with(500, 200).contains(QStringLiteral("night")), qPrintable(textsOf(header)));
    QVERIFY2(with(450, 10).contains(QStringLiteral("−25.0 %")), qPrintable(textsOf(header)));
}

void ProductTest::passesCountWhatIsComputed() {
    PlaybackBar bar;
    mpm::pipeline::Measurement m;
    m.tokensIn = 1200;
    m.recomputed = 0.1;
    bar.add(m);
    const auto says = [&bar](const char* words) {
        for (const QLabel* label : bar.findChildren<QLabel*>())
            if (label->text().contains(QString::fromUtf8(words))) return true;
        return false;
    };
    QVERIFY(says("120 ± 0 tokens computed"));
    m.recomputed.reset();
    m.stageTokens = {700};
    m.setup.method = "mpm";
    bar.add(m);
    QVERIFY(says("700 ± 0 tokens kept, 1 frames"));
}

/// A camera over HTTP announces no frame rate, so OpenCV reports 25. The probe must measure the real rate.
void ProductTest::probeMeasuresALiveSource() {
    mpm::test::StreamServer server;
    std::vector<unsigned char> jpeg;
    cv::imencode(".jpg", cv::Mat(120, 160, CV_8UC3, cv::Scalar(90, 120, 60)), jpeg);
    server.setFilm([jpeg] { return jpeg; }, std::chrono::milliseconds(200));
    server.start();
    auto* probe = new Probe(mpm::pipeline::Address(server.url()), {});
    double rate = 0;
    bool guessed = false;
    connect(probe, &Probe::found, this, [&](const ProbeResult& result) {
        rate = result.rate;
        guessed = guessed || result.rate > 8;
    });
    probe->start();
    QTRY_VERIFY_WITH_TIMEOUT(rate > 0, test::patience(30'000));
    QVERIFY(!guessed && rate < 8);
    probe->abandon();
    server.kill();
}

/// Masked areas are black for the network, and hatched in both *Image* and *Overlay*.
void ProductTest::masksLookTheSameEverywhere() {
    m_is->open();
    QVERIFY(m_is->next());
    WatchSettings watch;
    watch.sources[m_is->window->engine().sourceName()].masks = {{{0.5, 0}, {1, 0}, {1, 1}, {0.5, 1}}};
    m_is->window->session().setWatch(watch);
    const AnalysisPtr masked = m_is->nextWhere([](const Analysis& a) { return !a.frame.masks.empty(); });
    QVERIFY(masked);
    const cv::Mat pixels = masked->frame.pixels(cv::Rect(90, 10, 60, 100));
    QCOMPARE(cv::countNonZero(pixels.reshape(1)), 0);
    const auto* live = m_is->window->views()->find<LiveView>();
    QTRY_VERIFY(!live->image().isNull());
    QVERIFY(m_is->next());
    const QImage shown = live->image().copy(90, 10, 60, 100);
    int hatched = 0;
    for (int y = 0; y < shown.height(); ++y)
        for (int x = 0; x < shown.width(); ++x)
            hatched += shown.pixelColor(x, y).lightness() > 20;
    QVERIFY2(hatched > 300, qPrintable(QString::number(hatched)));
}

void ProductTest::shortcutsFitASmallScreen() {
    m_is->open();
    QDialog* sheet = showShortcutSheet(*m_is->window);
    QCOMPARE(sheet->windowTitle(), QStringLiteral("Keyboard shortcuts"));
    QVERIFY(QTest::qWaitForWindowExposed(sheet));
    const QSize room = m_is->window->screen()->availableSize();
    QVERIFY(sheet->width() <= room.width() && sheet->height() <= room.height());
    const auto* scroll = sheet->findChild<QScrollArea*>();
    QVERIFY2(scroll->widget()->minimumSizeHint().width() <= scroll->viewport()->width(),
             qPrintable(QString::number(scroll->widget()->minimumSizeHint().width())));
    sheet->close();
}

void ProductTest::windowHasTheSizeAskedFor() {
    m_is->open();
    m_is->window->showMaximized();
    QTRY_VERIFY(m_is->window->isMaximized());
    m_is->window->close();
    Options options;
    options.size = QSize(700, 500);
    m_is->open(options);
    QVERIFY(!m_is->window->isMaximized());
    QCOMPARE(m_is->window->size(), options.size);
}

/// If the timeline has only a few seconds of data, the lit button is "1 min", even if the user chose more.
void ProductTest::rangeButtonNamesWhatIsShown() {
    TimelineData data;
    mpm::pipeline::Measurement m;
    m.time = mpm::pipeline::Millis(QDateTime::currentMSecsSinceEpoch());
    m.tokensIn = 100;
    data.add(m);
    TimelinePanel panel(&data);
    panel.resize(900, 200);
    panel.show();
    const auto lit = [&panel] {
        for (const QToolButton* button : panel.findChildren<QToolButton*>())
            if (button->isChecked()) return button->text();
        return QString();
    };
    QTRY_COMPARE(lit(), QStringLiteral("1 min"));  // the default choice is ten minutes
    m.time -= mpm::pipeline::Millis(300'000);
    data.add(m);
    QTRY_COMPARE(lit(), QStringLiteral("10 min"));
    m.time -= mpm::pipeline::Millis(1'000'000);
    data.add(m);
    panel.chooseRange(5);
    QTRY_COMPARE(lit(), QStringLiteral("All"));
    QVERIFY(data.readingsShown(m.time.count(), m.time.count() + 60'000, 800));
}

void ProductTest::iconsFollowTheTheme() {
    m_is->open();
    m_is->window->setAppearance(Appearance::Dark);
    const QStyle* style = m_is->window->style();
    QCOMPARE(style->styleHint(QStyle::SH_DialogButtonBox_ButtonsHaveIcons), 0);
    for (const QStyle::StandardPixmap which : {QStyle::SP_ArrowBack, QStyle::SP_FileDialogToParent}) {
        const QImage icon = QApplication::style()->standardIcon(which).pixmap(16).toImage();
        int light = 0, ink = 0;
        for (int y = 0; y < icon.height(); ++y)
            for (int x = 0; x < icon.width(); ++x) {
                if (icon.pixelColor(x, y).alpha() < 200) continue;
                ++ink;
                light += icon.pixelColor(x, y).lightness() > 150;
            }
        QVERIFY2(ink > 0 && light == ink, qPrintable(QStringLiteral("%1 of %2").arg(light).arg(ink)));
    }
    m_is->window->setAppearance(Appearance::System);
}

void ProductTest::recordingIsShown() {
    m_is->open();
    QVERIFY(m_is->next());
    auto* badge = m_is->window->header()->findChild<QToolButton*>(QStringLiteral("recording"));
    QVERIFY(badge != nullptr && !badge->isVisible());
    QTest::keyClick(m_is->window.get(), Qt::Key_R);
    QTRY_VERIFY(badge->isVisible());
    QTest::mouseClick(badge, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!badge->isVisible(), test::patience(10'000));
    QVERIFY(!m_is->window->watching().recording());
}

void ProductTest::stripSaysWhatIsCompared() {
    QLocale::setDefault(QLocale::c());
    auto facts = std::make_shared<ModelFacts>();
    const AnalysisPtr merged = analysisWith(facts, {2, 5}, 56);
    GuideStrip strip;
    SavedTime saved;
    strip.setAnalysis(*merged, saved);
    QVERIFY2(strip.text().contains(QStringLiteral("similar patches merged, 56 of 100 tokens kept")),
             qPrintable(strip.text()));
    saved.add(*comparisonOf(merged, 9).comparison);
    strip.setComparison(*comparisonOf(merged, 9).comparison, saved);
    QVERIFY2(strip.text().endsWith(QStringLiteral("98.2 % of the pixels agree, 1.5 times as fast.")),
             qPrintable(strip.text()));
    const AnalysisPtr reused = analysisWith(facts, {2, 5}, 100, ReuseState::Partial);
    strip.setAnalysis(*reused, saved);
    QVERIFY2(strip.text().endsWith(QStringLiteral("only patches that changed, 7 % of them.")),
             qPrintable(strip.text()));
}

/// For a new user with the built-in street, the line above the timeline explains the comparison, and its
/// buttons lead to the next steps.
void ProductTest::stripLeadsOn() {
    Options options;
    options.source = QStringLiteral("demo");
    m_is->open(options);
    GuideStrip* strip = m_is->window->guide();
    QTRY_VERIFY_WITH_TIMEOUT(strip->isVisible() && strip->text().contains(QStringLiteral("times as fast")),
                             test::patience(60'000));
    const auto press = [strip](const char* words) {
        for (QPushButton* button : strip->findChildren<QPushButton*>())
            if (button->text().remove(QLatin1Char('&')).startsWith(QString::fromUtf8(words)))
                return button->click();
        QFAIL(words);
    };
    press("See what merged");
    QCOMPARE(QLatin1String(m_is->window->views()->entry().key), QLatin1String("merge"));
    press("Turn reuse on");
    QVERIFY(
        m_is->nextWhere([](const Analysis& a) { return a.merged.tokens.reuse.state != ReuseState::Off; }));
    press("✕");
    QVERIFY(!strip->isVisible());
    m_is->window->close();
    m_is->open(options);
    QVERIFY(m_is->next());
    QVERIFY(!m_is->window->guide()->isVisible());
    // The line is hidden for other sources.
    GuideStrip another;
    another.resize(900, 700);
    SourceReport report;
    report.name = QStringLiteral("film.avi");
    report.kind = mpm::pipeline::SourceKind::Video;
    another.setSource(report);
    QVERIFY(another.isHidden());
}

void ProductTest::reuseIsInFront() {
    Options options;
    options.source = m_is->sandbox.film(1, 0);
    options.view = QStringLiteral("overview");
    m_is->open(options);
    QVERIFY(m_is->next());
    ViewArea* views = m_is->window->views();
    const auto button = [views](const char* words) -> QToolButton* {
        for (QToolButton* found : views->findChildren<QToolButton*>())
            if (found->text() == QLatin1String(words)) return found;
        return nullptr;
    };
    QVERIFY(views->find<MergeView>()->isVisible() && !views->find<ReuseView>()->isVisible());
    QVERIFY(button("Turn reuse on") != nullptr);
    button("Turn reuse on")->click();
    QVERIFY(!views->find<MergeView>()->isVisible() && views->find<ReuseView>()->isVisible());
    QVERIFY(
        m_is->nextWhere([](const Analysis& a) { return a.merged.tokens.reuse.state != ReuseState::Off; }));
    QVERIFY(button("Turn reuse off") != nullptr);
    button("Turn reuse off")->click();
    QVERIFY(views->find<MergeView>()->isVisible() && !views->find<ReuseView>()->isVisible());
}

MPM_GUI_TEST(ProductTest);
#include "product_test.moc"
