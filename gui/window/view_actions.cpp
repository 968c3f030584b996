// The View menu: views, zoom, colours and panels.
#include <QActionGroup>
#include <QMenuBar>

#include "gui/views/view_controls.hpp"
#include "gui/widgets/side_split.hpp"
#include "gui/window/actions.hpp"
#include "gui/window/main_window.hpp"

namespace mpm::gui {

namespace {

void addViews(MainWindow& window, QMenu* menu) {
    auto* group = new QActionGroup(menu);
    for (const ViewEntry& entry : viewTable()) {
        const int index = static_cast<int>(group->actions().size());
        QAction* action = addAction(menu, entry.title(), QKeySequence(Qt::Key_1 + index),
                                    [&window, index] { window.views()->showView(index); });
        action->setCheckable(true);
        group->addAction(action);
    }
    const auto check = [group](int index) { group->actions().at(index)->setChecked(true); };
    QObject::connect(window.views(), &ViewArea::viewChanged, group, check);
    check(window.views()->shown());
}

void addZoom(MainWindow& window, QMenu* menu) {
    Viewport* viewport = window.views()->viewport();
    addAction(menu, Actions::tr("Zoom &in"), QKeySequence(Qt::CTRL | Qt::Key_Plus),
              [viewport] { viewport->zoomAt(1.4, viewport->centre()); });
    addAction(menu, Actions::tr("Zoom &out"), QKeySequence(Qt::CTRL | Qt::Key_Minus),
              [viewport] { viewport->zoomAt(1 / 1.4, viewport->centre()); });
    addAction(menu, Actions::tr("&Whole image"), QKeySequence(Qt::CTRL | Qt::Key_0),
              [viewport] { viewport->reset(); });
}

void addOverlay(MainWindow& window, QMenu* menu) {
    ViewControls* controls = &window.views()->controls();
    addAction(menu, Actions::tr("Class &outlines"), QKeySequence(Qt::Key_O),
              [controls] { controls->setOutlines(!controls->outlines()); });
    QAction* confidence =
        addAction(menu, Actions::tr("&Fade unsure classes"), QKeySequence(Qt::Key_C), [] {});
    confidence->setCheckable(true);
    confidence->setChecked(window.session().state().confidence);
    QObject::connect(confidence, &QAction::toggled, &window, &MainWindow::setConfidence);
    addAction(menu, Actions::tr("&Next merge stage"), QKeySequence(Qt::Key_S),
              [controls] { controls->stepStage(1); });
    addAction(menu, Actions::tr("&Previous merge stage"), QKeySequence(Qt::SHIFT | Qt::Key_S),
              [controls] { controls->stepStage(-1); });
    addAction(menu, Actions::tr("&More opaque"), QKeySequence(Qt::Key_BracketRight),
              [controls] { controls->setOpacity(std::min(1.0, controls->opacity() + 0.1)); });
    addAction(menu, Actions::tr("L&ess opaque"), QKeySequence(Qt::Key_BracketLeft),
              [controls] { controls->setOpacity(std::max(0.0, controls->opacity() - 0.1)); });
}

void addPanel(MainWindow& window, QMenu* menu) {
    SideSplit* split = window.sideSplit();
    QAction* panel = addAction(menu, Actions::tr("&Side panel"), QKeySequence(Qt::Key_F9), [] {});
    panel->setCheckable(true);
    panel->setChecked(split->panelShown());
    QObject::connect(panel, &QAction::triggered, split, &SideSplit::showPanel);
    QObject::connect(split, &SideSplit::panelChanged, panel, &QAction::setChecked);
}

void addAppearance(MainWindow& window, QMenu* menu) {
    QMenu* themes = menu->addMenu(Actions::tr("&Colours"));
    auto* group = new QActionGroup(themes);
    const std::pair<Appearance, QString> all[] = {{Appearance::System, Actions::tr("As the &system")},
                                                  {Appearance::Light, Actions::tr("&Light")},
                                                  {Appearance::Dark, Actions::tr("&Dark")}};
    for (const auto& [appearance, text] : all) {
        const Appearance chosen = appearance;
        QAction* action = addAction(themes, text, {}, [&window, chosen] { window.setAppearance(chosen); });
        action->setCheckable(true);
        action->setChecked(window.appearance() == chosen);
        group->addAction(action);
    }
    addAction(menu, Actions::tr("Switch &light and dark"), QKeySequence(Qt::CTRL | Qt::Key_T), [&window] {
        const bool dark = Theme::of(&window).dark;
        window.setAppearance(dark ? Appearance::Light : Appearance::Dark);
    });
    QAction* safe = addAction(menu, Actions::tr("Classes for &colour-blind eyes"),
                              QKeySequence(Qt::CTRL | Qt::Key_B), [] {});
    safe->setCheckable(true);
    safe->setChecked(window.session().state().safePalette);
    QObject::connect(safe, &QAction::toggled, &window, &MainWindow::setSafePalette);
}

}  // namespace

void addViewMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&View"));
    addViews(window, menu);
    menu->addSeparator();
    addZoom(window, menu);
    menu->addSeparator();
    addOverlay(window, menu);
    menu->addSeparator();
    addPanel(window, menu);
    addAppearance(window, menu);
    QAction* full = addAction(menu, Actions::tr("&Full screen"), QKeySequence(Qt::Key_F11), [&window] {
        window.setWindowState(window.windowState() ^ Qt::WindowFullScreen);
    });
    full->setShortcutContext(Qt::ApplicationShortcut);
}

}  // namespace mpm::gui
