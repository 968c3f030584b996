#include "gui/window/actions.hpp"

#include <QActionGroup>
#include <QFileDialog>
#include <QInputDialog>
#include <QMenuBar>
#include <QMessageBox>
#include <QRegularExpression>

#include <mpm/mpm.hpp>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/dialogs/day_night_dialog.hpp"
#include "gui/dialogs/shortcut_sheet.hpp"
#include "gui/widgets/side_split.hpp"
#include "gui/window/main_window.hpp"
#include "gui/window/watch_actions.hpp"

namespace mpm::gui {

namespace {

template <typename Do>
QAction* add(QMenu* menu, const QString& words, const QKeySequence& keys, Do what) {
    QAction* action = menu->addAction(words, what);
    action->setShortcut(keys);
    return action;
}

// Dialogs are opened, never executed: frames, measurements and the network go on behind them.
void askForFile(MainWindow& window, const QString& title, const QString& filter,
                const std::function<void(QString)>& use, const QString& ending = {}) {
    const bool save = !ending.isEmpty();
    auto* dialog = new QFileDialog(&window, title, {}, filter);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(save ? QFileDialog::AcceptSave : QFileDialog::AcceptOpen);
    dialog->setFileMode(save ? QFileDialog::AnyFile : QFileDialog::ExistingFile);
    if (save) dialog->setDefaultSuffix(ending);
    QObject::connect(dialog, &QFileDialog::fileSelected, &window, use);
    dialog->open();
}

void askForSource(MainWindow& window, const QString& title, const std::function<void(QString)>& use) {
    auto* dialog = new QInputDialog(&window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(title);
    dialog->setLabelText(
        Actions::tr("Camera, file, folder, address (rtsp://…, http://…), gst: and a pipeline, or demo:"));
    dialog->setComboBoxEditable(true);
    dialog->setComboBoxItems(cameraNames() + QStringList{QStringLiteral("demo")});
    dialog->resize(520, dialog->sizeHint().height());
    QObject::connect(dialog, &QInputDialog::textValueSelected, &window, [use](const QString& chosen) {
        // "0: Integrated Camera": the number is what counts.
        static const QRegularExpression named(QStringLiteral("^(\\d+): .*$"));
        const QRegularExpressionMatch match = named.match(chosen.trimmed());
        const QString source = match.hasMatch() ? match.captured(1) : chosen.trimmed();
        if (!source.isEmpty()) use(source);
    });
    dialog->open();
}

void askForExport(MainWindow& window, bool all) {
    askForFile(
        window, all ? Actions::tr("Export every measurement") : Actions::tr("Export the measurements shown"),
        Actions::tr("Tables (*.csv);;JSON (*.json)"),
        [&window, all](const QString& file) { all ? window.exportAll(file) : window.exportCsv(file); },
        QStringLiteral("csv"));
}

void addExports(MainWindow& window, QMenu* menu) {
    add(menu, Actions::tr("&Export the measurements shown…"), QKeySequence(Qt::CTRL | Qt::Key_E),
        [&window] { askForExport(window, false); });
    add(menu, Actions::tr("Export e&very measurement…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E),
        [&window] { askForExport(window, true); });
    add(menu, Actions::tr("Export the &picture…"), QKeySequence(Qt::CTRL | Qt::Key_P), [&window] {
        askForFile(
            window, Actions::tr("Export the picture"), Actions::tr("Pictures (*.png *.svg)"),
            [&window](const QString& file) { window.exportPicture(file); }, QStringLiteral("png"));
    });
    add(menu, Actions::tr("Export the &timeline…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_T),
        [&window] {
            askForFile(
                window, Actions::tr("Export the timeline"), Actions::tr("Pictures (*.svg *.png)"),
                [&window](const QString& file) { window.exportTimeline(file); }, QStringLiteral("svg"));
        });
}

void addFileMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&File"));
    add(menu, Actions::tr("Open &source…"), QKeySequence(Qt::CTRL | Qt::Key_L), [&window] {
        askForSource(window, Actions::tr("Open a source"),
                     [&window](const QString& source) { window.openSource(source); });
    });
    add(menu, Actions::tr("&Add a source beside…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L),
        [&window] {
            askForSource(window, Actions::tr("Add a source"),
                         [&window](const QString& source) { window.addSource(source); });
        });
    add(menu, Actions::tr("&Close this source"), QKeySequence::Close, [&window] {
        for (std::size_t i = 0; i < window.engines().size(); ++i)
            if (window.engines()[i].get() == &window.engine()) return window.closeSource(static_cast<int>(i));
    });
    add(menu, Actions::tr("Open &video or picture…"), QKeySequence::Open, [&window] {
        askForFile(window, Actions::tr("Open a video or picture"), Actions::tr("Videos and pictures (*)"),
                   [&window](const QString& file) { window.openSource(file); });
    });
    add(menu, Actions::tr("&Built-in street"), QKeySequence(Qt::CTRL | Qt::Key_D),
        [&window] { window.openSource(QStringLiteral("demo")); });
    menu->addSeparator();
    add(menu, Actions::tr("Open &model…"), QKeySequence(Qt::CTRL | Qt::Key_M), [&window] {
        askForFile(window, Actions::tr("Open a model"), Actions::tr("ONNX models (*.onnx)"),
                   [&window](const QString& file) { window.openModel(file); });
    });
    add(menu, Actions::tr("Shipped mo&del"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_M),
        [&window] { window.openModel(QStringLiteral("default")); });
    menu->addSeparator();
    addExports(window, menu);
    menu->addSeparator();
    add(menu, Actions::tr("&Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q), [&window] { window.close(); });
    QObject::connect(window.timeline(), &TimelinePanel::exportWanted, &window,
                     [&window] { askForExport(window, false); });
}

void addAppearance(MainWindow& window, QMenu* menu) {
    QMenu* themes = menu->addMenu(Actions::tr("&Colours"));
    auto* group = new QActionGroup(themes);
    const std::pair<Appearance, QString> all[] = {{Appearance::System, Actions::tr("As the &system")},
                                                  {Appearance::Light, Actions::tr("&Light")},
                                                  {Appearance::Dark, Actions::tr("&Dark")}};
    for (const auto& [appearance, words] : all) {
        const Appearance chosen = appearance;
        QAction* action = add(themes, words, {}, [&window, chosen] { window.setAppearance(chosen); });
        action->setCheckable(true);
        action->setChecked(window.appearance() == chosen);
        group->addAction(action);
    }
    add(menu, Actions::tr("Switch &light and dark"), QKeySequence(Qt::CTRL | Qt::Key_T), [&window] {
        const bool dark = Theme::of(&window).dark;
        window.setAppearance(dark ? Appearance::Light : Appearance::Dark);
    });
}

void addPanel(MainWindow& window, QMenu* menu) {
    SideSplit* split = window.sideSplit();
    QAction* panel = add(menu, Actions::tr("&Side panel"), QKeySequence(Qt::Key_F9), [] {});
    panel->setCheckable(true);
    panel->setChecked(split->panelShown());
    QObject::connect(panel, &QAction::triggered, split, &SideSplit::showPanel);
    QObject::connect(split, &SideSplit::panelChanged, panel, &QAction::setChecked);
}

void addViewMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&View"));
    auto* group = new QActionGroup(menu);
    for (int mode = 0; mode < ViewArea::Modes; ++mode) {
        QAction* action = add(menu, ViewArea::modeName(ViewArea::Mode(mode)), QKeySequence(Qt::Key_1 + mode),
                              [&window, mode] { window.views()->setMode(ViewArea::Mode(mode)); });
        action->setCheckable(true);
        group->addAction(action);
    }
    const auto showMode = [group](ViewArea::Mode mode) { group->actions().at(mode)->setChecked(true); };
    QObject::connect(window.views(), &ViewArea::modeChanged, group, showMode);
    showMode(window.views()->mode());
    menu->addSeparator();
    Viewport* viewport = window.views()->viewport();
    add(menu, Actions::tr("Zoom &in"), QKeySequence(Qt::CTRL | Qt::Key_Plus),
        [viewport] { viewport->zoomAt(1.4, viewport->centre()); });
    add(menu, Actions::tr("Zoom &out"), QKeySequence(Qt::CTRL | Qt::Key_Minus),
        [viewport] { viewport->zoomAt(1 / 1.4, viewport->centre()); });
    add(menu, Actions::tr("&Whole picture"), QKeySequence(Qt::CTRL | Qt::Key_0),
        [viewport] { viewport->reset(); });
    menu->addSeparator();
    add(menu, Actions::tr("Class &outlines"), QKeySequence(Qt::Key_O),
        [&window] { window.views()->setOutlines(!window.views()->outlines()); });
    add(menu, Actions::tr("&More opaque"), QKeySequence(Qt::Key_BracketRight),
        [&window] { window.views()->setOpacity(std::min(1.0, window.views()->opacity() + 0.1)); });
    add(menu, Actions::tr("L&ess opaque"), QKeySequence(Qt::Key_BracketLeft),
        [&window] { window.views()->setOpacity(std::max(0.0, window.views()->opacity() - 0.1)); });
    menu->addSeparator();
    addPanel(window, menu);
    addAppearance(window, menu);
    QAction* safe =
        add(menu, Actions::tr("Classes for &colour-blind eyes"), QKeySequence(Qt::CTRL | Qt::Key_B), [] {});
    safe->setCheckable(true);
    safe->setChecked(window.safePalette());
    QObject::connect(safe, &QAction::toggled, &window, &MainWindow::setSafePalette);
    QAction* full = add(menu, Actions::tr("&Full screen"), QKeySequence(Qt::Key_F11),
                        [&window] { window.setWindowState(window.windowState() ^ Qt::WindowFullScreen); });
    full->setShortcutContext(Qt::ApplicationShortcut);
}

void addAnalysisMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&Analysis"));
    QAction* pause = add(menu, Actions::tr("&Pause"), QKeySequence(Qt::Key_P), [] {});
    pause->setCheckable(true);
    QObject::connect(pause, &QAction::triggered, &window, &MainWindow::setPaused);
    QObject::connect(&window, &MainWindow::pausedChanged, pause, &QAction::setChecked);
    menu->addSeparator();
    const auto schedule = [&](const QString& words, int key, const std::vector<int>& blocks) {
        add(menu, words, QKeySequence(Qt::ALT | Qt::Key(Qt::Key_0 + key)),
            [&window, blocks] { window.schedule().setSchedule(blocks); });
    };
    schedule(Actions::tr("Merge &nowhere"), 0, {});
    schedule(Actions::tr("Merge before block 5"), 1, {5});
    schedule(Actions::tr("Merge before blocks 2 and 5"), 2, {2, 5});
    schedule(Actions::tr("Merge before blocks 2, 5 and 8"), 3, {2, 5, 8});
    menu->addSeparator();
    add(menu, Actions::tr("&Day and night…"), QKeySequence(Qt::CTRL | Qt::Key_N), [&window] {
        auto* dialog = new DayNightDialog(window.engine().rule(), &window);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        QObject::connect(dialog, &DayNightDialog::ruleChanged, &window, &MainWindow::setRule);
        dialog->open();
    });
    QMenu* intervals = menu->addMenu(Actions::tr("Analyse"));
    auto* group = new QActionGroup(intervals);
    const std::pair<int, QString> all[] = {{0, Actions::tr("Every frame")},
                                           {1000, Actions::tr("Once a second")},
                                           {10'000, Actions::tr("Every 10 seconds")},
                                           {60'000, Actions::tr("Once a minute")}};
    const int chosen = static_cast<int>(window.engine().request().interval.count());
    for (const auto& [milliseconds, words] : all) {
        const int interval = milliseconds;
        QAction* action = add(intervals, words, {}, [&window, interval] { window.setInterval(interval); });
        action->setCheckable(true);
        action->setChecked(chosen == interval);
        group->addAction(action);
    }
    intervals->addSeparator();
    add(intervals, Actions::tr("Every … seconds"), QKeySequence(Qt::CTRL | Qt::Key_I), [&window] {
        auto* dialog = new QInputDialog(&window);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setInputMode(QInputDialog::DoubleInput);
        dialog->setLabelText(Actions::tr("Seconds between two analysed frames; 0: every frame"));
        dialog->setDoubleRange(0, 86'400);
        dialog->setDoubleValue(double(window.engine().request().interval.count()) / 1000);
        QObject::connect(dialog, &QInputDialog::doubleValueSelected, &window,
                         [&window](double seconds) { window.setInterval(static_cast<int>(seconds * 1000)); });
        dialog->open();
    });
}

void addTimelineMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&Timeline"));
    const QString names[] = {Actions::tr("Last minute"), Actions::tr("Last 10 minutes"),
                             Actions::tr("Last hour"),   Actions::tr("Last day"),
                             Actions::tr("Last week"),   Actions::tr("Everything")};
    for (int range = 0; range < window.timeline()->ranges(); ++range)
        add(menu, names[range], QKeySequence(Qt::CTRL | Qt::Key(Qt::Key_1 + range)),
            [&window, range] { window.timeline()->chooseRange(range); });
    menu->addSeparator();
    add(menu, Actions::tr("Tokens by &hour and date"), QKeySequence(Qt::Key_H),
        [&window] { window.timeline()->showHours(!window.timeline()->hoursShown()); });
}

void addHelpMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&Help"));
    add(menu, Actions::tr("&Short cuts"), QKeySequence(Qt::Key_F1), [&window] { showShortcutSheet(window); });
    add(menu, Actions::tr("&About"), {}, [&window] {
        auto* box = new QMessageBox(  // own words
            QMessageBox::NoIcon, Actions::tr("About MPM Monitor"),
            Actions::tr(
                "<h3>MPM Monitor %1</h3><p>Watches a fixed scene and shows what Mutual Pair Merging "
                "does to a vision transformer, by day and by night.</p><p>Apache License 2.0. Uses Qt %2 "
                "(LGPL 3), OpenCV (Apache 2.0), SQLite (public domain), mosquitto (EPL 2.0), prometheus-cpp "
                "(MIT) "
                "and QtKeychain (BSD).</p>")
                .arg(QLatin1String(mpm::version()), QLatin1String(qVersion())),
            QMessageBox::Ok, &window);
        box->setAttribute(Qt::WA_DeleteOnClose);
        box->open();
    });
}

}  // namespace

void installActions(MainWindow& window) {
    addFileMenu(window);
    addViewMenu(window);
    addAnalysisMenu(window);
    addTimelineMenu(window);
    addWatchMenu(window);
    addHelpMenu(window);
}

}  // namespace mpm::gui
