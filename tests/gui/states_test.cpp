// The window in states of failure. Causes each state, and checks its messages, also for words that are cut
// off. If MPM_SHOTS is set, it is a folder for screenshots, in light and dark; QT_SCALE_FACTOR=2 doubles
// their resolution.
#include <sys/resource.h>

#include <csignal>

#include <QDialog>
#include <QMessageBox>
#include <QPainter>
#include <QSignalSpy>
#include <QStatusBar>

#include "gui/cut_words.hpp"
#include "gui/dialogs/watch_dialog.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/registry.hpp"
#include "gui/views/image_view.hpp"
#include "gui/views/live_view.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/window_fixture.hpp"
#include "pipeline/source/stream_server.hpp"

using namespace mpm::gui;

namespace {

/// While an object exists, files of this process cannot grow beyond `bytes`, as on a full disk.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes) {
        m_handler = std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &m_before);
        const rlimit limit{bytes, m_before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &m_before);
        std::signal(SIGXFSZ, m_handler);
    }

private:
    rlimit m_before{};
    void (*m_handler)(int);
};

}  // namespace

class StatesTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void refusedModelWhileAnotherRuns();
    void diskFull();
    void watchDialog();
    void sourceStalledRetryingAndOffline();
    void sourceThatCannotBeUsed();

private:
    MainWindow& window() { return *m_is->window; }
    /// Checks the window, and the dialog `above` if any, for cut words in both appearances. Saves screenshots
    /// if MPM_SHOTS is set.
    void look(const QString& name, QWidget* above = nullptr);
    std::unique_ptr<test::WindowFixture> m_is;
};

