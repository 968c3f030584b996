// The window on screens that are too small for all its parts, in both languages.
#include <QComboBox>
#include <QScreen>
#include <QToolButton>

#include "gui/charts/timeline_panel.hpp"
#include "gui/cut_words.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/registry.hpp"
#include "gui/text/source_text.hpp"
#include "gui/text/translations.hpp"
#include "gui/widgets/side_split.hpp"
#include "gui/widgets/tile_area.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

class NarrowTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void tilesComeOutLarge();
    void fits_data();
    void fits();
    void panelTakesThePlaceOfTheImages();
    void panelHiddenByHandStaysHidden();
    void firstWindowIsNoLargerThanTheScreen();
    void longNamesEndInAnEllipsis();
    void fitsInFrench_data() { fits_data(); }
    void fitsInFrench();
    void sourcesSpeakFrench();  // last, because the translator stays

private:
    MainWindow& window() { return *m_is->window; }
    void open(const QSize& size) {
        Options options;
        options.size = size;
        m_is->open(options);
    }
    std::unique_ptr<test::WindowFixture> m_is;
};

void NarrowTest::fits_data() {
    QTest::addColumn<QSize>("size");
    QTest::addColumn<bool>("panel");
    QTest::newRow("small window") << QSize(640, 480) << false;
    QTest::newRow("touch display") << QSize(800, 480) << false;
    QTest::newRow("XGA") << QSize(1024, 768) << true;
    QTest::newRow("laptop") << QSize(1280, 800) << true;
}

