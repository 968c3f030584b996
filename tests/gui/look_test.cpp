// The window's look: themes, the chosen menu entry, the keyboard's focus, icons of dialogs, notices.
#include <QFileDialog>
#include <QMenuBar>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/panels/header_bar.hpp"
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
        int ink = 0;  // of the icon, without the frame
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

MPM_GUI_TEST(LookTest);
#include "look_test.moc"
