#include "gui/window/actions.hpp"

#include <QActionGroup>
#include <QDateTime>
#include <QMenuBar>

#include "gui/charts/timeline_panel.hpp"
#include "gui/dialogs/day_night_dialog.hpp"
#include "gui/dialogs/profiles_dialog.hpp"
#include "gui/dialogs/questions.hpp"
#include "gui/dialogs/shortcut_sheet.hpp"
#include "gui/dialogs/source_dialog.hpp"
#include "gui/panels/guide_strip.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/text/source_text.hpp"
#include "gui/window/lane_control.hpp"
#include "gui/window/main_window.hpp"

namespace mpm::gui {

namespace {

/// Returns a file name such as "mpm-timeline-20260131-235959.svg".
QString fileName(const char* content, const char* ending) {
    const QString time = QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-HHmmss"));
    return QStringLiteral("mpm-%1-%2.%3").arg(QLatin1String(content), time, QLatin1String(ending));
}

void askForExport(MainWindow& window, bool all) {
    const QString title =
        all ? Actions::tr("Export every measurement") : Actions::tr("Export the measurements shown");
    askForFile(
        window, title, Actions::tr("Tables (*.csv);;JSON (*.json)"),
        [&window, all](const QString& file) {
            all ? window.exports().allMeasurements(file) : window.exports().shownMeasurements(file);
        },
        fileName("measurements", "csv"));
}

void addExports(MainWindow& window, QMenu* menu) {
    addAction(menu, Actions::tr("&Export the measurements shown…"), QKeySequence(Qt::CTRL | Qt::Key_E),
              [&window] { askForExport(window, false); });
    addAction(menu, Actions::tr("Export e&very measurement…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E),
              [&window] { askForExport(window, true); });
    addAction(menu, Actions::tr("Export the ima&ge…"), QKeySequence(Qt::CTRL | Qt::Key_P), [&window] {
        askForFile(
            window, Actions::tr("Export the image"), Actions::tr("Images (*.png *.svg)"),
            [&window](const QString& file) { window.exports().image(file); }, fileName("image", "png"));
    });
    addAction(menu, Actions::tr("Export the &timeline…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_T),
              [&window] {
                  askForFile(
                      window, Actions::tr("Export the timeline"), Actions::tr("Images (*.svg *.png)"),
                      [&window](const QString& file) { window.exports().timeline(file); },
                      fileName("timeline", "svg"));
              });
    QObject::connect(window.timeline(), &TimelinePanel::exportWanted, &window,
                     [&window] { askForExport(window, false); });
}

void askForSource(MainWindow& window, const QString& title,
                  const std::function<void(QString source, QString name)>& then) {
    SourceDialog::Choices choices;
    choices.cameras = cameraNames();
    choices.recent = window.session().state().recentSources;
    choices.recent.removeAll(QStringLiteral("demo"));
    choices.showsImages = window.session().services().settings().keepsImages;
    choices.watch = [&window](const QString& source) {
        return window.session().services().settings().of(Session::keyOf(source));
    };
    choices.isNameFree = [&window](const QString& name, const QString& source) {
        return window.session().isNameFree(name, Session::keyOf(source));
    };
    auto* dialog = new SourceDialog(title, choices, &window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    QObject::connect(dialog, &SourceDialog::chosen, &window, then);
    dialog->open();
}

void addSources(MainWindow& window, QMenu* menu) {
    const auto open = [&window](const QString& source) { window.sources().open(source); };
    const auto ask = [&window] {
        askForSource(window, Actions::tr("Open a source"),
                     [&window](auto source, auto name) { window.sources().open(source, name); });
    };
    addAction(menu, Actions::tr("Open &source…"), QKeySequence(Qt::CTRL | Qt::Key_L), ask);
    QObject::connect(window.guide(), &GuideStrip::cameraWanted, &window, ask);
    addAction(menu, Actions::tr("&Add a source…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L), [&window] {
        askForSource(window, Actions::tr("Add a source"),
                     [&window](auto source, auto name) { window.sources().add(source, name); });
    });
    addAction(menu, Actions::tr("&Name this source…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_N),
              [&window] { window.sources().nameCurrent(); });
    addAction(menu, Actions::tr("&Close this source"), QKeySequence::Close,
              [&window] { window.sources().closeCurrent(); });
    addAction(menu, Actions::tr("Open &video or image…"), QKeySequence::Open, [&window, open] {
        askForFile(window, Actions::tr("Open a video or image"), Actions::tr("Videos and images (*)"), open);
    });
    addAction(menu, Actions::tr("&Built-in street"), QKeySequence(Qt::CTRL | Qt::Key_D),
              [open] { open(QStringLiteral("demo")); });
}

/// Fills the menu each time it opens, because the recent models change.
void addRecentModels(MainWindow& window, QMenu* menu) {
    QMenu* recent = menu->addMenu(Actions::tr("&Recent models"));
    const auto fill = [&window, recent] {
        recent->clear();
        for (const QString& path : window.session().state().recentModels) {
            constexpr int kWidest = 420;
            QString text = recent->fontMetrics().elidedText(safeText(path), Qt::ElideMiddle, kWidest);
            QAction* action = recent->addAction(text.replace(QLatin1Char('&'), QStringLiteral("&&")));
            QObject::connect(action, &QAction::triggered, &window,
                             [&window, path] { window.model().open(path); });
        }
        if (recent->isEmpty()) recent->addAction(Actions::tr("none yet"))->setEnabled(false);
    };
    QObject::connect(recent, &QMenu::aboutToShow, &window, fill);
    fill();
}

/// Returns the name of a profile's first source, followed by the number of further sources.
QString sourcesOf(const QString& name) {
    const Profile profile(name);
    const QString source = Session::keyOf(profile.load().source);
    try {
        const WatchSettings watch = readWatchSettings(profile.watchPath());
        const QString first = shownTitle(watch.titleOf(source));
        return watch.further.isEmpty() ? first
                                       : Actions::tr("%1 and %2 more").arg(first).arg(watch.further.size());
    } catch (const WatchError&) {
        return shownTitle(source);
    }
}

void showProfiles(MainWindow& window) {
    const auto all = [] {
        std::vector<std::pair<QString, QString>> found;
        for (const QString& name : profileNames())
            found.emplace_back(name, sourcesOf(name));
        return found;
    };
    auto* dialog =
        new ProfilesDialog(window.session().profile().name(), {all, isProfileName, deleteProfile}, &window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    QObject::connect(dialog, &ProfilesDialog::switchWanted, &window, &MainWindow::profileWanted);
    dialog->open();
}

void addFileMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&File"));
    addSources(window, menu);
    menu->addSeparator();
    addAction(menu, Actions::tr("Open &model…"), QKeySequence(Qt::CTRL | Qt::Key_M), [&window] {
        askForFile(window, Actions::tr("Open a model"), Actions::tr("ONNX models (*.onnx)"),
                   [&window](const QString& file) { window.model().open(file); });
    });
    addAction(menu, Actions::tr("Shipped mo&del"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_M),
              [&window] { window.model().open(QStringLiteral("default")); });
    addRecentModels(window, menu);
    addAction(menu, Actions::tr("A&bout the model…"), {}, [&window] { window.model().describe(); });
    addAction(menu, Actions::tr("&Find the best speed"), {}, [&window] { window.tuning().begin(); });
    menu->addSeparator();
    addExports(window, menu);
    menu->addSeparator();
    addAction(menu, Actions::tr("&Profiles…"), {}, [&window] { showProfiles(window); });
    addAction(menu, Actions::tr("&Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q), [&window] { window.close(); });
}

void addSchedules(MainWindow& window, QMenu* menu) {
    const auto add = [&](const QString& text, int key, const std::vector<int>& blocks) {
        addAction(menu, text, QKeySequence(Qt::ALT | Qt::Key(Qt::Key_0 + key)),
                  [&window, blocks] { window.models().schedule.setSchedule(blocks); });
    };
    add(Actions::tr("&No merging"), 0, {});
    add(Actions::tr("Merge before block 5"), 1, {5});
    add(Actions::tr("Merge before blocks 2 and 5"), 2, {2, 5});
    add(Actions::tr("Merge before blocks 2, 5 and 8"), 3, {2, 5, 8});
}

void addIntervals(MainWindow& window, QMenu* menu) {
    QMenu* intervals = menu->addMenu(Actions::tr("Analyse"));
    auto* group = new QActionGroup(intervals);
    const std::pair<int, QString> all[] = {{0, Actions::tr("Every frame")},
                                           {1000, Actions::tr("Once a second")},
                                           {10'000, Actions::tr("Every 10 seconds")},
                                           {60'000, Actions::tr("Once a minute")}};
    const int chosen = static_cast<int>(window.session().state().request.interval.count());
    for (const auto& [milliseconds, text] : all) {
        const int interval = milliseconds;
        QAction* action =
            addAction(intervals, text, {}, [&window, interval] { window.setInterval(interval); });
        action->setCheckable(true);
        action->setChecked(chosen == interval);
        group->addAction(action);
    }
    intervals->addSeparator();
    addAction(intervals, Actions::tr("Every … seconds"), QKeySequence(Qt::CTRL | Qt::Key_I), [&window] {
        askForInterval(window, double(window.engine().request().interval.count()) / 1000,
                       [&window](double seconds) { window.setInterval(static_cast<int>(seconds * 1000)); });
    });
}

void addAnalysisMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&Analysis"));
    QAction* pause = addAction(menu, Actions::tr("&Pause"), QKeySequence(Qt::Key_P), [] {});
    pause->setCheckable(true);
    QObject::connect(pause, &QAction::triggered, &window.front(), &FrontSource::setPaused);
    QObject::connect(&window.front(), &FrontSource::pausedChanged, pause, &QAction::setChecked);
    addAction(menu, Actions::tr("&Next frame of a video"), QKeySequence(Qt::Key_Period),
              [&window] { window.step(1); });
    addAction(menu, Actions::tr("Pre&vious frame of a video"), QKeySequence(Qt::Key_Comma),
              [&window] { window.step(-1); });
    menu->addSeparator();
    addSchedules(window, menu);
    QAction* reuse = addAction(menu, Actions::tr("&Reuse over time"), QKeySequence(Qt::Key_U), [] {});
    reuse->setCheckable(true);
    reuse->setChecked(window.session().state().request.reuse);
    QObject::connect(reuse, &QAction::toggled, &window, &MainWindow::setReuse);
    QObject::connect(&window, &MainWindow::reuseChanged, reuse, &QAction::setChecked);
    menu->addSeparator();
    addAction(menu, Actions::tr("&Day and night…"), QKeySequence(Qt::CTRL | Qt::Key_N), [&window] {
        auto* dialog = new DayNightDialog(window.engine().rule(), &window);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        QObject::connect(dialog, &DayNightDialog::ruleChanged, &window, &MainWindow::setRule);
        QObject::connect(&window.engine(), &Engine::framed, dialog, [dialog](const LiveFrame& frame) {
            dialog->showLevels(frame.luminance, frame.saturation);
        });
        dialog->open();
    });
    addIntervals(window, menu);
}

void addTimelineMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&Timeline"));
    const QString names[] = {Actions::tr("Last minute"), Actions::tr("Last 10 minutes"),
                             Actions::tr("Last hour"),   Actions::tr("Last day"),
                             Actions::tr("Last week"),   Actions::tr("Everything")};
    for (int range = 0; range < window.timeline()->ranges(); ++range)
        addAction(menu, names[range], QKeySequence(Qt::CTRL | Qt::Key(Qt::Key_1 + range)),
                  [&window, range] { window.timeline()->chooseRange(range); });
    menu->addSeparator();
    menu->addMenu(window.lanes().menu());
    addAction(menu, Actions::tr("By &hour and date"), QKeySequence(Qt::Key_H),
              [&window] { window.timeline()->showHours(!window.timeline()->hoursShown()); });
}

void addHelpMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&Help"));
    addAction(menu, Actions::tr("&Keyboard shortcuts"), QKeySequence(Qt::Key_F1),
              [&window] { showShortcutSheet(window); });
    addAction(menu, Actions::tr("&About"), {}, [&window] { showAbout(window); });
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