void NarrowTest::fits() {
    QFETCH(QSize, size);
    QFETCH(bool, panel);
    open(size);
    QVERIFY(m_is->next());
    QCOMPARE(window().size(), size);
    QCOMPARE(window().sidebar()->isVisible(), panel);
    for (int view = 0; view < viewKeys().size(); ++view) {
        window().views()->showView(view);
        QStringList cut;
        const bool whole = QTest::qWaitFor([&] { return (cut = test::cutWords(window())).isEmpty(); },
                                           test::patience(2'000));
        QVERIFY2(whole, qPrintable(cut.join(QStringLiteral("; "))));
        QCOMPARE(window().size(), size);
        // All parts are inside the window, and none is smaller than its minimum size.
        for (const QWidget* part : std::initializer_list<const QWidget*>{
                 window().views(), window().timeline(), window().header(), window().sidebar()}) {
            if (!part->isVisible()) continue;
            const QRect placed(part->mapTo(&window(), QPoint()), part->size());
            QVERIFY2(window().rect().contains(placed), part->metaObject()->className());
            const int need = part->minimumSizeHint().height();
            const bool high = QTest::qWaitFor([&] { return part->height() >= need; }, test::patience(1'000));
            QVERIFY2(high, qPrintable(QStringLiteral("%1 in view %2: %3 of %4")
                                          .arg(QLatin1String(part->metaObject()->className()))
                                          .arg(view)
                                          .arg(part->height())
                                          .arg(need)));
        }
    }
}

void NarrowTest::panelTakesThePlaceOfTheImages() {
    open({800, 480});
    QVERIFY(!window().sidebar()->isVisible());
    QTest::keyClick(&window(), Qt::Key_F9);
    QTRY_VERIFY(window().sidebar()->isVisible());
    QVERIFY(!window().views()->isVisible());
    QTest::keyClick(&window(), Qt::Key_F9);
    QTRY_VERIFY(!window().sidebar()->isVisible());
    QVERIFY(window().views()->isVisible());
    window().resize(1280, 720);
    QTRY_VERIFY(window().sidebar()->isVisible());  // the user did not hide the sidebar, so it returns
    window().resize(800, 480);
    QTRY_VERIFY(!window().sidebar()->isVisible());
    QTRY_COMPARE(window().size(), QSize(800, 480));
}

void NarrowTest::panelHiddenByHandStaysHidden() {
    open({1280, 720});
    QVERIFY(window().sidebar()->isVisible());
    QTest::keyClick(&window(), Qt::Key_F9);
    QTRY_VERIFY(!window().sidebar()->isVisible());
    window().close();
    open({1280, 720});
    QVERIFY(!window().sidebar()->isVisible());
    QTest::keyClick(&window(), Qt::Key_F9);
    QTRY_VERIFY(window().sidebar()->isVisible());
}

void NarrowTest::firstWindowIsNoLargerThanTheScreen() {
    const MainWindow window{Options()};
    const QSize room = window.screen()->availableSize();
    QVERIFY2(window.width() <= room.width() && window.height() <= room.height(),
             qPrintable(QStringLiteral("%1x%2").arg(window.width()).arg(window.height())));
}

void NarrowTest::longNamesEndInAnEllipsis() {
    open({1024, 768});
    window().header()->setModel(QString(400, QLatin1Char('i')), true);
    const auto image = [this] { return window().header()->grab().toImage(); };
    const QImage dotted = image();
    window().header()->setModel(QString(500, QLatin1Char('i')), true);
    QCOMPARE(image(), dotted);
    QCOMPARE(window().size(), QSize(1024, 768));
    QVERIFY(!window().header()->findChildren<ElidedLabel*>().isEmpty());
}

void NarrowTest::fitsInFrench() {
    static const bool installed = [] {
        installTranslations(*QCoreApplication::instance(), QLocale(QLocale::French));
        return true;
    }();
    QVERIFY(installed);
    fits();
    for (const QComboBox* box : window().views()->findChildren<QComboBox*>()) {
        if (!box->isVisible()) continue;
        for (int i = 0; i < box->count(); ++i)
            QVERIFY2(box->fontMetrics().horizontalAdvance(box->itemText(i)) + 28 <= box->width(),
                     qPrintable(box->itemText(i)));
    }
}

/// Checks the French texts of errors that sources raise, and of every kind of error.
void NarrowTest::sourcesSpeakFrench() {
    const QString damaged = m_is->sandbox.path(QStringLiteral("damaged.mp4"));
    const QString text = m_is->sandbox.path(QStringLiteral("text.mp4"));
    for (const auto& [path, content] : {std::pair(damaged, QByteArray(64, '\x01')), {text, "no video"}}) {
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(content);
    }
    const std::pair<QString, QString> all[] = {
        {QStringLiteral("/nowhere.mp4"), QStringLiteral("source inconnue")},
        {QStringLiteral("http://127.0.0.1:9/"), QStringLiteral("connexion impossible")},
        {QStringLiteral("99"), QStringLiteral("pas de telle caméra")},
        {damaged, QStringLiteral("pas une vidéo lisible")},
        {text, QStringLiteral("une liste de lecture")},
        {QFileInfo(text).path(), QStringLiteral("aucune image ici")}};
    for (const auto& [source, words] : all) {
        QString found;
        try {
            mpm::pipeline::makeSource(source.toStdString())->open();
        } catch (const mpm::pipeline::SourceError& error) {
            found = sourceProblemText(error.problem());
        }
        QVERIFY2(found.startsWith(source + QStringLiteral(": ")) && found.contains(words), qPrintable(found));
    }
    using Kind = mpm::pipeline::SourceProblem::Kind;
    QVERIFY(sourceProblemText({Kind::VideoDamaged, "a.avi", {"3", "8"}})
                .endsWith(QStringLiteral("endommagée après l'image 3 sur 8")));
    QCOMPARE(sourceProblemText({Kind::Other, {}, {"something else"}}), QStringLiteral("something else"));
    // Every kind is translated, except kinds whose text comes from a library.
    for (int kind = 0; kind < mpm::pipeline::SourceProblem::kKinds; ++kind) {
        const mpm::pipeline::SourceProblem problem{Kind(kind), "x", {"1", "2"}};
        const bool quoted =
            Kind(kind) == Kind::None || Kind(kind) == Kind::Other || Kind(kind) == Kind::UnreadableImage;
        const QString english = QString::fromStdString(problem.message());
        QCOMPARE(sourceProblemText(problem) == english, quoted);
    }
}

void NarrowTest::tilesComeOutLarge() {
    struct Case {
        int count;
        QSize area;
        double aspect, least;  // width / height of an image; least covered share of the area
    };
    // The sizes of the overview in windows of 1280x720, 1440x900, 1920x1080 and 800x480, then other sizes.
    const Case cases[] = {{4, {926, 310}, 4.0 / 3, 0.7},   {4, {1050, 520}, 4.0 / 3, 0.8},
                          {4, {1500, 700}, 4.0 / 3, 0.75}, {4, {780, 170}, 4.0 / 3, 0.6},
                          {4, {926, 310}, 16.0 / 9, 0.75}, {2, {400, 900}, 4.0 / 3, 0.6},
                          {3, {1050, 520}, 4.0 / 3, 0.7},  {1, {100, 100}, 1, 0.99}};
    for (const auto& [count, area, aspect, least] : cases) {
        const std::vector<QRect> places = TileArea::layOut(count, area, aspect);
        QCOMPARE(places.size(), std::size_t(count));
        double covered = 0;
        for (std::size_t i = 0; i < places.size(); ++i) {
            const QRect& place = places[i];
            QVERIFY(QRect(QPoint(), area).contains(place));
            QVERIFY(std::abs(place.width() - place.height() * aspect) < 3);
            for (std::size_t other = 0; other < i; ++other)
                QVERIFY(!places[other].intersects(place));
            covered += double(place.width()) * place.height();
        }
        covered /= double(area.width()) * area.height();
        QVERIFY2(covered >= least, qPrintable(QStringLiteral("%1 tiles in %2x%3 cover %4")
                                                  .arg(count)
                                                  .arg(area.width())
                                                  .arg(area.height())
                                                  .arg(covered)));
    }
}

MPM_GUI_TEST(NarrowTest);
#include "narrow_test.moc"