void StatesTest::look(const QString& name, QWidget* above) {
    const QString folder = qEnvironmentVariable("MPM_SHOTS");
    for (const Appearance appearance : {Appearance::Light, Appearance::Dark}) {
        window().setAppearance(appearance);
        QTest::qWait(100);
        QStringList cut;  // a text that just changed gets more room only with the next layout
        const bool whole = QTest::qWaitFor([&] { return (cut = test::cutWords(window())).isEmpty(); },
                                           test::patience(1'000));
        QVERIFY2(whole, qPrintable(name + QStringLiteral(": ") + cut.join(QStringLiteral("; "))));
        if (folder.isEmpty()) continue;
        QPixmap shot = window().grab();
        if (above != nullptr) {
            QPainter painter(&shot);
            painter.fillRect(window().rect(), QColor(0, 0, 0, 60));
            const QPoint place = window().rect().center() - above->rect().center();
            painter.drawPixmap(place, above->grab());
        }
        QDir().mkpath(folder);
        const QString file = QStringLiteral("%1/%2-%3.png").arg(folder, name, appearanceName(appearance));
        QVERIFY2(shot.save(file), qPrintable(file));
    }
}

void StatesTest::refusedModelWhileAnotherRuns() {
    Options options;
    options.source = QStringLiteral("demo");
    m_is->open(options);
    QVERIFY(m_is->next());
    const QString file = m_is->sandbox.path(QStringLiteral("export.onnx"));
    QFile raw(file);
    QVERIFY(raw.open(QIODevice::WriteOnly));
    raw.write("no graph");
    raw.close();
    window().model().open(file);
    // The damaged file is not an export, so the window does not offer to convert it.
    QTRY_VERIFY_WITH_TIMEOUT(window().message().contains(QStringLiteral("cannot be used")),
                             test::patience(10'000));
    QVERIFY(window().findChild<QMessageBox*>() == nullptr);
    QVERIFY(m_is->next());
    QVERIFY(window().views()->find<OverlayView>()->cover().isEmpty());
    look(QStringLiteral("refused-model"));
}

void StatesTest::diskFull() {
    Options options;
    options.source = QStringLiteral("demo");
    m_is->open(options);
    QSignalSpy failing(&window().engine().recorder(), &Recorder::failing),
        recovered(&window().engine().recorder(), &Recorder::recovered);
    QVERIFY(m_is->next());
    {
        const FullDisk full(1);
        QTRY_VERIFY_WITH_TIMEOUT(failing.count() == 1, test::patience(30'000));
        QVERIFY(window().message().startsWith(QStringLiteral("Measurements are not kept")));
        QVERIFY(m_is->next());  // watching continues
    }
    // The error stays on the screen until the store is tried again, some seconds later.
    look(QStringLiteral("disk-full"));
    QTRY_VERIFY_WITH_TIMEOUT(recovered.count() == 1, test::patience(20'000));
    QTRY_COMPARE(window().message(), QStringLiteral("Measurements are kept again"));
}

void StatesTest::watchDialog() {
    Options options;
    options.source = QStringLiteral("demo");
    m_is->open(options);
    QVERIFY(m_is->next());
    WatchSettings watch = window().session().services().settings();
    watch.sources[QStringLiteral("demo")].regions.push_back(
        {"Crossing", {{0.1, 0.5}, {0.5, 0.5}, {0.5, 0.95}, {0.1, 0.95}}});
    watch.sources[QStringLiteral("demo")].masks.push_back({{0.7, 0.1}, {0.95, 0.1}, {0.95, 0.4}});
    window().session().setWatch(watch);
    QTest::keyClick(&window(), Qt::Key_A, Qt::ControlModifier);
    auto* dialog = window().findChild<WatchDialog*>();
    QVERIFY(dialog != nullptr);
    look(QStringLiteral("watch-no-alert"), dialog);
    QTest::mouseClick(test::button(dialog, "Add"), Qt::LeftButton);
    look(QStringLiteral("watch-alert"), dialog);
    dialog->setPage(WatchDialog::Regions);
    look(QStringLiteral("watch-regions"), dialog);
    dialog->setPage(WatchDialog::Publish);
    look(QStringLiteral("watch-publish"), dialog);
    dialog->close();
}

void StatesTest::sourceStalledRetryingAndOffline() {
    mpm::test::StreamServer server;
    server.start();
    Options options;
    options.source = QString::fromStdString(server.url());
    m_is->open(options);
    QVERIFY(m_is->next());
    const auto badge = [this] { return window().header()->badgeText(); };
    const auto cover = [this] { return window().views()->find<LiveView>()->cover(); };
    server.stall(true);
    QTRY_VERIFY_WITH_TIMEOUT(badge().startsWith(QStringLiteral("stalled since")), test::patience(10'000));
    QVERIFY(cover().contains(QStringLiteral("Not live")));
    look(QStringLiteral("source-stalled"));
    server.stall(false);
    QTRY_COMPARE_WITH_TIMEOUT(badge(), QStringLiteral("live"), test::patience(10'000));
    QTRY_VERIFY(cover().isEmpty());
    server.kill();
    QTRY_VERIFY_WITH_TIMEOUT(badge().startsWith(QStringLiteral("retrying")), test::patience(20'000));
    QVERIFY(cover().contains(QStringLiteral("Not live")));
    look(QStringLiteral("source-retrying"));
    QTRY_VERIFY_WITH_TIMEOUT(badge().startsWith(QStringLiteral("offline since")), test::patience(90'000));
    QVERIFY(cover().contains(QStringLiteral("offline since")));
    look(QStringLiteral("source-offline"));
    window().views()->showView(QStringLiteral("overlay"));
    look(QStringLiteral("source-offline-overlay"));
    window().views()->showView(QStringLiteral("sources"));
    look(QStringLiteral("source-offline-grid"));
    server.start();
    QTRY_COMPARE_WITH_TIMEOUT(badge(), QStringLiteral("live"), test::patience(60'000));
}

void StatesTest::sourceThatCannotBeUsed() {
    Options options;
    options.source = QStringLiteral("/nowhere/camera.mp4");
    options.model = QStringLiteral("/nowhere/model.onnx");
    m_is->open(options);
    QTRY_COMPARE_WITH_TIMEOUT(window().header()->badgeText(), QStringLiteral("failed"),
                              test::patience(10'000));
    QTRY_VERIFY_WITH_TIMEOUT(window().message().contains(QStringLiteral("/nowhere/model.onnx")),
                             test::patience(10'000));
    look(QStringLiteral("nothing-to-show"));
}

MPM_GUI_TEST(StatesTest);
#include "states_test.moc"
