// The window's look: themes, the selected menu entry, the keyboard's focus, icons of dialogs, notices.
#include <QFileDialog>
#include <QListWidget>
#include <QMenuBar>
#include <QSignalSpy>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/dialogs/publish_page.hpp"
#include "gui/dialogs/source_dialog.hpp"
#include "gui/panels/guide_strip.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/registry.hpp"
#include "gui/views/live_view.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

class LookTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void lightAndDark();
    void chosenMenuEntryIsVisible();
    void keyboardFocusIsVisible();
    void exportsSuggestAName();
    void demonstrationModelOnAnotherSource();
    void fullScreenShowsImagesOnly();
    void exportsAreCroppedToTheImage();
    void hintIsOnTheImage();
    void sourcesHaveSections();
    void connectionIsShownInTheDialog();

private:
    std::unique_ptr<test::WindowFixture> m_is;
};

void LookTest::lightAndDark() {
    m_is->open();
    QVERIFY(m_is->next());
    m_is->window->setAppearance(Appearance::Light);
    QVERIFY(!Theme::of(m_is->window.get()).dark);
    const QImage light = m_is->window->timeline()->grab().toImage();
    QTest::keyClick(m_is->window.get(), Qt::Key_T, Qt::ControlModifier);
    QVERIFY(Theme::of(m_is->window.get()).dark);
    QVERIFY(m_is->window->timeline()->grab().toImage().pixelColor(3, 20).lightness() <
            light.pixelColor(3, 20).lightness());
}

void LookTest::chosenMenuEntryIsVisible() {
    m_is->open();
    for (const Appearance appearance : {Appearance::Light, Appearance::Dark}) {
        m_is->window->setAppearance(appearance);
        QMenu* menu = m_is->window->menuBar()->actions().first()->menu();
        menu->popup(m_is->window->mapToGlobal(QPoint(0, 20)));
        QAction* chosen = menu->actions().at(1);
        menu->setActiveAction(chosen);
        const QImage image = menu->grab().toImage();
        const auto ground = [&](QAction* action) {
            return image.pixelColor(menu->actionGeometry(action).topLeft() + QPoint(4, 4));
        };
        const int difference =
            std::abs(ground(chosen).lightness() - ground(menu->actions().at(2)).lightness());
        QVERIFY2(difference > 40, qPrintable(QString::number(difference)));
        menu->close();
    }
}

void LookTest::keyboardFocusIsVisible() {
    m_is->open();
    QVERIFY(m_is->next());
    m_is->window->front().setPaused(true);
    const std::vector<QWidget*> targets{m_is->window->views()->find<LiveView>(),
                                        m_is->window->timeline()->view()};
    for (QWidget* target : targets) {
        for (int i = 0; i < 60 && !target->hasFocus(); ++i)
            QTest::keyClick(
                QApplication::focusWidget() != nullptr ? QApplication::focusWidget() : m_is->window.get(),
                Qt::Key_Tab);
        QVERIFY(target->hasFocus());
        const QColor frame = target->grab().toImage().pixelColor(target->width() / 2, 1);
        const QColor accent = Theme::of(target).accent;
        QVERIFY2(std::abs(frame.lightness() - accent.lightness()) < 12, qPrintable(frame.name()));
        target->clearFocus();
        QVERIFY(target->grab().toImage().pixelColor(target->width() / 2, 1) != frame);
        target->setFocus();
    }
}

void LookTest::exportsSuggestAName() {
    m_is->open();
    QTest::keyClick(m_is->window.get(), Qt::Key_E, Qt::ControlModifier);
    QFileDialog* dialog = nullptr;
    QTRY_VERIFY((dialog = m_is->window->findChild<QFileDialog*>()) != nullptr);
    QCOMPARE(dialog->selectedFiles().size(), 1);
    const QString name = QFileInfo(dialog->selectedFiles().first()).fileName();
    QVERIFY2(name.startsWith(QStringLiteral("mpm-measurements-")) && name.endsWith(QStringLiteral(".csv")),
             qPrintable(name));
    int buttons = 0;
    for (QToolButton* button : dialog->findChildren<QToolButton*>()) {
        if (!button->isVisible() || button->icon().isNull()) continue;
        const QImage image = button->grab().toImage();
        int ink = 0;  // pixels of the icon: they differ from the button's background
        for (int y = 4; y < image.height() - 4; ++y)
            for (int x = 4; x < image.width() - 4; ++x)
                ink += image.pixel(x, y) != image.pixel(4, 4);
        QVERIFY2(ink > 20, qPrintable(button->objectName() + QStringLiteral(": %1").arg(ink)));
        ++buttons;
    }
    QVERIFY(buttons >= 3);
    dialog->close();
}

