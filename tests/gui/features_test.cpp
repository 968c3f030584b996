// A backbone without a head in the monitor: everything works except classes, which the model lacks.
#include <QSignalSpy>
#include <QTest>

#include "cli/small_model.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/registry.hpp"
#include "gui/views/merge_view.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

class FeaturesTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void everyViewWorksWithoutClasses();
    void regionsAndMasksWorkWithoutClasses();
    void coloursStayFromFrameToFrame();

private:
    Options withBackbone() {
        mpm::test::SmallModel small;
        small.features = true;
        return m_is->withModel(small);
    }
    MainWindow& window() { return *m_is->window; }
    std::unique_ptr<test::WindowFixture> m_is;
};

void FeaturesTest::everyViewWorksWithoutClasses() {
    m_is->open(withBackbone());
    const AnalysisPtr analysis = m_is->next();
    QVERIFY(analysis);
    QVERIFY(!analysis->model->classes);
    QCOMPARE(analysis->tokensIn(), 24);
    QVERIFY(analysis->shares.empty());
    ViewArea* views = window().views();
    auto* overlay = views->find<OverlayView>();
    QTRY_VERIFY_WITH_TIMEOUT(!overlay->image().isNull(), test::patience(10'000));
    QVERIFY2(overlay->note().contains(QStringLiteral("principal components")), qPrintable(overlay->note()));
    auto* split = views->find<SplitView>();
    QTRY_VERIFY_WITH_TIMEOUT(split->footer().contains(QStringLiteral("cosine of features")),
                             test::patience(20'000));
    auto* merge = views->find<MergeView>();
    const QString described = merge->describe({0.5, 0.5});
    QVERIFY2(described.contains(QStringLiteral("token")) && !described.contains(QStringLiteral("class")),
             qPrintable(described));
    for (const QWidget* section : window().sidebar()->findChildren<QWidget*>())
        if (section->property("key").toString() == QStringLiteral("classes")) QVERIFY(!section->isVisible());
    QVERIFY(window().message().isEmpty());
    views->showView(QStringLiteral("night"));
    QSignalSpy nights(&window().engine(), &Engine::nightSimulated);
    QTRY_VERIFY_WITH_TIMEOUT(nights.count() > 0, test::patience(20'000));
}

void FeaturesTest::regionsAndMasksWorkWithoutClasses() {
    m_is->open(withBackbone());
    QVERIFY(m_is->next());
    WatchSettings watch = window().session().services().settings();
    SourceWatch& own = watch.sources[window().engine().sourceName()];
    own.regions.push_back({"Left", {{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}}});
    own.masks.push_back({{0.5, 0}, {1, 0}, {1, 1}, {0.5, 1}});
    window().session().setWatch(watch);
    const AnalysisPtr analysis =
        m_is->nextWhere([](const Analysis& a) { return !a.regions.empty() && !a.frame.masks.empty(); });
    QVERIFY(analysis);
    QCOMPARE(analysis->regions[0].patches, 12);
    QVERIFY(analysis->regions[0].classShares.empty());
    // Masked parts are painted dark grey.
    const auto masked = [this] {
        const QImage& image = window().views()->find<OverlayView>()->image();
        const QColor at = image.pixelColor(image.width() * 3 / 4, image.height() / 2);
        return at.red() == at.green() && at.green() == at.blue() && at.red() < 100;
    };
    QTRY_VERIFY_WITH_TIMEOUT(masked(), test::patience(10'000));
}

/// The first frames determine how features become colours. From then on, equal frames get equal colours.
void FeaturesTest::coloursStayFromFrameToFrame() {
    Options options = withBackbone();
    options.source = m_is->sandbox.film(1, 0);
    m_is->open(options);
    QVERIFY(m_is->nextWhere([this](const Analysis&) { return m_is->count > 12; }));
    const QImage first = m_is->overlay.copy();
    const int before = m_is->count;
    QVERIFY(m_is->nextWhere([&](const Analysis&) { return m_is->count > before + 8; }));
    QVERIFY(m_is->overlay == first);
}

MPM_GUI_TEST(FeaturesTest);
#include "features_test.moc"