void LookTest::demonstrationModelOnAnotherSource() {
    const auto warned = [this] {
        for (const QLabel* label : m_is->window->header()->findChildren<QLabel*>())
            if (label->text().contains(QStringLiteral("trained on the built-in street only"))) return true;
        return false;
    };
    m_is->open();
    QVERIFY(m_is->next());
    QVERIFY(warned());
    m_is->window->sources().open(QStringLiteral("demo"));
    QTRY_VERIFY_WITH_TIMEOUT(!warned(), test::patience(10'000));
}

void LookTest::fullScreenShowsImagesOnly() {
    m_is->open();
    QVERIFY(m_is->next());
    MainWindow& window = *m_is->window;
    QTest::keyClick(&window, Qt::Key_F11);
    QTRY_VERIFY(window.isFullScreen() && !window.header()->isVisible());
    QVERIFY(!window.timeline()->isVisible() && !window.sidebar()->isVisible());
    QVERIFY(m_is->next());
    QVERIFY(!window.guide()->isVisible());
    QTRY_VERIFY(window.views()->height() > window.height() - 12);
    const auto* corner = window.views()->findChild<QLabel*>(QStringLiteral("corner"));
    QVERIFY(corner && corner->isVisible());
    QVERIFY2(corner->text().startsWith(window.engine().sourceName()), qPrintable(corner->text()));
    AlertNotice notice;
    notice.time = QDateTime::currentDateTime();
    notice.rule = QStringLiteral("<i>bright</i>");
    emit window.session().services().alerted(notice);
    QVERIFY(corner->text().contains(notice.rule));
    const QString folder = qEnvironmentVariable("MPM_SHOTS");
    if (!folder.isEmpty()) window.grab().save(folder + QStringLiteral("/full.png"));
    QTest::keyClick(&window, Qt::Key_F11);
    QTRY_VERIFY(window.header()->isVisible() && window.timeline()->isVisible());
    QTRY_VERIFY(window.sidebar()->isVisible() && !corner->isVisible());
}

void LookTest::exportsAreCroppedToTheImage() {
    m_is->open();
    QVERIFY(m_is->next());
    m_is->window->views()->showView(QStringLiteral("picture"));
    QVERIFY(m_is->next());
    const QString file = m_is->sandbox.path(QStringLiteral("image.png"));
    m_is->window->exports().image(file);
    const QSize part = m_is->window->views()->shownImages().size();
    QVERIFY2(std::abs(part.width() - part.height() * 4 / 3) < 3, "frames are 160x120");
    QVERIFY(part.width() < m_is->window->views()->width() - 100);
    const QSize written = QImage(file).size() / 2;
    QVERIFY(written.width() - part.width() < 40 && written.height() - part.height() < 80);
}

void LookTest::hintIsOnTheImage() {
    m_is->open();
    QVERIFY(m_is->next());
    m_is->window->views()->showView(QStringLiteral("picture"));
    auto* view = m_is->window->views()->find<LiveView>();
    m_is->window->front().setPaused(true);
    QVERIFY(m_is->settle());
    const QImage before = view->grab().toImage();
    QTest::keyClick(m_is->window.get(), Qt::Key_G);
    QVERIFY(view->drawing());
    // Before the first click, the hint for drawing is in the middle of the image.
    QRect middle(0, 0, 160, 40);
    middle.moveCenter(view->rect().center());
    const QImage hint = view->grab(middle).toImage();
    const QString folder = qEnvironmentVariable("MPM_SHOTS");
    if (!folder.isEmpty()) view->grab().save(folder + QStringLiteral("/hint.png"));
    QVERIFY(hint != before.copy(middle));
    QTest::keyClick(view, Qt::Key_Escape);
    QVERIFY(!view->drawing());
}

void LookTest::sourcesHaveSections() {
    SourceDialog::Choices choices;
    choices.cameras = QStringList{QStringLiteral("0: Camera")};
    SourceDialog dialog(QStringLiteral("Open"), choices);
    auto* list = dialog.findChild<QListWidget*>();
    QCOMPARE(list->count(), 4);  // two sections with a heading and a source each; empty sections are left out
    QVERIFY(!(list->item(0)->flags() & Qt::ItemIsSelectable) &&
            !(list->item(2)->flags() & Qt::ItemIsEnabled));
    list->setCurrentRow(1);
    QSignalSpy chosen(&dialog, &SourceDialog::chosen);
    QTest::mouseClick(test::button(&dialog, "Open"), Qt::LeftButton);
    QCOMPARE(chosen.count(), 1);
    QCOMPARE(chosen[0][0].toString(), QStringLiteral("0"));
}

void LookTest::connectionIsShownInTheDialog() {
    test::Sandbox sandbox;
    Services services(QStringLiteral("default"), sandbox.path(QStringLiteral("videos")));
    WatchSettings watch;
    watch.mqtt.on = true;
    PublishPage page(watch.mqtt, watch.metrics);
    connect(&services, &Services::mqttStatusChanged, &page, &PublishPage::setStatus);
    connect(&page, &PublishPage::testWanted, &services, &Services::reconnect);
    QVERIFY(page.status().isEmpty());
    watch.mqtt.host = QStringLiteral("127.0.0.1");
    watch.mqtt.port = 1;  // no broker listens there
    services.apply(watch);
    QTRY_VERIFY_WITH_TIMEOUT(page.status().contains(QStringLiteral("not connected")), test::patience(10'000));
    QSignalSpy states(&services, &Services::mqttStatusChanged);
    QTest::mouseClick(test::button(&page, "Test"), Qt::LeftButton);
    QVERIFY(states[0][0].toString().startsWith(QStringLiteral("Connecting to 127.0.0.1:1")));
    QTRY_VERIFY_WITH_TIMEOUT(page.status().contains(QStringLiteral("not connected")), test::patience(10'000));
    watch.mqtt.on = false;
    services.apply(watch);
    QVERIFY(page.status().isEmpty());
}

MPM_GUI_TEST(LookTest);
#include "look_test.moc"
